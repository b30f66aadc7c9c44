/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/transforms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "viewer/packages.h"

enum {
	NAMES_MAX = 64,
};

/* A group of a location that is not known yet. */
#define GROUP_UNKNOWN UINT32_MAX

enum mark {
	MARK_KNOWN = 1 << 0,
	MARK_HIDDEN = 1 << 1,
	MARK_BEGIN = 1 << 2,
};

static const char *const fold_names[FOLD_COUNT] = {
	[FOLD_INLINED] = "inlined", [FOLD_UNNAMED] = "unnamed",	    [FOLD_KERNEL] = "kernel",
	[FOLD_RUNTIME] = "runtime", [FOLD_RECURSION] = "recursion",
};

static const char *const unit_names[FRAME_UNIT_COUNT] = {
	[FRAME_OF_FUNCTION] = "function",
	[FRAME_OF_BINARY] = "binary",
	[FRAME_OF_PACKAGE] = "package",
};

/* --- the request --- */

static int add_name(struct value_vector *names, const char *name)
{
	if (names->count == NAMES_MAX)
		return fail(-EINVAL, "at most %d functions are hidden or begun at", NAMES_MAX);
	return value_vector_push(names, name);
}

static int add_fold(struct transforms *transforms, const char *name)
{
	for (int fold = 0; fold < FOLD_COUNT; fold++) {
		if (strcmp(name, fold_names[fold]))
			continue;
		transforms->folds |= 1U << fold;
		return 0;
	}
	return fail(-EINVAL, "fold is inlined, unnamed, kernel, runtime or recursion");
}

int request_unit(const struct api_request *request, const char *name, enum frame_unit *unit)
{
	const char *text = request_parameter(request, name);

	*unit = FRAME_OF_FUNCTION;
	if (!text)
		return 0;
	for (int each = 0; each < FRAME_UNIT_COUNT; each++) {
		if (strcmp(text, unit_names[each]))
			continue;
		*unit = (enum frame_unit)each;
		return 0;
	}
	return fail(-EINVAL, "%s is function, binary or package", name);
}

int transforms_init(struct transforms *transforms, const struct api_request *request)
{
	int err;

	*transforms = (struct transforms){ 0 };
	err = request_unit(request, "frames", &transforms->unit);
	for (size_t i = 0; i < request->parameter_count && !err; i++) {
		const struct api_parameter *parameter = &request->parameters[i];

		if (!strcmp(parameter->name, "hide"))
			err = add_name(&transforms->hidden, parameter->value);
		else if (!strcmp(parameter->name, "begin"))
			err = add_name(&transforms->begins, parameter->value);
		else if (!strcmp(parameter->name, "fold"))
			err = add_fold(transforms, parameter->value);
	}
	return err;
}

void transforms_deinit(struct transforms *transforms)
{
	for (size_t i = 0; i < transforms->lists.count; i++)
		free(transforms->lists.items[i]);
	list_vector_deinit(&transforms->lists);
	mark_vector_deinit(&transforms->marks);
	number_vector_deinit(&transforms->groups);
	number_vector_deinit(&transforms->runtime_groups);
	hash_map_deinit(&transforms->runtimes);
	number_vector_deinit(&transforms->positions);
	number_vector_deinit(&transforms->serials);
	text_builder_deinit(&transforms->text);
	value_vector_deinit(&transforms->hidden);
	value_vector_deinit(&transforms->begins);
}

bool transforms_change_stacks(const struct transforms *transforms)
{
	return transforms->hidden.count || transforms->begins.count || transforms->folds ||
	       transforms->unit != FRAME_OF_FUNCTION;
}

/* --- functions by name --- */

static bool has_name(const struct value_vector *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->items[i], name))
			return true;
	return false;
}

/* The marks of a location's function. Without memory for them they are found anew. */
static uint8_t marks_of(struct transforms *transforms, const struct stack_names *names,
			uint32_t location)
{
	uint32_t function = names->locations.items[location].function;
	uint8_t marks = MARK_KNOWN;
	const char *name;

	while (transforms->marks.count <= function)
		if (mark_vector_push(&transforms->marks, 0))
			break;
	if (function < transforms->marks.count && transforms->marks.items[function])
		return transforms->marks.items[function];
	name = stack_names_text(names, names->functions.items[function].name);
	marks |= has_name(&transforms->hidden, name) ? MARK_HIDDEN : 0;
	marks |= has_name(&transforms->begins, name) ? MARK_BEGIN : 0;
	if (function < transforms->marks.count)
		transforms->marks.items[function] = marks;
	return marks;
}

/* The index of the outermost frame at which stacks begin; 0 if there is none. */
static size_t find_begin(struct transforms *transforms, const struct stack_names *names,
			 const struct location_list *list)
{
	for (size_t i = 0; transforms->begins.count && i < list->count; i++)
		if (marks_of(transforms, names, list->locations[i]) & MARK_BEGIN)
			return i;
	return 0;
}

/* --- groups of frames --- */

static struct packaged_function packaged(const struct stack_names *names, uint32_t location)
{
	const struct function_identity *function = stack_names_function(names, location);

	return (struct packaged_function){
		.kind = function->kind,
		.name = stack_names_text(names, function->name),
		.file = stack_names_text(names, function->file),
		.binary = stack_names_text(names, names->locations.items[location].binary),
	};
}

void unit_name(const struct stack_names *names, uint32_t location, enum frame_unit unit,
	       struct text_builder *text)
{
	const struct packaged_function function = packaged(names, location);

	text_builder_clear(text);
	if (unit == FRAME_OF_BINARY)
		append_binary_name(text, &function);
	else
		append_package(text, &function);
}

static bool is_interpreted(uint8_t kind)
{
	return kind > TEXT_JIT && kind < TEXT_ERROR;
}

int transforms_learn(struct transforms *transforms, const struct stack_names *names,
		     const struct location_list *list)
{
	uint32_t binary = UINT32_MAX;
	int err = 0;

	if (!transforms_fold(transforms, FOLD_RUNTIME))
		return 0;
	/* The caller of interpreted code is the loop that runs it, perhaps by code that the runtime has generated. */
	for (size_t i = 0; i < list->count && !err; i++) {
		uint8_t kind = stack_names_function(names, list->locations[i])->kind;

		if (kind == TEXT_NATIVE)
			binary = names->locations.items[list->locations[i]].binary;
		else if (kind != TEXT_JIT && !is_interpreted(kind))
			binary = UINT32_MAX;
		if (!is_interpreted(kind))
			continue;
		if (binary != UINT32_MAX && *stack_names_text(names, binary))
			err = hash_map_set(&transforms->runtimes, binary, 1);
		binary = UINT32_MAX;
	}
	return err;
}

/* "runtime", "runtime/debug", "internal/runtime/maps". */
static bool is_go_runtime(struct transforms *transforms, const struct stack_names *names,
			  uint32_t location)
{
	const char *package;

	unit_name(names, location, FRAME_OF_PACKAGE, &transforms->text);
	package = text_builder_text(&transforms->text);
	return !strcmp(package, "runtime") || !strncmp(package, "runtime/", 8) ||
	       !strncmp(package, "internal/runtime/", 17);
}

static bool is_of_runtime(struct transforms *transforms, const struct stack_names *names,
			  uint32_t location)
{
	uint8_t kind = stack_names_function(names, location)->kind;
	uint64_t found;

	if (kind == TEXT_GO)
		return is_go_runtime(transforms, names, location);
	return kind == TEXT_NATIVE &&
	       hash_map_find(&transforms->runtimes, names->locations.items[location].binary,
			     &found);
}

/* Sets *@group to that of @location by @unit. Code in a binary has the binary as its file, and is native then. */
static int make_group(struct transforms *transforms, struct stack_names *names, uint32_t location,
		      enum frame_unit unit, uint32_t *group)
{
	uint8_t kind = stack_names_function(names, location)->kind;
	uint32_t binary = unit == FRAME_OF_BINARY ? names->locations.items[location].binary :
						    transforms->no_text;

	if (binary != transforms->no_text && kind != TEXT_KERNEL)
		kind = TEXT_NATIVE;
	unit_name(names, location, unit, &transforms->text);
	if (transforms->text.failed)
		return -ENOMEM;
	return stack_names_group(names, kind, text_builder_text(&transforms->text), binary, binary,
				 group);
}

/* Sets *@known, of @groups, to what is known of @location, which may be nothing yet. */
static int find_group(struct number_vector *groups, uint32_t location, uint32_t **known)
{
	int err = 0;

	while (groups->count <= location && !err)
		err = number_vector_push(groups, GROUP_UNKNOWN);
	*known = err ? NULL : &groups->items[location];
	return err;
}

static int make_runtime(struct transforms *transforms, struct stack_names *names, uint32_t location,
			uint32_t *group)
{
	uint32_t binary = names->locations.items[location].binary;

	if (stack_names_function(names, location)->kind == TEXT_GO)
		return stack_names_group(names, TEXT_GO, "[runtime of Go]", binary, binary, group);
	return make_group(transforms, names, location, FRAME_OF_BINARY, group);
}

static int fold_runtime(struct transforms *transforms, struct stack_names *names,
			uint32_t *location)
{
	uint32_t *known, group = *location;
	int err = find_group(&transforms->runtime_groups, *location, &known);

	if (!err && *known == GROUP_UNKNOWN) {
		if (is_of_runtime(transforms, names, *location))
			err = make_runtime(transforms, names, *location, &group);
		*known = group;
	}
	if (!err)
		*location = *known;
	return err;
}

static int fold_unnamed(struct transforms *transforms, struct stack_names *names, const char *comm,
			uint32_t *location)
{
	uint32_t nothing = transforms->no_text;

	text_builder_clear(&transforms->text);
	text_builder_format(&transforms->text, "[unnamed code of %s]", *comm ? comm : "[unknown]");
	if (transforms->text.failed)
		return -ENOMEM;
	return stack_names_group(names, TEXT_JIT, text_builder_text(&transforms->text), nothing,
				 nothing, location);
}

/* In outputs of the agent that are opened, such code has its address as a name. */
static bool is_unnamed(const struct stack_names *names, uint32_t location)
{
	const struct function_identity *function = stack_names_function(names, location);

	if (is_interpreted(function->kind))
		return function->is_unnamed;
	return function->kind == TEXT_JIT &&
	       (function->is_unnamed ||
		!strncmp(stack_names_text(names, function->name), "[anonymous]+0x", 14));
}

static int fold_frame(struct transforms *transforms, struct stack_names *names, const char *comm,
		      uint32_t *location)
{
	uint8_t kind = stack_names_function(names, *location)->kind;
	uint32_t nothing = transforms->no_text;

	if (transforms_fold(transforms, FOLD_UNNAMED) && is_unnamed(names, *location))
		return fold_unnamed(transforms, names, comm, location);
	if (transforms_fold(transforms, FOLD_KERNEL) && kind == TEXT_KERNEL)
		return stack_names_group(names, TEXT_KERNEL, "[kernel]", nothing, nothing,
					 location);
	if (transforms_fold(transforms, FOLD_RUNTIME))
		return fold_runtime(transforms, names, location);
	return 0;
}

static int group_frame(struct transforms *transforms, struct stack_names *names, uint32_t *location)
{
	uint32_t *known, group;
	int err;

	if (transforms->unit == FRAME_OF_FUNCTION ||
	    stack_names_function(names, *location)->kind == TEXT_ERROR)
		return 0;
	err = find_group(&transforms->groups, *location, &known);
	if (!err && *known == GROUP_UNKNOWN) {
		err = make_group(transforms, names, *location, transforms->unit, &group);
		if (!err)
			*known = group;
	}
	if (!err)
		*location = *known;
	return err;
}

/* --- recursion --- */

static int reserve_positions(struct transforms *transforms, size_t count)
{
	int err = 0;

	while (transforms->serials.count < count && !err) {
		err = number_vector_push(&transforms->positions, 0);
		if (!err)
			err = number_vector_push(&transforms->serials, 0);
	}
	return err;
}

/* Cuts out what is between two calls of a function, in place. */
static int fold_recursion(struct transforms *transforms, const struct stack_names *names,
			  uint32_t *locations, size_t *count)
{
	uint32_t *positions, *serials;
	size_t kept = 0;
	int err = reserve_positions(transforms, names->functions.count);

	if (err)
		return err;
	positions = transforms->positions.items;
	serials = transforms->serials.items;
	transforms->serial++;
	for (size_t i = 0; i < *count; i++) {
		uint32_t function = names->locations.items[locations[i]].function;
		bool is_again =
			serials[function] == transforms->serial && positions[function] < kept &&
			names->locations.items[locations[positions[function]]].function == function;

		kept = is_again ? positions[function] : kept;
		locations[kept] = locations[i];
		positions[function] = (uint32_t)kept++;
		serials[function] = transforms->serial;
	}
	*count = kept;
	return 0;
}

/* --- lists --- */

static int change_list(struct transforms *transforms, struct stack_names *names, const char *comm,
		       const struct location_list *list, uint32_t *changed, size_t *count)
{
	size_t kept = 0;

	for (size_t i = find_begin(transforms, names, list); i < list->count; i++) {
		uint32_t location = list->locations[i];
		int err;

		if (marks_of(transforms, names, location) & MARK_HIDDEN ||
		    (transforms_fold(transforms, FOLD_INLINED) &&
		     stack_names_function(names, location)->flags & TEXT_INLINED))
			continue;
		err = fold_frame(transforms, names, comm, &location);
		if (!err)
			err = group_frame(transforms, names, &location);
		if (err)
			return err;
		/* A group may be hidden by its own name. */
		if (location != list->locations[i]) {
			if (marks_of(transforms, names, location) & MARK_HIDDEN)
				continue;
			if (kept && names->locations.items[changed[kept - 1]].function ==
					    names->locations.items[location].function)
				continue;
		}
		changed[kept++] = location;
	}
	*count = kept;
	return transforms_fold(transforms, FOLD_RECURSION) ?
		       fold_recursion(transforms, names, changed, count) :
		       0;
}

int transforms_apply(struct transforms *transforms, struct stack_names *names, const char *comm,
		     struct location_list *list)
{
	uint32_t *changed = malloc((list->count + 1) * sizeof(*changed));
	size_t count = 0;
	int err = changed ? list_vector_push(&transforms->lists, changed) : -ENOMEM;

	if (err) {
		free(changed);
		return err;
	}
	err = stack_names_intern(names, "", &transforms->no_text);
	if (!err)
		err = change_list(transforms, names, comm, list, changed, &count);
	if (!err)
		*list = (struct location_list){ .locations = changed, .count = count };
	return err;
}
