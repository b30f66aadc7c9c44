/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Frames of opened profiles: their locations, turned into binaries, and their names. The marks that
 * outputs add to names (reporter/stack_text.h, reporter/otlp_frames.h) are removed again, so an
 * opened profile looks as it did where it was recorded. Texts are hostile.
 */
#ifndef VIEWER_OPEN_OPENED_FRAME_H
#define VIEWER_OPEN_OPENED_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "lib/model/trace.h"
#include "viewer/open/opened_samples.h"

enum opened_mark {
	OPENED_GUESS = 1 << 0,
	OPENED_APPROXIMATE = 1 << 1,
	OPENED_INLINED = 1 << 2,
	OPENED_KERNEL = 1 << 3,
	/** Code generated at run time. */
	OPENED_JIT = 1 << 4,
	/**
	 * There was no name: the text is the file's name, or its substitute, and the address is
	 * set.
	 */
	OPENED_NAMELESS = 1 << 5,
	/** Not a function but the reason why a stack ends here. */
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

/** Cuts the marks off @text, in place. Call it once per text. */
struct opened_name opened_name_parse(char *text);

struct opened_mapping;

/**
 * Sets the address of a frame without a name: @text is then the file's name of @mapping, or its path, and the address, as
 * outputs and other tools write it. Other names may end like that, too.
 */
void opened_name_find_address(struct opened_name *name, const char *text,
			      const struct opened_mapping *mapping);

/**
 * The same if the file is not known: cuts the address off @text, in place, if the rest can be a file's name.
 */
bool opened_name_cut_address(struct opened_name *name, char *text);

/**
 * Cuts " (file:line)" off the end of @text, in place, after opened_name_parse() has cut the marks.
 * *@file is NULL if there is none.
 */
void opened_name_cut_line(char *text, const char **file, uint32_t *line);

/**
 * The strings of a profile, some of which are names; each name is parsed once. The strings are
 * borrowed.
 */
struct opened_names {
	char **strings;
	size_t count;
	/* Parallel to the strings; an entry is zeroed until it is first used. */
	struct opened_name *names;
};

/** Cuts strings that are longer than any name. -ENOMEM. */
int opened_names_init(struct opened_names *names, char **strings, size_t count);
void opened_names_deinit(struct opened_names *names);

/** The text unchanged; "" if there is none. */
const char *opened_names_text(const struct opened_names *names, uint64_t index);

/** The text as a name, with its marks cut off. "" if there is none. */
const char *opened_names_name(struct opened_names *names, uint64_t index, struct opened_name *name);

/**
 * The kind of a frame of which only the source file is known: the kind of the file's language, if
 * that has frames of its own.
 */
uint8_t opened_kind_of_file(const char *file);

enum opened_mapping_kind {
	OPENED_FILE,
	OPENED_IN_KERNEL,
	/** Code generated at run time. */
	OPENED_ANONYMOUS,
};

enum {
	/** Profiles with more files are refused. */
	OPENED_MAPPINGS_MAX = 1 << 16,
};

struct opened_mapping {
	enum opened_mapping_kind kind;
	/** NULL for anonymous code. */
	struct binary *binary;
	/** The kernel module ("vmlinux", "ext4"); NULL if the code is not the kernel's. */
	char *module;
};

/**
 * Makes the mapping from a profile's fields of a file, @values; executable_id, is_kernel and fd are
 * set here. Equal files get equal ids, different files different ones. The memory counts in
 * @opened. -ENOMEM, -E2BIG with a text for users.
 */
int opened_mapping_init(struct opened_mapping *mapping, const struct binary *values,
			struct opened_samples *opened);
/** Makes the mapping for frames without a known location. -ENOMEM, -E2BIG. */
int opened_mapping_init_nowhere(struct opened_mapping *mapping, struct opened_samples *opened);
/** Accepts a zeroed mapping. */
void opened_mapping_deinit(struct opened_mapping *mapping);

VECTOR_DEFINE(opened_mapping_vector, struct opened_mapping)

/** Mappings of files of which only the names are known. Initialize with zeros. */
struct opened_mappings {
	/** Maps a file's name to the index of its mapping. */
	struct hash_map indexes;
	struct opened_mapping_vector mappings;
};

/** *@found is the mapping of @file, until the next call. -ENOMEM, -E2BIG, -EBADMSG with a text for users. */
int opened_mappings_find(struct opened_mappings *mappings, const char *file,
			 struct opened_samples *opened, struct opened_mapping **found);
void opened_mappings_deinit(struct opened_mappings *mappings);

/** Sets a hexadecimal build id; an invalid one is ignored. */
void opened_build_id(const char *text, struct binary *values);

/**
 * Makes the frame of @function ("" if it has none) with the marks that were cut off its name. @kind
 * is the kind if it is known, else FRAME_NATIVE. Texts are borrowed.
 */
struct frame opened_frame_make(const struct opened_mapping *mapping, uint8_t kind,
			       const char *function, const struct opened_name *name,
			       const char *file, int64_t line, int64_t column);

/** Sets the first line of the frame's function; 0 and numbers that no line has are not known. */
void opened_frame_set_start(struct frame *frame, int64_t start_line);

#endif
