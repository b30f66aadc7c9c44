/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Converts a row of call frame information to the rule that the kernel side applies
 * (struct unwind_rule in ebpf/abi/slab.h).
 */
#ifndef STACKDELTAS_CFA_RULE_H
#define STACKDELTAS_CFA_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"
#include "stackdeltas/cfa_program.h"
#include "stackdeltas/delta_problem.h"

/** The context on which the meaning of a row depends. */
struct cfa_rule_context {
	/** The section with the expressions of the state. */
	const uint8_t *section;
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	/** The CIE has the letter S in its augmentation. */
	bool is_signal_frame;
};

/**
 * Makes the rule; rules with equal meaning have equal bytes. A problem with the CFA, the return
 * address or the stack pointer results in CFA_UNSUPPORTED. A problem with only the frame pointer
 * results in SAVED_UNDEFINED for it, since the walk can go on.
 */
enum delta_problem cfa_rule_make(const struct cfa_rule_context *context,
				 const struct cfa_state *state, struct unwind_rule *rule);

#endif
