/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time from the kernel's shared object.
 *
 * chain: START main > outer CLOCK_GETTIME VDSO
 */
#include <time.h>

#include "target.h"

FRAME unsigned long outer(void)
{
	struct timespec now;
	unsigned long sum = 0;

	for (unsigned int i = 0; i < 50; i++) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		sum += now.tv_nsec;
	}
	return sum;
}

int main(void)
{
	volatile unsigned long sink = 0;

	target_ready();
	for (;;)
		sink += outer();
}
