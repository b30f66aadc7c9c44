/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that embeds PHP by libphp: embed FILE [ARGUMENT...] runs the file of PHP. Debian's headers are not needed: what it
 * declares is the same in all versions.
 *
 * It names the struct with the engine's globals, as the macros of the headers do. So the linker makes a copy of the struct in
 * the program, which libphp uses as well.
 */
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>

int php_embed_init(int argc, char **argv);
void php_embed_shutdown(void);
void zend_stream_init_filename(void *handle, const char *name);
int php_execute_script(void *handle);

extern volatile char executor_globals[];

int main(int argc, char **argv)
{
	/* A zend_file_handle has some 100 bytes. */
	static alignas(16) char handle[1024];

	if (argc < 2 || php_embed_init(argc - 1, argv + 1)) {
		fputs("usage: embed FILE [ARGUMENT...]\n", stderr);
		return 2;
	}
	executor_globals[0] |= 0;
	zend_stream_init_filename(handle, argv[1]);
	php_execute_script(handle);
	php_embed_shutdown();
	return 0;
}
