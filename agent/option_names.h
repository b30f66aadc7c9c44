/* SPDX-License-Identifier: Apache-2.0 */
/** Names of options on the command line and in the environment, those that are misspelt too. */
#ifndef AGENT_OPTION_NAMES_H
#define AGENT_OPTION_NAMES_H

#include "agent/option_table.h"

enum {
	OPTION_VARIABLE_BYTES = 64,
};

/** The option with the name, or the letter, in the @length bytes of @text; NULL if there is none. */
const struct option *option_find(const char *text, size_t length);

/** The option whose name is like @text, which is that of none, or begins with it; NULL if there is none. */
const struct option *option_find_near(const char *text, size_t length);

/** Writes the name of the environment's variable: ALLFRAMES_NAME. */
void option_variable(const struct option *option, char variable[OPTION_VARIABLE_BYTES]);

/** Logs a warning for each variable of the environment that is like that of an option. Others may be of other programs. */
void option_warn_of_variables(void);

#endif
