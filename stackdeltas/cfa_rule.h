/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From a row of call frame information to the rule that the kernel side follows
 * (struct unwind_rule in ebpf/abi/slab.h).
 */
#ifndef STACKDELTAS_CFA_RULE_H
#define STACKDELTAS_CFA_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"
#include "stackdeltas/cfa_program.h"
#include "stackdeltas/delta_problem.h"

/** What the same row of DWARF can mean in different places. */
struct cfa_rule_context {
	/** The section that expressions of the state lie in. */
	const uint8_t *section;
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	/** Of the CIE (letter S). */
	bool is_signal_frame;
};

/**
 * Makes the rule; equal meanings give equal bytes. A problem with the CFA, the return address or
 * the stack pointer gives CFA_UNSUPPORTED; one with the frame pointer alone gives SAVED_UNDEFINED
 * for it, since the walk can go on.
 */
enum delta_problem cfa_rule_make(const struct cfa_rule_context *context,
				 const struct cfa_state *state, struct unwind_rule *rule);

#endif
