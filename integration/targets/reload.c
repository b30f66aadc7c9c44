/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reload MS [-copy] PATH/COLOUR.so...`: loads one library after the other, calls its
 * COLOUR_run(MS), and unloads it. If a library is loaded at the address of the previous one, the
 * kernel and the agent see other code at addresses that they know. With -copy the library is copied
 * first, so that every load is of a new file. From time to time it prints how many loads there were
 * and how many of them were at the address of another library.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "target.h"

typedef void run_function(unsigned long ms);

FRAME void swap(run_function *run, unsigned long ms)
{
	run(ms);
	NO_TAIL_CALL();
}

/* Makes a new file with the bytes of @path: another inode with the same program text. */
static void copy_to(const char *path, const char *copy)
{
	int in = open(path, O_RDONLY);
	int out = open(copy, O_WRONLY | O_CREAT | O_EXCL, 0700);
	struct stat status;

	if (in < 0 || out < 0 || fstat(in, &status) ||
	    sendfile(out, in, NULL, status.st_size) != status.st_size)
		abort();
	close(in);
	close(out);
}

static void load_and_run(const char *path, const char *symbol, unsigned long ms, const void **base)
{
	void *library = dlopen(path, RTLD_NOW);
	struct link_map *map;
	run_function *run;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*base = (void *)map->l_addr;
	*(void **)&run = dlsym(library, symbol);
	if (!run)
		abort();
	swap(run, ms);
	dlclose(library);
}

int main(int argc, char **argv)
{
	unsigned long ms = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	const void *base = NULL, *last = NULL;
	unsigned long loads = 0, same = 0;
	int copies = argc > 2 && !strcmp(argv[2], "-copy");
	char copy[64], symbol[64];

	if (argc < 3 + copies)
		return 2;
	snprintf(copy, sizeof(copy), "/tmp/allframes-reload-%d.so", getpid());
	target_ready();
	for (;;) {
		const char *path = argv[2 + copies + loads % (argc - 2 - copies)];
		const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

		snprintf(symbol, sizeof(symbol), "%.*s_run", (int)strcspn(name, "."), name);
		if (copies)
			copy_to(path, copy);
		load_and_run(copies ? copy : path, symbol, ms, &base);
		if (copies)
			unlink(copy);
		loads++;
		same += base == last;
		last = base;
		if (loads % 32 == 0 && printf("loads %lu same %lu\n", loads, same) > 0)
			fflush(stdout);
	}
}
