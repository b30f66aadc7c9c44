/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Calls between libraries that the dynamic linker has not bound yet, since none was made: which
 * function the first one will reach. As it does, by the relocation of the slot that is jumped
 * through (R_X86_64_JUMP_SLOT and its like), and the first module that exports the name.
 */
#ifndef INTERPRETERS_UNBOUND_CALL_H
#define INTERPRETERS_UNBOUND_CALL_H

#include <stdint.h>

#include "interpreters/language.h"

/** How many slots of one module are looked through. */
enum { UNBOUND_CALL_MAX_SLOTS = 1 << 16 };

/**
 * CPU time for all calls that are followed for one function. A hundred modules take some ms; hostile
 * ones could take any time, each and together.
 */
#define UNBOUND_CALL_MAX_CPU_NS 500000000ULL

/**
 * The address of the function for which the word at @slot stands, in one of @target's modules.
 * -ENOENT if no relocation is for it, or nothing exports what it names; -EOPNOTSUPP once the thread's
 * clock_thread_cpu_ns() is over @deadline_ns; -EBADMSG, -ENOMEM.
 */
int unbound_call_find(const struct attach_target *target, uint64_t slot, uint64_t deadline_ns,
		      uint64_t *function);

#endif
