/* SPDX-License-Identifier: Apache-2.0 */
/** What is said of each language (ebpf/abi/languages.h) everywhere in user space. */
#ifndef AGENT_BASE_LANGUAGES_H
#define AGENT_BASE_LANGUAGES_H

#include <stdint.h>

#include "ebpf/abi/frame.h"

struct language_id {
	/** enum frame_kind */
	uint8_t kind;
	enum language_frames frames;
	/** As users write it: "python". */
	const char *name;
	/** Its frames' profile.frame.type in OTLP. */
	const char *otlp_type;
	/** Ends of names of its source files, with blanks between. */
	const char *files;
};

/** By enum language_index. */
extern const struct language_id language_ids[LANGUAGE_COUNT];

/** NULL if there is none. */
const struct language_id *language_by_kind(uint8_t kind);
const struct language_id *language_by_otlp_type(const char *type);
/** By the end of the name of a source file. */
const struct language_id *language_by_file(const char *file);

/** A set of languages has a bit for each kind. */
static inline uint32_t language_bit(uint8_t kind)
{
	return 1U << (kind - FRAME_FIRST_INTERPRETED);
}

/** ", python" for each, in the order of the rows: for texts that list them. */
#define LANGUAGE_NAMES_LISTED LANGUAGES(LANGUAGE_NAME_LISTED)
#define LANGUAGE_NAME_LISTED(kind, NAME, name, type, frames, files) ", " #name

#endif
