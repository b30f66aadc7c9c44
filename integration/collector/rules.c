/* SPDX-License-Identifier: Apache-2.0 */
/* Counts violations of rules. */

#include "integration/collector/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const texts[RULE_COUNT] = {
#define RULE_TEXT(number, name, text) [number] = (text),
	RULE_TABLE(RULE_TEXT)
#undef RULE_TEXT
};

const char *rule_text(enum rule rule)
{
	return rule > RULE_NONE && rule < RULE_COUNT && texts[rule] ? texts[rule] : "";
}

void findings_add(struct findings *findings, enum rule rule, const char *format, ...)
{
	va_list arguments;

	if (findings->rules[rule].count++)
		return;
	va_start(arguments, format);
	vsnprintf(findings->rules[rule].example, RULE_EXAMPLE_BYTES, format, arguments);
	va_end(arguments);
}

void findings_merge(struct findings *findings, const struct findings *more)
{
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (!findings->rules[rule].count)
			memcpy(findings->rules[rule].example, more->rules[rule].example,
			       RULE_EXAMPLE_BYTES);
		findings->rules[rule].count += more->rules[rule].count;
	}
}

uint64_t findings_count(const struct findings *findings)
{
	uint64_t count = 0;

	for (int rule = 0; rule < RULE_COUNT; rule++)
		count += findings->rules[rule].count;
	return count;
}
