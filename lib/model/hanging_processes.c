/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/hanging_processes.h"

#include <pthread.h>
#include <string.h>

struct hanging_process {
	uint32_t pid;
	uint64_t time_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The newest is first; an entry with pid 0 is empty. */
static struct hanging_process hanging[HANGING_PROCESSES_MAX];

void hanging_processes_note(uint32_t pid, uint64_t now_ns)
{
	uint32_t index = 0;

	pthread_mutex_lock(&lock);
	while (index < HANGING_PROCESSES_MAX - 1 && hanging[index].pid != pid)
		index++;
	memmove(hanging + 1, hanging, index * sizeof(hanging[0]));
	hanging[0] = (struct hanging_process){ pid, now_ns };
	pthread_mutex_unlock(&lock);
}

uint32_t hanging_processes_list(uint64_t now_ns, uint32_t pids[HANGING_PROCESSES_MAX])
{
	uint32_t count = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < HANGING_PROCESSES_MAX; i++)
		if (hanging[i].pid && now_ns < hanging[i].time_ns + HANGING_PROCESS_NS)
			pids[count++] = hanging[i].pid;
	pthread_mutex_unlock(&lock);
	return count;
}
