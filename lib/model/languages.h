/* SPDX-License-Identifier: Apache-2.0 */
/** The names, types and keys of each language (ebpf/abi/languages.h), for all of user space. */
#ifndef LIB_MODEL_LANGUAGES_H
#define LIB_MODEL_LANGUAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/frame.h"

struct language_id {
	/** enum frame_kind */
	uint8_t kind;
	enum language_frames frames;
	/** Name as users write it: "python". */
	const char *name;
	/** profile.frame.type of its frames in OTLP. */
	const char *otlp_type;
	/** Suffixes of its source files, separated by blanks. */
	const char *files;
};

/** Whether functions of the language run in a loop in the runtime's C code. */
static inline bool language_has_loop(const struct language_id *language)
{
	return language->frames == LANGUAGE_LOOP || language->frames == LANGUAGE_LOOP_WITH_CODE ||
	       language->frames == LANGUAGE_LOOP_WITH_STACKS;
}

/** Indexed by enum language_index. */
extern const struct language_id language_ids[LANGUAGE_COUNT];

/** These return NULL if there is no such language. */
const struct language_id *language_by_kind(uint8_t kind);
const struct language_id *language_by_otlp_type(const char *type);
/** Looks the language up by the suffix of a source file's name. */
const struct language_id *language_by_file(const char *file);

/**
 * Keys of the ids that runtimes give to a thread's work, and of marks of whole stacks: NAME, key in OTLP, key in pprof.
 * Most languages have none.
 */
#define LANGUAGE_TASK_KEYS(X) X(GO, "go.goroutine.id", "goroutine")
/* The mark says that the stack is a virtual thread's, which the thread carries. */
#define LANGUAGE_MARKS(X) X(JAVA, "allframes.jvm.thread.virtual", "virtual_thread")

struct language_key {
	uint8_t kind;
	const char *otlp;
	const char *pprof;
};

enum {
#define X(NAME, otlp, pprof) LANGUAGE_TASK_KEY_##NAME,
	LANGUAGE_TASK_KEYS(X)
#undef X
		LANGUAGE_TASK_KEY_COUNT,
};

enum {
#define X(NAME, otlp, pprof) LANGUAGE_MARK_##NAME,
	LANGUAGE_MARKS(X)
#undef X
		LANGUAGE_MARK_COUNT,
};

extern const struct language_key language_task_keys[LANGUAGE_TASK_KEY_COUNT];
extern const struct language_key language_marks[LANGUAGE_MARK_COUNT];

/** These return the key of the language @kind, or NULL. */
const struct language_key *language_task_key(uint8_t kind);
const struct language_key *language_mark(uint8_t kind);

/** A set of languages has a bit for each kind. */
static inline uint32_t language_bit(uint8_t kind)
{
	return 1U << (kind - FRAME_FIRST_INTERPRETED);
}

/** ", python" for each, in the order of the rows: for texts that list them. */
#define LANGUAGE_NAMES_LISTED LANGUAGES(LANGUAGE_NAME_LISTED)
#define LANGUAGE_NAME_LISTED(kind, NAME, name, type, frames, files) ", " #name

#endif
