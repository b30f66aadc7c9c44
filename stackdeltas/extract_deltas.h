/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Converts .eh_frame to stack deltas: a pure function of the bytes in struct unwind_input. A bad CIE
 * or FDE costs only the functions that it describes, never the file. Time and memory are linear in
 * the input. A row that the rules of ebpf/abi/slab.h cannot express becomes
 * CFA_UNSUPPORTED, and is counted and reported to the observer.
 */
#ifndef STACKDELTAS_EXTRACT_DELTAS_H
#define STACKDELTAS_EXTRACT_DELTAS_H

#include "lib/model/stack_deltas.h"
#include "stackdeltas/delta_problem.h"
#include "stackdeltas/unwind_input.h"

/**
 * Makes @deltas, which the caller deinits. @observer and @statistics may be NULL. -ENOENT: not one
 * usable FDE; -E2BIG: too many FDEs, rows (fde_table.h, delta_builder.h) or too much text; -ENOMEM.
 */
int extract_deltas(const struct unwind_input *input, const struct delta_observer *observer,
		   struct stack_deltas *deltas, struct delta_statistics *statistics);

#endif
