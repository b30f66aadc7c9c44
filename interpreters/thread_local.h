/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds where a thread keeps a pointer of its own. The instructions of the function that returns the pointer
 * (PyGILState_GetThisThreadState(), pthread_getspecific(), ...) are followed in the memory of the process,
 * through calls into other libraries too; nothing is run. Registers hold numbers, or values that are loaded
 * from the thread pointer on. Words of the process's memory are read; words of the thread become loads of
 * the path. So nothing is assumed of the C library (glibc, musl), its version, its keys, or the model of
 * thread-local storage that a library was built for.
 *
 * The values of a thread are unknown. A branch on one takes the way on which the pointer is there: it is
 * not NULL, not -1, and its checks succeed (generations of keys and modules).
 */
#ifndef INTERPRETERS_THREAD_LOCAL_H
#define INTERPRETERS_THREAD_LOCAL_H

#include <stdint.h>

#include "interpreters/language.h"

/** More than THREAD_LOCAL_MAX_DEPTH: objects behind the thread's own pointer are followed as well. */
enum { THREAD_LOCAL_MAX_LOADS = 6 };

/** Loads that start at the thread pointer, as in struct thread_local_path. */
struct thread_local_loads {
	int32_t offsets[THREAD_LOCAL_MAX_LOADS];
	uint32_t count;
};

/**
 * Finds the loads that give the result of the function at @function in @target's process when it is called with
 * @argument. @machine is EM_X86_64 or EM_AARCH64. -EOPNOTSUPP if it does something that is not followed, or if the
 * result is no word of the thread; -EAGAIN if the result is 0 for any thread (the key is not created yet), or if it
 * calls a function that no module has so far; -EFAULT, -ESRCH.
 */
int thread_local_loads_of_call(const struct attach_target *target, uint16_t machine,
			       uint64_t function, uint64_t argument,
			       struct thread_local_loads *loads);

/** The same as a path; -EOPNOTSUPP also for more than THREAD_LOCAL_MAX_DEPTH loads. */
int thread_local_path_of_call(const struct attach_target *target, uint16_t machine,
			      uint64_t function, uint64_t argument, struct thread_local_path *path);

#endif
