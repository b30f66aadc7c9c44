/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that embeds a PHP with threads (ZTS), by libphp: threads FILE runs the file in each of four threads. Thread N has
 * the variable $thread with N, and is in a function of its own, in_thread_N(). One more thread has nothing to do with PHP.
 * PHP's headers are not needed: what is declared here is the same in all versions.
 */
#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The beginning of a sapi_module_struct: its name. */
extern const char *php_embed_module[];
int php_embed_init(int argc, char **argv);
void *ts_resource_ex(int id, void *thread);
int php_request_startup(void);
int zend_eval_string(const char *text, void *value, const char *name);
void zend_stream_init_filename(void *handle, const char *name);
int php_execute_script(void *handle);

static const char *file;

static void run(int number)
{
	/* A zend_file_handle has some 100 bytes. */
	alignas(16) char handle[1024] = { 0 };
	char text[64];

	snprintf(text, sizeof(text), "$thread = %d;", number);
	if (!ts_resource_ex(0, NULL) || php_request_startup())
		exit(1);
	zend_eval_string(text, NULL, "threads");
	zend_stream_init_filename(handle, file);
	php_execute_script(handle);
	fputs("the file has ended\n", stderr);
	exit(1);
}

/* The call is no tail call, so that the function is on the stack. */
#define IN_THREAD(number)                                                                          \
	static void *in_thread_##number(void *unused)                                              \
	{                                                                                          \
		run(number);                                                                       \
		return unused;                                                                     \
	}

IN_THREAD(0)
IN_THREAD(1)
IN_THREAD(2)
IN_THREAD(3)

static void *without_php(void *unused)
{
	volatile uint64_t sum = 0;

	for (;;)
		sum += sum * 3 + 1;
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const functions[])(void *) = { in_thread_0, in_thread_1, in_thread_2, in_thread_3,
					       without_php };
	pthread_t thread;

	/* opcache is not used by programs that embed PHP, but for those that it knows. */
	php_embed_module[0] = "apache2handler";
	if (argc != 2 || php_embed_init(argc - 1, argv + 1)) {
		fputs("usage: threads FILE\n", stderr);
		return 2;
	}
	file = argv[1];
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (pthread_create(&thread, NULL, functions[i], NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 1;
}
