// SPDX-License-Identifier: Apache-2.0
#include "lib/model/languages.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define X(kind, NAME, name, type, frames, files)                                                   \
	_Static_assert((kind) >= FRAME_FIRST_INTERPRETED && (kind) < FRAME_FIRST_INTERPRETED + 31, \
		       "sets of languages have a bit for it, and one to spare");
LANGUAGES(X)
#undef X

const struct language_id language_ids[LANGUAGE_COUNT] = {
#define X(kind, NAME, name, type, frames, files)                                                   \
	[LANGUAGE_INDEX_##NAME] = { kind, LANGUAGE_##frames, #name, type, files },
	LANGUAGES(X)
#undef X
};

const struct language_id *language_by_kind(uint8_t kind)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++)
		if (language_ids[i].kind == kind)
			return &language_ids[i];
	return NULL;
}

const struct language_id *language_by_otlp_type(const char *type)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++)
		if (!strcmp(language_ids[i].otlp_type, type))
			return &language_ids[i];
	return NULL;
}

/* Whether @file ends in one of @ends, which are separated by blanks. */
static bool ends_in_one(const char *file, const char *ends)
{
	size_t length = strlen(file);

	while (*ends) {
		size_t end_length = strcspn(ends, " ");

		if (length >= end_length && !memcmp(file + length - end_length, ends, end_length))
			return true;
		ends += end_length + strspn(ends + end_length, " ");
	}
	return false;
}

const struct language_id *language_by_file(const char *file)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++)
		if (ends_in_one(file, language_ids[i].files))
			return &language_ids[i];
	return NULL;
}

#define X(NAME, otlp, pprof) { FRAME_##NAME, otlp, pprof },
const struct language_key language_task_keys[LANGUAGE_TASK_KEY_COUNT] = { LANGUAGE_TASK_KEYS(X) };
const struct language_key language_marks[LANGUAGE_MARK_COUNT] = { LANGUAGE_MARKS(X) };
#undef X

static const struct language_key *find_key(const struct language_key *keys, uint32_t count,
					   uint8_t kind)
{
	for (uint32_t i = 0; i < count; i++)
		if (keys[i].kind == kind)
			return &keys[i];
	return NULL;
}

const struct language_key *language_task_key(uint8_t kind)
{
	return find_key(language_task_keys, LANGUAGE_TASK_KEY_COUNT, kind);
}

const struct language_key *language_mark(uint8_t kind)
{
	return find_key(language_marks, LANGUAGE_MARK_COUNT, kind);
}
