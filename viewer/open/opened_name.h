/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What outputs put into the names of frames (reporter/stack_text.h, reporter/otlp_frames.h), taken out again: a
 * profile that is opened reads as it did where it was taken. Texts are hostile.
 */
#ifndef VIEWER_OPEN_OPENED_NAME_H
#define VIEWER_OPEN_OPENED_NAME_H

#include <stddef.h>
#include <stdint.h>

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

/** Of a frame that says no more than its source file: enum frame_kind of its language, if that has frames of its own. */
uint8_t opened_kind_of_file(const char *file);

#endif
