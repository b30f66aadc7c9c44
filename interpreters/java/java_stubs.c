/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code cache is hostile and changes while it is read: blocks, bytes of code and pointers are limited, and
 * invalid ones are skipped. Rows of code that has been freed do no harm, since the kernel side looks up the block
 * first.
 */
#include "interpreters/java/java_stubs.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/java/java_fields.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/vector.h"

enum {
	/* Limit of blocks to read; stubs are among the first ones. */
	MAX_BLOCKS = 4096,
	/* If the first blocks in use of a heap are so many compiled methods, the heap has no stubs. */
	FIRST_BLOCKS = 64,
	MAX_STUBS = 512,
	MAX_STUB_BYTES = 1 << 19,
	MAX_CODE_BYTES = 1 << 20,
	/* Limit from the first stub to the end of the last one: each 256 bytes are a page of the index. */
	MAX_SPAN_BYTES = 32 << 20,
	MAX_STARTS = 1 << 14,
	MAP_BYTES = 4096,
	DATA_WINDOW_BYTES = 1 << 16,
	/* Alignment of the starts of StubRoutines; other pointers point into a routine. */
	START_ALIGNMENT = 16,
	/* Limit of call_stub's size; it has about 250 bytes. */
	CALL_STUB_MAX_BYTES = 1024,
	/*
	 * x86-64: the first instruction of blocks that are not called. Exception handlers begin with push rdx, which
	 * pushes the return address. Safepoint handlers begin with push rbx, which makes room for it.
	 */
	PUSH_RDX = 0x52,
	PUSH_RBX = 0x53,
};

enum stub_kind {
	/* The code is temporary or not useful here. */
	STUB_NONE,
	STUB_ANALYSED,
	/* The block is filled over time, with code that does not move the stack pointer. */
	STUB_FLAT,
	/* Other code jumps to it from within a frame. */
	STUB_GOES_ON,
};

struct stub {
	struct java_blob blob;
	enum stub_kind kind;
	uint8_t *bytes;
	/* Range in `starts`. */
	size_t first_start;
	size_t start_count;
};

VECTOR_DEFINE(stub_vector, struct stub)
VECTOR_DEFINE(start_vector, uint64_t)

struct stubs {
	const struct java_layout *layout;
	const struct java_process *process;
	struct remote_memory *memory;
	struct stub_vector stubs;
	struct start_vector starts;
	uint32_t blocks_left;
	size_t bytes_left;
	/* Address of the last name of a useless blob; all adapters have the same. */
	uint64_t useless_name;
};

static void stubs_deinit(struct stubs *stubs)
{
	for (size_t i = 0; i < stubs->stubs.count; i++)
		free(stubs->stubs.items[i].bytes);
	stub_vector_deinit(&stubs->stubs);
	start_vector_deinit(&stubs->starts);
}

void java_data_ranges_find(const struct elf_image *image, struct java_data_ranges *ranges)
{
	struct java_data_ranges found = { .count = 0 };
	uint64_t left = JAVA_MAX_DATA_BYTES;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type != PT_LOAD || !(segment->flags & PF_W) ||
		    segment->memory_bytes > left || found.count == JAVA_MAX_DATA_RANGES)
			continue;
		left -= segment->memory_bytes;
		found.ranges[found.count].address = segment->address;
		found.ranges[found.count++].bytes = segment->memory_bytes;
	}
	*ranges = found;
}

static bool begins_with(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

static enum stub_kind kind_of(const char *name)
{
	static const char *const flat[] = { "vtable chunks", "native signature handlers",
					    "InlineCacheBuffer" };

	for (size_t i = 0; i < sizeof(flat) / sizeof(flat[0]); i++)
		if (!strcmp(name, flat[i]))
			return STUB_FLAT;
	/* C1's has a block of its own; the one of StubRoutines has none. */
	if (strstr(name, "forward_exception"))
		return STUB_GOES_ON;
	/* Adapters pop their return address first; code buffers are not executed. */
	if (!*name || begins_with(name, "I2C/C2I") || !strcmp(name, "adapters") ||
	    strstr(name, "uffer") || strstr(name, "pcall"))
		return STUB_NONE;
	return STUB_ANALYSED;
}

/* The kind of the blob; STUB_NONE too if it cannot be read. */
static enum stub_kind find_kind(struct stubs *stubs, const struct java_blob *blob)
{
	char name[JAVA_BLOB_NAME_BYTES];
	enum stub_kind kind;
	uint64_t address;

	if (blob->is_nmethod || (stubs->process->interpreter_start >= blob->code_start &&
				 stubs->process->interpreter_start < blob->code_end))
		return STUB_NONE;
	if (java_field_read(stubs->memory, blob->address, stubs->layout->blob_name, &address) ||
	    address == stubs->useless_name ||
	    java_blob_name(stubs->layout, stubs->memory, blob, name))
		return STUB_NONE;
	kind = kind_of(name);
	if (kind == STUB_NONE)
		stubs->useless_name = address;
	return kind;
}

static int add_stub(struct stubs *stubs, const struct java_blob *blob, enum stub_kind kind)
{
	struct stub stub = { .blob = *blob, .kind = kind };
	size_t size = blob->code_end - blob->code_start;
	int err;

	if (!size || size > MAX_STUB_BYTES || size > stubs->bytes_left ||
	    stubs->stubs.count == MAX_STUBS)
		return 0;
	stub.bytes = malloc(size);
	if (!stub.bytes)
		return -ENOMEM;
	if (remote_memory_read(stubs->memory, blob->code_start, stub.bytes, size)) {
		free(stub.bytes);
		return 0;
	}
	stubs->bytes_left -= size;
	err = stub_vector_push(&stubs->stubs, stub);
	if (err)
		free(stub.bytes);
	return err;
}

/* Takes the block if it is in use, and counts it; freed blocks lie between those in use. */
static int take_block(struct stubs *stubs, uint64_t block, uint32_t *blocks, uint32_t *methods)
{
	struct java_blob blob;
	enum stub_kind kind;
	uint64_t is_used;

	if (java_field_read(stubs->memory, block, stubs->layout->block_used, &is_used) ||
	    !is_used ||
	    java_blob_find_at(stubs->layout, stubs->memory, block + stubs->layout->block_bytes,
			      &blob))
		return 0;
	*blocks += 1;
	*methods += blob.is_nmethod;
	kind = find_kind(stubs, &blob);
	return kind == STUB_NONE ? 0 : add_stub(stubs, &blob, kind);
}

/* Visits the blocks of a heap: each begins at a segment whose entry in the segment map is 0. */
static int walk_heap(struct stubs *stubs, const struct java_heap *heap)
{
	uint64_t count = (heap->committed - heap->low) >> heap->log2_segment_size;
	uint32_t blocks = 0, methods = 0;
	uint8_t map[MAP_BYTES];

	for (uint64_t at = 0; at < count; at += sizeof(map)) {
		uint64_t part = count - at < sizeof(map) ? count - at : sizeof(map);

		if (remote_memory_read(stubs->memory, heap->segment_map + at, map, part))
			return 0;
		for (uint64_t i = 0; i < part; i++) {
			int err;

			if (map[i])
				continue;
			if (!stubs->blocks_left ||
			    (blocks == FIRST_BLOCKS && methods == FIRST_BLOCKS))
				return 0;
			stubs->blocks_left--;
			err = take_block(stubs, heap->low + ((at + i) << heap->log2_segment_size),
					 &blocks, &methods);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Visits the heap of the interpreter first, since it has the stubs; others may have more blocks than the limit. */
static int walk_heaps(struct stubs *stubs, const struct java_heaps *heaps)
{
	uint64_t interpreter = stubs->process->interpreter_start;
	int err = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < heaps->count && !err; i++) {
			const struct java_heap *heap = &heaps->heaps[i];
			bool is_first = interpreter >= heap->low && interpreter < heap->high;

			if (is_first == (pass == 0))
				err = walk_heap(stubs, heap);
		}
	return err;
}

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *first = a, *second = b;

	return (first->blob.code_start > second->blob.code_start) -
	       (first->blob.code_start < second->blob.code_start);
}

static int compare_starts(const void *a, const void *b)
{
	const uint64_t *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

/* Sorts the stubs, and drops those that overlap others or are too far from the first one. */
static void tidy_stubs(struct stubs *stubs)
{
	struct stub *items = stubs->stubs.items;
	size_t count = 0;

	if (stubs->stubs.count)
		qsort(items, stubs->stubs.count, sizeof(items[0]), compare_stubs);
	for (size_t i = 0; i < stubs->stubs.count; i++) {
		if (count && (items[i].blob.code_start < items[count - 1].blob.code_end ||
			      items[i].blob.code_end - items[0].blob.code_start > MAX_SPAN_BYTES))
			free(items[i].bytes);
		else
			items[count++] = items[i];
	}
	stubs->stubs.count = count;
}

static const struct stub *stub_of(const struct stubs *stubs, uint64_t address)
{
	size_t low = 0, high = stubs->stubs.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (stubs->stubs.items[middle].blob.code_start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < stubs->stubs.items[low - 1].blob.code_end ?
		       &stubs->stubs.items[low - 1] :
		       NULL;
}

static int add_start(struct stubs *stubs, uint64_t address)
{
	return stubs->starts.count < MAX_STARTS ? start_vector_push(&stubs->starts, address) : 0;
}

/* True if @address may be the start of a stub. In blocks with a frame only the beginning is, which is known. */
static bool is_start(const struct stubs *stubs, uint64_t address)
{
	const struct stub *stub = NULL;

	if (address % START_ALIGNMENT == 0)
		stub = stub_of(stubs, address);
	return stub && !stub->blob.frame_bytes;
}

/* Adds all words of the JVM's variables that point to a possible start of a stub. */
static int find_pointers(struct stubs *stubs, uint64_t address, uint64_t bytes)
{
	_cleanup_(free_pointer) uint64_t *window = malloc(DATA_WINDOW_BYTES);
	int err = window ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < bytes && !err; at += DATA_WINDOW_BYTES) {
		uint64_t part = bytes - at < DATA_WINDOW_BYTES ? bytes - at : DATA_WINDOW_BYTES;

		if (remote_memory_read(stubs->memory, address + at, window, part))
			continue;
		for (size_t i = 0; i < part / sizeof(window[0]) && !err; i++)
			if (is_start(stubs, window[i]))
				err = add_start(stubs, window[i]);
	}
	return err;
}

/* True for a block with a frame that execution enters without a call: a handler of exceptions or of polls. */
static bool is_thrown_to(const struct stub *stub, uint16_t machine)
{
	return machine == EM_X86_64 && stub->blob.frame_bytes &&
	       (*stub->bytes == PUSH_RDX || *stub->bytes == PUSH_RBX);
}

static int find_starts(struct stubs *stubs, const struct java_data_ranges *ranges, uint64_t bias)
{
	struct start_vector *starts = &stubs->starts;
	size_t count = 0, next = 0;
	int err = 0;

	for (size_t i = 0; i < stubs->stubs.count && !err; i++)
		err = add_start(stubs, stubs->stubs.items[i].blob.code_start);
	for (uint32_t i = 0; i < ranges->count && !err; i++)
		err = find_pointers(stubs, bias + ranges->ranges[i].address,
				    ranges->ranges[i].bytes);
	if (err)
		return err;
	if (starts->count)
		qsort(starts->items, starts->count, sizeof(starts->items[0]), compare_starts);
	for (size_t i = 0; i < starts->count; i++)
		if (!count || starts->items[i] != starts->items[count - 1])
			starts->items[count++] = starts->items[i];
	starts->count = count;
	for (size_t i = 0; i < stubs->stubs.count; i++) {
		struct stub *stub = &stubs->stubs.items[i];

		stub->first_start = next;
		while (next < count && starts->items[next] < stub->blob.code_end)
			next++;
		stub->start_count = next - stub->first_start;
	}
	return 0;
}

/* Finds call_stub, which calls Java: it lies between two starts. */
static void find_call_stub(const struct stubs *stubs, struct java_process *process)
{
	const struct stub *stub = stub_of(stubs, process->call_stub_return);
	const uint64_t *starts = stubs->starts.items;
	uint64_t start, end;
	size_t next;

	if (!stub)
		return;
	start = stub->blob.code_start;
	end = stub->blob.code_end;
	for (next = 0; next < stubs->starts.count && starts[next] <= process->call_stub_return;
	     next++)
		if (starts[next] > start)
			start = starts[next];
	if (next < stubs->starts.count && starts[next] < end)
		end = starts[next];
	if (end - start > CALL_STUB_MAX_BYTES)
		return;
	process->call_stub_before = (uint16_t)(process->call_stub_return - start);
	process->call_stub_bytes = (uint16_t)(end - start);
}

static int make_rows(const struct stubs *stubs, const struct attach_target *target,
		     struct stack_deltas *deltas)
{
	_cleanup_(free_pointer) struct runtime_code *code =
		calloc(stubs->stubs.count, sizeof(*code));

	if (!code)
		return -ENOMEM;
	for (size_t i = 0; i < stubs->stubs.count; i++) {
		const struct stub *stub = &stubs->stubs.items[i];

		code[i] = (struct runtime_code){
			.address = stub->blob.code_start,
			.bytes = stub->bytes,
			.size = stub->blob.code_end - stub->blob.code_start,
			.starts = stubs->starts.items + stub->first_start,
			.start_count = stub->start_count,
			.is_flat = stub->kind == STUB_FLAT,
			.is_thrown_to = is_thrown_to(stub, stubs->layout->machine),
			.frame_bytes = stub->kind == STUB_GOES_ON ? stub->blob.frame_bytes : 0,
		};
	}
	return target->analyse(stubs->layout->machine, code, stubs->stubs.count, deltas);
}

static uint32_t whole_cells(size_t bytes)
{
	return (uint32_t)((bytes + CELL_BYTES - 1) / CELL_BYTES);
}

/* Makes the data: @process, followed by the tables of @deltas, which may be empty. */
static int make_data(const struct java_process *process, const struct stack_deltas *deltas,
		     void **data, uint32_t *bytes)
{
	size_t index_bytes = deltas->page_count ? (deltas->page_count + 1ULL) * sizeof(uint32_t) :
						  0;
	size_t row_bytes = stack_deltas_row_bytes(deltas->row_count);
	struct unwind_header stubs = {
		.text_start = deltas->text_start,
		.page_count = deltas->page_count,
		.page_index_cell = whole_cells(sizeof(*process)),
		.row_count = deltas->row_count,
		.rule_count = deltas->rule_count,
	};
	struct java_process *made;
	uint32_t cells;

	stubs.row_cell = stubs.page_index_cell + whole_cells(index_bytes);
	stubs.rule_cell = stubs.row_cell + whole_cells(row_bytes);
	cells = stubs.rule_cell + deltas->rule_count;
	if (cells > RUNTIME_DATA_MAX_BYTES / CELL_BYTES)
		return make_data(process, &(struct stack_deltas){ 0 }, data, bytes);
	made = calloc(cells, CELL_BYTES);
	if (!made)
		return -ENOMEM;
	*made = *process;
	*data = made;
	*bytes = cells * CELL_BYTES;
	if (!deltas->page_count)
		return 0;
	made->stubs = stubs;
	memcpy((struct cell *)*data + stubs.page_index_cell, deltas->page_index, index_bytes);
	memcpy((struct cell *)*data + stubs.row_cell, deltas->rows, row_bytes);
	memcpy((struct cell *)*data + stubs.rule_cell, deltas->rules,
	       deltas->rule_count * sizeof(deltas->rules[0]));
	return 0;
}

int java_stubs_read(const struct java_layout *layout, const struct java_heaps *heaps,
		    const struct java_data_ranges *ranges, const struct attach_target *target,
		    const struct java_process *process, void **data, uint32_t *bytes)
{
	_cleanup_(stubs_deinit) struct stubs stubs = {
		.layout = layout,
		.process = process,
		.memory = target->memory,
		.blocks_left = MAX_BLOCKS,
		.bytes_left = MAX_CODE_BYTES,
	};
	_cleanup_(stack_deltas_deinit) struct stack_deltas deltas = { 0 };
	struct java_process found = *process;
	int err = 0;

	if (target->analyse)
		err = walk_heaps(&stubs, heaps);
	tidy_stubs(&stubs);
	if (!err)
		err = find_starts(&stubs, ranges, target->bias);
	if (!err)
		find_call_stub(&stubs, &found);
	if (!err && target->analyse && stubs.stubs.count)
		err = make_rows(&stubs, target, &deltas);
	if (err == -ENOMEM)
		return err;
	return make_data(&found, &deltas, data, bytes);
}

int java_stub_name(const struct java_layout *layout, const struct java_heaps *heaps,
		   struct remote_memory *memory, uint64_t address, java_text text)
{
	char name[JAVA_BLOB_NAME_BYTES];
	struct java_blob blob;
	int err = java_blob_find(layout, heaps, memory, address, &blob);

	if (!err && blob.is_nmethod)
		err = fail(-ENOENT, "a compiled method at %#llx", (unsigned long long)address);
	if (!err)
		err = java_blob_name(layout, memory, &blob, name);
	if (!err && !*name)
		err = fail(-EBADMSG, "a stub without a name");
	if (err)
		return err;
	snprintf(text, sizeof(java_text), "[stub: %s]", name);
	return 0;
}
