/* SPDX-License-Identifier: Apache-2.0 */
/** The text of -help: examples, then each option in a line, those first that a newcomer needs. */
#ifndef AGENT_OPTION_HELP_H
#define AGENT_OPTION_HELP_H

#include <stdio.h>

#include "agent/option_table.h"

/** One command line of the examples, and what it does. */
struct option_example {
	const char *arguments;
	const char *meaning;
};

enum { OPTION_EXAMPLE_COUNT = 4 };

extern const struct option_example option_examples[OPTION_EXAMPLE_COUNT];

/** The title of an enum option_group. */
const char *option_group_title(uint32_t group);

/** The purpose of the program, in one paragraph. */
extern const char option_purpose[];

/** Prints the text, at most 80 columns wide. @program: the name under which it was started. */
void options_print_help(FILE *file, const char *program);

#endif
