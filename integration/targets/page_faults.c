/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page faults: fresh pages are touched, then given back.
 *
 * kernel: 30
 * chain: START main > outer touch
 * chain: START main outer LIBCALL
 */
#include <sys/mman.h>

#include "target.h"

enum { PAGES = 2048, PAGE_BYTES = 4096 };

FRAME unsigned long touch(volatile unsigned char *bytes)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < PAGES; i++) {
		bytes[i * PAGE_BYTES] = i;
		sum += bytes[i * PAGE_BYTES];
	}
	return sum;
}

FRAME unsigned long outer(unsigned char *bytes)
{
	unsigned long sum = touch(bytes);

	if (madvise(bytes, PAGES * PAGE_BYTES, MADV_DONTNEED))
		abort();
	return sum;
}

int main(void)
{
	volatile unsigned long sink = 0;
	unsigned char *bytes = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (bytes == MAP_FAILED)
		abort();
	target_ready();
	for (;;)
		sink += outer(bytes);
}
