/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the kernel side in hostile memory. Byte 0: version of a made process; byte 1: the frame to look up; bytes 2
 * to 4: its position and flags; then changes to the process, 5 bytes each: offset, source and kind. The fingerprint is
 * computed from the changed memory, since no input would find it. Memory may change once more while it is read.
 *
 * covers: javascript_symbolize.c v8_frames.c v8_lines.c v8_wasm.c
 */
#include "interpreters/javascript/javascript_symbolize.h"

#include "interpreters/fuzz/check_text.h"
#include "interpreters/javascript/tests/made_process.h"

enum {
	HEAD_BYTES = 5,
	CHANGE_BYTES = 5,
	CHANGES_MAX = 32,
	MAX_READS = 1 << 21,
	/* Words of the made stack: functions, and return addresses in their code. */
	OUTER_FUNCTION = 10,
	INNER_FUNCTION = 18,
	BASELINE_RETURN = 13,
	OPTIMIZED_RETURN = 21,
	FUNCTIONS = 2,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A process of each version: in its original and in its changed state. */
struct process {
	struct made_process made;
	uint8_t bytes[MADE_HEAP_BYTES];
	bool is_made;
	uint64_t shared[FUNCTIONS];
	/** Tagged: the Code of optimized code. */
	uint64_t code;
	uint32_t reads;
	/** Number of the read at which memory changes; 0: never. */
	uint32_t change_at;
	const uint8_t *change;
};

static struct process processes[V8_LINE_COUNT];
static struct process *current;

static struct v8_builtin builtin_items[] = {
	{ .start = 0, .end = 64, .name = "ArrayMap" },
	{ .start = 64, .end = 128, .name = "CEntry" },
};
static const struct v8_builtins builtins = { .start = 0x1000, .items = builtin_items, .count = 2 };

static uint64_t word_at(const struct made_heap *made, uint64_t address)
{
	uint64_t word;

	memcpy(&word, made->bytes + (address - MADE_HEAP_BASE), sizeof(word));
	return word;
}

/* The offset of a word in the heap or in the code page that the input chooses. */
static uint32_t pick_offset(const struct made_process *process, const uint8_t *bytes)
{
	const uint32_t code_bytes = (uint32_t)(process->page.next - made_code_page_start());
	const uint32_t words = (process->made.used + code_bytes) / 8;
	const uint32_t at = (bytes[0] | (uint32_t)bytes[1] << 8) % words * 8;

	return at < process->made.used ? at : MADE_HEAP_CODE_AT + (at - process->made.used);
}

/* Changes a word, mostly to another word of the process, since few numbers are addresses. */
static void change(struct process *process, const uint8_t *bytes)
{
	struct made_heap *made = &process->made.made;
	const uint32_t offset = pick_offset(&process->made, bytes);
	const uint32_t source = pick_offset(&process->made, bytes + 2);
	const uint8_t how = bytes[4];
	uint64_t word = word_at(made, MADE_HEAP_BASE + offset);
	const uint64_t words[] = {
		word_at(made, MADE_HEAP_BASE + source),
		MADE_HEAP_BASE + source + V8_TAG,
		word + (uint64_t)(int64_t)(int8_t)how,
		made_smi((int32_t)source - 8),
		word ^ 1ULL << (how >> 2 & 63),
		how,
		(word & UINT32_MAX) | (uint64_t)source << 32,
		MADE_HEAP_BASE + source,
	};

	memcpy(made->bytes + offset, &words[how % 8], sizeof(word));
}

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	if (++current->reads > MAX_READS)
		abort();
	if (current->reads == current->change_at)
		change(current, current->change);
	return made_heap_read(memory, address, buffer, bytes);
}

static void make(struct process *process, enum v8_line line)
{
	static const uint32_t functions[FUNCTIONS] = { OUTER_FUNCTION, INNER_FUNCTION };
	static const struct remote_memory_ops ops = { .read = read_memory };
	struct made_process *made = &process->made;
	const struct v8_layout *layout = &made->made.layout;
	struct v8_code code;

	made_process_init(made, line);
	for (int i = 0; i < FUNCTIONS; i++) {
		uint64_t function = word_at(&made->made, made->stack + functions[i] * 8);

		process->shared[i] =
			word_at(&made->made, function - V8_TAG + (uint64_t)layout->function_shared);
	}
	if (v8_code_find(&made->made.heap, made->page.bias,
			 word_at(&made->made, made->stack + OPTIMIZED_RETURN * 8), &code))
		abort();
	process->code = code.object;
	if (v8_code_find(&made->made.heap, made->page.bias,
			 word_at(&made->made, made->stack + BASELINE_RETURN * 8), &code))
		abort();
	/* The inner function runs in Sparkplug's code. */
	made_word(&made->made, code.object, layout->code_data,
		  word_at(&made->made,
			  process->shared[1] - V8_TAG + (uint64_t)layout->shared_data));
	made_word(&made->made, process->shared[1], layout->shared_data, code.object);
	made->made.memory.ops = &ops;
	memcpy(process->bytes, made->made.bytes, sizeof(process->bytes));
	process->is_made = true;
}

/* The fingerprint that the kernel side computes of the function at tagged @shared. */
static uint32_t function_fingerprint(const struct v8_heap *heap, uint64_t shared)
{
	const struct v8_layout *layout = heap->layout;
	int32_t literal = 0, unique = 0, length = 0;
	uint64_t from = 0, id = 0, source = 0;

	(void)v8_field_int(heap, shared, layout->shared_literal_id, &literal);
	(void)v8_field(heap, shared, layout->shared_script, &from);
	if (layout->shared_unique_id != V8_ABSENT)
		(void)v8_field_int(heap, shared, layout->shared_unique_id, &unique);
	(void)v8_field(heap, from, layout->script_id, &id);
	if (!v8_field(heap, from, layout->script_source, &source))
		(void)v8_field_int(heap, source, layout->string_length, &length);
	return javascript_function_fingerprint((uint64_t)(uint32_t)unique << 32 | (uint32_t)literal,
					       id, (uint32_t)length);
}

static uint32_t code_fingerprint(const struct v8_heap *heap, uint64_t object)
{
	struct v8_code code;
	uint64_t shared = 0;
	int32_t id = 0;

	if (v8_code_read(heap, object, &code) || v8_code_optimization_id(heap, &code, &id) ||
	    v8_optimized_function(heap, &code, &shared))
		return 0;
	return javascript_code_fingerprint(function_fingerprint(heap, shared), (uint32_t)id);
}

static void check_frames(const struct interpreted_frames *frames)
{
	if (!frames->count || frames->count > INTERPRETED_FRAMES_MAX)
		abort();
	for (uint32_t i = 0; i < frames->count; i++) {
		const struct interpreted_frame *frame = &frames->items[i];

		if (!*frame->function || frame->is_inlined != (i + 1 < frames->count))
			abort();
		check_text(frame->function);
		if (frame->file)
			check_text(frame->file);
	}
}

/* Names the frame twice, the second time from the cache. */
static void name_frame(struct process *process, const uint64_t words[2])
{
	struct made_heap *made = &process->made.made;
	struct javascript_symbolizer symbolizer;
	static struct interpreted_frames frames;

	javascript_symbolizer_init(&symbolizer, &made->layout, &builtins);
	for (int i = 0; i < 2; i++) {
		process->reads = 0;
		if (javascript_symbolize(&symbolizer, &made->memory, words, 1, &frames))
			break;
		if (i && process->reads)
			abort();
		check_frames(&frames);
	}
	javascript_symbolizer_deinit(&symbolizer);
}

/* The words of a frame in wasm's code. */
static void make_wasm_words(const struct process *process, const uint8_t *head, uint64_t words[2])
{
	const struct made_wasm *wasm = &process->made.wasm;
	const uint64_t pc = wasm->code[head[2] % 3] + head[3] % MADE_WASM_CODE_SIZE;

	words[0] = frame_word(FRAME_JAVASCRIPT, head[2] & 4 ? FRAME_RETURN_ADDRESS : 0,
			      wasm->instance);
	words[1] = javascript_wasm_word(pc, word_at(&process->made.made, pc - 8));
}

static void look_at(struct process *process, const uint8_t *head)
{
	const struct v8_heap *heap = &process->made.made.heap;
	const uint32_t code = head[1] & JAVASCRIPT_CODE_MASK, choice = head[1] >> 3;
	const uint32_t offset = choice & 4 ? JAVASCRIPT_NO_OFFSET - head[2] :
					     head[2] | (uint32_t)(head[3] & 1) << 8;
	const bool is_optimized = code == JAVASCRIPT_OPTIMIZED;
	const uint64_t object = is_optimized ? process->code : process->shared[choice & 1];
	const uint32_t print = is_optimized ? code_fingerprint(heap, object) :
					      function_fingerprint(heap, object);
	uint64_t words[2] = {
		frame_word(FRAME_JAVASCRIPT, choice & 2 ? FRAME_RETURN_ADDRESS : 0, object),
		(uint64_t)(code << JAVASCRIPT_CODE_SHIFT | offset |
			   (choice & 8 ? JAVASCRIPT_NEW : 0))
				<< 32 |
			print,
	};

	if (code == JAVASCRIPT_WASM)
		make_wasm_words(process, head, words);
	process->reads = 0;
	process->change_at = head[3] & 2 ? head[4] : 0;
	name_frame(process, words);
	process->change_at = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t none[CHANGE_BYTES];
	const uint8_t *changes;
	size_t count;

	if (size < HEAD_BYTES)
		return 0;
	current = &processes[data[0] % V8_LINE_COUNT];
	if (!current->is_made)
		make(current, data[0] % V8_LINE_COUNT);
	changes = data + HEAD_BYTES;
	count = (size - HEAD_BYTES) / CHANGE_BYTES;
	if (count > CHANGES_MAX)
		count = CHANGES_MAX;
	current->change_at = 0;
	current->reads = 0;
	for (size_t i = 0; i < count; i++)
		change(current, changes + i * CHANGE_BYTES);
	/* The first change is applied a second time while memory is read; the result is mostly another word. */
	current->change = count ? changes : none;
	look_at(current, data);
	memcpy(current->made.made.bytes, current->bytes, sizeof(current->bytes));
	return 0;
}
