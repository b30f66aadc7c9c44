/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the source location of an address in Go's code: function, file and line, and the functions into which
 * it was inlined, as runtime.CallersFrames() returns them. Only the data that an address needs is read, when it
 * is looked up. Formats: runtime/symtabinl.go and runtime/symtab.go of Go 1.9 to 1.27.
 */
#ifndef LIB_ELF_GO_FRAMES_H
#define LIB_ELF_GO_FRAMES_H

#include "lib/base/text_builder.h"
#include "lib/base/vector.h"
#include "lib/elf/go_function.h"

enum {
	/** Depth of inlined functions at one address. */
	GO_FRAMES_MAX = 256,
	/** Longer names of functions and files are refused. */
	GO_NAME_MAX_BYTES = 32 << 10,
	/** Beyond so many bytes of names, or steps through pc-value tables, no further frame is read. */
	GO_FRAMES_MAX_TEXT_BYTES = 1 << 20,
	GO_FRAMES_MAX_STEPS = 1 << 24,
};

struct go_frame {
	/**
	 * Offsets of the NUL-terminated names in text: "" for a function without a name, "?" for a file without
	 * one.
	 */
	uint32_t function;
	uint32_t file;
	/** 0 if it is not known. */
	int32_t line;
	/** First line of the function; 0 if it is not known, as in versions before 1.20. */
	int32_t start_line;
	enum go_function_kind kind;
	/** The function is inlined into another one. */
	bool is_inlined;
	/** runtime.CallersFrames() leaves this frame out, since it is a wrapper that called the next inner frame. */
	bool is_left_out;
};

VECTOR_DEFINE(go_frame_vector, struct go_frame)

/** All bytes zero is empty. Memory is reused from one address to the next. */
struct go_frames {
	/** Innermost first. The last one is the physical function. */
	struct go_frame_vector frames;
	struct text_builder text;
	/** The physical function. */
	struct go_function function;
};

void go_frames_deinit(struct go_frames *frames);

/**
 * The frames at ELF virtual address @address; for a return address pass one less. -ENOENT outside of Go's code,
 * -EBADMSG if the table is damaged there, -EOPNOTSUPP if the inlined functions there cannot be found, -E2BIG
 * over a limit, -ENOMEM; then @frames has none.
 */
int go_frames_find(struct go_frames *frames, struct go_table *table, uint64_t address);

/** Appends the display name of the function; nothing if it has none. -EBADMSG; @text may have failed. */
int go_frames_append_function(struct go_table *table, const struct go_function *function,
			      struct text_builder *text);

/** Names of a frame, borrowed until the next change of @frames. */
const char *go_frames_function(const struct go_frames *frames, const struct go_frame *frame);
const char *go_frames_file(const struct go_frames *frames, const struct go_frame *frame);

#endif
