/* SPDX-License-Identifier: Apache-2.0 */
/** V8's code in a made heap: a code page, and the list or the maps that its objects are found by. */
#ifndef INTERPRETERS_JAVASCRIPT_TESTS_MADE_CODE_H
#define INTERPRETERS_JAVASCRIPT_TESTS_MADE_CODE_H

#include "interpreters/javascript/tests/made_heap.h"
#include "interpreters/javascript/tests/made_tables.h"

enum {
	MADE_CODE_MAX = 8,
	MADE_CODE_NODE_BYTES = 56,
	/** Offsets in ThreadIsolation::trusted_data_ and in a std::map, as in v8_code.c. */
	MADE_TRUSTED_PAGES = 24,
	MADE_MAP_ROOT = 16,
	MADE_NODE_LEFT = 16,
	MADE_NODE_RIGHT = 24,
	MADE_NODE_KEY = 32,
	MADE_NODE_VALUE = 40,
};

/** Contents of a code object to make. */
struct made_code {
	int32_t kind;
	/** Size of the instructions, and the table that follows them. */
	uint32_t size;
	const struct made_table *safepoints;
	/** Tagged. */
	uint64_t data;
	uint64_t positions;
};

/** The code page of a made heap; its objects are in ascending order. */
struct made_code_page {
	struct made_heap *made;
	/** Untagged: address of the next object. */
	uint64_t next;
	/** The list of objects (up to 11.3), or the last node. */
	uint64_t list;
	uint64_t registry;
	uint32_t count;
	uint64_t allocations;
	/** Added to ELF virtual addresses. */
	uint64_t bias;
};

static inline uint64_t made_code_page_start(void)
{
	return MADE_HEAP_BASE + MADE_HEAP_CODE_AT;
}

/** Makes a node of a std::map. */
static inline uint64_t made_node_of_map(struct made_heap *made, uint64_t key, uint64_t value)
{
	uint64_t node = made_room(made, MADE_CODE_NODE_BYTES);

	made_put(made, node + MADE_NODE_KEY, &key, sizeof(key));
	made_put(made, node + MADE_NODE_VALUE, &value, sizeof(value));
	return node;
}

static inline void made_code_page_init(struct made_code_page *page, struct made_heap *made)
{
	const struct v8_layout *layout = &made->layout;
	const uint64_t start = made_code_page_start();

	*page = (struct made_code_page){ .made = made, .next = start + 1024 };
	if (layout->page_registry != V8_ABSENT) {
		page->registry = made_room(made, 24);
		page->list = made_room(made, MADE_CODE_MAX * 8);
		made_put(made, start + (uint64_t)layout->page_registry, &page->registry, 8);
	} else {
		uint64_t trusted = made_room(made, 32), pages = made_room(made, 48);
		uint64_t jit_page = made_room(made, 96), node;

		node = made_node_of_map(made, start, jit_page);
		made_put(made, trusted + MADE_TRUSTED_PAGES, &pages, 8);
		made_put(made, pages + MADE_MAP_ROOT, &node, 8);
		page->allocations = jit_page + (uint64_t)layout->jit_page_allocations;
		page->bias = trusted - layout->trusted_data;
	}
}

static inline void made_code_list(struct made_code_page *page, uint64_t object, uint64_t bytes)
{
	struct made_heap *made = page->made;

	if (page->count == MADE_CODE_MAX)
		abort();
	if (made->layout.page_registry != V8_ABSENT) {
		const uint64_t list[] = { page->list, page->list + (page->count + 1) * 8 };

		made_put(made, page->list + page->count * 8, &object, 8);
		made_put(made, page->registry, list, sizeof(list));
	} else {
		uint64_t node = made_node_of_map(made, object, bytes);

		/* The tree is a chain; a std::map would balance it, but look-ups are the same. */
		made_put(made,
			 page->count ? page->list + MADE_NODE_RIGHT :
				       page->allocations + MADE_MAP_ROOT,
			 &node, 8);
		page->list = node;
	}
	page->count++;
}

/** Adds code to the page; returns the address of its first instruction. */
static inline uint64_t made_code_add(struct made_code_page *page, const struct made_code *code)
{
	struct made_heap *made = page->made;
	const struct v8_layout *layout = &made->layout;
	const size_t metadata = code->safepoints ? code->safepoints->size : 0;
	const uint64_t stream = page->next + V8_TAG, start = page->next + layout->code_header;
	uint64_t object = stream;

	made_word(made, stream, 0, made_map(made, layout->type_stream));
	if (layout->code_object != V8_ABSENT) {
		object = made_object(made, layout->type_code, 96);
		made_word(made, stream, layout->code_object, object);
		made_word(made, object, layout->code_start, start);
	}
	made_word(made, object, layout->code_data, code->data);
	made_word(made, object, layout->code_positions, code->positions);
	made_int(made, object, layout->code_flags, code->kind | 1 << 20);
	made_int(made, object, layout->code_size, (int32_t)code->size);
	made_int(made, object, layout->code_metadata_size, (int32_t)metadata);
	if (metadata)
		made_put(made, start + code->size, code->safepoints->bytes, metadata);
	made_code_list(page, page->next, layout->code_header + code->size + metadata);
	page->next = (start + code->size + metadata + 63) / 64 * 64;
	return start;
}

#endif
