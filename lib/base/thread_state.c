/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/thread_state.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/cleanup.h"

int thread_state_read(pid_t pid, pid_t tid, bool *is_running, uint64_t *switch_count)
{
	_cleanup_(close_file) FILE *status = NULL;
	unsigned long long count, sum = 0;
	char path[64], line[256], state = 'R';

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	status = fopen(path, "re");
	if (!status)
		return errno == ENOENT || errno == ESRCH ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), status)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) == 1)
			sum += count;
		else
			(void)sscanf(line, "State: %c", &state);
	}
	*is_running = state == 'R';
	*switch_count = sum;
	return 0;
}
