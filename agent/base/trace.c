/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converted traces. A trace is one allocation: the frames, and behind them their strings.
 */

#include "agent/base/trace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

static const struct {
	const char *name;
	const char *text;
} unwind_errors[UNWIND_ERROR_COUNT] = {
	[UNWIND_OK] = { "none", "no error" },
	[UNWIND_NO_MAPPING] = { "no_mapping", "address in no known mapping" },
	[UNWIND_NOT_LOADED] = { "not_loaded", "unwind rows not loaded" },
	[UNWIND_NO_INFO] = { "no_info", "no unwind information" },
	[UNWIND_UNSUPPORTED_RULE] = { "unsupported_rule", "unwind rule not supported" },
	[UNWIND_REGISTER_UNKNOWN] = { "register_unknown", "register not known" },
	[UNWIND_STACK_UNREADABLE] = { "stack_unreadable", "stack unreadable" },
	[UNWIND_NO_PROGRESS] = { "no_progress", "no progress up the stack" },
	[UNWIND_ANONYMOUS] = { "anonymous", "anonymous executable memory" },
	[UNWIND_TRUNCATED] = { "truncated", "truncated" },
	[UNWIND_UNKNOWN_PROCESS] = { "unknown_process", "process not known yet" },
	[UNWIND_32BIT] = { "32bit", "32-bit task" },
	[UNWIND_NO_REGISTERS] = { "no_registers", "no user registers" },
	[UNWIND_BAD_TABLE] = { "bad_table", "unwind table contradicts itself" },
	[UNWIND_NO_MEMORY] = { "no_memory", "process is exiting" },
	[UNWIND_REPLACED] = { "replaced", "file replaced meanwhile" },
};

const char *unwind_error_text(enum unwind_error error)
{
	return (unsigned int)error < UNWIND_ERROR_COUNT ? unwind_errors[error].text :
							  "unknown error";
}

const char *unwind_error_name(enum unwind_error error)
{
	return (unsigned int)error < UNWIND_ERROR_COUNT ? unwind_errors[error].name : "unknown";
}

/* What of a frame is hashed as it stands; no padding, so that equal frames have equal bytes. */
struct hashed_frame {
	uint64_t address;
	struct file_id file_id;
	uint32_t line;
	uint8_t kind;
	uint8_t flags;
	uint8_t error;
	/* Bits 0 and 1: function and file follow, each with its NUL. */
	uint8_t strings;
};

_Static_assert(sizeof(struct hashed_frame) == 32, "struct hashed_frame has no padding");

static bool is_named_in_hash(const struct frame *frame)
{
	if (frame->kind >= FRAME_FIRST_INTERPRETED)
		return true;
	/* A pretended module, such as that of all BPF programs, has no text of its own. */
	return frame->kind == FRAME_KERNEL && (!frame->binary || !frame->binary->memory_limit);
}

static size_t string_bytes(const char *string)
{
	return string ? strlen(string) + 1 : 0;
}

static unsigned char *append(unsigned char *to, const void *bytes, size_t count)
{
	if (count)
		memcpy(to, bytes, count);
	return to + count;
}

/* @buffer has room for a hashed_frame per frame and all strings. */
static struct hash128 hash_frames(const struct frame *frames, uint32_t frame_count,
				  unsigned char *buffer)
{
	unsigned char *end = buffer;

	for (uint32_t i = 0; i < frame_count; i++) {
		const struct frame *frame = &frames[i];
		bool is_named = is_named_in_hash(frame);
		const char *function = is_named ? frame->function : NULL;
		const char *file = is_named ? frame->file : NULL;
		struct hashed_frame hashed = {
			.address = frame->address,
			.line = is_named ? frame->line : 0,
			.kind = frame->kind,
			.flags = frame->flags,
			.error = frame->error,
			.strings = (function ? 1 : 0) | (file ? 2 : 0),
		};

		if (frame->binary)
			hashed.file_id = frame->binary->file_id;
		end = append(end, &hashed, sizeof(hashed));
		end = append(end, function, string_bytes(function));
		end = append(end, file, string_bytes(file));
	}
	return hash128_bytes(buffer, end - buffer);
}

/* @buffer has room for an id per frame. */
static uint64_t hash_executables(const struct frame *frames, uint32_t frame_count,
				 unsigned char *buffer)
{
	unsigned char *end = buffer;

	for (uint32_t i = 0; i < frame_count; i++) {
		uint64_t id = frames[i].binary ? frames[i].binary->executable_id : 0;

		end = append(end, &id, sizeof(id));
	}
	return hash64_bytes(buffer, end - buffer);
}

/* Copies @string to *@to and moves that behind it; NULL stays NULL. */
static const char *copy_string(unsigned char **to, const char *string)
{
	const char *copy = string ? (const char *)*to : NULL;

	*to = append(*to, string, string_bytes(string));
	return copy;
}

struct trace *trace_create(const struct frame *frames, uint32_t frame_count, bool is_complete,
			   bool is_kernel_thread)
{
	_cleanup_(free_pointer) unsigned char *buffer = NULL;
	size_t frame_bytes = frame_count * sizeof(*frames);
	size_t strings = 0;
	struct trace *trace;
	unsigned char *to;

	for (uint32_t i = 0; i < frame_count; i++)
		strings += string_bytes(frames[i].function) + string_bytes(frames[i].file);
	buffer = calloc(1, frame_count * sizeof(struct hashed_frame) + strings + 1);
	trace = malloc(sizeof(*trace) + frame_bytes + strings);
	if (!buffer || !trace) {
		free(trace);
		return NULL;
	}
	*trace = (struct trace){
		.hash = hash_frames(frames, frame_count, buffer),
		.executables_hash = hash_executables(frames, frame_count, buffer),
		.references = 1,
		.is_complete = is_complete,
		.is_kernel_thread = is_kernel_thread,
		.frame_count = frame_count,
	};
	to = (unsigned char *)trace->frames + frame_bytes;
	for (uint32_t i = 0; i < frame_count; i++) {
		struct frame *frame = &trace->frames[i];

		*frame = frames[i];
		frame->function = copy_string(&to, frames[i].function);
		frame->file = copy_string(&to, frames[i].file);
		if (frame->binary)
			binary_ref(frame->binary);
	}
	return trace;
}

struct trace *trace_ref(struct trace *trace)
{
	__atomic_add_fetch(&trace->references, 1, __ATOMIC_RELAXED);
	return trace;
}

void trace_unref(struct trace *trace)
{
	/* Release and acquire: what other holders read comes before the free. */
	if (!trace || __atomic_sub_fetch(&trace->references, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < trace->frame_count; i++)
		binary_unref(trace->frames[i].binary);
	free(trace);
}
