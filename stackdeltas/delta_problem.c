/* SPDX-License-Identifier: Apache-2.0 */
/* Problems: their texts, counting and telling. */
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

void delta_report_problem(struct delta_report *report, uint64_t address, enum delta_problem problem)
{
	report->statistics.problems[problem]++;
	if (report->observer)
		report->observer->problem(report->observer->context, address, problem);
}
