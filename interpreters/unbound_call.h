/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the function that a call between libraries will reach when the dynamic linker has not bound it yet.
 * The search is the linker's own: the relocation of the slot that the call jumps through
 * (R_X86_64_JUMP_SLOT and its like) names the function, and the first module that exports the name has it.
 */
#ifndef INTERPRETERS_UNBOUND_CALL_H
#define INTERPRETERS_UNBOUND_CALL_H

#include <stdint.h>

#include "interpreters/language.h"

/** Limit of slots that are searched in one module. */
enum { UNBOUND_CALL_MAX_SLOTS = 1 << 16 };

/**
 * Limit of CPU time for all unbound calls of one function that is followed. A hundred modules take some ms;
 * hostile ones could take any time, each and together.
 */
#define UNBOUND_CALL_MAX_CPU_NS 500000000ULL

/**
 * Finds the address of the function that belongs in the slot at @slot, in one of @target's modules. -ENOENT if
 * the slot has no relocation, or no module exports the name; -EOPNOTSUPP once the thread's
 * clock_thread_cpu_ns() is over @deadline_ns; -EBADMSG, -ENOMEM.
 */
int unbound_call_find(const struct attach_target *target, uint64_t slot, uint64_t deadline_ns,
		      uint64_t *function);

/** The same for the function @name, as the linker would bind it. */
int unbound_call_find_name(const struct attach_target *target, const char *name,
			   uint64_t deadline_ns, uint64_t *function);

#endif
