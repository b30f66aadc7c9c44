/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/profile_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

void profile_facts_deinit(struct profile_facts *facts)
{
	for (uint32_t i = 0; i < facts->type_count; i++) {
		free(facts->types[i].type);
		free(facts->types[i].unit);
	}
	for (size_t i = 0; i < facts->comment_count; i++)
		free(facts->comments[i]);
	for (size_t i = 0; i < facts->part_count; i++)
		free(facts->parts[i].name);
	free(facts->parts);
	free(facts->types);
	free(facts->comments);
	free(facts->period_type);
	free(facts->period_unit);
	*facts = (struct profile_facts){ 0 };
}

/* Reads "1/100 " at the start of @unit, and returns what follows; @unit itself if there is none. */
static const char *read_decimals(const char *unit, uint8_t *decimals)
{
	size_t zeros;

	*decimals = 0;
	if (!text_starts_with(unit, "1/1"))
		return unit;
	zeros = strspn(unit + 3, "0");
	if (!zeros || zeros > VALUE_DECIMALS_MAX || unit[3 + zeros] != ' ')
		return unit;
	*decimals = (uint8_t)zeros;
	return unit + 3 + zeros + 1;
}

static int push_type(struct profile_facts *facts, const char *type, const char *unit,
		     uint8_t decimals)
{
	struct value_type *made;

	if (facts->type_count == PROFILE_TYPES_MAX)
		return fail(-E2BIG, "it has more than %d types of values", PROFILE_TYPES_MAX);
	if (!facts->types)
		facts->types = calloc(PROFILE_TYPES_MAX, sizeof(*facts->types));
	if (!facts->types)
		return -ENOMEM;
	made = &facts->types[facts->type_count];
	made->type = strdup(type);
	made->unit = strdup(unit);
	made->decimals = decimals;
	if (made->type && made->unit) {
		facts->type_count++;
		return 0;
	}
	free(made->type);
	free(made->unit);
	*made = (struct value_type){ 0 };
	return -ENOMEM;
}

int profile_facts_add_type(struct profile_facts *facts, const char *type, const char *unit,
			   uint32_t *index)
{
	uint8_t decimals;
	uint32_t i = 0;
	int err;

	unit = read_decimals(unit, &decimals);
	while (i < facts->type_count &&
	       (strcmp(facts->types[i].type, type) || strcmp(facts->types[i].unit, unit) ||
		facts->types[i].decimals != decimals))
		i++;
	if (i == facts->type_count) {
		err = push_type(facts, type, unit, decimals);
		if (err)
			return err;
	}
	*index = i;
	return 0;
}

int profile_facts_set_period(struct profile_facts *facts, const char *type, const char *unit,
			     int64_t period)
{
	char *type_copy, *unit_copy;

	if (facts->period_type || period <= 0)
		return 0;
	type_copy = strdup(type);
	unit_copy = strdup(unit);
	if (!type_copy || !unit_copy) {
		free(type_copy);
		free(unit_copy);
		return -ENOMEM;
	}
	facts->period_type = type_copy;
	facts->period_unit = unit_copy;
	facts->period = period;
	return 0;
}

int profile_facts_add_comment(struct profile_facts *facts, const char *comment)
{
	if (facts->comment_count == PROFILE_COMMENTS_MAX)
		return 0;
	if (!facts->comments)
		facts->comments = calloc(PROFILE_COMMENTS_MAX, sizeof(*facts->comments));
	if (!facts->comments)
		return -ENOMEM;
	facts->comments[facts->comment_count] = strdup(comment);
	if (!facts->comments[facts->comment_count])
		return -ENOMEM;
	facts->comment_count++;
	return 0;
}

int profile_facts_add_part(struct profile_facts *facts, const char *name, uint64_t first_ns,
			   uint64_t last_ns)
{
	struct profile_part part = { .first_ns = first_ns, .last_ns = last_ns };

	if (facts->part_count == PROFILE_PARTS_MAX)
		return 0;
	if (!facts->parts)
		facts->parts = calloc(PROFILE_PARTS_MAX, sizeof(*facts->parts));
	part.name = facts->parts ? strdup(name) : NULL;
	if (!part.name)
		return -ENOMEM;
	facts->parts[facts->part_count++] = part;
	return 0;
}

bool value_type_is_called(const char *type, const char *unit, const char *name)
{
	size_t length = strlen(type);

	return !strncmp(name, type, length) &&
	       (!name[length] || (name[length] == '/' && !strcmp(name + length + 1, unit)));
}

int profile_facts_find_type(const struct profile_facts *facts, const char *name, uint32_t *index)
{
	for (uint32_t i = 0; i < facts->type_count; i++) {
		if (value_type_is_called(facts->types[i].type, facts->types[i].unit, name)) {
			*index = i;
			return 0;
		}
	}
	return -ENOENT;
}

uint64_t value_type_scale(const struct value_type *type)
{
	uint64_t scale = 1;

	for (uint8_t i = 0; i < type->decimals; i++)
		scale *= 10;
	return scale;
}

void value_type_append_unit(struct text_builder *text, const struct value_type *type)
{
	if (type->decimals)
		text_builder_format(text, "1/%" PRIu64 " ", value_type_scale(type));
	text_builder_append_name(text, type->unit);
}

void value_type_append_value(struct text_builder *text, const struct value_type *type,
			     int64_t value)
{
	uint64_t scale = value_type_scale(type);
	uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;

	text_builder_format(text, "%s%" PRIu64, value < 0 ? "-" : "", magnitude / scale);
	if (!(magnitude % scale))
		return;
	text_builder_format(text, ".%0*" PRIu64, type->decimals, magnitude % scale);
	while (!text->failed && text->text[text->length - 1] == '0')
		text->text[--text->length] = '\0';
}
