/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The text of a frame in the outputs. The format is that of FlameGraph's folded stacks:
 *
 *	function		native code, including Go, and interpreted functions
 *	file+0xaddress		no name: the function's start, if the lookup has it, else the address
 *	function_[k]		kernel
 *	function_[i]		inlined into the next outer frame
 *	function_[~]		inlined, but only at a nearby address according to the runtime; with
 *				lines, also the frame that it is inlined into
 *	function_[j]		code generated at run time
 *	function_[?]		a guess, of whatever kind
 *	[error: why]		the unwind failed here
 *	[truncated]		the stack was cut
 *
 * Stacks are written root first. An unwind that did not reach the root ends in its error frame,
 * which therefore takes the root's position.
 */
#ifndef REPORTER_STACK_TEXT_H
#define REPORTER_STACK_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/text_builder.h"
#include "lib/model/symbol_lookup.h"
#include "lib/model/trace.h"

enum {
	/** Inlined functions at one address, the physical function included. */
	FRAME_MAX_NAMES = 128,
};

/** One of the functions that a frame stands for. Strings belong to the trace or the lookup. */
struct named_frame {
	const struct frame *frame;
	/** NULL if there is no name. */
	const char *function;
	/** The name as linkers know it; NULL if it is not known. */
	const char *linkage_name;
	/** Source file, line and column; NULL and 0 if unknown. */
	const char *file;
	uint32_t line;
	uint32_t column;
	/** First line of the function; 0 if unknown. */
	uint32_t start_line;
	/** True if the function is inlined into the next one. */
	bool is_inlined;
	/** The inlining and the line are only the nearest that the runtime knows. */
	bool is_approximate;
	/**
	 * The language of native code (enum frame_kind) from the lookup, or from the source file if
	 * the frame carries its name; or 0.
	 */
	uint8_t language;
	/**
	 * There is no name: the text is the file and the offset in it where the function begins.
	 */
	bool is_location;
};

/**
 * Fills @names with at least 1 and at most FRAME_MAX_NAMES functions for @frame, which
 * trace_shown_frame() returned, innermost first, and returns their number. @lookup names native
 * frames and may be NULL.
 */
uint32_t name_frame(const struct frame *frame, struct symbol_lookup *lookup,
		    struct named_frame *names);

/**
 * Sets FRAME_SHOWS_GENERATED in @frame if it applies; @callee is the next frame towards the leaf, or NULL. False if the
 * frame is not shown because a compiler generated its function, such as a wrapper in Go. runtime.Callers() leaves these out
 * too, unless a panic came from them.
 */
bool frame_is_shown(struct frame *frame, const struct frame *callee, struct symbol_lookup *lookup);

/** Like trace_frame(), with frame_is_shown(). */
bool trace_shown_frame(const struct trace *trace, uint32_t index, struct symbol_lookup *lookup,
		       struct frame *frame);

/**
 * The frames of a trace that share one code location: a single frame, or an interpreted function's
 * frame and before it the frames that are inlined there.
 */
struct shown_location {
	struct frame frames[FRAME_MAX_NAMES];
	/** 0: the frame is not shown. */
	uint32_t count;
};

/**
 * Collects the frames that start at *@index, by trace_shown_frame(), and advances *@index past
 * them.
 */
void trace_shown_location(const struct trace *trace, uint32_t *index, struct symbol_lookup *lookup,
			  struct shown_location *location);

/** name_frame() for all frames of @location: still FRAME_MAX_NAMES at most. */
uint32_t name_location(const struct shown_location *location, struct symbol_lookup *lookup,
		       struct named_frame *names);

/** True for code that the process generated, such as a JIT's. */
bool is_made_at_run_time(const struct frame *frame);

/*
 * Languages are in two parts of enum text_kind. Native languages follow the native kinds, so that
 * the numbers of languages stay the same.
 */
#define TEXT_IF_NATIVE_NATIVE(kind) kind,
#define TEXT_IF_NATIVE_LOOP(kind)
#define TEXT_IF_NATIVE_LOOP_WITH_CODE(kind)
#define TEXT_IF_NATIVE_LOOP_WITH_STACKS(kind)
#define TEXT_IF_NATIVE_OWN_CODE(kind)
#define TEXT_IF_OTHER_NATIVE(kind)
#define TEXT_IF_OTHER_LOOP(kind) kind,
#define TEXT_IF_OTHER_LOOP_WITH_CODE(kind) kind,
#define TEXT_IF_OTHER_LOOP_WITH_STACKS(kind) kind,
#define TEXT_IF_OTHER_OWN_CODE(kind) kind,

/** The kind of thing that a text names. */
enum text_kind {
	TEXT_PROCESS,
	TEXT_THREAD,
	TEXT_NATIVE,
	TEXT_KERNEL,
#define X(kind, NAME, name, type, frames, files) TEXT_IF_NATIVE_##frames(TEXT_##NAME)
	LANGUAGES(X)
#undef X
	/** Code made at run time. */
	TEXT_JIT,
#define X(kind, NAME, name, type, frames, files) TEXT_IF_OTHER_##frames(TEXT_##NAME)
	LANGUAGES(X)
#undef X
	/** An error, or the point where a stack was cut. */
	TEXT_ERROR,
	TEXT_KIND_COUNT,
};

/**
 * The name that users write for a kind: "java". TEXT_KIND_COUNT is "root", the top of all stacks.
 */
const char *text_kind_name(uint8_t kind);

enum text_flag {
	TEXT_INLINED = 1 << 0,
	TEXT_GUESS = 1 << 1,
	TEXT_APPROXIMATE = 1 << 2,
};

struct text_trait {
	/** enum text_kind, enum text_flag. */
	uint8_t kind;
	uint8_t flags;
};

struct text_trait frame_trait(const struct named_frame *name);

/**
 * The suffix that outputs add to a name that is uncertain and does not show it by itself, or "".
 */
const char *doubt_suffix(const struct named_frame *name);

/** The suffix of the table above, or "". @with_lines: the text has lines, too. */
const char *frame_mark(const struct named_frame *name, bool with_lines);

/** Appends the function's name, or its substitute, without a suffix. */
void append_frame_name(struct text_builder *text, const struct named_frame *name);

/**
 * Appends the frame as described above, with its suffix, and with `;` replaced by `:`. @with_lines
 * adds ` (file:line)` before the suffix if the source file is known, or ` (file)` if its line is
 * not.
 */
void append_frame_text(struct text_builder *text, const struct named_frame *name, bool with_lines);

/** Appends a process's comm as in folded stacks: `;` becomes `:`, an empty comm "[unknown]". */
void append_comm_text(struct text_builder *text, const char *comm);

#endif
