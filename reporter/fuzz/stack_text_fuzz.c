/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of frames of all kinds whose names are any bytes. The line must split into exactly the
 * comm and the frames, and contain only valid UTF-8 without control characters.
 */
#include "reporter/stack_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "reporter/tests/whole_stack.h"

enum {
	FRAMES_MAX = 32,
	/* The number of traits; a function has none or one. */
	TRAITS = 4,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

struct fuzz_lookup {
	struct symbol_lookup lookup;
	const char *name;
	uint32_t count;
};

static uint32_t traits_at(uint64_t address)
{
	static const uint32_t traits[TRAITS] = {
		0,
		FUNCTION_IS_GENERATED,
		FUNCTION_BEGINS_GENERATED,
		FUNCTION_SHOWS_GENERATED,
	};

	return traits[address % TRAITS];
}

static uint32_t resolve(struct symbol_lookup *lookup, struct binary *binary, uint64_t address,
			struct symbol *symbols, uint32_t capacity)
{
	struct fuzz_lookup *fuzz = (struct fuzz_lookup *)lookup;

	(void)binary;
	for (uint32_t i = 0; i < fuzz->count && i < capacity; i++)
		symbols[i] = (struct symbol){
			.function = fuzz->name,
			.flags = !i && traits_at(address) & FUNCTION_BEGINS_GENERATED ?
					 SYMBOL_GENERATED :
					 0,
		};
	return fuzz->count < capacity ? fuzz->count : capacity;
}

static uint32_t traits(struct symbol_lookup *lookup, struct binary *binary, uint64_t address)
{
	(void)lookup;
	(void)binary;
	return traits_at(address);
}

static const struct symbol_lookup_ops lookup_ops = {
	.resolve = resolve,
	.traits = traits,
};

static struct frame read_frame(struct byte_reader *reader, struct binary *binary)
{
	static const uint8_t kinds[] = { FRAME_KERNEL, FRAME_NATIVE, FRAME_ERROR,
					 FRAME_FIRST_INTERPRETED };
	uint8_t choice = byte_reader_u8(reader);
	struct frame frame = {
		.kind = kinds[choice & 3],
		.flags = (choice >> 2 & 3) | (choice & 128 ? FRAME_INLINED : 0),
		.address = byte_reader_u64(reader),
		.binary = choice & 16 ? binary : NULL,
	};

	if (frame.kind == FRAME_ERROR)
		frame.error = byte_reader_u8(reader);
	if (choice & 32)
		frame.function = byte_reader_string(reader);
	if (choice & 64)
		frame.file = byte_reader_string(reader);
	return frame;
}

static size_t count_semicolons(const char *text)
{
	size_t count = 0;

	while ((text = strchr(text, ';'))) {
		text++;
		count++;
	}
	return count;
}

static void check_text(const char *text, size_t frame_count)
{
	struct text_builder again = { 0 };

	assert(count_semicolons(text) == frame_count);
	for (const char *at = text; *at; at++)
		assert((unsigned char)*at >= 0x20 && *at != 0x7f);
	/* Cleaning a clean text changes nothing. */
	text_builder_append_name(&again, text);
	assert(!strcmp(text_builder_text(&again), text));
	text_builder_deinit(&again);
}

static uint32_t name_count(const struct fuzz_lookup *fuzz, const struct frame *frame)
{
	uint32_t hidden = (traits_at(frame_lookup_address(frame)) & FUNCTION_BEGINS_GENERATED) &&
			  !(frame->flags & FRAME_SHOWS_GENERATED);

	if (frame_carries_name(frame) || fuzz->count < 2)
		return 1;
	return fuzz->count - hidden;
}

/* Names all code locations of the trace; each fits into FRAME_MAX_NAMES. */
static size_t count_names_of_locations(const struct trace *trace, struct symbol_lookup *lookup)
{
	struct named_frame names[FRAME_MAX_NAMES];
	struct shown_location location;
	uint32_t index = 0;
	size_t count = 0;
	uint32_t named;

	while (index < trace->frame_count) {
		trace_shown_location(trace, &index, lookup, &location);
		named = name_location(&location, lookup, names);
		for (uint32_t i = 0; i < named; i++)
			assert(frame_trait(&names[i]).kind < TEXT_KIND_COUNT);
		count += named;
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const struct program_facts facts = {
		.languages = 1 << (FRAME_GO - FRAME_FIRST_INTERPRETED),
	};
	struct fuzz_lookup fuzz = { .lookup.ops = &lookup_ops };
	struct frame frames[FRAMES_MAX], shown;
	struct text_builder text = { 0 };
	struct byte_reader reader;
	size_t expected = 0;
	uint32_t frame_count = 0;
	struct binary *binary;
	struct trace *trace;
	const char *comm, *path;

	byte_reader_init(&reader, bytes, count);
	fuzz.count = byte_reader_u8(&reader) % (FRAME_MAX_NAMES + 1);
	comm = byte_reader_string(&reader);
	fuzz.name = byte_reader_string(&reader);
	path = byte_reader_string(&reader);
	if (byte_reader_failed(&reader))
		return 0;
	binary = binary_create(&(struct binary){
		.fd = -1, .path = (char *)path, .facts = fuzz.count & 1 ? &facts : NULL });
	while (byte_reader_left(&reader) && frame_count < FRAMES_MAX)
		frames[frame_count++] = read_frame(&reader, binary);
	trace = trace_create(frames, frame_count, false, false);
	for (uint32_t i = 0; i < frame_count; i++)
		if (trace_shown_frame(trace, i, &fuzz.lookup, &shown))
			expected += name_count(&fuzz, &shown);
	assert(count_names_of_locations(trace, &fuzz.lookup) == expected);
	append_stack_text(&text, comm, trace, &fuzz.lookup);
	check_text(text_builder_text(&text), expected);
	text_builder_deinit(&text);
	trace_unref(trace);
	binary_unref(binary);
	return 0;
}
