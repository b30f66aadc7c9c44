/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls, short and long ones: most samples find the CPU in the kernel.
 *
 * kernel: 50
 * chain: START main > outer LIBCALL
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "target.h"

static unsigned char bytes[65536];

FRAME unsigned long outer(int zero)
{
	unsigned long sum = 0;

	for (unsigned int i = 0; i < 200; i++)
		sum += syscall(SYS_getppid);
	/* The read returns fewer bytes while the program is being stopped. */
	if (read(zero, bytes, sizeof(bytes)) < 1)
		abort();
	return sum;
}

int main(void)
{
	volatile unsigned long sink = 0;
	int zero = open("/dev/zero", O_RDONLY);

	if (zero < 0)
		abort();
	target_ready();
	for (;;)
		sink += outer(zero);
}
