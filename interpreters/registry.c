/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "interpreters/languages.h"
#include "lib/base/error.h"

enum { REFUSAL_BYTES = 256 };

#define X(kind, NAME, name, type, frames, files) extern const struct language name##_language;
LANGUAGES(X)
#undef X

static const struct language *const languages[LANGUAGE_COUNT] = {
#define X(kind, NAME, name, type, frames, files) [LANGUAGE_INDEX_##NAME] = &name##_language,
	LANGUAGES(X)
#undef X
};

const struct language_texts language_texts[LANGUAGE_COUNT] = {
#define X(NAME, shown, parts) [LANGUAGE_INDEX_##NAME] = { shown, parts },
	LANGUAGE_TEXTS(X)
#undef X
};

enum {
#define X(NAME, shown, parts) +1
	LANGUAGE_TEXTS_COUNT = 0 LANGUAGE_TEXTS(X),
#undef X
};

_Static_assert((int)LANGUAGE_TEXTS_COUNT == (int)LANGUAGE_COUNT, "each language has its texts");

const struct language *language_at(uint32_t index)
{
	return index < LANGUAGE_COUNT ? languages[index] : NULL;
}

const struct language *language_by_name(const char *name)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		if (!strcmp(languages[i]->id->name, name))
			return languages[i];
	}
	return NULL;
}

int languages_probe(uint32_t selected, const struct elf_image *image, const char *path,
		    struct runtime_file **file)
{
	char refusal[REFUSAL_BYTES] = "";

	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		int err;

		if (!(selected & 1U << i))
			continue;
		err = languages[i]->ops->probe(image, path, file);
		if (!err)
			(*file)->with_signatures = selected & LANGUAGES_WITH_SIGNATURES;
		/* Another language in the file may be one that is known. */
		if (err == -EOPNOTSUPP && !refusal[0])
			snprintf(refusal, sizeof(refusal), "%s", error_text());
		else if (err != -ENOENT && err != -EOPNOTSUPP)
			return err;
	}
	return refusal[0] ? fail(-EOPNOTSUPP, "%s", refusal) : -ENOENT;
}

bool languages_copy_stacks(uint32_t selected, const struct elf_image *image)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		const struct language_ops *ops = languages[i]->ops;

		if (selected & 1U << i && ops->copies_stacks && ops->copies_stacks(image))
			return true;
	}
	return false;
}

bool languages_describe(const struct elf_image *image, struct program_facts *facts)
{
	*facts = (struct program_facts){ 0 };
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++)
		if (languages[i]->ops->describe)
			languages[i]->ops->describe(image, facts);
	return facts->languages || facts->count;
}
