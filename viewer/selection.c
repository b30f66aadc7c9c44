/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "reporter/stack_text.h"

static const char *const selector_names[SELECTOR_COUNT] = {
#define X(NAME, field, kind, owner, unknown, otlp, pprof, selector) [SELECT_##NAME] = selector,
	SAMPLE_ATTRIBUTES(X)
#undef X
		[SELECT_CONTAINER] = "container",
	[SELECT_HOST] = "host",
	[SELECT_KIND] = "kind",
	[SELECT_FUNCTION] = "function",
	[SELECT_BEGIN] = "begin",
	[SELECT_USER] = "user",
	[SELECT_UNIT] = "unit",
	[SELECT_PARENT] = "parent",
};

#define BASE_PREFIX "base_"

static bool is_of_numbers(enum selector selector)
{
	if (selector >= SELECT_CONTAINER)
		return selector == SELECT_PARENT;
	return sample_attributes[selector].kind == ATTRIBUTE_NUMBER;
}

/* Parses decimal digits only. */
static int parse_number(const char *name, const char *text, uint64_t least, uint64_t most,
			uint64_t *number)
{
	uint64_t value = 0;

	if (!*text)
		return fail(-EINVAL, "%s needs a number", name);
	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '9' || value > (UINT64_MAX - 9) / 10)
			return fail(-EINVAL, "%s is no number that makes sense", name);
		value = value * 10 + (uint64_t)(*c - '0');
	}
	if (value < least || value > most)
		return fail(-EINVAL, "%s goes from %llu to %llu", name, (unsigned long long)least,
			    (unsigned long long)most);
	*number = value;
	return 0;
}

const char *request_parameter(const struct api_request *request, const char *name)
{
	for (size_t i = request->parameter_count; i-- > 0;)
		if (!strcmp(request->parameters[i].name, name))
			return request->parameters[i].value;
	return NULL;
}

int request_number(const struct api_request *request, const char *name, uint64_t least,
		   uint64_t most, uint64_t otherwise, uint64_t *number)
{
	const char *text = request_parameter(request, name);

	*number = otherwise;
	return text ? parse_number(name, text, least, most, number) : 0;
}

static int add_value(struct selection_values *values, enum selector selector, const char *text)
{
	uint64_t number;
	int err;

	if (is_of_numbers(selector)) {
		err = parse_number(selector_names[selector], text, 0, UINT32_MAX, &number);
		return err ? err : number_vector_push(&values->numbers[selector], (uint32_t)number);
	}
	return value_vector_push(&values->texts[selector], text);
}

static int add_parameters(struct selection *selection, const struct api_request *request)
{
	const size_t prefix = strlen(BASE_PREFIX);
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; i < request->parameter_count && !err; i++) {
		const struct api_parameter *parameter = &request->parameters[i];

		bool is_of_base = !strncmp(parameter->name, BASE_PREFIX, prefix);

		for (int s = 0; s < SELECTOR_COUNT && !err; s++) {
			if (strcmp(parameter->name + (is_of_base ? prefix : 0), selector_names[s]))
				continue;
			if (strlen(parameter->value) > SELECTION_VALUE_MAX_BYTES)
				return fail(-EINVAL, "a value is too long");
			if (++count > SELECTION_VALUES_MAX)
				return fail(-EINVAL, "more than %d values are chosen by",
					    SELECTION_VALUES_MAX);
			if (is_of_base)
				selection->base_selectors |= 1U << s;
			err = add_value(is_of_base ? &selection->base_values : &selection->values,
					s, parameter->value);
		}
	}
	return err;
}

/* Parses a non-empty range of milliseconds. */
static int parse_range(const struct api_request *request, const char *from_name,
		       const char *to_name, uint64_t *from_ms, uint64_t *to_ms)
{
	int err = request_number(request, from_name, 0, UINT64_MAX, 0, from_ms);

	if (!err)
		err = request_number(request, to_name, 0, UINT64_MAX, UINT64_MAX, to_ms);
	if (!err && *from_ms >= *to_ms)
		err = fail(-EINVAL, "%s is not before %s", from_name, to_name);
	return err;
}

int selection_init(struct selection *selection, const struct api_request *request)
{
	int err;

	*selection = (struct selection){ 0 };
	selection->has_base = request_parameter(request, "base_from") &&
			      request_parameter(request, "base_to");
	err = parse_range(request, "from", "to", &selection->from_ms, &selection->to_ms);
	if (!err && selection->has_base)
		err = parse_range(request, "base_from", "base_to", &selection->base_from_ms,
				  &selection->base_to_ms);
	if (!err)
		err = add_parameters(selection, request);
	if (err)
		selection_deinit(selection);
	if (err || selection->has_base || !selection->base_selectors)
		return err;
	/* Other samples of the same time. */
	selection->has_base = true;
	selection->base_from_ms = selection->from_ms;
	selection->base_to_ms = selection->to_ms;
	return 0;
}

static void deinit_values(struct selection_values *values)
{
	for (int s = 0; s < SELECTOR_COUNT; s++) {
		value_vector_deinit(&values->texts[s]);
		number_vector_deinit(&values->numbers[s]);
	}
}

void selection_deinit(struct selection *selection)
{
	deinit_values(&selection->values);
	deinit_values(&selection->base_values);
}

struct selection selection_base(const struct selection *selection)
{
	struct selection base = {
		.from_ms = selection->base_from_ms,
		.to_ms = selection->base_to_ms,
		.values = selection->values,
	};

	for (int s = 0; s < SELECTOR_COUNT; s++) {
		if (!(selection->base_selectors & 1U << s))
			continue;
		base.values.texts[s] = selection->base_values.texts[s];
		base.values.numbers[s] = selection->base_values.numbers[s];
	}
	return base;
}

bool selection_has_text(const struct selection *selection, enum selector selector, const char *text)
{
	const struct value_vector *texts = &selection->values.texts[selector];

	for (size_t i = 0; i < texts->count; i++)
		if (!strcmp(texts->items[i], text))
			return true;
	return !texts->count;
}

bool selection_has_number(const struct selection *selection, enum selector selector,
			  uint32_t number)
{
	const struct number_vector *numbers = &selection->values.numbers[selector];

	for (size_t i = 0; i < numbers->count; i++)
		if (numbers->items[i] == number)
			return true;
	return !numbers->count;
}

static bool has_attribute(const struct selection *selection, const struct sample *key,
			  uint32_t attribute)
{
	return is_of_numbers(attribute) ?
		       selection_has_number(selection, attribute, sample_number(key, attribute)) :
		       selection_has_text(selection, attribute, sample_text(key, attribute));
}

unsigned int selection_misses(const struct selection *selection, const struct sample *key)
{
	unsigned int misses = 0;

	/* Keys have no CPU: the history has a column for it. */
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		if (i != SAMPLE_CPU && !has_attribute(selection, key, i))
			misses |= 1U << i;
	if (!selection_has_text(selection, SELECT_CONTAINER, sample_container(key)))
		misses |= 1U << SELECT_CONTAINER;
	if (!selection_has_text(selection, SELECT_HOST, sample_host(key)))
		misses |= 1U << SELECT_HOST;
	if (!selection_has_text(selection, SELECT_USER, sample_user(key)))
		misses |= 1U << SELECT_USER;
	if (!selection_has_text(selection, SELECT_UNIT, sample_unit(key)))
		misses |= 1U << SELECT_UNIT;
	if (!selection_has_number(selection, SELECT_PARENT, sample_parent(key)))
		misses |= 1U << SELECT_PARENT;
	return misses;
}
