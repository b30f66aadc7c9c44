/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/name_pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "viewer/expression.h"

struct name_pattern {
	/* NULL if it is an expression. */
	char *text;
	struct expression expression;
};

int name_pattern_create(const char *text, struct name_pattern **pattern)
{
	size_t length = strlen(text);
	bool is_expression = length > 2 && *text == '/' && text[length - 1] == '/';
	struct name_pattern *made;
	int err = 0;

	if (length > NAME_PATTERN_MAX_BYTES)
		return fail(-EINVAL, "the text to search for is too long");
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	if (is_expression)
		err = expression_compile(&made->expression, text + 1, text + length - 1);
	else if (!(made->text = strdup(text)))
		err = -ENOMEM;
	if (err)
		name_pattern_destroy(made);
	else
		*pattern = made;
	return err;
}

void name_pattern_destroy(struct name_pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->text);
	free(pattern);
}

/* --- matching --- */

/* The states that are followed at once, each once. */
struct states {
	size_t count;
	uint16_t indexes[OPERATIONS_MAX];
	bool is_in[OPERATIONS_MAX];
};

struct location {
	bool is_start;
	bool is_end;
	bool is_word_edge;
};

/* Adds a state and all that it leads to without a character. */
static void add_state(const struct expression *expression, struct states *states, size_t first,
		      const struct location *location)
{
	uint16_t waiting[2 * OPERATIONS_MAX];
	size_t count = 0;

	waiting[count++] = (uint16_t)first;
	while (count) {
		size_t index = waiting[--count];
		const struct operation *operation = &expression->operations[index];

		if (states->is_in[index])
			continue;
		states->is_in[index] = true;
		states->indexes[states->count++] = (uint16_t)index;
		switch (operation->kind) {
		case AT_START:
		case AT_END:
		case AT_WORD_EDGE:
		case NOT_AT_WORD_EDGE:
			if (operation->kind == AT_START	    ? location->is_start :
			    operation->kind == AT_END	    ? location->is_end :
			    operation->kind == AT_WORD_EDGE ? location->is_word_edge :
							      !location->is_word_edge)
				waiting[count++] = (uint16_t)(index + 1);
			break;
		case SPLIT:
			waiting[count++] = (uint16_t)((int)index + operation->other);
			waiting[count++] = (uint16_t)((int)index + operation->to);
			break;
		case JUMP:
			waiting[count++] = (uint16_t)((int)index + operation->to);
			break;
		default:
			break;
		}
	}
}

static void empty_states(struct states *states)
{
	for (size_t i = 0; i < states->count; i++)
		states->is_in[states->indexes[i]] = false;
	states->count = 0;
}

static bool is_in_ranges(const struct code_set *set, uint32_t code)
{
	for (size_t i = 0; i < set->count; i++)
		if (code >= set->ranges[i].from && code <= set->ranges[i].to)
			return true;
	return false;
}

static bool accepts(const struct expression *expression, const struct operation *operation,
		    uint32_t code)
{
	const struct code_set *set;

	switch (operation->kind) {
	case MATCH_CODE:
		return lower_code(code) == operation->code;
	case MATCH_ANY:
		return code != '\n' && code != '\r';
	case MATCH_SET:
		set = &expression->sets[operation->code];
		return (is_in_ranges(set, lower_code(code)) ||
			is_in_ranges(set, upper_code(code))) != set->is_negated;
	default:
		return false;
	}
}

static bool matches_expression(const struct expression *expression, const char *name)
{
	const char *at = name, *end = name + strlen(name);
	struct states states[2] = { 0 };
	struct states *now = &states[0], *next = &states[1];
	struct location location = { .is_start = true };
	uint32_t before = 0, code = 0;

	for (;;) {
		const char *behind = at;

		code = at < end ? expression_next_code(&behind, end) : 0;
		location.is_end = at == end;
		location.is_word_edge = (!location.is_start && is_word_code(before)) !=
					(!location.is_end && is_word_code(code));
		/* The states that the last character led to, then one that starts here. */
		empty_states(next);
		for (size_t i = 0; i < now->count; i++)
			if (accepts(expression, &expression->operations[now->indexes[i]], before))
				add_state(expression, next, now->indexes[i] + 1, &location);
		add_state(expression, next, 0, &location);
		if (next->is_in[expression->operation_count - 1])
			return true;
		if (location.is_end)
			return false;
		before = code;
		at = behind;
		location.is_start = false;
		now = next;
		next = now == &states[0] ? &states[1] : &states[0];
	}
}

bool name_pattern_matches(const struct name_pattern *pattern, const char *name)
{
	return pattern->text ? strcasestr(name, pattern->text) != NULL :
			       matches_expression(&pattern->expression, name);
}
