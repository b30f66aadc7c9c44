/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From .eh_frame to stack deltas: a pure function of the bytes in struct unwind_input. A bad CIE or
 * FDE costs the functions that it describes, never the file; time and memory are linear in the
 * input. What the rules of ebpf/abi/slab.h cannot express becomes CFA_UNSUPPORTED, counted and told
 * to whoever asks.
 */
#ifndef STACKDELTAS_EXTRACT_DELTAS_H
#define STACKDELTAS_EXTRACT_DELTAS_H

#include <stdint.h>

#include "agent/base/stack_deltas.h"
#include "stackdeltas/delta_problem.h"
#include "stackdeltas/unwind_input.h"

enum {
	EXTRACT_MAX_FDES = 1 << 22,
	EXTRACT_MAX_ROWS = 1 << 24,
};

struct delta_statistics {
	uint32_t cie_count;
	/** FDEs that gave rows. */
	uint32_t fde_count;
	/** FDEs of length 0, as linkers leave them for functions that they dropped. */
	uint32_t empty_fde_count;
	/** Of each kind: CIEs, FDEs or rows that it befell. */
	uint32_t problems[DELTA_PROBLEM_COUNT];
};

/** Told of every problem, in no special order; the address is that of the row or FDE, or 0. */
struct delta_observer {
	void *context;
	void (*problem)(void *context, uint64_t address, enum delta_problem problem);
};

/**
 * Makes @deltas, which the caller deinits. @observer and @statistics may be NULL. -ENOENT: not one
 * usable FDE; -E2BIG: over a limit above or more text than UNWIND_MAX_PAGES; -ENOMEM.
 */
int extract_deltas(const struct unwind_input *input, const struct delta_observer *observer,
		   struct stack_deltas *deltas, struct delta_statistics *statistics);

#endif
