/* SPDX-License-Identifier: Apache-2.0 */
/** Condition variables with time-outs by CLOCK_MONOTONIC, which nobody can set. */
#ifndef LIB_BASE_MONOTONIC_CONDITION_H
#define LIB_BASE_MONOTONIC_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** The caller destroys it by pthread_cond_destroy(). 0 or -errno, which glibc never gives. */
int monotonic_condition_init(pthread_cond_t *condition);

/** Waits with @lock held, as pthread_cond_timedwait() does; false after @until_ns. */
bool monotonic_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns);

#endif
