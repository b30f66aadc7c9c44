/* SPDX-License-Identifier: Apache-2.0 */
/* Written from the description of the format, not from the agent's code, which it checks. */

#include "integration/collector/stack_texts.h"

#include <inttypes.h>
#include <string.h>

#include "integration/collector/check_frames.h"

static const char guess_suffix[] = "_[?]";

/* Appends @name as the text of one frame: cleaned, and without `;`. */
static void append_name(struct text_builder *text, struct span name)
{
	char *copy = strndup(name.count ? (const char *)name.bytes : "", name.count);
	size_t from = text->length;

	if (!copy) {
		text->failed = true;
		return;
	}
	text_builder_append_name(text, copy);
	free(copy);
	for (size_t i = from; i < text->length; i++) {
		if (text->text[i] == ';')
			text->text[i] = ':';
	}
}

static bool ends_as_guess(struct span name)
{
	size_t length = sizeof(guess_suffix) - 1;

	return name.count >= length &&
	       !memcmp(name.bytes + name.count - length, guess_suffix, length);
}

static struct span mapping_filename(const struct otlp_message *message, int32_t index)
{
	if (index <= 0 || (size_t)index >= message->mappings.count)
		return (struct span){ NULL, 0 };
	return otlp_message_string(message, message->mappings.items[index].filename);
}

static struct span basename_of(struct span path)
{
	const uint8_t *slash = path.count ? memrchr(path.bytes, '/', path.count) : NULL;

	if (!slash)
		return path;
	return (struct span){ slash + 1, path.bytes + path.count - slash - 1 };
}

static struct span function_name(const struct otlp_message *message, int32_t index)
{
	if (index <= 0 || (size_t)index >= message->functions.count)
		return (struct span){ NULL, 0 };
	return otlp_message_string(message, message->functions.items[index].name);
}

static void append_address(struct text_builder *text, struct span filename, uint64_t address)
{
	struct span name = basename_of(filename);

	if (name.count)
		append_name(text, name);
	else
		text_builder_append(text, "[unknown]");
	text_builder_format(text, "+0x%" PRIx64, address);
}

static const char *suffix_of(enum frame_type type, bool is_inlined, struct span filename)
{
	if (type == FRAME_TYPE_ABORT_MARKER)
		return "";
	if (type == FRAME_TYPE_KERNEL)
		return "_[k]";
	if (is_inlined)
		return "_[i]";
	return type == FRAME_TYPE_NATIVE && span_is(filename, "[anonymous]") ? "_[j]" : "";
}

static bool has_flag(const struct otlp_message *message, const struct otlp_location *location,
		     const char *key)
{
	const struct otlp_attribute_entry *flag =
		otlp_message_attribute(message, location->attributes, key);

	return flag && flag->value.kind == VALUE_BOOL && flag->value.number;
}

static bool is_guess(const struct otlp_message *message, const struct otlp_location *location)
{
	for (size_t i = 0; i < location->lines.count; i++) {
		const struct otlp_line *line = &message->lines.items[location->lines.first + i];

		if (ends_as_guess(function_name(message, line->function)))
			return true;
	}
	return has_flag(message, location, "allframes.frame.guess");
}

/*
 * Builds the key of a native location, which is the same in every message: file, file id, address,
 * and whether it is a guess.
 */
static void build_key(struct text_builder *key, const struct otlp_message *message,
		      const struct otlp_location *location)
{
	struct span filename = mapping_filename(message, location->mapping);
	const struct otlp_attribute_entry *id = NULL;

	if (location->mapping > 0 && (size_t)location->mapping < message->mappings.count)
		id = otlp_message_attribute(message,
					    message->mappings.items[location->mapping].attributes,
					    "process.executable.build_id.htlhash");
	text_builder_clear(key);
	text_builder_format(key, "%" PRIx64 "%s ", location->address,
			    is_guess(message, location) ? guess_suffix : "");
	if (id)
		text_builder_append_bytes(key, (const char *)id->value.bytes.bytes,
					  id->value.bytes.count);
	text_builder_append(key, " ");
	text_builder_append_bytes(key, (const char *)filename.bytes, filename.count);
}

static const char *find_name(const struct location_names *names, const struct otlp_message *message,
			     const struct otlp_location *location)
{
	struct text_builder key = { 0 };
	const char *found = NULL;
	uint64_t offset;

	build_key(&key, message, location);
	if (hash_map_find_bytes(&names->offsets, text_builder_text(&key), key.length, &offset))
		found = names->texts.text + offset;
	text_builder_deinit(&key);
	return found;
}

int location_names_add(struct location_names *names, const struct otlp_message *message)
{
	struct text_builder key = { 0 };
	int err = 0;

	for (size_t i = 1; i < message->locations.count && !err; i++) {
		const struct otlp_location *location = &message->locations.items[i];
		size_t offset = names->texts.length;

		if (otlp_frame_type(message, location) != FRAME_TYPE_NATIVE ||
		    !location->lines.count)
			continue;
		append_location_text(&names->texts, message, location, NULL);
		text_builder_append_bytes(&names->texts, "", 1);
		build_key(&key, message, location);
		if (names->texts.failed || key.failed)
			err = -ENOMEM;
		else
			err = hash_map_set_bytes(&names->offsets, text_builder_text(&key),
						 key.length, offset);
	}
	text_builder_deinit(&key);
	return err;
}

void location_names_deinit(struct location_names *names)
{
	hash_map_deinit(&names->offsets);
	text_builder_deinit(&names->texts);
}

void append_location_text(struct text_builder *text, const struct otlp_message *message,
			  const struct otlp_location *location, const struct location_names *names)
{
	enum frame_type type = otlp_frame_type(message, location);
	struct span filename = mapping_filename(message, location->mapping);
	bool is_approximate = has_flag(message, location, "allframes.frame.approximate");
	const char *name = NULL;

	if (!location->lines.count && names && type == FRAME_TYPE_NATIVE)
		name = find_name(names, message, location);
	if (name) {
		text_builder_append(text, name);
		return;
	}
	if (!location->lines.count) {
		append_address(text, filename, location->address);
		text_builder_append(text, is_guess(message, location) ?
						  guess_suffix :
						  suffix_of(type, false, filename));
	}
	for (size_t i = location->lines.count; i-- > 0;) {
		const struct otlp_line *line = &message->lines.items[location->lines.first + i];
		struct span function = function_name(message, line->function);
		bool is_outermost = i + 1 == location->lines.count;

		if (!is_outermost)
			text_builder_append(text, ";");
		append_name(text, function);
		if (!is_outermost && is_approximate)
			text_builder_append(text, "_[~]");
		else if (!ends_as_guess(function))
			text_builder_append(text, suffix_of(type, !is_outermost, filename));
	}
}

void append_stack_text(struct text_builder *text, const struct otlp_message *message, int32_t index,
		       const struct location_names *names)
{
	struct range locations;
	bool is_first = true;

	if (index <= 0 || (size_t)index >= message->stacks.count)
		return;
	locations = message->stacks.items[index].locations;
	for (size_t i = locations.count; i-- > 0;) {
		int32_t location = message->numbers.items[locations.first + i];

		if (location <= 0 || (size_t)location >= message->locations.count)
			continue;
		if (!is_first)
			text_builder_append(text, ";");
		is_first = false;
		append_location_text(text, message, &message->locations.items[location], names);
	}
}

int folded_stacks_add(struct folded_stacks *folded, const char *text, uint64_t count)
{
	struct folded_stack stack = { .count = count };
	uint64_t index;
	int err;

	if (hash_map_find_bytes(&folded->indices, text, strlen(text), &index)) {
		folded->stacks.items[index].count += count;
		folded->total += count;
		return 0;
	}
	err = folded_stack_vector_reserve(&folded->stacks, folded->stacks.count + 1);
	if (err)
		return err;
	stack.text = strdup(text);
	if (!stack.text)
		return -ENOMEM;
	err = hash_map_set_bytes(&folded->indices, text, strlen(text), folded->stacks.count);
	if (err) {
		free(stack.text);
		return err;
	}
	folded->total += count;
	return folded_stack_vector_push(&folded->stacks, stack);
}

void folded_stacks_deinit(struct folded_stacks *folded)
{
	for (size_t i = 0; i < folded->stacks.count; i++)
		free(folded->stacks.items[i].text);
	folded_stack_vector_deinit(&folded->stacks);
	hash_map_deinit(&folded->indices);
}

static int compare_stacks(const void *a, const void *b)
{
	const struct folded_stack *left = *(struct folded_stack *const *)a;
	const struct folded_stack *right = *(struct folded_stack *const *)b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return strcmp(left->text, right->text);
}

void folded_stacks_write(struct folded_stacks *folded, FILE *out)
{
	size_t count = folded->stacks.count;
	struct folded_stack **sorted = calloc(count + 1, sizeof(*sorted));

	for (size_t i = 0; i < count && sorted; i++)
		sorted[i] = &folded->stacks.items[i];
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), compare_stacks);
	/* Without memory for sorting, the order is arbitrary. */
	for (size_t i = 0; i < count; i++) {
		const struct folded_stack *stack = sorted ? sorted[i] : &folded->stacks.items[i];

		fprintf(out, "%s %" PRIu64 "\n", stack->text, stack->count);
	}
	free(sorted);
}
