/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps its own text a second time, as just-in-time compilers and sanitizers do, and runs alternately
 * at both addresses. The code that runs there needs no other code or data.
 *
 * chain: START main > outer middle leaf
 */
#include "target.h"

#include <err.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>

FRAME unsigned long leaf(unsigned long n)
{
	volatile unsigned char bytes[200];

	bytes[n % 200] = n;
	return bytes[n % 200] + work(20);
}

FRAME unsigned long middle(unsigned long n)
{
	USE_SAVED_REGISTERS();
	return leaf(n) + work(5);
}

FRAME unsigned long outer(unsigned long n)
{
	return middle(n) + work(5);
}

/* The program's own mapping comes first; stores the second mapping's distance from the first. */
static int map_again(struct dl_phdr_info *info, size_t size, void *distance)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		size_t before = segment->p_offset % 4096;
		char *second;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		second = mmap(NULL, segment->p_filesz + before, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			      fd, segment->p_offset - before);
		if (second == MAP_FAILED)
			err(1, "mmap");
		*(size_t *)distance =
			(size_t)second - (info->dlpi_addr + segment->p_vaddr - before);
	}
	close(fd);
	return 1;
}

int main(void)
{
	volatile unsigned long sink = 0;
	size_t distance = 0;
	unsigned long (*again)(unsigned long);

	dl_iterate_phdr(map_again, &distance);
	if (!distance)
		return 1;
	again = (void *)((size_t)outer + distance);
	target_ready();
	for (;;) {
		sink += outer(sink);
		sink += again(sink);
	}
}
