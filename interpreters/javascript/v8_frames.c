/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/javascript/v8_function.h"
#include "interpreters/javascript/v8_positions.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/** Number of elements in an entry of deoptimization data, and position of the translation's index in it. */
	DEOPT_ENTRY_ELEMENTS = 3,
	DEOPT_ENTRY_TRANSLATION = 1,
	/** An inlining position: a packed position, then the literal of the inlined function, then padding. */
	INLINING_BYTES = 16,
	/** Low half of a weak pointer whose object is gone. */
	CLEARED_WEAK = 3,
};

/* Finds the offset in the script of the bytecode at @offset of the BytecodeArray; -1 without a table. */
static int find_script_offset(const struct v8_heap *heap, uint64_t bytecodes, int32_t offset,
			      int32_t *script_offset)
{
	const struct v8_layout *layout = heap->layout;
	_cleanup_(elf_bytes_deinit) struct elf_bytes table = { 0 };
	struct v8_position position;
	uint64_t word = 0;
	int err = v8_check_type(heap, &bytecodes, layout->type_bytecodes);

	if (!err)
		err = v8_field(heap, bytecodes, layout->bytecodes_positions, &word);
	if (err)
		return err;
	*script_offset = -1;
	/* An embedder may let V8 collect positions only on demand. */
	err = v8_bytes_read(heap, word, V8_TABLE_MAX_BYTES, &table);
	if (err)
		return err == -EBADMSG ? 0 : err;
	err = v8_positions_find(layout->line, table.data, table.size, offset, &position);
	if (!err)
		*script_offset = position.script_offset;
	return err == -ENOENT ? 0 : err;
}

static int read_interpreted(const struct v8_heap *heap, const struct v8_frame *frame,
			    struct v8_frame_functions *functions)
{
	const int32_t before = heap->layout->bytecodes_data - V8_TAG;
	int32_t offset = 0;

	/* The offset is relative to the tagged pointer. */
	if (!v8_smi(frame->bytecode_offset, &offset) || offset < before)
		return fail(-EBADMSG, "%#" PRIx64 " is no bytecode offset", frame->bytecode_offset);
	return find_script_offset(heap, frame->bytecodes, offset - before,
				  &functions->items[0].script_offset);
}

static int read_bytecodes(const struct v8_heap *heap, uint64_t bytecodes, struct elf_bytes *bytes)
{
	const struct v8_layout *layout = heap->layout;
	int32_t length = 0;
	int err = v8_check_type(heap, &bytecodes, layout->type_bytecodes);

	if (!err)
		err = v8_field_smi(heap, bytecodes, layout->bytecodes_length, &length);
	if (!err && (length < 0 || length > V8_TABLE_MAX_BYTES))
		err = fail(-E2BIG, "%d bytes of bytecodes", length);
	if (err)
		return err;
	bytes->data = malloc(length ? length : 1);
	if (!bytes->data)
		return -ENOMEM;
	bytes->size = length;
	return remote_memory_read(heap->memory, bytecodes - V8_TAG + layout->bytecodes_data,
				  bytes->data, bytes->size);
}

static int read_baseline(const struct v8_heap *heap, const struct v8_frame *frame,
			 struct v8_frame_functions *functions)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes table = { 0 };
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytecodes = { 0 };
	int32_t offset = 0;
	int err = v8_bytes_read(heap, frame->code.positions, V8_TABLE_MAX_BYTES, &table);

	if (!err)
		err = read_bytecodes(heap, frame->bytecodes, &bytecodes);
	if (!err)
		err = v8_baseline_offset(heap->layout->line, table.data, table.size, bytecodes.data,
					 bytecodes.size, (uint32_t)(frame->pc - frame->code.start),
					 frame->is_return_address, &offset);
	if (!err)
		err = find_script_offset(heap, frame->bytecodes, offset,
					 &functions->items[0].script_offset);
	return err;
}

/* Finds the safepoint of the frame's call; -ENOENT if there is none. */
static int find_safepoint(const struct v8_heap *heap, const struct v8_frame *frame,
			  struct v8_safepoint *safepoint)
{
	const struct v8_code *code = &frame->code;
	_cleanup_(free_pointer) uint8_t *table = NULL;
	int err;

	if (!frame->is_return_address)
		return fail(-ENOENT, "no call");
	if (code->metadata_size > V8_TABLE_MAX_BYTES)
		return fail(-E2BIG, "%u bytes of safepoints", code->metadata_size);
	table = malloc(code->metadata_size + 1);
	if (!table)
		return -ENOMEM;
	err = remote_memory_read(heap->memory, code->start + code->size, table,
				 code->metadata_size);
	return err ? err :
		     v8_safepoint_find(heap->layout->line, code->tier == V8_TIER_MAGLEV, table,
				       code->metadata_size, (uint32_t)(frame->pc - code->start),
				       safepoint);
}

/* Reads the SharedFunctionInfo at element @index of the literals of the deoptimization data. */
static int read_literal(const struct v8_heap *heap, const struct v8_code *code, int32_t index,
			uint64_t *shared)
{
	uint64_t literals = 0, word = 0;
	int err = v8_array_element(heap, code->data, heap->layout->deopt_literals, &literals);

	if (!err)
		err = v8_array_element(heap, literals, (uint32_t)index, &word);
	if (!err && (uint32_t)word == CLEARED_WEAK)
		err = fail(-EBADMSG, "an inlined function that is gone");
	if (!err && (word & V8_TAG_MASK) == V8_WEAK_TAG)
		word = (word & ~(uint64_t)V8_TAG_MASK) | V8_TAG;
	if (!err)
		err = v8_check_type(heap, &word, heap->layout->type_shared);
	if (!err)
		*shared = word;
	return err;
}

int v8_optimized_function(const struct v8_heap *heap, const struct v8_code *code, uint64_t *shared)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t word = 0;
	int err = v8_array_element(heap, code->data, layout->deopt_shared, &word);

	if (!err && layout->wrapper_shared != V8_ABSENT) {
		err = v8_check_type(heap, &word, layout->type_wrapper);
		if (!err)
			err = v8_field(heap, word, layout->wrapper_shared, &word);
	}
	if (!err)
		err = v8_check_type(heap, &word, layout->type_shared);
	if (!err)
		*shared = word;
	return err;
}

static int read_translation(const struct v8_heap *heap, const struct v8_code *code,
			    int32_t deopt_index, struct v8_translated_frames *frames)
{
	const struct v8_layout *layout = heap->layout;
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	uint64_t word = 0;
	int32_t index = 0;
	int err = v8_array_element(heap, code->data,
				   layout->deopt_entries +
					   (uint32_t)deopt_index * DEOPT_ENTRY_ELEMENTS +
					   DEOPT_ENTRY_TRANSLATION,
				   &word);

	if (!err && (!v8_smi(word, &index) || index < 0))
		err = fail(-EBADMSG, "%#" PRIx64 " is no index of a translation", word);
	if (!err)
		err = v8_array_element(heap, code->data, layout->deopt_translations, &word);
	if (!err)
		err = v8_bytes_read(heap, word, V8_TABLE_MAX_BYTES, &bytes);
	return err ? err :
		     v8_translation_read(layout->line, bytes.data, bytes.size, (size_t)index,
					 frames);
}

/* Finds the BytecodeArray of a translated frame. */
static int find_bytecodes(const struct v8_heap *heap, const struct v8_code *code,
			  const struct v8_translated_frame *frame, uint64_t shared,
			  uint64_t *bytecodes)
{
	uint64_t literals = 0;
	int err;

	if (frame->bytecodes < 0)
		return v8_shared_bytecodes(heap, shared, bytecodes);
	err = v8_array_element(heap, code->data, heap->layout->deopt_protected_literals, &literals);
	return err ? err : v8_array_element(heap, literals, (uint32_t)frame->bytecodes, bytecodes);
}

static int read_by_translation(const struct v8_heap *heap, const struct v8_frame *frame,
			       struct v8_frame_functions *functions)
{
	struct v8_translated_frames *frames;
	_cleanup_(free_pointer) void *memory = frames = malloc(sizeof(*frames));
	struct v8_safepoint safepoint;
	int err;

	if (!memory)
		return -ENOMEM;
	err = find_safepoint(heap, frame, &safepoint);
	if (!err && safepoint.deopt_index < 0)
		err = fail(-ENOENT, "a call without a translation");
	if (!err)
		err = read_translation(heap, &frame->code, safepoint.deopt_index, frames);
	functions->count = 0;
	for (uint32_t i = err ? 0 : frames->count; !err && i; i--) {
		const struct v8_translated_frame *from = &frames->items[i - 1];
		struct v8_frame_function *function = &functions->items[functions->count++];
		uint64_t bytecodes = 0;

		*function = (struct v8_frame_function){
			.script_offset = -1,
			.is_builtin = from->is_builtin,
			.is_construct = from->is_construct,
		};
		err = read_literal(heap, &frame->code, from->literal, &function->shared);
		if (!err && !from->is_builtin)
			err = find_bytecodes(heap, &frame->code, from, function->shared,
					     &bytecodes);
		if (!err && !from->is_builtin)
			err = find_script_offset(heap, bytecodes, from->bytecode_offset,
						 &function->script_offset);
	}
	if (!err && !functions->count)
		err = fail(-EBADMSG, "a translation without a function");
	return err;
}

/* Reads the inlined function @id, and the position of the call to it. */
static int read_inlining(const struct v8_heap *heap, const struct v8_frame *frame,
			 const struct elf_bytes *inlining, int32_t id, uint64_t *shared,
			 struct v8_position *position)
{
	uint64_t packed;
	int32_t literal;

	if ((uint64_t)id * INLINING_BYTES + INLINING_BYTES > inlining->size)
		return fail(-EBADMSG, "no inlined function %d", id);
	memcpy(&packed, inlining->data + (size_t)id * INLINING_BYTES, sizeof(packed));
	memcpy(&literal, inlining->data + (size_t)id * INLINING_BYTES + sizeof(packed),
	       sizeof(literal));
	*position = v8_position_decode(packed);
	/* The function is inlined into itself. */
	return literal == -1 ? v8_optimized_function(heap, &frame->code, shared) :
			       read_literal(heap, &frame->code, literal, shared);
}

static int read_by_positions(const struct v8_heap *heap, const struct v8_frame *frame,
			     struct v8_frame_functions *functions)
{
	const struct v8_layout *layout = heap->layout;
	_cleanup_(elf_bytes_deinit) struct elf_bytes table = { 0 };
	_cleanup_(elf_bytes_deinit) struct elf_bytes inlining = { 0 };
	struct v8_safepoint safepoint = { .pc_offset = (uint32_t)(frame->pc - frame->code.start) };
	struct v8_position position = { .inlining_id = -1 };
	uint64_t word = 0;
	int err;

	if (frame->pc < frame->code.start || frame->pc - frame->code.start > INT32_MAX)
		return fail(-EBADMSG, "a pc outside of its code");
	err = find_safepoint(heap, frame, &safepoint);

	/* The safepoint only undoes a return address that the deoptimizer has replaced; not every call has one. */
	if (!err || err == -ENOENT || err == -EBADMSG)
		err = v8_bytes_read(heap, frame->code.positions, V8_TABLE_MAX_BYTES, &table);
	if (err == -EBADMSG)
		err = fail(-ENOENT, "code without positions");
	if (!err)
		err = v8_positions_find(layout->line, table.data, table.size,
					(int32_t)safepoint.pc_offset - frame->is_return_address,
					&position);
	if (!err)
		err = v8_array_element(heap, frame->code.data, layout->deopt_inlining, &word);
	if (!err && position.inlining_id >= 0)
		err = v8_bytes_read(heap, word, V8_TABLE_MAX_BYTES, &inlining);
	functions->count = 0;
	while (!err && position.inlining_id >= 0 && functions->count < V8_INLINED_MAX - 1) {
		struct v8_frame_function *function = &functions->items[functions->count++];

		*function = (struct v8_frame_function){ .script_offset = position.script_offset };
		err = read_inlining(heap, frame, &inlining, position.inlining_id, &function->shared,
				    &position);
	}
	if (!err && position.inlining_id >= 0)
		err = fail(-E2BIG, "too many inlined functions");
	if (!err) {
		struct v8_frame_function *function = &functions->items[functions->count++];

		*function = (struct v8_frame_function){ .script_offset = position.script_offset };
		err = v8_optimized_function(heap, &frame->code, &function->shared);
	}
	return err;
}

/* Sets the result to the frame's own function alone, without an offset. */
static void set_own_function(const struct v8_frame *frame, struct v8_frame_functions *functions)
{
	functions->count = 1;
	functions->items[0] =
		(struct v8_frame_function){ .shared = frame->shared, .script_offset = -1 };
}

static int read_optimized(const struct v8_heap *heap, const struct v8_frame *frame,
			  enum v8_inlining_source source, struct v8_frame_functions *functions)
{
	int err = -ENOENT;

	if (source != V8_INLINING_POSITIONS)
		err = read_by_translation(heap, frame, functions);
	/* A version may have unknown operations in its translations; then the other table is used. */
	if (source == V8_INLINING_POSITIONS ||
	    (source == V8_INLINING_BEST && (err == -ENOENT || err == -EBADMSG)))
		err = read_by_positions(heap, frame, functions);
	if (source == V8_INLINING_BEST && (err == -ENOENT || err == -EBADMSG)) {
		set_own_function(frame, functions);
		err = 0;
	}
	return err;
}

int v8_frame_find_functions(const struct v8_heap *heap, const struct v8_frame *frame,
			    enum v8_inlining_source source, struct v8_frame_functions *functions)
{
	set_own_function(frame, functions);
	switch (frame->tier) {
	case V8_TIER_INTERPRETED:
		return read_interpreted(heap, frame, functions);
	case V8_TIER_BASELINE:
		return read_baseline(heap, frame, functions);
	case V8_TIER_MAGLEV:
	case V8_TIER_TURBOFAN:
		return read_optimized(heap, frame, source, functions);
	default:
		return fail(-ENOENT, "code of no function");
	}
}
