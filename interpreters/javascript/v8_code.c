/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/** Size of a page that has a list of its code (up to 11.3). */
	PAGE_BYTES = 1 << 18,
	/** An object has at least 32 bytes. */
	PAGE_MAX_OBJECTS = PAGE_BYTES / 32,
	/** Limit of the instructions of one object. */
	CODE_MAX_BYTES = 1 << 28,

	/** Offset in a std::map of the root node. */
	MAP_ROOT = 16,
	/** Offsets in a node. */
	NODE_LEFT = 16,
	NODE_RIGHT = 24,
	NODE_KEY = 32,
	NODE_VALUE = 40,
	/** Depth of a red-black tree with 2^31 nodes. */
	MAP_MAX_DEPTH = 64,
};

/** The words of a node from NODE_LEFT on. */
struct map_node {
	uint64_t left;
	uint64_t right;
	uint64_t key;
	uint64_t value;
};
_Static_assert(offsetof(struct map_node, value) == NODE_VALUE - NODE_LEFT, "nodes are read whole");
_Static_assert(offsetof(struct map_node, right) == NODE_RIGHT - NODE_LEFT, "nodes are read whole");
_Static_assert(offsetof(struct map_node, key) == NODE_KEY - NODE_LEFT, "nodes are read whole");

static int read_word(const struct v8_heap *heap, uint64_t address, uint64_t *word)
{
	return remote_memory_read(heap->memory, address, word, sizeof(*word));
}

int v8_map_find(const struct v8_heap *heap, uint64_t map, uint64_t key, struct v8_map_node *node)
{
	struct map_node at = { 0 };
	bool is_found = false;
	uint64_t next = 0;
	int err = read_word(heap, map + MAP_ROOT, &next);

	for (int depth = 0; !err && next; depth++) {
		if (depth == MAP_MAX_DEPTH)
			return fail(-E2BIG, "a map that is too deep");
		err = remote_memory_read(heap->memory, next + NODE_LEFT, &at, sizeof(at));
		if (err)
			return err;
		next = at.key <= key ? at.right : at.left;
		if (at.key <= key) {
			*node = (struct v8_map_node){ .key = at.key, .value = at.value };
			is_found = true;
		}
	}
	if (!err && !is_found)
		err = fail(-ENOENT, "no code at %#" PRIx64, key);
	return err;
}

/*
 * Finds the start of the object at @pc in the maps of the process. The value of a page is its JitPage, that of an allocation
 * its size.
 */
static int find_in_maps(const struct v8_heap *heap, uint64_t bias, uint64_t pc, uint64_t *start)
{
	const struct v8_layout *layout = heap->layout;
	struct v8_map_node node = { 0 };
	uint64_t pages = 0;
	int err = read_word(heap, layout->trusted_data + bias + V8_TRUSTED_JIT_PAGES, &pages);

	if (!err && !pages)
		err = fail(-ENOENT, "V8 has no code yet");
	if (!err)
		err = v8_map_find(heap, pages, pc, &node);
	if (!err)
		err = v8_map_find(heap, node.value + layout->jit_page_allocations, pc, &node);
	if (!err && pc - node.key >= node.value)
		err = fail(-ENOENT, "no code at %#" PRIx64, pc);
	if (!err)
		*start = node.key;
	return err;
}

/* Finds it in the list of the page. V8 sorts the list only when it searches it, so it may not be sorted now. */
static int find_in_page(const struct v8_heap *heap, uint64_t pc, uint64_t *start)
{
	const uint64_t page = pc & ~(uint64_t)(PAGE_BYTES - 1);
	_cleanup_(free_pointer) uint64_t *objects = NULL;
	uint64_t registry = 0, list[2] = { 0 }, best = 0;
	int err = read_word(heap, page + heap->layout->page_registry, &registry);

	if (!err && !registry)
		err = fail(-ENOENT, "no code at %#" PRIx64, pc);
	if (!err)
		err = remote_memory_read(heap->memory, registry, list, sizeof(list));
	if (err)
		return err;
	if (list[1] < list[0] || (list[1] - list[0]) % sizeof(uint64_t) ||
	    list[1] - list[0] > PAGE_MAX_OBJECTS * sizeof(uint64_t))
		return fail(-EBADMSG, "a page whose code is from %#" PRIx64 " to %#" PRIx64,
			    list[0], list[1]);
	objects = malloc(list[1] - list[0] + 1);
	if (!objects)
		return -ENOMEM;
	err = remote_memory_read(heap->memory, list[0], objects, list[1] - list[0]);
	if (err)
		return err;
	for (size_t i = 0; i < (list[1] - list[0]) / sizeof(uint64_t); i++)
		if (objects[i] <= pc && objects[i] > best)
			best = objects[i];
	if (best < page)
		return fail(-ENOENT, "no code at %#" PRIx64, pc);
	*start = best;
	return 0;
}

static enum v8_tier tier_of(const struct v8_layout *layout, int32_t flags)
{
	const int32_t kind = flags & layout->kind_mask;

	return kind == layout->kind_baseline ? V8_TIER_BASELINE :
	       kind == layout->kind_maglev   ? V8_TIER_MAGLEV :
	       kind == layout->kind_turbofan ? V8_TIER_TURBOFAN :
	       kind == layout->kind_regexp   ? V8_TIER_REGEXP :
	       kind == layout->kind_wasm     ? V8_TIER_WASM :
					       V8_TIER_OTHER;
}

/* Reads the code whose object in the code page is tagged @stream. */
static int read_stream(const struct v8_heap *heap, uint64_t stream, struct v8_code *code)
{
	const struct v8_layout *layout = heap->layout;
	int32_t flags = 0, size = 0, metadata_size = 0;
	int err = v8_check_type(heap, &stream, layout->type_stream);

	code->object = stream;
	code->start = stream - V8_TAG + layout->code_header;
	if (!err && layout->code_object != V8_ABSENT) {
		uint64_t start = 0;

		err = v8_field(heap, stream, layout->code_object, &code->object);
		if (!err)
			err = v8_check_type(heap, &code->object, layout->type_code);
		if (!err)
			err = v8_field(heap, code->object, layout->code_start, &start);
		if (!err && start != code->start)
			err = fail(-EBADMSG, "code at %#" PRIx64 " that says %#" PRIx64,
				   code->start, start);
	}
	if (!err)
		err = v8_field_int(heap, code->object, layout->code_flags, &flags);
	if (!err)
		err = v8_field_int(heap, code->object, layout->code_size, &size);
	if (!err)
		err = v8_field_int(heap, code->object, layout->code_metadata_size, &metadata_size);
	if (!err)
		err = v8_field(heap, code->object, layout->code_data, &code->data);
	if (!err)
		err = v8_field(heap, code->object, layout->code_positions, &code->positions);
	if (!err && (size <= 0 || size > CODE_MAX_BYTES || metadata_size < 0 ||
		     metadata_size > CODE_MAX_BYTES))
		err = fail(-EBADMSG, "code of %d and %d bytes", size, metadata_size);
	code->size = (uint32_t)size;
	code->metadata_size = (uint32_t)metadata_size;
	code->tier = tier_of(layout, flags);
	return err;
}

int v8_code_find(const struct v8_heap *heap, uint64_t bias, uint64_t pc, struct v8_code *code)
{
	struct v8_code found = { 0 };
	uint64_t start = 0;
	int err = heap->layout->page_registry != V8_ABSENT ? find_in_page(heap, pc, &start) :
							     find_in_maps(heap, bias, pc, &start);

	if (!err)
		err = read_stream(heap, start + V8_TAG, &found);
	/* The address after the last instruction may be a return address. */
	if (!err && (pc < found.start || pc - found.start > found.size))
		err = fail(-ENOENT, "%#" PRIx64 " is not among the instructions", pc);
	if (!err)
		*code = found;
	return err;
}

int v8_code_read(const struct v8_heap *heap, uint64_t object, struct v8_code *code)
{
	const struct v8_layout *layout = heap->layout;
	struct v8_code found = { 0 };
	uint64_t stream = object;
	int err = 0;

	if (layout->code_object != V8_ABSENT) {
		err = v8_check_type(heap, &object, layout->type_code);
		if (!err)
			err = v8_field(heap, object, layout->code_start, &stream);
		stream += V8_TAG - (uint64_t)layout->code_header;
	}
	if (!err)
		err = read_stream(heap, stream, &found);
	if (!err && found.object != object)
		err = fail(-EBADMSG, "instructions of other code than that at %#" PRIx64, object);
	if (!err)
		*code = found;
	return err;
}

int v8_code_optimization_id(const struct v8_heap *heap, const struct v8_code *code, int32_t *id)
{
	uint64_t word = 0;
	int err;

	if (code->tier != V8_TIER_MAGLEV && code->tier != V8_TIER_TURBOFAN)
		return fail(-ENOENT, "code without an optimization id");
	err = v8_array_element(heap, code->data, (uint32_t)heap->layout->deopt_optimization_id,
			       &word);
	if (!err && !v8_smi(word, id))
		err = fail(-EBADMSG, "%#" PRIx64 " is no optimization id", word);
	return err;
}
