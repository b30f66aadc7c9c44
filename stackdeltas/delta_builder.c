/* SPDX-License-Identifier: Apache-2.0 */
/* Rows, rules and page index. Trusts its caller for the order of addresses. */
#include "stackdeltas/delta_builder.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	FIRST_SLOT_COUNT = 1024,
	/* A hostile file may have rules that collide; then some are stored twice. */
	MAX_PROBES = 32,
};

static uint32_t rule_hash(const struct unwind_rule *rule)
{
	uint64_t words[2];

	memcpy(words, rule, sizeof(words));
	words[0] = (words[0] ^ words[1] * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
	return words[0] >> 32;
}

static bool rules_equal(const struct unwind_rule *a, const struct unwind_rule *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Stores the id of a new rule in the slot in which a search finds it. */
static void insert_slot(struct delta_builder *builder, uint32_t id)
{
	uint32_t hash = rule_hash(&builder->rules.items[id]);

	for (uint32_t probe = 0; probe < MAX_PROBES; probe++) {
		uint32_t *slot = &builder->slots[(hash + probe) & builder->slot_mask];

		if (!*slot) {
			*slot = id + 1;
			return;
		}
	}
}

static int grow_slots(struct delta_builder *builder)
{
	uint32_t count = builder->slots ? (builder->slot_mask + 1) * 2 : FIRST_SLOT_COUNT;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return fail(-ENOMEM, "no memory for %u rules", count);
	free(builder->slots);
	builder->slots = slots;
	builder->slot_mask = count - 1;
	for (size_t i = 0; i < builder->rules.count; i++)
		insert_slot(builder, i);
	return 0;
}

static int add_rule(struct delta_builder *builder, const struct unwind_rule *rule, uint32_t *id)
{
	int error;

	if (builder->rules.count == UNWIND_MAX_RULES) {
		*id = DELTA_RULE_UNSUPPORTED;
		return 0;
	}
	if (!builder->slots || builder->rules.count * 2 > builder->slot_mask) {
		error = grow_slots(builder);
		if (error)
			return error;
	}
	error = rule_vector_push(&builder->rules, *rule);
	if (error)
		return error;
	*id = builder->rules.count - 1;
	insert_slot(builder, *id);
	return 0;
}

int delta_builder_intern(struct delta_builder *builder, const struct unwind_rule *rule,
			 uint32_t *id)
{
	uint32_t hash = rule_hash(rule);

	for (uint32_t probe = 0; probe < MAX_PROBES; probe++) {
		uint32_t slot = builder->slots[(hash + probe) & builder->slot_mask];

		if (!slot)
			break;
		if (rules_equal(&builder->rules.items[slot - 1], rule)) {
			*id = slot - 1;
			return 0;
		}
	}
	return add_rule(builder, rule, id);
}

/* Grows the arrays to a capacity that is a multiple of CELL_BYTES: whole cells of each array. */
static int reserve_rows(struct delta_builder *builder, size_t capacity)
{
	uint8_t *offsets;
	uint16_t *rule_ids;

	if (capacity > DELTA_BUILDER_MAX_ROWS)
		capacity = DELTA_BUILDER_MAX_ROWS;
	capacity = (capacity + CELL_BYTES - 1) / CELL_BYTES * CELL_BYTES;
	offsets = malloc(stack_deltas_row_bytes(capacity));
	if (!offsets)
		return fail(-ENOMEM, "no memory for %zu rows", capacity);
	rule_ids = (uint16_t *)(offsets + capacity);
	if (builder->row_count) {
		memcpy(offsets, builder->offsets, builder->row_count);
		memcpy(rule_ids, builder->rule_ids, builder->row_count * sizeof(*rule_ids));
	}
	free(builder->offsets);
	builder->offsets = offsets;
	builder->rule_ids = rule_ids;
	builder->row_capacity = capacity;
	return 0;
}

int delta_builder_init(struct delta_builder *builder, uint64_t start, uint64_t end,
		       size_t expected_rows)
{
	const struct unwind_rule none = { .cfa = CFA_NONE };
	const struct unwind_rule unsupported = { .cfa = CFA_UNSUPPORTED };
	uint64_t page_count;
	uint32_t id;
	int error;

	memset(builder, 0, sizeof(*builder));
	builder->text_start = start & ~(uint64_t)(UNWIND_PAGE_BYTES - 1);
	builder->text_end = end;
	page_count = (end - builder->text_start - 1) / UNWIND_PAGE_BYTES + 1;
	if (page_count > UNWIND_MAX_PAGES)
		return fail(-E2BIG, "text of %llu bytes",
			    (unsigned long long)(end - builder->text_start));
	builder->page_count = page_count;
	builder->page_index = malloc((page_count + 1) * sizeof(*builder->page_index));
	if (!builder->page_index)
		return fail(-ENOMEM, "no memory for the index of %u pages", builder->page_count);
	error = add_rule(builder, &none, &id);
	if (!error)
		error = add_rule(builder, &unsupported, &id);
	if (!error)
		error = reserve_rows(builder, expected_rows + 1);
	if (!error && start != builder->text_start)
		error = delta_builder_add(builder, builder->text_start, DELTA_RULE_NONE);
	return error;
}

void delta_builder_deinit(struct delta_builder *builder)
{
	free(builder->page_index);
	free(builder->slots);
	free(builder->offsets);
	rule_vector_deinit(&builder->rules);
	memset(builder, 0, sizeof(*builder));
}

/* Fills the index up to and including page @last, for which there is no row yet. */
static void begin_pages(struct delta_builder *builder, uint32_t last)
{
	while (builder->pages_begun <= last)
		builder->page_index[builder->pages_begun++] = builder->row_count;
}

int delta_builder_add_slow(struct delta_builder *builder, uint64_t distance, uint32_t id)
{
	int error;

	assert(distance >> UNWIND_PAGE_SHIFT < builder->page_count);
	if (builder->row_count == DELTA_BUILDER_MAX_ROWS)
		return fail(-E2BIG, "more than %d rows", DELTA_BUILDER_MAX_ROWS);
	if (builder->row_count == builder->row_capacity) {
		error = reserve_rows(builder, 2 * (size_t)builder->row_capacity);
		if (error)
			return error;
	}
	begin_pages(builder, distance >> UNWIND_PAGE_SHIFT);
	builder->last_rule = id;
	builder->offsets[builder->row_count] = distance & (UNWIND_PAGE_BYTES - 1);
	builder->rule_ids[builder->row_count++] = id;
	return 0;
}

struct delta_builder_mark delta_builder_mark(const struct delta_builder *builder)
{
	return (struct delta_builder_mark){
		.pages_begun = builder->pages_begun,
		.last_rule = builder->last_rule,
		.row_count = builder->row_count,
	};
}

void delta_builder_rollback(struct delta_builder *builder, const struct delta_builder_mark *mark)
{
	builder->pages_begun = mark->pages_begun;
	builder->last_rule = mark->last_rule;
	builder->row_count = mark->row_count;
}

/* Closes the gap between offsets and rule ids, and pads their last cells. */
static void *finish_rows(struct delta_builder *builder)
{
	size_t bytes = stack_deltas_row_bytes(builder->row_count);
	size_t offset_bytes = (size_t)unwind_offset_cells(builder->row_count) * CELL_BYTES;
	size_t id_bytes = builder->row_count * sizeof(*builder->rule_ids);
	uint8_t *rows = builder->offsets;

	memmove(rows + offset_bytes, builder->rule_ids, id_bytes);
	memset(rows + builder->row_count, 0, offset_bytes - builder->row_count);
	memset(rows + offset_bytes + id_bytes, 0, bytes - offset_bytes - id_bytes);
	builder->offsets = NULL;
	return vector_shrink(rows, bytes);
}

int delta_builder_finish(struct delta_builder *builder, struct stack_deltas *deltas)
{
	int error;

	assert(builder->row_count);
	if (builder->text_end % UNWIND_PAGE_BYTES) {
		error = delta_builder_add(builder, builder->text_end, DELTA_RULE_NONE);
		if (error)
			return error;
	}
	begin_pages(builder, builder->page_count);
	*deltas = (struct stack_deltas){
		.text_start = builder->text_start,
		.page_count = builder->page_count,
		.row_count = builder->row_count,
		.rule_count = builder->rules.count,
		.page_index = builder->page_index,
		.rows = finish_rows(builder),
		.rules = vector_shrink(builder->rules.items,
				       builder->rules.count * sizeof(struct unwind_rule)),
	};
	builder->page_index = NULL;
	memset(&builder->rules, 0, sizeof(builder->rules));
	return 0;
}
