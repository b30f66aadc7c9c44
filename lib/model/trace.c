/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converted traces. Their frames were taken from the kernel side's records and are as many as those
 * can hold; strings and addresses are only copied and hashed.
 */

#include "lib/model/trace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"

enum {
	/* How many of the latest binaries and shapes are searched for the next frame's. */
	NEIGHBOURS_SEARCHED = 16,
};

#define SHAPE_NONE UINT32_MAX

static const struct {
	const char *name;
	const char *text;
	uint32_t number;
} unwind_errors[UNWIND_ERROR_COUNT] = {
	[UNWIND_OK] = { "none", "no error", 0 },
	[UNWIND_NO_MAPPING] = { "no_mapping", "address in no known mapping", 4012 },
	[UNWIND_NOT_LOADED] = { "not_loaded", "unwind rows not loaded", 4002 },
	[UNWIND_NO_INFO] = { "no_info", "no unwind information", 4005 },
	[UNWIND_UNSUPPORTED_RULE] = { "unsupported_rule", "unwind rule not supported", 10001 },
	[UNWIND_REGISTER_UNKNOWN] = { "register_unknown", "register not known", 10002 },
	[UNWIND_STACK_UNREADABLE] = { "stack_unreadable", "stack unreadable", 4007 },
	[UNWIND_NO_PROGRESS] = { "no_progress", "no progress up the stack", 10003 },
	[UNWIND_ANONYMOUS] = { "anonymous", "anonymous executable memory", 10004 },
	[UNWIND_TRUNCATED] = { "truncated", "truncated", 2 },
	[UNWIND_UNKNOWN_PROCESS] = { "unknown_process", "process not known yet", 10005 },
	[UNWIND_32BIT] = { "32bit", "32-bit task", 4017 },
	[UNWIND_NO_REGISTERS] = { "no_registers", "no user registers", 10006 },
	[UNWIND_BAD_TABLE] = { "bad_table", "unwind table contradicts itself", 4015 },
	[UNWIND_REPLACED] = { "replaced", "file replaced meanwhile", 10007 },
	[UNWIND_INTERPRETER_THREAD] = { "interpreter_thread", "interpreter's thread not found",
					10008 },
	[UNWIND_INTERPRETER_FRAMES] = { "interpreter_frames", "interpreted frames unreadable",
					10009 },
	[UNWIND_STACK_SWITCH] = { "stack_switch", "runtime's other stack not found", 10010 },
	[UNWIND_NO_ANSWER] = { "no_answer", "memory does not answer", 10011 },
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

uint32_t unwind_error_number(enum unwind_error error)
{
	return (unsigned int)error < UNWIND_ERROR_COUNT ? unwind_errors[error].number : 0;
}

enum unwind_error unwind_error_of_number(uint64_t number)
{
	for (int error = UNWIND_OK + 1; error < UNWIND_ERROR_COUNT; error++)
		if (unwind_errors[error].number == number)
			return error;
	return UNWIND_OK;
}

/* Fields of a frame that are hashed as bytes. There is no padding, so that equal frames have equal bytes. */
struct hashed_frame {
	uint64_t address;
	struct file_id file_id;
	uint32_t line;
	uint32_t column;
	uint8_t kind;
	uint8_t flags;
	uint8_t error;
	/* Bits 0 and 1: function and file follow, each with its NUL. */
	uint8_t strings;
	uint32_t start_line;
};

_Static_assert(sizeof(struct hashed_frame) == 40, "struct hashed_frame has no padding");

static bool is_named_in_hash(const struct frame *frame)
{
	if (frame->kind != FRAME_KERNEL)
		/* Names of anonymous code are hashed too, since the process's memory is reused. */
		return frame->kind != FRAME_ERROR && frame_carries_name(frame);
	/* A pretended module, such as that of all BPF programs, has no text of its own. */
	return !frame->binary || !frame->binary->memory_limit;
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
			.column = is_named ? frame->column : 0,
			.start_line = is_named ? frame->start_line : 0,
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
 * A struct trace is followed by its packed frames, pointers to their binaries, their shapes, and the strings. A
 * packed frame is a word: the lower 48 bits of its address, and in the lower 16 bits the number of its shape.
 * The shape holds all other fields; most native frames share it with a neighbour. Strings are given as byte
 * offsets from the start of the trace; 0 is none.
 */
struct frame_shape {
	uint32_t function;
	uint32_t file;
	/* For an error frame, the enum unwind_error. */
	uint32_t line;
	uint32_t column;
	uint32_t start_line;
	/* Number of the binary, counted from 1; 0 for none. */
	uint16_t binary;
	/* The upper bits of the address. */
	uint16_t address_top;
	uint8_t kind;
	uint8_t flags;
	uint16_t reserved;
};

_Static_assert(sizeof(struct frame_shape) == 28, "kernel frames have one each");
_Static_assert(sizeof(struct trace) % _Alignof(uint64_t) == 0, "frames are aligned");

/* The packing of one trace's frames. Its arrays are scratch memory. */
struct trace_parts {
	const struct frame *frames;
	uint32_t frame_count;
	uint32_t binary_count;
	uint32_t shape_count;
	size_t string_bytes;
	struct binary **binaries;
	/* The shape of each frame, and the first frame of each shape. */
	uint16_t *shapes;
	uint16_t *shape_frames;
};

enum { PARTS_BYTES_PER_FRAME = sizeof(struct binary *) + 2 * sizeof(uint16_t) };

_Static_assert((int)PARTS_BYTES_PER_FRAME <= (int)sizeof(struct hashed_frame),
	       "the scratch of the hashes is enough");

/*
 * The number of @binary among the *@count @binaries; it is added if it is new. Since neighbouring frames mostly
 * share a binary, only the latest ones are searched, and a binary may be added twice.
 */
static uint16_t number_binary(struct binary **binaries, uint32_t *count, struct binary *binary)
{
	if (!binary)
		return 0;
	for (uint32_t i = *count; i > 0 && *count - i < NEIGHBOURS_SEARCHED; i--) {
		if (binaries[i - 1] == binary)
			return i;
	}
	binaries[(*count)++] = binary;
	return *count;
}

static bool strings_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool shapes_equal(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->flags == b->flags && a->binary == b->binary &&
	       a->error == b->error && a->line == b->line && a->column == b->column &&
	       a->start_line == b->start_line &&
	       a->address >> TRACE_ADDRESS_BITS == b->address >> TRACE_ADDRESS_BITS &&
	       strings_equal(a->function, b->function) && strings_equal(a->file, b->file);
}

/* The number of the shape of @frame, SHAPE_NONE if it is not among the last ones. */
static uint32_t find_shape(const struct trace_parts *parts, const struct frame *frame)
{
	for (uint32_t i = parts->shape_count; i > 0 && parts->shape_count - i < NEIGHBOURS_SEARCHED;
	     i--)
		if (shapes_equal(&parts->frames[parts->shape_frames[i - 1]], frame))
			return i - 1;
	return SHAPE_NONE;
}

/* Most kernel frames have the same file as the one before, which is then kept once. */
static bool shares_file(const struct trace_parts *parts, uint32_t shape)
{
	const struct frame *frame = &parts->frames[parts->shape_frames[shape]];

	return shape && frame->file &&
	       strings_equal(parts->frames[parts->shape_frames[shape - 1]].file, frame->file);
}

/* @scratch has room for PARTS_BYTES_PER_FRAME per frame. */
static struct trace_parts make_parts(const struct frame *frames, uint32_t frame_count,
				     void *scratch)
{
	struct trace_parts parts = {
		.frames = frames,
		.frame_count = frame_count,
		.binaries = scratch,
	};

	parts.shapes = (uint16_t *)(parts.binaries + frame_count);
	parts.shape_frames = parts.shapes + frame_count;
	for (uint32_t i = 0; i < frame_count; i++) {
		const struct frame *frame = &frames[i];
		uint32_t shape = find_shape(&parts, frame);

		if (shape == SHAPE_NONE) {
			shape = parts.shape_count++;
			parts.shape_frames[shape] = i;
			number_binary(parts.binaries, &parts.binary_count, frame->binary);
			parts.string_bytes += string_bytes(frame->function);
			if (!shares_file(&parts, shape))
				parts.string_bytes += string_bytes(frame->file);
		}
		parts.shapes[i] = shape;
	}
	return parts;
}

static size_t parts_bytes(const struct trace_parts *parts)
{
	return sizeof(struct trace) + parts->frame_count * sizeof(uint64_t) +
	       parts->binary_count * sizeof(struct binary *) +
	       parts->shape_count * sizeof(struct frame_shape) + parts->string_bytes;
}

static const uint64_t *packed_frames(const struct trace *trace)
{
	return (const uint64_t *)(trace + 1);
}

struct binary **trace_binaries(const struct trace *trace)
{
	return (struct binary **)(packed_frames(trace) + trace->frame_count);
}

static struct frame_shape *trace_shapes(const struct trace *trace)
{
	return (struct frame_shape *)(trace_binaries(trace) + trace->binary_count);
}

/* Copies @string to *@to, moves *@to behind it, and returns the string's offset in the trace. */
static uint32_t copy_string(const struct trace *trace, unsigned char **to, const char *string)
{
	uint32_t offset = string ? *to - (const unsigned char *)trace : 0;

	*to = append(*to, string, string_bytes(string));
	return offset;
}

/* Fills the memory behind the struct, whose fields are set already. */
static void fill_trace(struct trace *trace, const struct trace_parts *parts)
{
	uint64_t *packed = (uint64_t *)(trace + 1);
	struct frame_shape *shapes = trace_shapes(trace);
	unsigned char *strings = (unsigned char *)(shapes + parts->shape_count);
	uint32_t binary_count = 0;

	for (uint32_t i = 0; i < parts->frame_count; i++)
		packed[i] = parts->frames[i].address << (64 - TRACE_ADDRESS_BITS) |
			    parts->shapes[i];
	for (uint32_t i = 0; i < parts->shape_count; i++) {
		const struct frame *frame = &parts->frames[parts->shape_frames[i]];

		shapes[i] = (struct frame_shape){
			.line = frame->kind == FRAME_ERROR ? frame->error : frame->line,
			.column = frame->column,
			.start_line = frame->start_line,
			.binary =
				number_binary(trace_binaries(trace), &binary_count, frame->binary),
			.address_top = frame->address >> TRACE_ADDRESS_BITS,
			.kind = frame->kind,
			.flags = frame->flags,
		};
		shapes[i].function = copy_string(trace, &strings, frame->function);
		shapes[i].file = shares_file(parts, i) ? shapes[i - 1].file :
							 copy_string(trace, &strings, frame->file);
	}
	for (uint32_t i = 0; i < binary_count; i++)
		binary_ref(trace_binaries(trace)[i]);
}

_Static_assert(UNWIND_ERROR_COUNT <= 32, "error_mask has a bit for each");

/* Sets facts that are needed for every sample, so that no pass over the frames is needed later. */
static void judge_frames(struct trace *trace, const struct frame *frames)
{
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		if (frames[i].flags & FRAME_GUESS)
			trace->has_guess = true;
		if (frames[i].flags & FRAME_MARKS_TRACE)
			trace->mark = frames[i].kind;
		if (frames[i].kind == FRAME_ERROR && frames[i].error < UNWIND_ERROR_COUNT)
			trace->error_mask |= 1U << frames[i].error;
	}
}

struct trace *trace_create(const struct frame *frames, uint32_t frame_count, bool is_complete,
			   bool is_kernel_thread)
{
	_cleanup_(free_pointer) void *scratch = NULL;
	uint64_t executables_hash;
	struct trace_parts parts;
	struct hash128 hash;
	struct trace *trace;
	size_t strings = 0;

	if (frame_count > UINT16_MAX)
		return NULL;
	for (uint32_t i = 0; i < frame_count; i++)
		strings += string_bytes(frames[i].function) + string_bytes(frames[i].file);
	scratch = calloc(1, frame_count * sizeof(struct hashed_frame) + strings + 1);
	if (!scratch)
		return NULL;
	hash = hash_frames(frames, frame_count, scratch);
	executables_hash = hash_executables(frames, frame_count, scratch);
	parts = make_parts(frames, frame_count, scratch);
	if (parts_bytes(&parts) > UINT32_MAX)
		return NULL;
	trace = malloc(parts_bytes(&parts));
	if (!trace)
		return NULL;
	*trace = (struct trace){
		.hash = hash,
		.executables_hash = executables_hash,
		.references = 1,
		.is_complete = is_complete,
		.is_kernel_thread = is_kernel_thread,
		.binary_count = parts.binary_count,
		.shape_count = parts.shape_count,
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

static const char *string_at(const struct trace *trace, uint32_t offset)
{
	return offset ? (const char *)trace + offset : NULL;
}

struct frame trace_frame(const struct trace *trace, uint32_t index)
{
	uint64_t packed = trace_packed_frame(trace, index);
	const struct frame_shape *shape = &trace_shapes(trace)[(uint16_t)packed];
	struct frame frame = {
		.kind = shape->kind,
		.flags = shape->flags,
		.address = packed >> (64 - TRACE_ADDRESS_BITS) | (uint64_t)shape->address_top
									 << TRACE_ADDRESS_BITS,
		.function = string_at(trace, shape->function),
		.file = string_at(trace, shape->file),
	};

	if (shape->binary)
		frame.binary = trace_binaries(trace)[shape->binary - 1];
	if (shape->kind == FRAME_ERROR)
		frame.error = shape->line;
	else
		frame.line = shape->line;
	frame.column = shape->column;
	frame.start_line = shape->start_line;
	return frame;
}
