/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/perf_event.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/error.h"

int perf_event_open_on_cpu(struct perf_event_attr *attributes, uint32_t cpu)
{
	const int every_task = -1, no_group = -1;
	long fd = syscall(SYS_perf_event_open, attributes, every_task, (int)cpu, no_group,
			  PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		return (int)fd;
	switch (errno) {
	case EPERM:
	case EACCES:
		return fail(-EPERM, "perf events of all processes are not allowed: run as root, "
				    "or with CAP_PERFMON and CAP_BPF");
	case ENOSYS:
	case ENOENT:
	case EOPNOTSUPP:
		return fail(-EOPNOTSUPP, "this kernel does not have the perf events that are "
					 "needed (CONFIG_PERF_EVENTS)");
	case ENODEV:
	case ENXIO:
		return fail(-ENODEV, "CPU %u is offline", cpu);
	default:
		return fail_errno(-errno, "cannot open the perf event on CPU %u", cpu);
	}
}
