/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A converted trace. processes/ makes it from a raw trace, and reporters store and send it.
 */
#ifndef LIB_MODEL_TRACE_H
#define LIB_MODEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/sample.h"
#include "lib/base/hash128.h"
#include "lib/model/binary.h"

/** Flags in addition to those of enum frame_flag. */
enum user_frame_flag {
	/** Set in an interpreted frame: its language's mark holds for the whole stack (language_mark()). */
	FRAME_MARKS_TRACE = 1 << 4,
	/**
	 * Set in an interpreted frame, or one that carries its name: its function is inlined into the next
	 * frame's.
	 */
	FRAME_INLINED = 1 << 5,
	/**
	 * Set in an interpreted frame: it is the nearest frame that the runtime knows. The unwinder did not
	 * guess it.
	 */
	FRAME_APPROXIMATE = 1 << 6,
	/**
	 * Set by outputs: generated functions around the functions that it calls are shown (enum
	 * function_trait).
	 */
	FRAME_SHOWS_GENERATED = 1 << 7,
};

/** A frame as converters make it and trace_frame() returns it. */
struct frame {
	/** enum frame_kind; then enum frame_flag and user_frame_flag. Error frames have their error set. */
	uint8_t kind;
	uint8_t flags;
	/** enum unwind_error of an error frame, else 0. */
	uint8_t error;
	/** Both count from 1; 0 if unknown. Only languages know columns. */
	uint32_t line;
	uint32_t column;
	/** First line of the function, for frames that carry their name; 0 if unknown. */
	uint32_t start_line;
	/**
	 * ELF virtual address. For kernel frames the offset from the start of the binary's text or, where that
	 * is not known, in the function; 0 if neither is. With FRAME_RETURN_ADDRESS, look up address - 1.
	 */
	uint64_t address;
	/** NULL for anonymous code, errors, and kernel code outside of every known module. */
	struct binary *binary;
	/**
	 * Name of kernel frames, interpreted frames and frames in anonymous code; NULL without a name. A native
	 * frame with a binary has it only if it was named elsewhere; then the name is not looked up.
	 */
	const char *function;
	/** Source file, or a kernel frame's module ("vmlinux", "ext4", "bpf"); NULL if unknown. */
	const char *file;
};

/** False for frames whose name is looked up by file and address. */
static inline bool frame_carries_name(const struct frame *frame)
{
	return frame->kind != FRAME_NATIVE || !frame->binary || frame->function;
}

/**
 * Immutable once made, shared by reference count (atomic). One allocation: outputs keep many
 * thousands of traces, so frames are packed, and read by trace_frame().
 */
struct trace {
	struct hash128 hash;
	/**
	 * hash64 of the frames' executable ids. File ids can be forged, and copies of a file share one. Only
	 * traces that are equal here too ran in the same files.
	 */
	uint64_t executables_hash;
	unsigned int references;
	/** The stack reaches the thread's entry without a guess or an error, or is a kernel thread's. */
	bool is_complete;
	/** The stack is a kernel thread's and has no user frames. */
	bool is_kernel_thread;
	/** The trace has a frame that is a guess. */
	bool has_guess;
	/** enum frame_kind of a frame with FRAME_MARKS_TRACE; 0: there is none. */
	uint8_t mark;
	uint16_t binary_count;
	uint16_t shape_count;
	/** Bit e: the trace has an error frame with enum unwind_error e. */
	uint32_t error_mask;
	uint32_t frame_count;
	/** Size of the allocation. */
	uint32_t bytes;
};

/**
 * Copies @frames with their strings, takes a reference on every binary, and hashes: kind, flags,
 * error, file id, address; for interpreted frames, for kernel frames outside of every module's text
 * (BPF programs) and for anonymous code, whose memory is used again, the function, file, line,
 * column and start line as well. NULL without memory, and for more than UINT16_MAX frames.
 */
struct trace *trace_create(const struct frame *frames, uint32_t frame_count, bool is_complete,
			   bool is_kernel_thread);
struct trace *trace_ref(struct trace *trace);
void trace_unref(struct trace *trace);

/**
 * Frame @index, the leaf being 0; it is below frame_count. What the frame points to is borrowed
 * from the trace.
 */
struct frame trace_frame(const struct trace *trace, uint32_t index);

enum { TRACE_ADDRESS_BITS = 48 };

/**
 * The lower TRACE_ADDRESS_BITS of the address of frame @index in the upper bits, and its shape in the lower ones. Frames of one trace with
 * equal shapes differ in nothing else.
 */
static inline uint64_t trace_packed_frame(const struct trace *trace, uint32_t index)
{
	return ((const uint64_t *)(trace + 1))[index];
}

/** The trace's binaries, binary_count of them, borrowed; one may occur twice. */
struct binary **trace_binaries(const struct trace *trace);

/** The address to look up for @frame: for a return address, one within the call instruction. */
static inline uint64_t frame_lookup_address(const struct frame *frame)
{
	return frame->flags & FRAME_RETURN_ADDRESS ? frame->address - 1 : frame->address;
}

/** Short text for users, such as "stack unreadable"; "unknown error" for other values. */
const char *unwind_error_text(enum unwind_error error);

/** The error as one lower-case word with underscores, for metrics; "unknown" for other values. */
const char *unwind_error_name(enum unwind_error error);

/**
 * The error's number in OTLP, where it is the address of the abort-marker. Up to 10000: that of the same error in the list of the
 * OpenTelemetry eBPF profiler (tools/errors-codegen/errors.json @ 2026), by which its tools show texts; above: one that it has
 * not. 0 for UNWIND_OK and other values.
 */
uint32_t unwind_error_number(enum unwind_error error);

/** The error with @number; UNWIND_OK: there is none. */
enum unwind_error unwind_error_of_number(uint64_t number);

#endif
