// SPDX-License-Identifier: Apache-2.0
#include "agent/option_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/near_text.h"
#include "lib/base/text.h"

enum {
	/* Longer names are like none. */
	NAME_MAX_BYTES = 48,
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

const struct option *option_find_near(const char *text, size_t length)
{
	const struct option *found = NULL;
	struct near_text near;

	near_text_init(&near, text, length);
	for (size_t i = 0; i < option_count; i++) {
		if (near_text_improves(&near, option_table[i].name))
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
