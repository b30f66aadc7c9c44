/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The labels of a sample (ebpf/abi/sample.h): texts that a program sets for its current work, such as by Go's
 * pprof.Do(), and the id that its runtime gives to the work (a goroutine's id). Labels are part of a
 * sample's identity, not of a trace's.
 */
#ifndef LIB_MODEL_LABEL_SET_H
#define LIB_MODEL_LABEL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/sample.h"
#include "lib/base/text_builder.h"

enum {
	/** Key and value of each label, with NULs, padded with zeros to a multiple of 8. */
	LABEL_SET_TEXT_MAX_BYTES =
		LABELS_MAX * (LABEL_KEY_MAX_BYTES + 1 + LABEL_VALUE_MAX_BYTES + 1),
};

enum {
	/** Limits of the labels of a profile's sample, which may have more than a program can set. */
	PROFILE_LABELS_MAX = 64,
	PROFILE_LABEL_TEXT_MAX_BYTES = 480,
	/** Begins the value of a label that is a number. No text has it. */
	LABEL_NUMBER_MARK = '\x01',
};

_Static_assert(LABEL_SET_TEXT_MAX_BYTES % 8 == 0, "the texts are whole words");

/**
 * Plain bytes without padding: two sets are equal if label_set_bytes() of them are. Copies end after text_bytes
 * of texts. The set of an opened profile's sample may have more texts, and a key several times.
 */
struct label_set {
	/** The runtime's id of the current work; 0 without task_language. */
	uint64_t task_id;
	uint32_t label_count;
	/** A multiple of 8. */
	uint16_t text_bytes;
	/** enum frame_kind of the language that the id is from (language_task_key()); 0: there is no id. */
	uint8_t task_language;
	uint8_t reserved;
	/**
	 * A key and a value for each label, ended by NULs: valid UTF-8 without control characters,
	 * sorted by key. No key is empty or there twice; values may be empty.
	 */
	char texts[LABEL_SET_TEXT_MAX_BYTES];
};

_Static_assert(offsetof(struct label_set, texts) == 16, "struct label_set has no padding");

struct label {
	const char *key;
	const char *value;
};

/**
 * True if the value of @label is a number, which only those of profiles can be. *@unit is "" if it has none; borrowed
 * from the label.
 */
bool label_is_number(const struct label *label, int64_t *number, const char **unit);

static inline size_t label_set_bytes(const struct label_set *set)
{
	return offsetof(struct label_set, texts) + set->text_bytes;
}

/** Whether @bytes bytes at @labels, a multiple of 8, are labels as a record has them. */
bool labels_are_well_formed(const void *labels, size_t bytes);

/**
 * Fills *@set from the @count labels of a record, which are well-formed. Texts are cleaned as names are; a text
 * that was cut within a character loses the rest of that character. Of labels whose cleaned keys are equal, one
 * stays. @scratch keeps its memory for the next call. False if there are no labels, or no memory.
 */
bool label_set_fill(struct label_set *set, const struct sample_label *labels, uint32_t count,
		    struct text_builder *scratch);

/** Returns the label at *@at and moves *@at to the next one. Start with *@at = set->texts. */
struct label label_set_next(const char **at);

#endif
