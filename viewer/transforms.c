/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/transforms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	HIDDEN_MAX = 64,
};

enum mark {
	MARK_UNKNOWN,
	MARK_SHOWN,
	MARK_HIDDEN,
};

int transforms_init(struct transforms *transforms, const struct api_request *request)
{
	int err = 0;

	*transforms = (struct transforms){ 0 };
	for (size_t i = 0; i < request->parameter_count && !err; i++) {
		if (strcmp(request->parameters[i].name, "hide"))
			continue;
		if (transforms->hidden.count == HIDDEN_MAX)
			return fail(-EINVAL, "at most %d functions are hidden", HIDDEN_MAX);
		err = value_vector_push(&transforms->hidden, request->parameters[i].value);
	}
	return err;
}

void transforms_deinit(struct transforms *transforms)
{
	for (size_t i = 0; i < transforms->lists.count; i++)
		free(transforms->lists.items[i]);
	list_vector_deinit(&transforms->lists);
	mark_vector_deinit(&transforms->marks);
	value_vector_deinit(&transforms->hidden);
}

static uint8_t judge(const struct transforms *transforms, const char *name)
{
	for (size_t i = 0; i < transforms->hidden.count; i++)
		if (!strcmp(transforms->hidden.items[i], name))
			return MARK_HIDDEN;
	return MARK_SHOWN;
}

/* Makes room for the marks of all functions that are known by now. */
static int reserve_marks(struct transforms *transforms, const struct stack_names *names)
{
	int err = 0;

	while (transforms->marks.count < names->functions.count && !err)
		err = mark_vector_push(&transforms->marks, MARK_UNKNOWN);
	return err;
}

static bool is_hidden(struct transforms *transforms, const struct stack_names *names,
		      uint32_t location)
{
	uint32_t function = names->locations.items[location].function;
	uint8_t *mark = &transforms->marks.items[function];

	if (*mark == MARK_UNKNOWN)
		*mark = judge(transforms,
			      stack_names_text(names, names->functions.items[function].name));
	return *mark == MARK_HIDDEN;
}

int transforms_apply(struct transforms *transforms, const struct stack_names *names,
		     struct location_list *list)
{
	size_t first = 0, kept;
	uint32_t *changed;
	int err;

	if (!transforms->hidden.count)
		return 0;
	err = reserve_marks(transforms, names);
	if (err)
		return err;
	while (first < list->count && !is_hidden(transforms, names, list->locations[first]))
		first++;
	if (first == list->count)
		return 0;
	changed = malloc(list->count * sizeof(*changed));
	err = changed ? list_vector_push(&transforms->lists, changed) : -ENOMEM;
	if (err) {
		free(changed);
		return err;
	}
	kept = first;
	memcpy(changed, list->locations, first * sizeof(*changed));
	for (size_t i = first; i < list->count; i++)
		if (!is_hidden(transforms, names, list->locations[i]))
			changed[kept++] = list->locations[i];
	*list = (struct location_list){ .locations = changed, .count = kept };
	return 0;
}
