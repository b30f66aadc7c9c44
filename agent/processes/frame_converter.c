/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversion of frames. The words were written by the kernel side, or by its unwinder in user
 * space, and the trace handler has checked their shape; addresses in them can be anything.
 */
#include "agent/processes/frame_converter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/kernel_symbols.h"
#include "agent/processes/perf_maps.h"
#include "agent/processes/runtimes/interpreted_names.h"
#include "lib/base/error.h"
#include "lib/base/hash_map.h"
#include "lib/host/file_id.h"

enum {
	/**
	 * Enough for a trace of TRACE_MAX_WORDS one-word frames. With additional inlined frames a trace may be
	 * cut.
	 */
	FRAMES_MAX = TRACE_MAX_WORDS,
	/** Limit of modules, counting each reload at another address; beyond it all are forgotten. */
	KERNEL_BINARIES_MAX = 8192,
};

/* Key that distinguishes loads of a module. */
struct kernel_binary_key {
	char name[KERNEL_MODULE_NAME_BYTES];
	struct file_id file_id;
	uint64_t start;
};

struct frame_converter {
	struct frame_converter_config config;
	struct binary *uprobes;
	struct binary *unmapped;
	/* Stands for executables that are forgotten. */
	struct binary *unknown;
	/** struct kernel_binary_key -> struct binary, one reference each. */
	struct hash_map kernel_binaries;
	struct interpreted_names names;
	/** The last frame may expand to several, and one more marks the trace as cut. */
	struct frame frames[FRAMES_MAX + INTERPRETED_FRAMES_MAX];
};

/* Makes a binary without a file. Its id is made from the name, equal on every host. NULL without memory. */
static struct binary *create_special_binary(uint64_t executable_id, const char *name)
{
	struct binary values = {
		.executable_id = executable_id,
		.fd = -1,
		.path = (char *)name,
	};

	if (file_id_of_memory(name, strlen(name), &values.file_id))
		return NULL;
	return binary_create(&values);
}

int frame_converter_create(const struct frame_converter_config *config,
			   struct frame_converter **converter)
{
	struct frame_converter *created = calloc(1, sizeof(*created));

	if (!created)
		return fail(-ENOMEM, "no memory for the frame converter");
	interpreted_names_init(&created->names);
	created->config = *config;
	created->uprobes = create_special_binary(EXECUTABLE_ID_UPROBES, "[uprobes]");
	created->unmapped = create_special_binary(EXECUTABLE_ID_UNMAPPED, "[unmapped]");
	created->unknown = create_special_binary(0, "[unknown]");
	if (!created->uprobes || !created->unmapped || !created->unknown) {
		frame_converter_destroy(created);
		return fail(-ENOMEM, "no memory for the frame converter");
	}
	*converter = created;
	return 0;
}

static void forget_kernel_binaries(struct frame_converter *converter)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&converter->kernel_binaries, &cursor, NULL, &value))
		binary_unref((struct binary *)(uintptr_t)value);
	hash_map_deinit(&converter->kernel_binaries);
}

void frame_converter_destroy(struct frame_converter *converter)
{
	if (!converter)
		return;
	interpreted_names_deinit(&converter->names);
	forget_kernel_binaries(converter);
	binary_unref(converter->uprobes);
	binary_unref(converter->unmapped);
	binary_unref(converter->unknown);
	free(converter);
}

void frame_converter_age(struct frame_converter *converter)
{
	interpreted_names_age(&converter->names);
}

/* Borrowed from the converter; NULL without memory. */
static struct binary *kernel_binary(struct frame_converter *converter,
				    const struct kernel_module *module)
{
	struct kernel_binary_key key = { .file_id = module->file_id, .start = module->start };
	struct binary values = {
		.file_id = module->file_id,
		.build_id_bytes = module->build_id_bytes,
		.is_kernel = true,
		.memory_limit = module->end - module->start,
		.fd = -1,
		.path = key.name,
	};
	struct binary *binary;
	uint64_t value;

	snprintf(key.name, sizeof(key.name), "%s", module->name);
	if (hash_map_find_bytes(&converter->kernel_binaries, &key, sizeof(key), &value))
		return (struct binary *)(uintptr_t)value;
	memcpy(values.build_id, module->build_id, module->build_id_bytes);
	binary = binary_create(&values);
	if (!binary)
		return NULL;
	if (hash_map_set_bytes(&converter->kernel_binaries, &key, sizeof(key), (uintptr_t)binary)) {
		binary_unref(binary);
		return NULL;
	}
	return binary;
}

/*
 * Whether @frame is the kernel's entry of an interrupt or exception (x86-64, arm64). Its caller was interrupted, and
 * its address is of the next instruction, which may be a function's first one.
 */
static bool is_interrupt_entry(const struct frame *frame)
{
	static const char *const prefixes[] = {
		"asm_fred_entrypoint_",	  "asm_sysvec_", "asm_exc_", "asm_common_interrupt",
		"asm_spurious_interrupt", "el1h_64_",
	};

	/* The entries of arm64 call el1h_64_..._handler(), which has an ordinary caller. */
	if (frame->kind != FRAME_KERNEL || !frame->function || strstr(frame->function, "_handler"))
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(frame->function, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/*
 * @callee: the frame before, NULL for the innermost one. The kernel's addresses would help an attacker on this machine, so they
 * do not leave this function: the result is relative to the module's text or, outside of that, to the function.
 */
static void convert_kernel_frame(struct frame_converter *converter, uint64_t word,
				 const struct frame *callee, struct frame *frame)
{
	uint32_t call_bytes = callee && !is_interrupt_entry(callee);
	uint64_t looked_up = word - call_bytes, offset;
	const struct kernel_module *module;
	struct kernel_symbol symbol;

	if (!converter->config.kernel_symbols ||
	    kernel_symbols_lookup(converter->config.kernel_symbols, looked_up, &symbol))
		return;
	module = symbol.module;
	offset = looked_up - module->start;
	frame->flags = call_bytes ? FRAME_RETURN_ADDRESS : 0;
	frame->function = symbol.name;
	frame->file = module->name;
	frame->address = call_bytes;
	if (module->end && offset >= module->end - module->start) {
		frame->address += symbol.offset;
		return;
	}
	frame->address += module->end ? offset : symbol.offset;
	frame->binary = kernel_binary(converter, module);
	if (frame->binary)
		binary_ref(frame->binary);
}

static struct binary *native_binary(struct frame_converter *converter, uint64_t executable_id)
{
	struct binary *binary;

	switch (executable_id) {
	case EXECUTABLE_ID_ANONYMOUS:
		return NULL;
	case EXECUTABLE_ID_UPROBES:
		return binary_ref(converter->uprobes);
	case EXECUTABLE_ID_UNMAPPED:
		return binary_ref(converter->unmapped);
	default:
		binary = executable_cache_binary(converter->config.executables, executable_id);
		return binary ? binary : binary_ref(converter->unknown);
	}
}

static void name_code(const struct raw_stack *stack, uint32_t word, struct frame *frame)
{
	struct code_location location;

	if (!stack->code || !stack_code_find(stack->code, word, &location))
		return;
	frame->function = location.function;
	frame->file = location.file;
	frame->line = location.line;
}

static void convert_native_frame(struct frame_converter *converter, const struct raw_stack *stack,
				 uint32_t word, const struct frame *previous, struct frame *frame)
{
	uint64_t executable_id = stack->words[word + 1];

	frame->address = frame_address(stack->words[word]);
	if (executable_id == EXECUTABLE_ID_ANONYMOUS)
		name_code(stack, word, frame);
	if (previous && previous->kind == FRAME_NATIVE && previous->binary &&
	    previous->binary->executable_id == executable_id)
		frame->binary = binary_ref(previous->binary);
	else
		frame->binary = native_binary(converter, executable_id);
}

static bool is_of_runtime(const struct frame *frame, const struct runtime_set *runtimes)
{
	if (frame->kind != FRAME_NATIVE || frame->flags & FRAME_GUESS || !frame->binary)
		return false;
	for (uint32_t i = 0; i < runtimes->count; i++)
		if (runtimes->runtimes[i]->executable_id == frame->binary->executable_id &&
		    language_has_loop(process_runtime_data(runtimes->runtimes[i])->language->id))
			return true;
	return false;
}

/* Leaves out frames of the runtimes between interpreted ones; returns the number of remaining frames. */
static uint32_t fold_runtimes(struct frame_converter *converter, uint32_t count,
			      const struct runtime_set *runtimes)
{
	struct frame *frames = converter->frames;
	uint32_t first = 0, end = count, kept;

	while (first < count && !frame_kind_is_interpreted(frames[first].kind))
		first++;
	while (end > first && !frame_kind_is_interpreted(frames[end - 1].kind))
		end--;
	kept = first;
	for (uint32_t i = first; i < count; i++) {
		if (i < end && is_of_runtime(&frames[i], runtimes))
			binary_unref(frames[i].binary);
		else
			frames[kept++] = frames[i];
	}
	return kept;
}

/* Fills @frames, INTERPRETED_FRAMES_MAX at most, from the words at @word; returns how many. */
static uint32_t convert_frame(struct frame_converter *converter, const struct raw_stack *stack,
			      uint32_t word, struct frame *frames, bool *is_lasting)
{
	const uint64_t *words = &stack->words[word];
	bool is_first = frames == converter->frames;
	uint32_t count = 1;
	int err;

	frames[0] = (struct frame){ .kind = frame_kind(words[0]) };
	switch (frames[0].kind) {
	case FRAME_KERNEL:
		convert_kernel_frame(converter, words[0], is_first ? NULL : frames - 1, frames);
		return 1;
	case FRAME_NATIVE:
		frames[0].flags = frame_flags(words[0]);
		convert_native_frame(converter, stack, word, is_first ? NULL : frames - 1, frames);
		return 1;
	case FRAME_ERROR:
		frames[0].error = frame_flags(words[0]);
		frames[0].address = frame_address(words[0]);
		return 1;
	default:
		err = interpreted_names_put(&converter->names, words, frames, &count);
		if (err && err != -ENOENT)
			*is_lasting = false;
		/* Consecutive error frames are merged into one. */
		if (err == -EHOSTDOWN && !is_first && frames[-1].kind == FRAME_ERROR &&
		    frames[-1].error == frames[0].error)
			return 0;
		return err == -ENOENT ? 0 : count;
	}
}

/* Fills the converter's frames; returns their number. */
static uint32_t convert_frames(struct frame_converter *converter, const struct raw_stack *stack,
			       bool *is_whole, bool *is_lasting)
{
	struct frame *frames = converter->frames;
	uint32_t count = 0, word = 0;

	for (; word < stack->word_count && count < FRAMES_MAX;
	     word += frame_word_count(stack->words[word]))
		count += convert_frame(converter, stack, word, &frames[count], is_lasting);
	if (word < stack->word_count)
		frames[count++] = (struct frame){ .kind = FRAME_ERROR, .error = UNWIND_TRUNCATED };
	for (uint32_t i = 0; i < count; i++)
		if (frames[i].kind == FRAME_ERROR || frames[i].flags & FRAME_GUESS)
			*is_whole = false;
	return count;
}

struct trace *frame_converter_convert(struct frame_converter *converter,
				      const struct raw_stack *stack, bool *is_lasting)
{
	bool is_kernel_thread = stack->flags & RECORD_KERNEL_THREAD;
	bool is_whole = is_kernel_thread || (stack->flags & RECORD_REACHED_END);
	struct trace *trace;
	bool is_named = !stack->code || !stack->code->is_cut;
	uint32_t count;

	if (converter->kernel_binaries.count > KERNEL_BINARIES_MAX)
		forget_kernel_binaries(converter);
	interpreted_names_begin(&converter->names, stack->runtimes, stack->words,
				stack->word_count);
	count = convert_frames(converter, stack, &is_whole, &is_named);
	if (converter->config.fold_runtime_frames && stack->runtimes)
		count = fold_runtimes(converter, count, stack->runtimes);
	trace = trace_create(converter->frames, count, is_whole, is_kernel_thread);
	for (uint32_t i = 0; i < count; i++)
		binary_unref(converter->frames[i].binary);
	*is_lasting = is_named;
	return trace;
}
