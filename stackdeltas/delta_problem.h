/* SPDX-License-Identifier: Apache-2.0 */
/** Problems in unwind tables, rows that our rules cannot express, and the observer that gets them. */
#ifndef STACKDELTAS_DELTA_PROBLEM_H
#define STACKDELTAS_DELTA_PROBLEM_H

#include <stdint.h>

#include "stackdeltas/code/code_analysis.h"

/* name, text. Up to OVERLAP they are problems of CIEs and FDEs, the others of single rows. */
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
	/** Number of FDEs from which rows were made. */
	uint32_t fde_count;
	/** Number of FDEs of length 0, which linkers leave for functions that they dropped. */
	uint32_t empty_fde_count;
	/** Result of the analysis of code without tables. */
	struct code_analysis_statistics code;
	/** Number of CIEs, FDEs or rows with each problem. */
	uint32_t problems[DELTA_PROBLEM_COUNT];
};

/** Called for every problem, in no special order; the address is that of the row or FDE, or 0. */
struct delta_observer {
	void *context;
	void (*problem)(void *context, uint64_t address, enum delta_problem problem);
};

/** The observer and the statistics together, as the parts of the extractor pass them on. */
struct delta_report {
	/** May be NULL; borrowed. */
	const struct delta_observer *observer;
	struct delta_statistics statistics;
};

void delta_report_problem(struct delta_report *report, uint64_t address,
			  enum delta_problem problem);

/** Returns a short text for users. */
const char *delta_problem_text(enum delta_problem problem);

#endif
