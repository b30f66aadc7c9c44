/* SPDX-License-Identifier: Apache-2.0 */
/** Command lines as tests write them. */
#ifndef AGENT_TESTS_PARSE_OPTIONS_H
#define AGENT_TESTS_PARSE_OPTIONS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Before cmocka.h, whose macro fail() would break its declarations. */
#include "agent/options.h"
#include "lib/base/error.h"

#include <cmocka.h>

enum { MAX_ARGUMENTS = 32 };

/* Arguments end with a NULL. */
static inline int parse_list(struct options *options, va_list list)
{
	char *arguments[MAX_ARGUMENTS] = { "agent" };
	int count = 1;

	while ((arguments[count] = va_arg(list, char *)))
		count++;
	return options_parse(options, count, arguments);
}

/* Parses the arguments, which end with a NULL; the test fails if they are refused. */
static inline struct options parse(const char *first, ...)
{
	struct options options = { 0 };
	char *arguments[MAX_ARGUMENTS] = { "agent", (char *)first };
	int count = 1;
	va_list list;

	va_start(list, first);
	while (arguments[count])
		arguments[++count] = va_arg(list, char *);
	va_end(list);
	if (options_parse(&options, count, arguments))
		fail_msg("refused: %s", error_text());
	return options;
}

/* Parses what follows @text, which must fail, with @text in the error and nothing given out. */
static inline void assert_refused(const char *text, ...)
{
	struct options options;
	struct options untouched;
	va_list list;
	int error;

	memset(&options, 0x5a, sizeof(options));
	memset(&untouched, 0x5a, sizeof(untouched));
	va_start(list, text);
	error = parse_list(&options, list);
	va_end(list);
	assert_int_equal(error, -EINVAL);
	if (!strstr(error_text(), text))
		fail_msg("'%s' does not tell '%s'", error_text(), text);
	assert_memory_equal(&options, &untouched, sizeof(options));
}

/* Only what the agent reads: others tell cmocka and the sanitizers how to report. */
static inline int clear_environment(void **state)
{
	char **variable = environ;

	(void)state;
	while (*variable) {
		char name[64];

		if ((strncmp(*variable, "ALLFRAMES_", strlen("ALLFRAMES_")) == 0 ||
		     strncmp(*variable, "OTEL_", strlen("OTEL_")) == 0) &&
		    sscanf(*variable, "%63[^=]", name) == 1) {
			unsetenv(name);
			variable = environ;
		} else {
			variable++;
		}
	}
	return 0;
}

#define option_test(function) cmocka_unit_test_setup(function, clear_environment)

#endif
