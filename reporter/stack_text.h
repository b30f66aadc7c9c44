/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How a frame reads in the outputs. The format is that of FlameGraph's folded stacks:
 *
 *	function		native code, that of Go too, and interpreted functions
 *	file+0xaddress		without a name: of where it begins, if the lookup gives that for a name
 *	function_[k]		kernel
 *	function_[i]		inlined into the next outer frame
 *	function_[~]		the same, where the runtime knows only that it is so nearby; with lines, the
 *				frame that it is inlined into as well
 *	function_[j]		code made at run time
 *	function_[?]		a guess, whatever else it is
 *	[error: why]		the walk could not go on from here
 *	[truncated]		the walk was cut
 *
 * Stacks read root first. A walk that did not reach the root ends in its error frame, which
 * therefore stands where the root would.
 */
#ifndef REPORTER_STACK_TEXT_H
#define REPORTER_STACK_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/text_builder.h"
#include "lib/model/symbol_lookup.h"
#include "lib/model/trace.h"

enum {
	/** Inlined functions at one place, the physical function included. */
	FRAME_MAX_NAMES = 128,
};

/** One of the functions that a frame stands for. Strings belong to the trace or the lookup. */
struct named_frame {
	const struct frame *frame;
	/** NULL where there is no name. */
	const char *function;
	/** Source file; NULL and 0 where it is not known. */
	const char *file;
	uint32_t line;
	/** A function inlined into the next one. */
	bool is_inlined;
	/** Of an interpreted one: the nearest that is known. */
	bool is_approximate;
	/** enum frame_kind of the native code's language: as the lookup says, or by its source file where the frame
	 *  carries its name; or 0. */
	uint8_t language;
	/** There is no name: the function is the file, and where in it that begins. */
	bool is_place;
};

/**
 * Fills at least 1 and at most FRAME_MAX_NAMES functions for @frame, which trace_shown_frame() gave,
 * innermost first, and returns their number. Native frames are looked up by @lookup, which may be NULL.
 */
uint32_t name_frame(const struct frame *frame, struct symbol_lookup *lookup,
		    struct named_frame *names);

/**
 * trace_frame(), with FRAME_SHOWS_GENERATED where that is so. False: it is left out of what is shown, a function that
 * a compiler generated: a wrapper in Go, as runtime.Callers() leaves it out unless a panic came from it.
 */
bool trace_shown_frame(const struct trace *trace, uint32_t index, struct symbol_lookup *lookup,
		       struct frame *frame);

/**
 * The frames of a trace that are one place in the code: one, or that of an interpreted function and before it
 * those of what is inlined there.
 */
struct shown_place {
	struct frame frames[FRAME_MAX_NAMES];
	/** 0: the frame is left out. */
	uint32_t count;
};

/** The place of frame *@index, by trace_shown_frame(); *@index goes to the one behind it. */
void trace_shown_place(const struct trace *trace, uint32_t *index, struct symbol_lookup *lookup,
		       struct shown_place *place);

/** name_frame() of all its frames: still FRAME_MAX_NAMES at most. */
uint32_t name_place(const struct shown_place *place, struct symbol_lookup *lookup,
		    struct named_frame *names);

/** Of code that the process made, such as a JIT's. */
bool is_made_at_run_time(const struct frame *frame);

/*
 * Languages stand in two places of enum text_kind: native code beside the native kinds, so that a language has the
 * number that it has had.
 */
#define TEXT_IF_NATIVE_NATIVE(kind) kind,
#define TEXT_IF_NATIVE_LOOP(kind)
#define TEXT_IF_NATIVE_OWN_CODE(kind)
#define TEXT_IF_OTHER_NATIVE(kind)
#define TEXT_IF_OTHER_LOOP(kind) kind,
#define TEXT_IF_OTHER_OWN_CODE(kind) kind,

/** What a text is of. */
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
	/** An error, or where a stack was cut. */
	TEXT_ERROR,
	TEXT_KIND_COUNT,
};

/** How users write a kind: "java"; "root" for TEXT_KIND_COUNT, what stands above all. */
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

/** The mark that outputs put behind a name that does not tell by itself how sure it is, or "". */
const char *doubt_suffix(const struct named_frame *name);

/** Appends the function's name or what stands for it, without a suffix. */
void append_frame_name(struct text_builder *text, const struct named_frame *name);

/**
 * Appends the frame as above, with its suffix, every `;` in it as `:`. With @with_lines, ` (file:line)`
 * stands before the suffix where the source file is known, ` (file)` where its line is not.
 */
void append_frame_text(struct text_builder *text, const struct named_frame *name, bool with_lines);

/** Appends a process's comm as folded stacks have it: `;` as `:`, "[unknown]" for none. */
void append_comm_text(struct text_builder *text, const char *comm);

#endif
