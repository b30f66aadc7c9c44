// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Unwinds over tables, stacks and uprobes that the input makes up. Words of the input become
 * addresses of the little world below, or stay what they are, so that unwinds get somewhere. The seeds
 * are inputs that libFuzzer came to from nothing.
 *
 * covers: emulated_unwind.c ../native_step.bpf.h ../go/go_step.bpf.h ../java/java_step.bpf.h ../java/java_code.bpf.h ../java/java_leaf_x86.bpf.h ../java/java_interpreter_x86.bpf.h ../read_window.bpf.h ../python/python_step.bpf.h ../python/python_look.bpf.h ../python/python_threads.bpf.h ../languages.bpf.h ../guess_caller.bpf.h ../jit_entry.bpf.h ../rule_lookup.bpf.h ../process_mappings.bpf.h ../uprobes.bpf.h ../tables.bpf.h ../state.bpf.h ../architecture.bpf.h
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "ebpf/abi/java.h"
#include "ebpf/abi/process.h"
#include "ebpf/abi/python.h"
#include "ebpf/host/emulated_unwind.h"

#define TEXT_START 0x555500000000ULL
#define STACK_START 0x7ffd00000000ULL
#define JAVA_START 0x7fff00000000ULL
#define TASK_START 0xffff888000001000ULL
#define EXECUTABLE_ID (5ULL << 16 | 3)

enum {
	CELLS = 512,
	MAPPING_CELL = 2,
	HEADER_CELL = 40,
	INDEX_CELL = 64,
	ROW_CELL = 128,
	RULE_CELL = 256,
	INTERPRETER_CELL = 320,
	PYTHON_CELL = 330,
	GO_CELL = 380,
	JAVA_CELL = 400,
	RULES = 24,
	MAPPINGS = 5,
	STACK_WORDS = 1024,
	KERNEL_WORDS = 64,
	OTHERS_WORD = 960,
	OTHERS = 6,
	OTHER_WORDS = 4,
	OTHER_FRAME = 3,
	/* The structs of Go's runtime on the stack: g, which leads to m, which leads to curg. */
	GO_WORD = 896,
	GO_STRUCT_WORDS = 16,
	/* rbx */
	FRAME_REGISTER = 3,
	PAGES = 16,
	TEXT_BYTES = PAGES * UNWIND_PAGE_BYTES,
	/* A code heap of blocks of a few segments each, behind a page with the heap's segment map. */
	JAVA_BLOCKS = 8,
	JAVA_BLOCK_SEGMENTS = 4,
	JAVA_SEGMENT_SHIFT = 7,
	JAVA_BLOCK_BYTES = JAVA_BLOCK_SEGMENTS << JAVA_SEGMENT_SHIFT,
	JAVA_CODE = 4096,
	JAVA_BYTES = JAVA_CODE + JAVA_BLOCKS * JAVA_BLOCK_BYTES,
	JAVA_BLOB = 16,
	JAVA_BLOB_CODE = 208,
	JAVA_CHUNKS = 40,
};

struct world {
	/* A whole slab, of which only the first CELLS hold anything. */
	struct cell cells[SLAB_CELLS];
	struct executable_descriptor descriptor;
	uint64_t stack[STACK_WORDS];
	uint64_t kernel[KERNEL_WORDS];
	uint8_t code[TEXT_BYTES];
	uint8_t java[JAVA_BYTES];
};

struct input {
	const uint8_t *bytes;
	size_t left;
	/* Some words are addresses of Java's code. */
	bool has_java;
};

static void take(struct input *input, void *bytes, size_t size)
{
	size_t part = size < input->left ? size : input->left;

	memset(bytes, 0, size);
	if (!part)
		return;
	memcpy(bytes, input->bytes, part);
	input->bytes += part;
	input->left -= part;
}

static uint64_t take_word(struct input *input)
{
	uint64_t word = 0;

	take(input, &word, sizeof(word));
	switch (word & 7) {
	case 0:
	case 1:
		return TEXT_START + (word >> 3 & (TEXT_BYTES - 1));
	case 2:
	case 3:
		return STACK_START + (word >> 3 & (STACK_WORDS * 8 - 1));
	case 4:
		return TASK_START + (word >> 3 & (KERNEL_WORDS * 8 - 1));
	case 5:
		return 0;
	case 6:
		if (input->has_java)
			return JAVA_START + JAVA_CODE + (word >> 3) % (JAVA_BYTES - JAVA_CODE);
		return word;
	default:
		return word;
	}
}

static struct cell *find_slab(void *context, uint32_t index)
{
	struct world *world = context;

	return index == 0 ? world->cells : NULL;
}

static struct executable_descriptor *find_executable(void *context, uint32_t slot)
{
	struct world *world = context;

	return slot == (EXECUTABLE_ID & (EXECUTABLE_SLOT_COUNT - 1)) ? &world->descriptor : NULL;
}

static int read_region(uint64_t start, const void *region, size_t region_size, uint64_t address,
		       void *bytes, size_t size)
{
	uint64_t offset = address - start;

	if (offset >= region_size || size > region_size - offset)
		return -1;
	memcpy(bytes, (const uint8_t *)region + offset, size);
	return 0;
}

static int read_user(void *context, uint64_t address, void *bytes, size_t size)
{
	struct world *world = context;

	if (!read_region(TEXT_START, world->code, sizeof(world->code), address, bytes, size))
		return 0;
	if (!read_region(JAVA_START, world->java, sizeof(world->java), address, bytes, size))
		return 0;
	return read_region(STACK_START, world->stack, sizeof(world->stack), address, bytes, size);
}

static int read_kernel(void *context, uint64_t address, void *bytes, size_t size)
{
	struct world *world = context;

	return read_region(TASK_START, world->kernel, sizeof(world->kernel), address, bytes, size);
}

static struct unwind_rule take_rule(struct input *input)
{
	uint8_t bytes[8];

	take(input, bytes, sizeof(bytes));
	return (struct unwind_rule){
		.cfa = bytes[0] % (CFA_KIND_COUNT + 1),
		.cfa_register = (bytes[1] & 63) % 40,
		.flags = bytes[1] >> 6 | (bytes[3] & 64 ? RULE_LOOP : 0),
		.ra = bytes[2] % (SAVED_KIND_COUNT + 1),
		.fp = bytes[3] % (SAVED_KIND_COUNT + 1),
		.rbx_slot = bytes[3] >> 7 ? RBX_LOST : bytes[2] >> 5,
		.cfa_offset = (int8_t)bytes[4] * 8,
		.cfa_addend = (int8_t)bytes[5],
		.ra_offset = (int8_t)bytes[6] * (bytes[2] == SAVED_IN_REGISTER ? 1 : 8),
		.fp_offset = (int8_t)bytes[7] * 8,
	};
}

/* Rules and rows, and a page index that fits; then, maybe, one number that contradicts the rest. */
static void take_tables(struct input *input, struct world *world)
{
	struct unwind_header header = {
		.text_start = 0x1000,
		.page_count = PAGES,
		.page_index_cell = INDEX_CELL,
		.row_cell = ROW_CELL,
		.rule_cell = RULE_CELL,
		.rule_count = RULES,
	};
	struct mapping_row mappings[MAPPINGS] = {
		{ 0x10000, 0x20000, 0, EXECUTABLE_ID_ANONYMOUS },
		{ TEXT_START, TEXT_START + TEXT_BYTES / 2, TEXT_START - 0x1000, EXECUTABLE_ID },
		{ TEXT_START + TEXT_BYTES / 2, TEXT_START + TEXT_BYTES, TEXT_START - 0x1000,
		  EXECUTABLE_ID },
		{ JAVA_START, JAVA_START + JAVA_BYTES, 0, EXECUTABLE_ID_ANONYMOUS },
		{ 0x7ffffffff000, 0x800000000000, 0, EXECUTABLE_ID_UPROBES },
	};
	uint16_t row_numbers[PAGES * 4] = { 0 };
	uint8_t row_offsets[PAGES * 4] = { 0 };
	uint32_t index[PAGES + 1];
	struct unwind_rule rules[RULES];
	uint8_t numbers[4];

	for (int i = 0; i < RULES; i++)
		rules[i] = take_rule(input);
	for (int page = 0; page < PAGES; page++) {
		take(input, numbers, sizeof(numbers));
		index[page] = header.row_count;
		for (int i = 0; i < numbers[0] % 4; i++) {
			row_offsets[header.row_count] = i * 64 + numbers[1] % 64;
			row_numbers[header.row_count++] = (numbers[2] + i) % (RULES + 1);
		}
	}
	index[PAGES] = header.row_count;
	memcpy(&world->cells[ROW_CELL], row_offsets, sizeof(row_offsets));
	memcpy(&world->cells[ROW_CELL + unwind_offset_cells(header.row_count)], row_numbers,
	       sizeof(row_numbers));
	world->descriptor.word = descriptor_word(EXECUTABLE_ID, HEADER_CELL);
	take(input, numbers, sizeof(numbers));
	if (numbers[0] < 32)
		((uint32_t *)&header)[numbers[1] % 8] += (uint32_t)numbers[2] << numbers[3] % 32;
	else if (numbers[0] < 64)
		index[numbers[1] % (PAGES + 1)] = numbers[2];
	else if (numbers[0] < 96)
		((uint64_t *)mappings)[numbers[1] % (4 * MAPPINGS)] += (uint64_t)numbers[2]
								       << numbers[3] % 64;
	else if (numbers[0] < 104)
		world->descriptor.word += (uint64_t)numbers[2] << numbers[3] % 64;
	memcpy(&world->cells[MAPPING_CELL], mappings, sizeof(mappings));
	memcpy(&world->cells[HEADER_CELL], &header, sizeof(header));
	memcpy(&world->cells[INDEX_CELL], index, sizeof(index));
	memcpy(&world->cells[RULE_CELL], rules, sizeof(rules));
}

/* Sets the offsets that lead to the lists of interpreters and threads. */
static void lead_to_others(struct python_process *process)
{
	process->interpreters = STACK_START + OTHERS_WORD * 8;
	process->interpreter_next = process->thread_next = 0;
	process->interpreter_threads = process->thread_interpreter = 8;
	process->thread_id = 16;
	process->thread_frame = OTHER_FRAME * 8;
}

/* A process's Python: offsets and kinds as the input has them, or such as lead on. */
static struct python_process take_python(struct input *input, struct world *world)
{
	struct runtime_row rows[2] = { { EXECUTABLE_ID + 1, FRAME_PYTHON, PYTHON_CELL },
				       { EXECUTABLE_ID, FRAME_PYTHON, PYTHON_CELL } };
	struct python_process process;
	uint8_t choices[4];

	take(input, &process, sizeof(process));
	take(input, choices, sizeof(choices));
	if (choices[0] & 1) {
		process.chain = choices[0] >> 1 & 7;
		process.thread_state[0].depth = choices[1] & 3;
		process.thread_state[0].offsets[0] &= 0xf8;
		process.thread_state[0].offsets[1] &= 0xf8;
		process.thread_frame &= 0xf8;
		process.thread_cframe &= 0xf8;
		process.cframe_current &= 0x38;
		process.cframe_previous &= 0x38;
		process.frame_start &= 0x18;
		process.frame_bytes = 72;
		process.code_bytes = 64;
		process.saved_bytes &= 0x38;
	}
	if (choices[0] & 16)
		lead_to_others(&process);
	if (choices[2] < 16)
		rows[choices[2] & 1].language += choices[2] >> 1;
	if (choices[3] < 16)
		rows[1].cell += (uint32_t)choices[3] << 24;
	memcpy(&world->cells[INTERPRETER_CELL], rows, sizeof(rows));
	memcpy(&world->cells[PYTHON_CELL], &process, sizeof(process));
	return process;
}

/*
 * A process's Go: offsets as the input has them, or such as lead on, to structs that are then on the
 * stack. Its row stands behind those of Python.
 */
static bool take_go(struct input *input, struct world *world)
{
	struct runtime_row row = { EXECUTABLE_ID, FRAME_GO, GO_CELL };
	struct go_process process;
	uint8_t choices[2];

	take(input, &process, sizeof(process));
	take(input, choices, sizeof(choices));
	process.g.depth = choices[0] & 3;
	if (choices[0] & 4) {
		process.g.offsets[0] = 0;
		process.m_curg = 8;
		process.m_vdso_sp = 16;
		process.m_vdso_pc = 24;
		process.call_g &= 0x18;
		process.call_depth &= 0x18;
		process.g_sched_lr &= 0x78;
	}
	if (choices[1] < 16)
		row.cell += (uint32_t)choices[1] << 24;
	memcpy(&world->cells[INTERPRETER_CELL + 2], &row, sizeof(row));
	memcpy(&world->cells[GO_CELL], &process, sizeof(process));
	return choices[0] & 8;
}

/* The thread's g, its m and that one's curg lead to each other; the rest is the input's. */
static void make_go(struct world *world, uint64_t thread_pointer)
{
	uint64_t *g = &world->stack[GO_WORD], *m = g + GO_STRUCT_WORDS;
	uint64_t *curg = m + GO_STRUCT_WORDS;
	const uint64_t at = STACK_START + GO_WORD * 8, bytes = GO_STRUCT_WORDS * 8;

	world->stack[(thread_pointer - STACK_START) / 8] = at;
	g[GO_G_M / 8] = at + bytes;
	m[GO_M_G0 / 8] = at;
	/* The scheduler's stack is there, too, without a goroutine. */
	if (m[1] & 1)
		m[1] = at + 2 * bytes;
	curg[GO_G_STACK_LOW / 8] = STACK_START + curg[GO_G_STACK_LOW / 8] % (GO_WORD * 4);
	curg[GO_G_STACK_HIGH / 8] = STACK_START + GO_WORD * 8;
}

/* Instructions that show the position of a leaf; the rest of the code is the input's. */
static const struct {
	uint8_t count;
	uint8_t bytes[15];
} chunks[] = {
	{ 1, "\x55" },
	{ 3, "\x48\x8b\xec" },
	{ 4, "\x48\x83\xec\x20" },
	{ 5, "\x48\x89\x6c\x24\x10" },
	{ 1, "\x5d" },
	{ 1, "\xc3" },
	{ 1, "\xc9" },
	{ 1, "\x58" },
	{ 5, "\xe8\x00\x00\x00\x00" },
	{ 2, "\xff\xd0" },
	{ 8, "\x41\x5d\x48\x8b\xe3\x41\xff\xe5" },
	{ 10, "\x49\x3b\x67\x08\x0f\x87\x00\x00\x00\x00" },
	{ 13, "\x49\x3b\xa7\x08\x00\x00\x00\x0f\x87\x00\x00\x00\x00" },
	{ 7, "\x85\x05\x00\x00\x00\x00\xc3" },
	{ 8, "\x4d\x8b\x57\x08\x41\x85\x02\xc3" },
	{ 11, "\x4d\x8b\x97\x08\x00\x00\x00\x41\x85\x02\xc3" },
	{ 11, "\x4c\x8d\x15\x00\x00\x00\x00\x4d\x89\x57\x08" },
	{ 4, "\x66\x0f\x3a\x61" },
};

enum { CHUNK_COUNT = sizeof(chunks) / sizeof(chunks[0]) };

/* Code of a block: as many chunks as fit, @input says which. */
static void take_code(struct input *input, uint8_t *code, size_t bytes)
{
	uint8_t choices[JAVA_CHUNKS];
	size_t offset = 0;

	take(input, choices, sizeof(choices));
	for (int i = 0; i < JAVA_CHUNKS; i++) {
		uint8_t count = 1;

		if (choices[i] < 4 * CHUNK_COUNT)
			count = chunks[choices[i] % CHUNK_COUNT].count;
		if (offset + count > bytes)
			break;
		if (choices[i] < 4 * CHUNK_COUNT)
			memcpy(code + offset, chunks[choices[i] % CHUNK_COUNT].bytes, count);
		else
			code[offset] = choices[i];
		offset += count;
	}
}

/* Sets the deopt handler of block @index, at @offset in its code. */
static void put_handler(const struct java_process *process, int index, uint8_t offset,
			uint8_t *field)
{
	uint64_t blob = JAVA_START + JAVA_CODE + index * JAVA_BLOCK_BYTES + JAVA_BLOB;
	uint64_t handler = JAVA_BLOB_CODE + offset;

	if (process->deopt_handler_bytes == 8)
		handler += blob;
	memcpy(field, &handler, sizeof(handler));
}

/* A process's JVM: fields as the input has them, or such as fit the heap that is made. Its row is the last. */
static void take_java(struct input *input, struct world *world, uint32_t row_cell)
{
	struct runtime_row row = { EXECUTABLE_ID + 2, FRAME_JAVA | RUNTIME_HAS_CODE, JAVA_CELL };
	struct java_process process = { 0 };
	uint8_t choices[8];

	take(input, &process, offsetof(struct java_process, unloads));
	take(input, choices, sizeof(choices));
	for (int i = 0; i < JAVA_BLOCKS * JAVA_BLOCK_SEGMENTS; i++)
		world->java[i] = i % JAVA_BLOCK_SEGMENTS;
	world->java[choices[1]] = choices[2];
	process.heaps[choices[0] % JAVA_CODE_HEAPS_MAX] = (struct java_code_heap){
		.start = JAVA_START + JAVA_CODE,
		.segment_map = JAVA_START,
		.bytes = JAVA_BYTES - JAVA_CODE,
		.log2_segment_size = JAVA_SEGMENT_SHIFT,
	};
	process.code_start = JAVA_START + JAVA_CODE;
	process.code_bytes = JAVA_BYTES - JAVA_CODE;
	process.unloads = choices[7] & 1 ? JAVA_START + choices[7] * 8 : 0;
	process.safepoints = choices[7] & 2 ? process.unloads : 0;
	if (choices[3] & 1) {
		process.interpreter_start = JAVA_START + JAVA_BYTES - 2 * JAVA_BLOCK_BYTES;
		process.interpreter_end = JAVA_START + JAVA_BYTES - JAVA_BLOCK_BYTES;
		process.call_stub_return = JAVA_START + JAVA_BYTES - JAVA_BLOCK_BYTES + choices[4];
		process.block_used = 8;
		process.block_bytes = JAVA_BLOB;
		process.head_bytes = JAVA_HEAD_MAX_BYTES;
		process.blob_header_size = 0;
		process.header_size_bytes = 4;
		process.blob_frame_size = 4;
		process.blob_frame_complete = 8;
		process.frame_complete_bytes = choices[3] & 2 ? 2 : 4;
		process.code_is_address = 0;
		process.blob_code = 12;
		process.blob_data = 16;
		process.nmethod_bytes = 100;
		process.nmethod_method = 24;
		process.blob_oop_maps = 56;
		process.deopt_handler_bytes = choices[6] >> 1 & 12;
		process.nmethod_compile_id = 56 + JAVA_HEAD_MAX_BYTES + 4 * (choices[6] % 4);
		process.nmethod_deopt_handler = 64;
		process.nmethod_deopt_mh_handler = 56 + choices[6] / 4 % 4 * 8;
		process.nmethod_original_pc = process.nmethod_compile_id - 4;
		process.blob_name = 32;
		process.method_const_method = 8;
		process.const_method_bytes = 48;
		process.const_method_constants = 8;
		process.const_method_code_size = 16;
		process.bcp_slot = 8;
	}
	for (int i = 0; i < JAVA_BLOCKS; i++) {
		uint8_t *block = world->java + JAVA_CODE + i * JAVA_BLOCK_BYTES;
		uint8_t values[4];
		uint32_t head[5];
		uint64_t name = JAVA_START + JAVA_CODE + JAVA_BLOB + 48;

		take(input, values, sizeof(values));
		head[0] = values[0] & 1 ? 100 : 40;
		head[1] = values[0] >> 1 & 7;
		head[2] = values[0] >> 4 & 1 ? (uint32_t)-1 : values[1];
		head[3] = JAVA_BLOB_CODE;
		head[4] = values[0] >> 5 & 1 ? values[2] * 4 : JAVA_BLOCK_BYTES - JAVA_BLOB;
		block[8] = values[3] >= 8;
		memcpy(block + JAVA_BLOB, head, sizeof(head));
		memcpy(block + JAVA_BLOB + 32, &name, sizeof(name));
		put_handler(&process, i, values[2], block + JAVA_BLOB + 64);
		memcpy(block + JAVA_BLOB + 48, values[0] >> 6 & 1 ? "I2C/C2I " : "vtable c", 8);
		take_code(input, block + JAVA_BLOB + JAVA_BLOB_CODE,
			  JAVA_BLOCK_BYTES - JAVA_BLOB - JAVA_BLOB_CODE);
	}
	if (choices[5] < 16)
		row.cell += (uint32_t)choices[5] << 24;
	memcpy(&world->cells[row_cell], &row, sizeof(row));
	memcpy(&world->cells[JAVA_CELL], &process, sizeof(process));
}

/*
 * Makes one list, whose elements are read as interpreters and as threads. The rest of their words is the
 * input's, except that the frame of one thread is @frame, which is in a register and on the stack.
 */
static void make_others(struct world *world, const struct python_process *process, uint64_t frame)
{
	/* Words that nothing else reads. */
	const uint16_t *choices = process->reserved_words;

	for (int i = 0; i < OTHERS; i++) {
		uint64_t *other = &world->stack[OTHERS_WORD + i * OTHER_WORDS];
		uint64_t next = process->interpreters + (i + 1) * OTHER_WORDS * 8;

		other[0] = i + 1 < OTHERS ? next : 0;
		/* The threads of the first interpreter in the list; a thread that is found twice is in two chains. */
		other[1] = i == 1 ? next : 0;
		/* Where the input has ended all words are alike. */
		other[OTHER_FRAME] += 8 * (i + 1);
		if (i == choices[0] % OTHERS)
			other[OTHER_FRAME] = frame;
	}
	world->stack[choices[1] % STACK_WORDS] = frame;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct world world;
	static struct emulated_trace trace;
	struct input input = { .bytes = bytes, .left = size };
	struct emulated_memory memory = {
		.context = &world,
		.slab = find_slab,
		.executable = find_executable,
		.read_user = read_user,
		.read_kernel = read_kernel,
	};
	struct emulated_start start = { .mapping_cell = MAPPING_CELL, .mapping_count = MAPPINGS };
	struct python_process process;
	uint8_t choices[2];
	uint32_t index = 0;
	bool leads_to_go = false;

	memset(world.cells, 0, CELLS * CELL_BYTES);
	memset(world.code, 0, sizeof(world.code));
	memset(world.java, 0, sizeof(world.java));
	take(&input, choices, sizeof(choices));
	start.frame_flags = choices[0] & FRAME_RETURN_ADDRESS;
	start.uprobe_task = choices[0] & 2 ? TASK_START : 0;
	if (choices[0] & 4)
		start.mapping_count = choices[1];
	if (choices[0] & 8)
		start.mapping_cell = choices[1] * 1024;
	if (choices[0] & 16)
		memory.read_kernel = NULL;
	if (choices[0] & 32)
		start.runtime_cell = INTERPRETER_CELL;
	input.has_java = (choices[0] & 160) == 160;
	for (int i = 0; i < REGISTER_COUNT_X86; i++)
		start.registers[i] = take_word(&input);
	take_tables(&input, &world);
	for (int i = 0; i < KERNEL_WORDS; i++)
		world.kernel[i] = take_word(&input);
	take(&input, world.code, 64);
	if (start.runtime_cell) {
		start.thread_pointer = STACK_START + choices[1] * 8;
		process = take_python(&input, &world);
		if (choices[0] & 64)
			leads_to_go = take_go(&input, &world);
		if (input.has_java)
			take_java(&input, &world, INTERPRETER_CELL + 2 + (choices[0] >> 6 & 1));
	}
	for (int i = 0; i < STACK_WORDS; i++)
		world.stack[i] = take_word(&input);
	if (start.runtime_cell && process.interpreters == STACK_START + OTHERS_WORD * 8)
		make_others(&world, &process, start.registers[FRAME_REGISTER]);
	if (leads_to_go)
		make_go(&world, start.thread_pointer);

	emulated_unwind(&memory, &start, &trace);

	/* Whatever the input: frames that say how many words they are, errors where they may stand. */
	while (index < trace.word_count) {
		uint64_t word = trace.words[index];

		index += frame_word_count(word);
		if (frame_kind(word) == FRAME_ERROR &&
		    (index != trace.word_count || frame_flags(word) != trace.error) &&
		    (!start.runtime_cell || frame_flags(word) != trace.interpreter_error))
			abort();
		if (frame_kind(word) == FRAME_PYTHON && !start.runtime_cell)
			abort();
		if (frame_kind(word) == FRAME_JAVA && !input.has_java)
			abort();
		if (frame_kind(word) != FRAME_ERROR && frame_kind(word) != FRAME_NATIVE &&
		    frame_kind(word) != FRAME_PYTHON && frame_kind(word) != FRAME_JAVA)
			abort();
	}
	if (index != trace.word_count || index > TRACE_MAX_WORDS ||
	    trace.error >= UNWIND_ERROR_COUNT)
		abort();
	return 0;
}
