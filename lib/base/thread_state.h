/* SPDX-License-Identifier: Apache-2.0 */
/** Whether another thread gets on. */
#ifndef LIB_BASE_THREAD_STATE_H
#define LIB_BASE_THREAD_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * Whether thread @tid of process @pid has a CPU or waits for one, and how often it has given one up: a thread that does not
 * run, and whose count stays, waits for the same thing all the time. -ESRCH: it has ended; other -errno.
 */
int thread_state_read(pid_t pid, pid_t tid, bool *is_running, uint64_t *switch_count);

#endif
