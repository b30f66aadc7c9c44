/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals whose handlers do nothing: in most samples the kernel is writing the registers for a
 * handler, or restoring those of the interrupted code.
 *
 * kernel: 50
 * chain: START main > outer LIBCALL
 * chain: START main outer LIBCALL > RESTORE
 * chain: START main outer LIBCALL RESTORE > handler
 */
#include <sys/syscall.h>

#include "target.h"

static volatile unsigned long signal_count;

FRAME void handler(int number)
{
	signal_count += number;
}

FRAME void outer(int pid)
{
	for (unsigned int i = 0; i < 200; i++)
		syscall(SYS_kill, pid, SIGUSR1);
	NO_TAIL_CALL();
}

int main(void)
{
	int pid = getpid();

	if (signal(SIGUSR1, handler) == SIG_ERR)
		abort();
	target_ready();
	for (;;)
		outer(pid);
}
