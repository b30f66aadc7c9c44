/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where a thread keeps a pointer of its own: found from the instructions of the function of the
 * runtime that gives it (PyGILState_GetThisThreadState(), pthread_getspecific(), ...), by following
 * them through the memory of the process, calls into other libraries included, without running
 * anything. Registers hold numbers, or what is reached from the thread pointer; words of the
 * process's memory are read, and words of the thread are what the answer is made of. So nothing is
 * assumed of the C library (glibc, musl), its version, its keys, or the model of thread-local
 * storage that a library was built for.
 *
 * What a thread has is not known, so where the way forks by it the one is taken on which the pointer
 * is there: it is not NULL, not -1, and its checks succeed (generations of keys and modules).
 */
#ifndef INTERPRETERS_THREAD_LOCAL_H
#define INTERPRETERS_THREAD_LOCAL_H

#include <stdint.h>

#include "interpreters/language.h"

/** More loads than a path has: what is behind the thread's own pointer is followed as well. */
enum { THREAD_LOCAL_MAX_LOADS = 6 };

/** Loads from the thread pointer on, as those of struct thread_local_path. */
struct thread_local_loads {
	int32_t offsets[THREAD_LOCAL_MAX_LOADS];
	uint32_t count;
};

/**
 * The loads that give what the function at @function of @target's process, of @machine (EM_X86_64, EM_AARCH64),
 * returns when it is called with @argument. -EOPNOTSUPP if it does something that is not followed, or returns what is
 * no word of the thread; -EAGAIN if it returns 0 whatever the thread has (a key that was not made yet), or calls what
 * no module has so far; -EFAULT, -ESRCH.
 */
int thread_local_loads_of_call(const struct attach_target *target, uint16_t machine,
			       uint64_t function, uint64_t argument,
			       struct thread_local_loads *loads);

/** The same as a path; -EOPNOTSUPP also for more than THREAD_LOCAL_MAX_DEPTH loads. */
int thread_local_path_of_call(const struct attach_target *target, uint16_t machine,
			      uint64_t function, uint64_t argument, struct thread_local_path *path);

#endif
