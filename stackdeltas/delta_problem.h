/* SPDX-License-Identifier: Apache-2.0 */
/** What can be wrong with unwind tables, or beyond what our rules express. */
#ifndef STACKDELTAS_DELTA_PROBLEM_H
#define STACKDELTAS_DELTA_PROBLEM_H

/* name, text. The first four are of CIEs and FDEs, the others of single rows. */
#define DELTA_PROBLEMS(X)                                                                          \
	X(NONE, "none")                                                                            \
	X(BAD_CIE, "CIE malformed or of an unknown kind")                                          \
	X(BAD_FDE, "FDE malformed")                                                                \
	X(OUTSIDE, "FDE outside of every executable segment")                                      \
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

/** Short text for users. */
const char *delta_problem_text(enum delta_problem problem);

#endif
