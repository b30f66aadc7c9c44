/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * A small world to unwind in: slabs, descriptors, a process with mappings and a stack, and a task with
 * uprobes. Tests write tables into it by hand, at any cells.
 */
#ifndef EBPF_HOST_TESTS_UNWIND_FIXTURE_H
#define EBPF_HOST_TESTS_UNWIND_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ebpf/abi/process.h"
#include "ebpf/host/emulated_unwind.h"

enum {
	SLAB_COUNT = 3,
	STACK_WORDS = 8192,
	REGION_COUNT = 8,
};

#define STACK_START 0x7ffd00000000ULL
/** Address at which tests load their only executable, and its ELF address there. */
#define TEXT_START 0x555500000000ULL
#define TEXT_ADDRESS 0x1000ULL
#define EXECUTABLE_ID (7ULL << 16 | 42)

/** A readable range of memory. */
struct region {
	uint64_t start;
	size_t size;
	const void *bytes;
};

struct world {
	struct emulated_memory memory;
	struct emulated_start start;
	struct emulated_trace trace;
	struct cell *slabs[SLAB_COUNT];
	struct executable_descriptor descriptors[EXECUTABLE_SLOT_COUNT];
	uint64_t stack[STACK_WORDS];
	struct region user[REGION_COUNT];
	struct region kernel[REGION_COUNT];
};

static inline struct cell *world_slab(void *context, uint32_t index)
{
	struct world *world = context;

	return index < SLAB_COUNT ? world->slabs[index] : NULL;
}

static inline struct executable_descriptor *world_executable(void *context, uint32_t slot)
{
	struct world *world = context;

	return &world->descriptors[slot];
}

static inline int read_regions(const struct region *regions, uint64_t address, void *bytes,
			       size_t size)
{
	for (int i = 0; i < REGION_COUNT; i++) {
		uint64_t offset = address - regions[i].start;

		if (offset < regions[i].size && size <= regions[i].size - offset) {
			memcpy(bytes, (const char *)regions[i].bytes + offset, size);
			return 0;
		}
	}
	return -1;
}

static inline int world_read_user(void *context, uint64_t address, void *bytes, size_t size)
{
	return read_regions(((struct world *)context)->user, address, bytes, size);
}

static inline int world_read_kernel(void *context, uint64_t address, void *bytes, size_t size)
{
	return read_regions(((struct world *)context)->kernel, address, bytes, size);
}

static inline struct cell *world_cell(struct world *world, uint32_t number)
{
	assert_true(number >> SLAB_SHIFT < SLAB_COUNT);
	return &world->slabs[number >> SLAB_SHIFT][number & (SLAB_CELLS - 1)];
}

/** Copies @size bytes into the cells from @number on, which may be in two slabs. */
static inline void world_put(struct world *world, uint32_t number, const void *bytes, size_t size)
{
	for (size_t done = 0; done < size; done += CELL_BYTES) {
		size_t part = size - done < CELL_BYTES ? size - done : CELL_BYTES;

		memcpy(world_cell(world, number++), (const char *)bytes + done, part);
	}
}

/** An executable's tables, as tests write them down. */
struct tables {
	const struct unwind_rule *rules;
	uint32_t rule_count;
	/** Ascending offsets into the text, and the rule from there on. */
	struct {
		uint32_t offset;
		uint32_t rule;
	} rows[1024];
	uint32_t row_count;
	uint32_t page_count;
	/** First cells; set to borders by tests. */
	uint32_t header_cell;
	uint32_t page_index_cell;
	uint32_t row_cell;
	uint32_t rule_cell;
};

static inline void tables_add(struct tables *tables, uint32_t offset, uint32_t rule)
{
	assert_true(tables->row_count < 1024);
	tables->rows[tables->row_count].offset = offset;
	tables->rows[tables->row_count++].rule = rule;
}

/** Publishes @tables as @executable_id, in the order of abi/slab.h. */
static inline void world_publish(struct world *world, uint64_t executable_id,
				 const struct tables *tables)
{
	struct unwind_header header = {
		.text_start = TEXT_ADDRESS,
		.page_count = tables->page_count,
		.page_index_cell = tables->page_index_cell,
		.row_cell = tables->row_cell,
		.row_count = tables->row_count,
		.rule_cell = tables->rule_cell,
		.rule_count = tables->rule_count,
	};
	uint32_t index[1024] = { 0 }, row = 0;
	uint16_t numbers[1024] = { 0 };
	uint8_t offsets[1024] = { 0 };

	assert_true(tables->page_count < 1023);
	for (uint32_t i = 0; i < tables->row_count; i++) {
		offsets[i] = tables->rows[i].offset % UNWIND_PAGE_BYTES;
		numbers[i] = tables->rows[i].rule;
	}
	for (uint32_t page = 0; page <= tables->page_count; page++) {
		while (row < tables->row_count &&
		       tables->rows[row].offset >> UNWIND_PAGE_SHIFT < page)
			row++;
		index[page] = row;
	}
	world_put(world, tables->rule_cell, tables->rules,
		  tables->rule_count * sizeof(tables->rules[0]));
	world_put(world, tables->row_cell, offsets, tables->row_count);
	world_put(world, tables->row_cell + unwind_offset_cells(tables->row_count), numbers,
		  tables->row_count * sizeof(numbers[0]));
	world_put(world, tables->page_index_cell, index,
		  (tables->page_count + 1) * sizeof(index[0]));
	world_put(world, tables->header_cell, &header, sizeof(header));
	world->descriptors[executable_id & (EXECUTABLE_SLOT_COUNT - 1)].word =
		descriptor_word(executable_id, tables->header_cell);
}

/** The rule of a function whose frame has @size bytes, its return address on top; and more fields. */
#define CALL_RULE(size, more...)                                                                   \
	{                                                                                          \
		.cfa = CFA_SP, .cfa_offset = (size), .ra = SAVED_AT_CFA, .ra_offset = -8, more     \
	}

/** Publishes a row for each of @rules, for 16 bytes of text each: rule i is valid from code_at(i) on. */
static inline void world_publish_rules(struct world *world, const struct unwind_rule *rules,
				       uint32_t rule_count)
{
	struct tables tables = {
		.rules = rules,
		.rule_count = rule_count,
		.page_count = (rule_count * 16 + UNWIND_PAGE_BYTES - 1) / UNWIND_PAGE_BYTES,
		.header_cell = 100,
		.page_index_cell = 200,
		.row_cell = 500,
		.rule_cell = 1000,
	};

	for (uint32_t i = 0; i < rule_count; i++)
		tables_add(&tables, i * 16, i);
	world_publish(world, EXECUTABLE_ID, &tables);
}

/** Returns an address in the process at which rule @rule is valid, for a pc and for a return address. */
static inline uint64_t code_at(uint32_t rule)
{
	return TEXT_START + rule * 16 + 8;
}

static inline void world_set_mappings(struct world *world, uint32_t cell,
				      const struct mapping_row *rows, uint32_t count)
{
	world_put(world, cell, rows, count * sizeof(rows[0]));
	world->start.mapping_cell = cell;
	world->start.mapping_count = count;
}

static inline uint64_t stack_address(uint32_t word)
{
	return STACK_START + word * 8ULL;
}

static inline void world_set_registers(struct world *world, uint64_t pc, uint64_t sp, uint64_t fp)
{
	world->start.registers[16] = pc;
	world->start.registers[7] = sp;
	world->start.registers[6] = fp;
}

static inline void world_unwind(struct world *world)
{
	memset(&world->trace, 0xee, sizeof(world->trace));
	emulated_unwind(&world->memory, &world->start, &world->trace);
}

/** A world with an empty stack, and one executable's text of 1 MiB mapped. */
static inline int world_setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct mapping_row text = {
		.start = TEXT_START,
		.end = TEXT_START + (1 << 20),
		.bias = TEXT_START - TEXT_ADDRESS,
		.executable_id = EXECUTABLE_ID,
	};

	world->memory = (struct emulated_memory){
		.context = world,
		.slab = world_slab,
		.executable = world_executable,
		.read_user = world_read_user,
		.read_kernel = world_read_kernel,
	};
	for (int i = 0; i < SLAB_COUNT; i++)
		world->slabs[i] = calloc(SLAB_CELLS, CELL_BYTES);
	world->user[0] = (struct region){ STACK_START, sizeof(world->stack), world->stack };
	world_set_mappings(world, 10, &text, 1);
	*state = world;
	return 0;
}

static inline int world_teardown(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < SLAB_COUNT; i++)
		free(world->slabs[i]);
	free(world);
	return 0;
}

/** Asserts that frame @index of the trace is native, at process address @pc in the test's executable. */
static inline void assert_frame(const struct world *world, uint32_t index, uint64_t pc,
				uint8_t flags)
{
	assert_true(2 * index + 1 < world->trace.word_count);
	assert_int_equal(world->trace.words[2 * index],
			 frame_word(FRAME_NATIVE, flags, pc - TEXT_START + TEXT_ADDRESS));
	assert_int_equal(world->trace.words[2 * index + 1], EXECUTABLE_ID);
}

/** Asserts that the unwind has reached the thread's entry with @frame_count frames. */
static inline void assert_end(const struct world *world, uint32_t frame_count)
{
	assert_int_equal(world->trace.error, UNWIND_OK);
	assert_int_equal(world->trace.word_count, 2 * frame_count);
}

/** Asserts that the unwind has ended with @error at @pc after @frame_count frames. */
static inline void assert_error(const struct world *world, uint32_t frame_count,
				enum unwind_error error, uint64_t pc)
{
	assert_int_equal(world->trace.error, error);
	assert_int_equal(world->trace.word_count, 2 * frame_count + 1);
	assert_int_equal(world->trace.words[2 * frame_count], frame_word(FRAME_ERROR, error, pc));
}

#define world_test(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#endif
