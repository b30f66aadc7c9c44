/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes code while it runs and calls it for ever. Without an argument it writes a perf map for it,
 * as runtimes do, with the name first_name; at SIGUSR1 the memory gets the name second_name.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A loop, with a frame pointer. */
#if defined(__x86_64__)
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xb9, 0x00, 0x00, 0x10, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3,
};
#elif defined(__aarch64__)
static const unsigned int code[] = {
	0xa9bf7bfd, 0x910003fd, 0x52a00200, 0x71000400, 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0,
};
#endif

static volatile sig_atomic_t is_renamed;

static void rename_code(int number)
{
	(void)number;
	is_renamed = 1;
}

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void) = (void (*)(void))memory;
	FILE *map = NULL;
	char path[64];

	(void)argv;
	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	__builtin___clear_cache(memory, (char *)memory + sizeof(code));
	signal(SIGUSR1, rename_code);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (argc == 1) {
		map = fopen(path, "w");
		if (!map)
			return 1;
		fprintf(map, "%lx %zx first_name with spaces\n", (unsigned long)memory,
			sizeof(code));
		fflush(map);
	}
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		if (is_renamed && map) {
			fprintf(map, "%lx 1000 second_name\n", (unsigned long)memory);
			fclose(map);
			map = NULL;
		}
		run();
	}
}
