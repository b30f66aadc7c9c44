/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What an address in Go's code is in the source: function, file and line, and the functions into which
 * it was inlined, as runtime.CallersFrames() has it for the same address. Nothing is read before an
 * address is asked for, and nothing but what is needed for it.
 * Formats: runtime/symtabinl.go and runtime/symtab.go of Go 1.9 to 1.27.
 */
#ifndef LIB_ELF_GO_FRAMES_H
#define LIB_ELF_GO_FRAMES_H

#include "lib/base/text_builder.h"
#include "lib/base/vector.h"
#include "lib/elf/go_function.h"

enum {
	/** Functions in each other at one address. */
	GO_FRAMES_MAX = 256,
	/** Longer names of functions and files are refused. */
	GO_NAME_MAX_BYTES = 32 << 10,
	/** With more names, or steps through tables of values, no further frame is read. */
	GO_FRAMES_MAX_TEXT_BYTES = 1 << 20,
	GO_FRAMES_MAX_STEPS = 1 << 24,
};

struct go_frame {
	/** Where in text the NUL-terminated names start: "" for a function without one, "?" for a file. */
	uint32_t function;
	uint32_t file;
	/** 0 if it is not known. */
	int32_t line;
	/** Of the function; 0 if it is not known, as in versions before 1.20. */
	int32_t start_line;
	enum go_function_kind kind;
	/** Its code is part of another function's. */
	bool is_inlined;
	/** runtime.CallersFrames() leaves it out: a wrapper around what stands before it. */
	bool is_left_out;
};

VECTOR_DEFINE(go_frame_vector, struct go_frame)

/** All bytes zero is empty; memory is kept from one address to the next. */
struct go_frames {
	/** Innermost first. The last one is the function that has the code. */
	struct go_frame_vector frames;
	struct text_builder text;
	/** The function that has the code. */
	struct go_function function;
};

void go_frames_deinit(struct go_frames *frames);

/**
 * The frames at ELF virtual address @address; for a return address pass one less. -ENOENT outside of
 * Go's code, -EBADMSG if the table is damaged there, -EOPNOTSUPP if the functions inlined there cannot be
 * told, -E2BIG over a limit, -ENOMEM; then @frames has none.
 */
int go_frames_find(struct go_frames *frames, struct go_table *table, uint64_t address);

/** Appends the name that the function is shown by; nothing if it has none. -EBADMSG; @text may have failed. */
int go_frames_append_function(struct go_table *table, const struct go_function *function,
			      struct text_builder *text);

/** Borrowed until the next change. */
const char *go_frames_function(const struct go_frames *frames, const struct go_frame *frame);
const char *go_frames_file(const struct go_frames *frames, const struct go_frame *frame);

#endif
