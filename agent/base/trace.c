/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converted traces. Their frames were taken from the kernel side's records and are as many as those
 * can hold; strings and addresses are only copied and hashed.
 */

#include "agent/base/trace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

enum {
	/* Of the binaries that stand in a trace already, for the next frame. */
	BINARIES_SEARCHED = 16,
};

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
	if (frame_kind_is_interpreted(frame->kind))
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

/*
 * Behind a struct trace stand its packed frames, pointers to the binaries that they name, the names
 * of frames that have any, and the strings. Places in the trace are given in bytes from its start;
 * 0 is none.
 */
struct packed_frame {
	uint64_t address;
	/* Of an error frame the enum unwind_error, else the place of its packed_names. */
	uint32_t detail;
	/* Number of the binary, the first being 1; 0 for none. */
	uint16_t binary;
	uint8_t kind;
	uint8_t flags;
};

_Static_assert(sizeof(struct packed_frame) == 16, "most of a trace are frames");
_Static_assert(sizeof(struct trace) % _Alignof(struct packed_frame) == 0, "frames are aligned");

struct packed_names {
	uint32_t line;
	/* Places of strings. */
	uint32_t function;
	uint32_t file;
};

/* Frames that one trace is made of, and what they take behind it. */
struct trace_parts {
	const struct frame *frames;
	uint32_t frame_count;
	uint32_t binary_count;
	uint32_t names_count;
	size_t string_bytes;
};

static bool has_names(const struct frame *frame)
{
	return frame->kind != FRAME_ERROR && (frame->function || frame->file || frame->line);
}

/*
 * The number of @binary among the *@count @binaries, where it is put if it is new. Neighbours share
 * theirs: the search is short, and one from long ago may stand there twice.
 */
static uint16_t number_binary(struct binary **binaries, uint32_t *count, struct binary *binary)
{
	if (!binary)
		return 0;
	for (uint32_t i = *count; i > 0 && *count - i < BINARIES_SEARCHED; i--) {
		if (binaries[i - 1] == binary)
			return i;
	}
	binaries[(*count)++] = binary;
	return *count;
}

/* Most kernel frames have the same file as the one before. */
static bool shares_file(const struct frame *frame, const struct frame *named)
{
	return named && named->file && frame->file && !strcmp(named->file, frame->file);
}

/* @binaries has room for one per frame, and is scratch. */
static struct trace_parts measure_parts(const struct frame *frames, uint32_t frame_count,
					struct binary **binaries)
{
	struct trace_parts parts = { .frames = frames, .frame_count = frame_count };
	const struct frame *named = NULL;

	for (uint32_t i = 0; i < frame_count; i++) {
		const struct frame *frame = &frames[i];

		number_binary(binaries, &parts.binary_count, frame->binary);
		if (!has_names(frame))
			continue;
		parts.names_count++;
		parts.string_bytes += string_bytes(frame->function);
		if (!shares_file(frame, named))
			parts.string_bytes += string_bytes(frame->file);
		named = frame;
	}
	return parts;
}

static size_t parts_bytes(const struct trace_parts *parts)
{
	return sizeof(struct trace) + parts->frame_count * sizeof(struct packed_frame) +
	       parts->binary_count * sizeof(struct binary *) +
	       parts->names_count * sizeof(struct packed_names) + parts->string_bytes;
}

static const struct packed_frame *packed_frames(const struct trace *trace)
{
	return (const struct packed_frame *)(trace + 1);
}

static struct binary **trace_binaries(const struct trace *trace)
{
	return (struct binary **)(packed_frames(trace) + trace->frame_count);
}

/* Copies @string to *@to and moves that behind it; gives its place. */
static uint32_t copy_string(const struct trace *trace, unsigned char **to, const char *string)
{
	uint32_t place = string ? *to - (const unsigned char *)trace : 0;

	*to = append(*to, string, string_bytes(string));
	return place;
}

static void fill_trace(struct trace *trace, const struct trace_parts *parts)
{
	struct packed_frame *packed = (struct packed_frame *)(trace + 1);
	struct binary **binaries = (struct binary **)(packed + parts->frame_count);
	struct packed_names *names = (struct packed_names *)(binaries + parts->binary_count);
	unsigned char *strings = (unsigned char *)(names + parts->names_count);
	const struct frame *named = NULL;
	uint32_t binary_count = 0;

	for (uint32_t i = 0; i < parts->frame_count; i++) {
		const struct frame *frame = &parts->frames[i];

		packed[i] = (struct packed_frame){
			.address = frame->address,
			.detail = frame->kind == FRAME_ERROR ? frame->error : 0,
			.binary = number_binary(binaries, &binary_count, frame->binary),
			.kind = frame->kind,
			.flags = frame->flags,
		};
		if (!has_names(frame))
			continue;
		packed[i].detail = (unsigned char *)names - (unsigned char *)trace;
		names->line = frame->line;
		names->function = copy_string(trace, &strings, frame->function);
		names->file = shares_file(frame, named) ? names[-1].file :
							  copy_string(trace, &strings, frame->file);
		named = frame;
		names++;
	}
	for (uint32_t i = 0; i < binary_count; i++)
		binary_ref(binaries[i]);
}

_Static_assert(UNWIND_ERROR_COUNT <= 32, "error_mask has a bit for each");

/* What is asked of every sample, and would else take a walk over the frames. */
static void judge_frames(struct trace *trace, const struct frame *frames)
{
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		if (frames[i].flags & FRAME_GUESS)
			trace->has_guess = true;
		if (frames[i].kind == FRAME_ERROR && frames[i].error < UNWIND_ERROR_COUNT)
			trace->error_mask |= 1U << frames[i].error;
	}
}

struct trace *trace_create(const struct frame *frames, uint32_t frame_count, bool is_complete,
			   bool is_kernel_thread)
{
	_cleanup_(free_pointer) void *scratch = NULL;
	struct trace_parts parts;
	struct trace *trace;
	size_t strings = 0;

	if (frame_count > UINT16_MAX)
		return NULL;
	for (uint32_t i = 0; i < frame_count; i++)
		strings += string_bytes(frames[i].function) + string_bytes(frames[i].file);
	scratch = calloc(1, frame_count * sizeof(struct hashed_frame) + strings + 1);
	if (!scratch)
		return NULL;
	parts = measure_parts(frames, frame_count, scratch);
	if (parts_bytes(&parts) > UINT32_MAX)
		return NULL;
	trace = malloc(parts_bytes(&parts));
	if (!trace)
		return NULL;
	*trace = (struct trace){
		.hash = hash_frames(frames, frame_count, scratch),
		.executables_hash = hash_executables(frames, frame_count, scratch),
		.references = 1,
		.is_complete = is_complete,
		.is_kernel_thread = is_kernel_thread,
		.binary_count = parts.binary_count,
		.frame_count = frame_count,
		.bytes = parts_bytes(&parts),
	};
	judge_frames(trace, frames);
	fill_trace(trace, &parts);
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
	for (uint32_t i = 0; i < trace->binary_count; i++)
		binary_unref(trace_binaries(trace)[i]);
	free(trace);
}

static const char *string_at(const struct trace *trace, uint32_t place)
{
	return place ? (const char *)trace + place : NULL;
}

struct frame trace_frame(const struct trace *trace, uint32_t index)
{
	const struct packed_frame *packed = &packed_frames(trace)[index];
	struct frame frame = {
		.kind = packed->kind,
		.flags = packed->flags,
		.address = packed->address,
	};

	if (packed->binary)
		frame.binary = trace_binaries(trace)[packed->binary - 1];
	if (packed->kind == FRAME_ERROR) {
		frame.error = packed->detail;
	} else if (packed->detail) {
		const struct packed_names *names = (const void *)string_at(trace, packed->detail);

		frame.line = names->line;
		frame.function = string_at(trace, names->function);
		frame.file = string_at(trace, names->file);
	}
	return frame;
}
