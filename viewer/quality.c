/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/quality.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/languages.h"

void quality_deinit(struct quality *quality)
{
	process_quality_vector_deinit(&quality->processes);
	binary_quality_vector_deinit(&quality->binaries);
	hash_map_deinit(&quality->process_indexes);
	hash_map_deinit(&quality->binary_indexes);
	hash_map_deinit(&quality->is_named);
	key_stack_deinit(&quality->stack);
	free(quality->counts);
}

/* --- counting --- */

/* No padding. */
struct process_row_key {
	uint64_t comm;
	uint64_t pid;
	uint64_t host_hash;
};

static int find_process(struct quality *quality, const struct sample *key,
			struct process_quality **row)
{
	struct process_row_key identity = {
		.comm = (uintptr_t)key->process_comm,
		.pid = key->pid,
		.host_hash = hash64_bytes(sample_host(key), strlen(sample_host(key))),
	};
	uint64_t index = quality->processes.count;
	int err = 0;

	if (!hash_map_find_bytes(&quality->process_indexes, &identity, sizeof(identity), &index)) {
		err = process_quality_vector_push(&quality->processes,
						  (struct process_quality){ .key = key });
		if (!err)
			err = hash_map_set_bytes(&quality->process_indexes, &identity,
						 sizeof(identity), index);
	}
	*row = err ? NULL : &quality->processes.items[index];
	return err;
}

static int find_binary(struct quality *quality, const struct binary *binary,
		       struct binary_quality **row)
{
	uint64_t index = quality->binaries.count;
	int err = 0;

	if (!hash_map_find(&quality->binary_indexes, binary_identity(binary), &index)) {
		err = binary_quality_vector_push(&quality->binaries,
						 (struct binary_quality){ .binary = binary });
		if (!err)
			err = hash_map_set(&quality->binary_indexes, binary_identity(binary),
					   index);
	}
	*row = err ? NULL : &quality->binaries.items[index];
	return err;
}

static bool ask_name(struct quality *quality, const struct frame *frame)
{
	struct named_frame names[FRAME_MAX_NAMES];

	name_frame(frame, quality->question->api->config.lookup, names);
	return names[0].function && *names[0].function && !names[0].is_location;
}

static int frame_is_named(struct quality *quality, const struct frame *frame, bool *is_named)
{
	uint64_t key[2] = { 0, frame_lookup_address(frame) };
	uint64_t known;

	if (frame->binary)
		key[0] = binary_identity(frame->binary);

	if (frame_carries_name(frame)) {
		*is_named = frame->function && *frame->function;
		return 0;
	}
	if (hash_map_find_bytes(&quality->is_named, key, sizeof(key), &known)) {
		*is_named = known;
		return 0;
	}
	*is_named = ask_name(quality, frame);
	return hash_map_set_bytes(&quality->is_named, key, sizeof(key), *is_named);
}

/* The samples of one key while they are added to the rows. */
struct counted_stack {
	const struct sample *key;
	bool is_complete;
	struct process_quality *process;
	/*
	 * The row, from 1, of the previous frame's binary (towards the leaf), whose caller was
	 * looked for; 0: none.
	 */
	size_t callee;
	uint64_t count;
	uint64_t serial;
};

static void count_reason(struct quality *quality, const struct counted_stack *stack, int reason)
{
	if (stack->callee)
		quality->binaries.items[stack->callee - 1].reasons[reason] += stack->count;
}

static int count_binary(struct quality *quality, struct counted_stack *stack,
			const struct binary *binary, bool is_named)
{
	struct binary_quality *row;
	int err = find_binary(quality, binary, &row);

	if (err)
		return err;
	row->frames += stack->count;
	row->named += is_named ? stack->count : 0;
	stack->callee = (size_t)(row - quality->binaries.items) + 1;
	if (row->counted == stack->serial)
		return 0;
	row->counted = stack->serial;
	row->key = stack->key;
	row->samples += stack->count;
	row->complete += stack->is_complete ? stack->count : 0;
	return 0;
}

static int count_frame(struct quality *quality, const struct frame *frame,
		       struct counted_stack *stack)
{
	struct process_quality *process = stack->process;
	bool is_named;
	int err;

	if (frame->kind == FRAME_ERROR) {
		if (frame->error < UNWIND_ERROR_COUNT) {
			process->reasons[frame->error] += stack->count;
			count_reason(quality, stack, frame->error);
		}
		return 0;
	}
	if (frame->flags & FRAME_GUESS)
		count_reason(quality, stack, REASON_GUESS);
	err = frame_is_named(quality, frame, &is_named);
	if (err)
		return err;
	process->frames += stack->count;
	process->named += is_named ? stack->count : 0;
	if (language_by_kind(frame->kind))
		process->languages |= language_bit(frame->kind);
	stack->callee = 0;
	return frame->kind == FRAME_NATIVE && frame->binary ?
		       count_binary(quality, stack, frame->binary, is_named) :
		       0;
}

static int count_key(struct quality *quality, uint32_t id, uint64_t count)
{
	const struct history_view *view = &quality->question->view;
	const struct sample *key = history_view_key(view, id);
	const struct stack_frame_vector *frames = &quality->stack.frames;
	struct counted_stack stack = {
		.key = key,
		.is_complete = history_key_is_complete(&view->keys, id),
		.count = count,
		.serial = (uint64_t)id + 1,
	};
	int err = find_process(quality, key, &stack.process);

	if (!err)
		err = history_key_stack(&view->keys, id, &quality->stack);
	if (err)
		return err;
	quality->samples += count;
	stack.process->samples += count;
	quality->complete += stack.is_complete ? count : 0;
	stack.process->complete += stack.is_complete ? count : 0;
	if (quality->stack.has_guess)
		stack.process->reasons[REASON_GUESS] += count;
	for (size_t i = frames->count; i-- > 0 && !err;)
		err = count_frame(quality, &frames->items[i], &stack);
	return err;
}

static int count_samples(struct quality *quality)
{
	struct question *question = quality->question;
	struct history_sample sample;
	unsigned int misses;
	int more, err = 0;

	question_seek(question, question->selection.from_ms, question->selection.to_ms);
	while ((more = question_next(question, &sample, &misses)) > 0)
		quality->counts[sample.key] += misses ? 0 : (uint64_t)sample.value;
	if (more)
		return more;
	for (uint32_t i = 0; i < question->view.key_count && !err; i++) {
		if (quality->counts[i])
			err = count_key(quality, i, quality->counts[i]);
	}
	return err;
}

/* --- reasons --- */

static const char *const mends[REASON_COUNT] = {
	[UNWIND_NO_MAPPING] =
		"Nothing: the return address leads nowhere. If it stays, the program's stack is "
		"damaged, or its code was unloaded.",
	[UNWIND_NOT_LOADED] =
		"Wait: the unwind rows of the file are being made. If it stays, see the agent's log.",
	[UNWIND_NO_INFO] =
		"Build it with -fasynchronous-unwind-tables, or keep its .eh_frame when it is stripped.",
	[UNWIND_UNSUPPORTED_RULE] =
		"Nothing for now: the compiler's rule for this instruction is not known here.",
	[UNWIND_REGISTER_UNKNOWN] =
		"Nothing for now: the unwind needs a register that is not kept.",
	[UNWIND_STACK_UNREADABLE] =
		"Nothing if it is rare: the stack was paged out, or is damaged.",
	[UNWIND_NO_PROGRESS] =
		"Nothing if it is rare: the stack was being switched, or is damaged.",
	[UNWIND_ANONYMOUS] =
		"Have the runtime supported (agent -help: -tracers), or let it keep frame pointers.",
	[UNWIND_TRUNCATED] = "Nothing: the stack is deeper than what is unwound.",
	[UNWIND_UNKNOWN_PROCESS] = "Wait: the process had just begun.",
	[UNWIND_32BIT] = "Nothing: 32-bit programs are not unwound.",
	[UNWIND_NO_REGISTERS] = "A kernel of 5.15 or newer, if it comes often.",
	[UNWIND_BAD_TABLE] = "Build the file anew: its unwind information contradicts itself.",
	[UNWIND_REPLACED] = "Restart the program: its file was replaced while it ran.",
	[UNWIND_INTERPRETER_THREAD] =
		"Nothing if it is rare: the thread was just being made or ended.",
	[UNWIND_INTERPRETER_FRAMES] =
		"Nothing if it is rare: the interpreter was changing its frames.",
	[UNWIND_STACK_SWITCH] = "Nothing if it is rare: the runtime was switching stacks.",
	[UNWIND_NO_ANSWER] =
		"Look after the file system of what the program has mapped: its server does not answer.",
	[REASON_GUESS] =
		"Unwind information for code without any (-fasynchronous-unwind-tables), or frame pointers.",
};

static const char *reason_text(int reason)
{
	return reason == REASON_GUESS ? "a frame that is a guess" : unwind_error_text(reason);
}

/* The most frequent reason; UNWIND_OK for none. */
static int frequent_reason(const uint64_t reasons[REASON_COUNT])
{
	int most = UNWIND_OK;

	for (int reason = UNWIND_OK + 1; reason < REASON_COUNT; reason++) {
		if (reasons[reason] > (most ? reasons[most] : 0))
			most = reason;
	}
	return most;
}

struct quality_reason quality_reason(const uint64_t reasons[REASON_COUNT])
{
	int reason = frequent_reason(reasons);

	if (!reason)
		return (struct quality_reason){ .text = "", .mend = "" };
	return (struct quality_reason){
		.text = reason_text(reason),
		.count = reasons[reason],
		.mend = mends[reason] ? mends[reason] : "",
	};
}

struct quality_reason quality_names_reason(const struct binary_quality *binary)
{
	if (binary->named >= binary->frames)
		return (struct quality_reason){ .text = "", .mend = "" };
	return (struct quality_reason){
		.text = "no symbol at the address",
		.mend = binary->binary->build_id_bytes ?
				"Install the file's debug package, or ask for -debuginfod." :
				"Keep its symbol table (no strip), or build it with -g.",
	};
}

/* --- order --- */

/* Processes with the most deficiencies come first. */
static int compare_processes(const void *a, const void *b)
{
	const struct process_quality *one = a, *other = b;
	uint64_t first = one->samples - one->complete, second = other->samples - other->complete;

	if (first != second)
		return first < second ? 1 : -1;
	return (one->samples < other->samples) - (one->samples > other->samples);
}

/* Failed unwinds at the binary's frames, and frames without a name. */
static uint64_t gaps(const struct binary_quality *row)
{
	uint64_t count = row->frames - row->named;

	for (int reason = UNWIND_OK + 1; reason < REASON_COUNT; reason++)
		count += row->reasons[reason];
	return count;
}

static int compare_binaries(const void *a, const void *b)
{
	const struct binary_quality *one = a, *other = b;
	uint64_t first = gaps(one), second = gaps(other);

	if (first != second)
		return first < second ? 1 : -1;
	return (one->frames < other->frames) - (one->frames > other->frames);
}

static void sort_rows(struct quality *quality)
{
	struct process_quality_vector *processes = &quality->processes;
	struct binary_quality_vector *binaries = &quality->binaries;

	if (processes->count)
		qsort(processes->items, processes->count, sizeof(processes->items[0]),
		      compare_processes);
	if (binaries->count)
		qsort(binaries->items, binaries->count, sizeof(binaries->items[0]),
		      compare_binaries);
}

int quality_count(struct quality *quality, struct question *question)
{
	int err;

	*quality = (struct quality){
		.question = question,
		.counts = calloc(question->view.key_count + 1, sizeof(uint64_t)),
	};
	err = quality->counts ? count_samples(quality) : -ENOMEM;
	if (!err)
		sort_rows(quality);
	return err;
}
