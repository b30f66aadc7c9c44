/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack, and all objects of its frames, in hostile memory. Byte 0: version of a made process; then changes to it, 5
 * bytes each: offset, source and kind. A word mostly becomes another word of the process, since few numbers are
 * addresses.
 *
 * covers: v8_unwind.c v8_frames.c v8_code.c v8_heap.c v8_string.c v8_function.c v8_lines.c
 */
#include "interpreters/javascript/v8_unwind.h"

#include "interpreters/fuzz/check_text.h"
#include "interpreters/javascript/tests/made_process.h"
#include "interpreters/javascript/v8_function.h"
#include "interpreters/javascript/v8_lines.h"

enum {
	CHANGE_BYTES = 5,
	CHANGES_MAX = 32,
	MAX_READS = 1 << 21,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** A process of each version in its original state, and the changes to it. */
struct process {
	struct made_process made;
	bool is_made;
	uint32_t reads;
	struct {
		uint32_t offset;
		uint64_t word;
	} undo[CHANGES_MAX];
	uint32_t undo_count;
};

static struct process processes[V8_LINE_COUNT];
static struct process *current;

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	if (++current->reads > MAX_READS)
		abort();
	return made_heap_read(memory, address, buffer, bytes);
}

static void look_at_function(const struct v8_heap *heap, const struct v8_frame_function *function)
{
	struct v8_function_ids ids;
	struct v8_lines lines;
	struct v8_location location;
	uint64_t script = 0;
	uint32_t start;
	v8_text name;

	(void)v8_shared_ids(heap, function->shared, &ids);
	(void)v8_shared_start(heap, function->shared, &start);
	if (!v8_shared_name(heap, function->shared, name))
		check_text(name);
	if (v8_shared_script(heap, function->shared, &script))
		return;
	if (!v8_script_name(heap, script, name))
		check_text(name);
	if (v8_lines_read(heap, script, &lines))
		return;
	if (!lines.count || lines.count > V8_LINES_MAX_COUNT)
		abort();
	v8_lines_locate(&lines, (uint32_t)function->script_offset, &location);
	v8_lines_deinit(&lines);
}

static int look_at_frame(void *context, const struct v8_unwind_frame *frame)
{
	static struct v8_frame_functions functions;
	const struct v8_heap *heap = context;
	struct v8_frame changed = frame->frame;
	int32_t id;

	if (frame->kind != V8_UNWIND_FUNCTION)
		return 0;
	(void)v8_code_optimization_id(heap, &changed.code, &id);
	for (int i = 0; i < 6; i++) {
		changed.is_return_address = i & 1;
		if (v8_frame_find_functions(heap, &changed, (enum v8_inlining_source)(i / 2),
					    &functions))
			continue;
		if (!functions.count || functions.count > V8_INLINED_MAX)
			abort();
		for (uint32_t j = 0; j < functions.count; j++)
			look_at_function(heap, &functions.items[j]);
	}
	return 0;
}

/* Changes the word at @offset, and saves the old one. */
static void change(struct process *process, uint32_t offset, uint32_t source, uint8_t how)
{
	struct made_heap *made = &process->made.made;
	uint64_t word, other;

	memcpy(&word, made->bytes + offset, sizeof(word));
	memcpy(&other, made->bytes + source, sizeof(other));
	process->undo[process->undo_count].offset = offset;
	process->undo[process->undo_count++].word = word;
	switch (how % 8) {
	case 0:
		word = other;
		break;
	case 1:
		word = MADE_HEAP_BASE + source + V8_TAG;
		break;
	case 2:
		word += (uint64_t)(int64_t)(int8_t)how;
		break;
	case 3:
		word = made_smi((int32_t)source - 8);
		break;
	case 4:
		word ^= 1ULL << (how >> 2 & 63);
		break;
	case 5:
		word = how;
		break;
	case 6:
		word = (word & UINT32_MAX) | (uint64_t)source << 32;
		break;
	default:
		word = MADE_HEAP_BASE + source;
		break;
	}
	memcpy(made->bytes + offset, &word, sizeof(word));
}

/* The offset of a word in the heap or in the code page that the input chooses. */
static uint32_t pick_offset(const struct made_process *process, const uint8_t *bytes)
{
	const uint32_t code_bytes = (uint32_t)(process->page.next - made_code_page_start());
	const uint32_t words = (process->made.used + code_bytes) / 8;
	const uint32_t at = (bytes[0] | (uint32_t)bytes[1] << 8) % words * 8;

	return at < process->made.used ? at : MADE_HEAP_CODE_AT + (at - process->made.used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	struct made_heap *made;
	struct v8_unwind unwind = { .find_builtin = made_find_builtin, .emit = look_at_frame };

	if (!size)
		return 0;
	current = &processes[data[0] % V8_LINE_COUNT];
	made = &current->made.made;
	if (!current->is_made) {
		made_process_init(&current->made, data[0] % V8_LINE_COUNT);
		made->memory.ops = &ops;
		current->is_made = true;
	}
	current->reads = 0;
	for (size_t i = 1; i + CHANGE_BYTES <= size && current->undo_count < CHANGES_MAX;
	     i += CHANGE_BYTES)
		change(current, pick_offset(&current->made, data + i),
		       pick_offset(&current->made, data + i + 2), data[i + 4]);
	unwind.heap = &made->heap;
	unwind.bias = current->made.page.bias;
	unwind.context = &made->heap;
	v8_unwind_stack(&unwind, current->made.stack,
			current->made.stack + MADE_STACK_WORDS * sizeof(uint64_t));
	while (current->undo_count) {
		current->undo_count--;
		memcpy(made->bytes + current->undo[current->undo_count].offset,
		       &current->undo[current->undo_count].word, sizeof(uint64_t));
	}
	return 0;
}
