/* SPDX-License-Identifier: Apache-2.0 */
/* Presents tables in user space as slabs. */
#include "agent/unwind/user_unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/language.h"
#include "lib/base/error.h"

enum {
	/* Limit of executables in one unwind; further ones count as not loaded. */
	EXECUTABLES_MAX = 256,
	HEADER_CELLS = sizeof(struct unwind_header) / CELL_BYTES,
	/* The headers are in slab 0, whose first cell is never used. */
	HEADER_SLAB = 0,
	FIRST_FREE_SLAB = 1,
};

struct user_unwind {
	/* State of the current unwind. */
	const struct user_tables *tables;
	user_unwind_read_function *read;
	void *read_context;
	struct cell *slabs[SLAB_MAX_COUNT];
	uint32_t slab_count;
	struct unwind_header headers[1 + EXECUTABLES_MAX];
	struct runtime_row runtimes[RUNTIMES_MAX];
	struct executable_descriptor descriptors[EXECUTABLES_MAX];
	uint32_t slots[EXECUTABLES_MAX];
	uint32_t executable_count;
};

/* Assigns slabs to @table; *@cell gets its first cell. False if there are not enough slabs. */
static bool add_table(struct user_unwind *unwind, const void *table, size_t bytes, uint32_t *cell)
{
	size_t count = (bytes + SLAB_BYTES - 1) / SLAB_BYTES;

	if (count > SLAB_MAX_COUNT - unwind->slab_count)
		return false;
	*cell = unwind->slab_count << SLAB_SHIFT;
	for (size_t i = 0; i < count; i++)
		unwind->slabs[unwind->slab_count++] =
			(struct cell *)((uint8_t *)table + i * SLAB_BYTES);
	return true;
}

static bool add_deltas(struct user_unwind *unwind, const struct stack_deltas *deltas,
		       struct unwind_header *header)
{
	*header = (struct unwind_header){
		.text_start = deltas->text_start,
		.page_count = deltas->page_count,
		.row_count = deltas->row_count,
		.rule_count = deltas->rule_count,
	};
	return add_table(unwind, deltas->page_index,
			 (deltas->page_count + 1ULL) * sizeof(*deltas->page_index),
			 &header->page_index_cell) &&
	       add_table(unwind, deltas->rows, stack_deltas_row_bytes(deltas->row_count),
			 &header->row_cell) &&
	       add_table(unwind, deltas->rules, (size_t)deltas->rule_count * sizeof(*deltas->rules),
			 &header->rule_cell);
}

/* *@cell gets the runtime table's first cell, 0 if there are no runtimes. */
static bool add_runtimes(struct user_unwind *unwind, const struct user_tables *tables,
			 uint32_t *cell)
{
	struct runtime_row *rows = unwind->runtimes;

	*cell = 0;
	if (!tables->runtime_count)
		return true;
	if (!add_table(unwind, rows, sizeof(unwind->runtimes), cell))
		return false;
	memset(rows, 0, sizeof(unwind->runtimes));
	for (uint32_t i = 0; i < tables->runtime_count && i < RUNTIMES_MAX; i++) {
		const struct runtime *process = tables->runtimes[i].process;

		rows[i] = (struct runtime_row){
			.executable_id = tables->runtimes[i].executable_id,
			.language = runtime_row_language(process->language->id->kind),
		};
		if (!add_table(unwind, process->data, process->data_bytes, &rows[i].cell))
			return false;
	}
	return true;
}

/* The id of the executable in @slot. At most one of the process's executables uses a slot. */
static uint64_t executable_in_slot(const struct user_tables *tables, uint32_t slot)
{
	for (uint32_t i = 0; i < tables->row_count; i++) {
		uint64_t id = tables->rows[i].executable_id;

		if (id >= EXECUTABLE_ID_FIRST && (id & (EXECUTABLE_SLOT_COUNT - 1)) == slot)
			return id;
	}
	return 0;
}

static struct cell *find_slab(void *context, uint32_t index)
{
	struct user_unwind *unwind = context;

	return index < unwind->slab_count ? unwind->slabs[index] : NULL;
}

static struct executable_descriptor *find_executable(void *context, uint32_t slot)
{
	struct user_unwind *unwind = context;
	uint32_t index = unwind->executable_count;
	const struct stack_deltas *deltas;
	uint64_t id;

	for (uint32_t i = 0; i < index; i++)
		if (unwind->slots[i] == slot)
			return &unwind->descriptors[i];
	id = executable_in_slot(unwind->tables, slot);
	if (!id || index == EXECUTABLES_MAX)
		return NULL;
	deltas = unwind->tables->find_deltas(unwind->tables->context, id);
	if (!deltas || !add_deltas(unwind, deltas, &unwind->headers[1 + index]))
		return NULL;
	unwind->slots[index] = slot;
	unwind->descriptors[index].word = descriptor_word(id, HEADER_CELLS * (1 + index));
	unwind->executable_count++;
	return &unwind->descriptors[index];
}

static int read_user(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct user_unwind *unwind = context;

	return unwind->read(unwind->read_context, address, bytes, size);
}

int user_unwind_run(struct user_unwind *unwind, const struct user_tables *tables,
		    user_unwind_read_function *read, void *read_context,
		    struct emulated_start *start, struct emulated_trace *trace)
{
	const struct emulated_memory memory = {
		.context = unwind,
		.slab = find_slab,
		.executable = find_executable,
		.read_user = read_user,
	};

	unwind->tables = tables;
	unwind->read = read;
	unwind->read_context = read_context;
	unwind->executable_count = 0;
	unwind->slabs[HEADER_SLAB] = (struct cell *)unwind->headers;
	unwind->slab_count = FIRST_FREE_SLAB;
	start->mapping_count = tables->row_count;
	if (!add_table(unwind, tables->rows, tables->row_count * sizeof(*tables->rows),
		       &start->mapping_cell))
		return fail(-E2BIG, "%u mappings", tables->row_count);
	if (!add_runtimes(unwind, tables, &start->runtime_cell))
		return fail(-E2BIG, "no room for runtimes");
	emulated_unwind(&memory, start, trace);
	return 0;
}

int user_unwind_create(struct user_unwind **unwind)
{
	struct user_unwind *created = calloc(1, sizeof(*created));

	if (!created)
		return fail(-ENOMEM, "no memory for unwinds in user space");
	*unwind = created;
	return 0;
}

void user_unwind_destroy(struct user_unwind *unwind)
{
	free(unwind);
}
