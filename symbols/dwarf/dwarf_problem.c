/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/dwarf/dwarf_problem.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	TEXT_BYTES = 128,
};

static _Thread_local char problem[TEXT_BYTES];

void dwarf_problem_clear(void)
{
	problem[0] = '\0';
}

void dwarf_problem_note(const char *format, ...)
{
	va_list arguments;

	if (problem[0])
		return;
	va_start(arguments, format);
	vsnprintf(problem, sizeof(problem), format, arguments);
	va_end(arguments);
}

const char *dwarf_problem_text(void)
{
	return problem;
}
