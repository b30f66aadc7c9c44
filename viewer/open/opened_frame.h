/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Frames of profiles that were read: what of them says where they lie, made into binaries, and their names. What
 * outputs put into the names (reporter/stack_text.h, reporter/otlp_frames.h) is taken out again: a profile that is
 * opened reads as it did where it was taken. Texts are hostile.
 */
#ifndef VIEWER_OPEN_OPENED_FRAME_H
#define VIEWER_OPEN_OPENED_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "lib/model/trace.h"
#include "viewer/open/opened_samples.h"

enum opened_mark {
	OPENED_GUESS = 1 << 0,
	OPENED_APPROXIMATE = 1 << 1,
	OPENED_INLINED = 1 << 2,
	OPENED_KERNEL = 1 << 3,
	/** Code made at run time. */
	OPENED_JIT = 1 << 4,
	/** There was no name: the text is the file's, or what stands for it, and the address is set. */
	OPENED_NAMELESS = 1 << 5,
	/** It is no function, but says why a stack ends here. */
	OPENED_ERROR = 1 << 6,
	OPENED_PARSED = 1 << 7,
};

struct opened_name {
	/** enum opened_mark */
	uint8_t marks;
	/** enum unwind_error */
	uint8_t error;
	uint64_t address;
};

/** Cuts the marks off @text, in place: for a text once. */
struct opened_name opened_name_parse(char *text);

/** Cuts " (file:line)" off the end of @text, in place, before its marks are; *@file is NULL if there is none. */
void opened_name_cut_line(char *text, const char **file, uint32_t *line);

/** The texts of a profile, of which some are names; each of these is parsed once. The texts are borrowed. */
struct opened_names {
	char **texts;
	size_t count;
	/* Parallel to the texts; zeroed until it is asked for. */
	struct opened_name *names;
};

/** Cuts texts that are longer than any name. -ENOMEM. */
int opened_names_init(struct opened_names *names, char **texts, size_t count);
void opened_names_deinit(struct opened_names *names);

/** A text as it is; "" for none. */
const char *opened_names_text(const struct opened_names *names, uint64_t index);

/** A text as a name: its marks are cut off. "" for none. */
const char *opened_names_name(struct opened_names *names, uint64_t index, struct opened_name *name);

/** The kind of a frame that says no more than its source file: that of its language, if it has frames of its own. */
uint8_t opened_kind_of_file(const char *file);

enum opened_place {
	OPENED_FILE,
	OPENED_IN_KERNEL,
	/** Code made at run time. */
	OPENED_ANONYMOUS,
};

enum {
	/** Profiles with more files are refused. */
	OPENED_MAPPINGS_MAX = 1 << 16,
};

struct opened_mapping {
	enum opened_place place;
	/** NULL for anonymous code. */
	struct binary *binary;
	/** Of the kernel; borrowed from the binary. */
	const char *module;
};

/**
 * Of what a profile says of a file; executable_id, is_kernel and fd are set here. Equal ones have equal ids, those of
 * different files different ones. What it takes counts in @opened. -ENOMEM, -E2BIG with a text for users.
 */
int opened_mapping_init(struct opened_mapping *mapping, const struct binary *values,
			struct opened_samples *opened);
/** Of frames that do not say where they lie. -ENOMEM, -E2BIG. */
int opened_mapping_init_nowhere(struct opened_mapping *mapping, struct opened_samples *opened);
/** Takes a zeroed one. */
void opened_mapping_deinit(struct opened_mapping *mapping);

/** A hexadecimal build id; what is none is left out. */
void opened_build_id(const char *text, struct binary *values);

/**
 * The frame of @function, "" if it has none, with what was cut off its name. A kind that is known already, else
 * FRAME_NATIVE. Texts are borrowed.
 */
struct frame opened_frame_make(const struct opened_mapping *mapping, uint8_t kind,
			       const char *function, const struct opened_name *name,
			       const char *file, int64_t line);

#endif
