/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that differ for us can be equal in the output, as copies of a file in two containers. So a
 * frame's key is only a shortcut to an entry; the dictionary decides which entries are equal.
 */

#include "reporter/otlp_frames.h"

#include <string.h>

#include "lib/model/languages.h"
#include "reporter/frame_key.h"
#include "reporter/stack_text.h"

static const char *frame_type(uint8_t kind)
{
	const struct language_id *language = language_by_kind(kind);

	switch (kind) {
	case FRAME_NATIVE:
		return "native";
	case FRAME_KERNEL:
		return "kernel";
	case FRAME_ERROR:
		return "abort-marker";
	default:
		return language ? language->otlp_type : "unknown";
	}
}

static uint32_t add_type_attribute(struct otlp_frames *frames, const char *type)
{
	struct otlp_attribute_entry attribute = {
		.key = frames->type_key,
		.kind = OTLP_VALUE_TEXT,
		.value = otlp_add_string(frames->dictionary, type),
	};

	return otlp_add_attribute(frames->dictionary, &attribute);
}

void otlp_frames_init(struct otlp_frames *frames, struct otlp_dictionary *dictionary,
		      struct symbol_lookup *lookup)
{
	struct otlp_attribute_entry guess = { .kind = OTLP_VALUE_TRUE };
	struct otlp_attribute_entry approximate = { .kind = OTLP_VALUE_TRUE };

	*frames = (struct otlp_frames){
		.dictionary = dictionary,
		.lookup = lookup,
		.type_key = otlp_add_string(dictionary, "profile.frame.type"),
		.build_id_key = otlp_add_string(dictionary, "process.executable.build_id.gnu"),
		.file_id_key = otlp_add_string(dictionary, "process.executable.build_id.htlhash"),
	};
	guess.key = otlp_add_string(dictionary, "allframes.frame.guess");
	approximate.key = otlp_add_string(dictionary, "allframes.frame.approximate");
	frames->native_type = add_type_attribute(frames, frame_type(FRAME_NATIVE));
	frames->kernel_type = add_type_attribute(frames, frame_type(FRAME_KERNEL));
	frames->guess_attribute = otlp_add_attribute(dictionary, &guess);
	frames->approximate_attribute = otlp_add_attribute(dictionary, &approximate);
}

void otlp_frames_deinit(struct otlp_frames *frames)
{
	hash_map_deinit(&frames->stacks);
	hash_map_deinit(&frames->binaries);
	hash_map_deinit(&frames->locations);
	number_vector_deinit(&frames->stack);
	number_vector_deinit(&frames->lines);
}

static void remember(struct otlp_frames *frames, struct hash_map *map, uint64_t key, uint64_t value)
{
	if (!frames->dictionary->err)
		frames->dictionary->err = hash_map_set(map, key, value);
}

static uint32_t add_hex_attribute(struct otlp_frames *frames, uint32_t key, const uint8_t *bytes,
				  size_t count)
{
	struct otlp_attribute_entry attribute = { .key = key, .kind = OTLP_VALUE_TEXT };

	for (size_t i = 0; i < count; i++)
		text_builder_format(&frames->dictionary->text, "%02x", bytes[i]);
	attribute.value = otlp_add_built_string(frames->dictionary);
	return otlp_add_attribute(frames->dictionary, &attribute);
}

static uint32_t add_binary_mapping(struct otlp_frames *frames, const struct binary *binary)
{
	static const struct file_id no_file_id;
	uint32_t attributes[2 + PROGRAM_FACTS_MAX];
	struct otlp_mapping_entry mapping = {
		.memory_start = binary->memory_start,
		.memory_limit = binary->memory_limit,
		.file_offset = binary->file_offset,
		.filename = otlp_add_string(frames->dictionary, binary->path),
		.attributes = attributes,
	};

	if (binary->build_id_bytes)
		attributes[mapping.attribute_count++] = add_hex_attribute(
			frames, frames->build_id_key, binary->build_id, binary->build_id_bytes);
	for (uint32_t i = 0; binary->facts && i < binary->facts->count; i++)
		if (binary->facts->items[i].is_of_binary)
			attributes[mapping.attribute_count++] = otlp_add_text_attribute(
				frames->dictionary, binary->facts->items[i].key,
				binary->facts->items[i].text);
	if (memcmp(&binary->file_id, &no_file_id, sizeof(no_file_id)))
		attributes[mapping.attribute_count++] =
			add_hex_attribute(frames, frames->file_id_key, binary->file_id.bytes,
					  sizeof(binary->file_id.bytes));
	return otlp_add_mapping(frames->dictionary, &mapping);
}

/* The value in frames->binaries, added if it is new. */
static uint64_t find_binary(struct otlp_frames *frames, const struct binary *binary)
{
	uint64_t entry;

	if (binary == frames->last_binary)
		return frames->last_binary_entry;
	if (!hash_map_find(&frames->binaries, (uintptr_t)binary, &entry)) {
		entry = (uint64_t)frames->binaries.count << 32 | add_binary_mapping(frames, binary);
		remember(frames, &frames->binaries, (uintptr_t)binary, entry);
	}
	frames->last_binary = binary;
	frames->last_binary_entry = entry;
	return entry;
}

static uint32_t add_mapping(struct otlp_frames *frames, const struct frame *frame)
{
	struct otlp_mapping_entry nameless = { 0 };

	if (frame->kind != FRAME_NATIVE && frame->kind != FRAME_KERNEL)
		return 0;
	/* A profile that was opened may not say where the code is. */
	if (frame->binary)
		return frame->binary->is_nowhere ? 0 : find_binary(frames, frame->binary);
	/* Code generated at run time by a process, or a BPF program. */
	nameless.filename = otlp_add_string(frames->dictionary, frame->kind == FRAME_NATIVE ?
									"[anonymous]" :
								frame->file ? frame->file :
									      "[kernel]");
	return otlp_add_mapping(frames->dictionary, &nameless);
}

static uint32_t find_type_attribute(struct otlp_frames *frames, uint8_t kind)
{
	if (kind == FRAME_NATIVE)
		return frames->native_type;
	return kind == FRAME_KERNEL ? frames->kernel_type :
				      add_type_attribute(frames, frame_type(kind));
}

/* The function's system name stays empty because the name is not mangled. */
static uint32_t add_function(struct otlp_frames *frames, const struct named_frame *name)
{
	struct otlp_dictionary *dictionary = frames->dictionary;
	struct otlp_function_entry function;

	append_frame_name(&dictionary->text, name);
	if (name->frame->flags & FRAME_GUESS)
		text_builder_append(&dictionary->text, doubt_suffix(name));
	function.name = otlp_add_built_string(dictionary);
	function.filename = name->file ? otlp_add_string(dictionary, name->file) : 0;
	function.start_line = name->start_line;
	return otlp_add_function(dictionary, &function);
}

static void push_number(struct otlp_frames *frames, struct number_vector *numbers, uint32_t number)
{
	if (!frames->dictionary->err)
		frames->dictionary->err = number_vector_push(numbers, number);
}

/*
 * Puts the functions, lines and columns of the frames into frames->lines. Returns the kind for the
 * frame type: the language of native code, else the frame's kind.
 */
static uint8_t add_lines(struct otlp_frames *frames, const struct shown_location *shown)
{
	struct named_frame names[FRAME_MAX_NAMES];
	uint32_t count = name_location(shown, frames->lookup, names);
	const struct frame *frame = &shown->frames[0];

	frames->lines.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		bool is_named = names[i].function && *names[i].function;

		/*
		 * The substitute for a missing name would be the file and the address, which the
		 * location has anyway.
		 */
		if (!is_named && frame->kind != FRAME_ERROR &&
		    !frame_kind_is_interpreted(frame->kind))
			continue;
		push_number(frames, &frames->lines, add_function(frames, &names[i]));
		push_number(frames, &frames->lines, names[i].line);
		push_number(frames, &frames->lines, names[i].column);
	}
	return frame->kind == FRAME_NATIVE && names[0].language ? names[0].language : frame->kind;
}

static uint32_t add_new_location(struct otlp_frames *frames, const struct shown_location *shown)
{
	uint8_t kind = add_lines(frames, shown);
	const struct frame *frame = &shown->frames[0];
	uint32_t attributes[3] = { find_type_attribute(frames, kind) };
	struct otlp_location_entry location = {
		.mapping = add_mapping(frames, frame),
		.address = frame->kind == FRAME_ERROR ? unwind_error_number(frame->error) :
							frame_lookup_address(frame),
		.attributes = attributes,
		.attribute_count = 1,
		.lines = frames->lines.items,
		.line_count = frames->lines.count / OTLP_LINE_WORDS,
	};

	if (frame->flags & FRAME_GUESS && frame->kind != FRAME_ERROR && !location.line_count)
		attributes[location.attribute_count++] = frames->guess_attribute;
	if (frame->flags & FRAME_APPROXIMATE)
		attributes[location.attribute_count++] = frames->approximate_attribute;
	return otlp_add_location(frames->dictionary, &location);
}

static uint32_t add_location_by_key(struct otlp_frames *frames, const struct shown_location *shown)
{
	const struct frame *frame = &shown->frames[0];
	struct frame_key key = frame_key_make(frame, (uintptr_t)frame->binary);
	uint64_t id;

	/* Traces are cached as a whole, and the dictionary finds equal locations. */
	if (shown->count > 1)
		return add_new_location(frames, shown);
	if (frame_carries_name(frame)) {
		key.function =
			frame->function ? otlp_add_string(frames->dictionary, frame->function) : 0;
		key.file = frame->file ? otlp_add_string(frames->dictionary, frame->file) : 0;
	}
	if (hash_map_find_bytes(&frames->locations, &key, sizeof(key), &id))
		return id;
	id = add_new_location(frames, shown);
	if (!frames->dictionary->err)
		frames->dictionary->err =
			hash_map_set_bytes(&frames->locations, &key, sizeof(key), id);
	return id;
}

/*
 * True if the frame's key fits into one number, *@key. Most frames are in a file, the kernel or a
 * module, where an address has one name: the key is then the number of the binary and the low
 * FRAME_ADDRESS_BITS of the address. Exceptions: pseudo modules, such as that of all BPF programs,
 * whose memory is reused; frames that carry their name; and frames that are shown because of a
 * panic.
 */
static bool short_key(struct otlp_frames *frames, const struct frame *frame, uint64_t *key)
{
	uint64_t number;

	if (!frame->binary || (frame->kind != FRAME_NATIVE && frame->kind != FRAME_KERNEL))
		return false;
	if (frame->flags & FRAME_SHOWS_GENERATED ||
	    (frame->kind == FRAME_KERNEL ? !frame->binary->memory_limit :
					   frame_carries_name(frame)))
		return false;
	number = find_binary(frames, frame->binary) >> 32;
	if (number >> (63 - FRAME_ADDRESS_BITS))
		return false;
	*key = (frame_lookup_address(frame) & FRAME_ADDRESS_MASK) |
	       (number << 1 | (frame->flags & FRAME_GUESS ? 1 : 0)) << FRAME_ADDRESS_BITS;
	return true;
}

static uint32_t add_location(struct otlp_frames *frames, const struct shown_location *shown)
{
	uint64_t key, id;

	if (!short_key(frames, &shown->frames[0], &key))
		return add_location_by_key(frames, shown);
	if (!hash_map_find(&frames->locations, key, &id)) {
		id = add_new_location(frames, shown);
		remember(frames, &frames->locations, key, id);
	}
	return id;
}

uint32_t otlp_frames_stack(struct otlp_frames *frames, const struct trace *trace)
{
	uint64_t id;

	if (hash_map_find(&frames->stacks, (uintptr_t)trace, &id))
		return id;
	frames->stack.count = 0;
	for (uint32_t i = 0; i < trace->frame_count;) {
		struct shown_location shown;

		trace_shown_location(trace, &i, frames->lookup, &shown);
		if (shown.count)
			push_number(frames, &frames->stack, add_location(frames, &shown));
	}
	id = otlp_add_stack(frames->dictionary, &frames->stack);
	remember(frames, &frames->stacks, (uintptr_t)trace, id);
	return id;
}
