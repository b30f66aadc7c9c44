/* SPDX-License-Identifier: Apache-2.0 */
/** What can be wrong with unwind tables, or beyond what our rules express, and who is told of it. */
#ifndef STACKDELTAS_DELTA_PROBLEM_H
#define STACKDELTAS_DELTA_PROBLEM_H

#include <stdint.h>

#include "stackdeltas/code/code_analysis.h"

/* name, text. Up to OVERLAP they are of CIEs and FDEs, the others of single rows. */
#define DELTA_PROBLEMS(X)                                                                          \
	X(NONE, "none")                                                                            \
	X(BAD_CIE, "CIE malformed or of an unknown kind")                                          \
	X(BAD_FDE, "FDE malformed")                                                                \
	X(OUTSIDE, "FDE outside of every executable segment")                                      \
	X(BAD_SOURCE, "source beside .eh_frame damaged")                                           \
	X(OVERLAP, "FDE starts where another one does")                                            \
	X(NO_CFA, "no rule for the CFA")                                                           \
	X(CFA_EXPRESSION, "CFA expression not understood")                                         \
	X(CFA_RANGE, "CFA offset out of range")                                                    \
	X(RETURN_ADDRESS, "rule of the return address not expressible")                            \
	X(STACK_POINTER, "rule of the stack pointer not expressible")                              \
	X(FRAME_POINTER, "rule of the frame pointer not expressible")                              \
	X(TOO_MANY_RULES, "more distinct rules than fit")

enum delta_problem {
#define X(name, text) DELTA_PROBLEM_##name,
	DELTA_PROBLEMS(X)
#undef X
		DELTA_PROBLEM_COUNT,
};

struct delta_statistics {
	uint32_t cie_count;
	/** FDEs that gave rows. */
	uint32_t fde_count;
	/** FDEs of length 0, as linkers leave them for functions that they dropped. */
	uint32_t empty_fde_count;
	/** What was made of code without tables. */
	struct code_analysis_statistics code;
	/** Of each kind: CIEs, FDEs or rows that it befell. */
	uint32_t problems[DELTA_PROBLEM_COUNT];
};

/** Told of every problem, in no special order; the address is that of the row or FDE, or 0. */
struct delta_observer {
	void *context;
	void (*problem)(void *context, uint64_t address, enum delta_problem problem);
};

/** Both in one, as the parts of the extractor pass it on. */
struct delta_report {
	/** NULL if nobody asks; borrowed. */
	const struct delta_observer *observer;
	struct delta_statistics statistics;
};

void delta_report_problem(struct delta_report *report, uint64_t address,
			  enum delta_problem problem);

/** Short text for users. */
const char *delta_problem_text(enum delta_problem problem);

#endif
