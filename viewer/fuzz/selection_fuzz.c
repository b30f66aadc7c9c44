/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query parameters of any texts, a line for each: a name, "=", a value. They are refused with a text, or the selection
 * keeps its limits.
 *
 * covers: selection.c
 */
#include "viewer/selection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

enum { PARAMETERS_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Splits @text at the ends of lines and the first "=" of each. */
static size_t split(char *text, struct api_parameter *parameters)
{
	size_t count = 0;

	while (count < PARAMETERS_MAX) {
		char *line = strsep(&text, "\n"), *value;

		if (!line)
			break;
		value = strchr(line, '=');
		if (value)
			*value++ = '\0';
		parameters[count++] = (struct api_parameter){ line, value ? value : "" };
	}
	return count;
}

/* The number of values that @selection has of its own. */
static size_t check_values(const struct selection *selection)
{
	size_t count = 0;

	for (int s = 0; s < SELECTOR_COUNT; s++) {
		const struct value_vector *texts = &selection->values.texts[s];

		count += texts->count + selection->values.numbers[s].count;
		for (size_t i = 0; i < texts->count; i++) {
			assert(strlen(texts->items[i]) <= SELECTION_VALUE_MAX_BYTES);
			assert(selection_has_text(selection, s, texts->items[i]));
		}
	}
	return count;
}

static void check(const struct selection *selection)
{
	struct selection base = *selection;
	struct sample key = { .process_comm = "a", .thread_comm = "b" };

	base.values = selection->base_values;
	assert(selection->from_ms < selection->to_ms);
	assert(!selection->has_base || selection->base_from_ms < selection->base_to_ms);
	assert(check_values(selection) + check_values(&base) <= SELECTION_VALUES_MAX);
	assert(!(selection_misses(selection, &key) >> SELECTOR_COUNT));
	(void)selection_has_number(selection, SELECT_CPU, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct api_parameter parameters[PARAMETERS_MAX];
	struct api_request request = { .path = "", .parameters = parameters };
	char *text = calloc(1, size + 1);
	struct selection selection;
	uint64_t number;
	int err;

	assert(text);
	if (size)
		memcpy(text, data, size);
	request.parameter_count = split(text, parameters);
	err = selection_init(&selection, &request);
	if (!err) {
		check(&selection);
		selection_deinit(&selection);
	} else {
		assert(err == -EINVAL && *error_text());
	}
	if (!request_number(&request, "from", 1, 9, 5, &number))
		assert(number >= 1 && number <= 9);
	free(text);
	return 0;
}
