/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the problems. */
#include "stackdeltas/delta_problem.h"

const char *delta_problem_text(enum delta_problem problem)
{
	static const char *const texts[DELTA_PROBLEM_COUNT] = {
#define X(name, text) [DELTA_PROBLEM_##name] = text,
		DELTA_PROBLEMS(X)
#undef X
	};

	return (unsigned int)problem < DELTA_PROBLEM_COUNT ? texts[problem] : "unknown problem";
}
