/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At SIGUSR1 it copies its own text to anonymous memory and maps that over the file's mapping, as
 * programs do that want their text in huge pages.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static volatile sig_atomic_t is_wanted;
static volatile unsigned long sink;

__attribute__((noinline)) void inner(void)
{
	volatile char room[72];

	room[0] = 1;
	for (int i = 0; i < 200000; i++)
		sink += i;
	sink += room[0];
}

__attribute__((noinline)) void outer(void)
{
	volatile char room[200];

	room[0] = 1;
	inner();
	sink += room[0];
}

static void want(int number)
{
	(void)number;
	is_wanted = 1;
}

/* The pages of the segment that contains this function, from /proc/self/maps. */
static int find_text(unsigned long *start, unsigned long *end)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx r-xp", start, end) == 2 && strstr(line, "r-xp") &&
			*start <= (unsigned long)want && (unsigned long)want < *end;
	if (maps)
		fclose(maps);
	return found;
}

static int copy_text(void)
{
	unsigned long start, end;
	void *copy;

	if (!find_text(&start, &end))
		return -1;
	copy = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return -1;
	memcpy(copy, (void *)start, end - start);
	if (mprotect(copy, end - start, PROT_READ | PROT_EXEC))
		return -1;
	if (mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) ==
	    MAP_FAILED)
		return -1;
	/* A new executable mapping elsewhere makes the agent look. */
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

int main(void)
{
	signal(SIGUSR1, want);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		if (is_wanted) {
			is_wanted = 0;
			printf(copy_text() ? "failed\n" : "copied\n");
			fflush(stdout);
		}
		outer();
	}
}
