// SPDX-License-Identifier: Apache-2.0
#include "agent/option_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/text.h"

enum {
	/* Longer names are like none. */
	NAME_MAX_BYTES = 48,
	/* Of so many characters one may be wrong. */
	CHARACTERS_PER_ERROR = 4,
	ERRORS_MAX = 3,
	/* Characters of an abbreviation that stands for a name. */
	ABBREVIATION_MIN = 3,
};

#define VARIABLE_PREFIX "ALLFRAMES_"

const struct option *option_find(const char *text, size_t length)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option *option = &option_table[i];

		if ((strlen(option->name) == length && !memcmp(option->name, text, length)) ||
		    (length == 1 && option->letter == *text))
			return option;
	}
	return NULL;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* How many characters must be added, removed, replaced or swapped with their neighbour to make @b of @a. */
static uint32_t count_errors(const char *a, size_t a_length, const char *b, size_t b_length)
{
	uint32_t rows[3][NAME_MAX_BYTES + 1];
	uint32_t *before_last = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_length; j++)
		row[j] = (uint32_t)j;
	for (size_t i = 1; i <= a_length; i++) {
		uint32_t *oldest = before_last;

		before_last = last;
		last = row;
		row = oldest;
		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= b_length; j++) {
			uint32_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = least(replaced, least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before_last[j - 2] + 1);
		}
	}
	return row[b_length];
}

/* The option whose name has the fewest errors, few enough for its length. */
static const struct option *find_misspelt(const char *text, size_t length)
{
	const struct option *found = NULL;
	uint32_t fewest = least((uint32_t)length / CHARACTERS_PER_ERROR, ERRORS_MAX) + 1;

	if (length > NAME_MAX_BYTES)
		return NULL;
	for (size_t i = 0; i < option_count; i++) {
		const char *name = option_table[i].name;
		uint32_t errors = strlen(name) <= NAME_MAX_BYTES ?
					  count_errors(text, length, name, strlen(name)) :
					  fewest;

		if (errors < fewest) {
			fewest = errors;
			found = &option_table[i];
		}
	}
	return found;
}

const struct option *option_find_near(const char *text, size_t length)
{
	const struct option *found = find_misspelt(text, length);

	for (size_t i = 0; i < option_count && !found && length >= ABBREVIATION_MIN; i++) {
		if (!strncmp(option_table[i].name, text, length))
			found = &option_table[i];
	}
	return found;
}

void option_variable(const struct option *option, char variable[OPTION_VARIABLE_BYTES])
{
	snprintf(variable, OPTION_VARIABLE_BYTES, VARIABLE_PREFIX "%s", option->name);
	for (char *at = variable; *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

/* The name of an option as @variable has it behind the prefix; its length, 0 if it is none. */
static size_t name_in_variable(const char *variable, char name[NAME_MAX_BYTES + 1])
{
	const char *from = variable + strlen(VARIABLE_PREFIX);
	size_t length = strcspn(from, "=");

	if (!text_starts_with(variable, VARIABLE_PREFIX) || length > NAME_MAX_BYTES)
		return 0;
	for (size_t i = 0; i < length; i++)
		name[i] = from[i] == '_' ? '-' : (char)tolower((unsigned char)from[i]);
	name[length] = '\0';
	return length;
}

void option_warn_of_variables(void)
{
	char name[NAME_MAX_BYTES + 1], right[OPTION_VARIABLE_BYTES];

	for (char **variable = environ; variable && *variable; variable++) {
		size_t length = name_in_variable(*variable, name);
		const struct option *near;

		if (!length || (length > 1 && option_find(name, length)))
			continue;
		near = option_find_near(name, length);
		if (!near)
			continue;
		option_variable(near, right);
		log_warn("%.*s is not used; did you mean %s?", (int)strcspn(*variable, "="),
			 *variable, right);
	}
}
