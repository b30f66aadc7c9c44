/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/registry.h"

#include <errno.h>
#include <string.h>

#define X(kind, NAME, name, type, frames, files) extern const struct interpreter name##_interpreter;
LANGUAGES(X)
#undef X

static const struct interpreter *const languages[LANGUAGE_COUNT] = {
#define X(kind, NAME, name, type, frames, files) [LANGUAGE_INDEX_##NAME] = &name##_interpreter,
	LANGUAGES(X)
#undef X
};

const struct interpreter *interpreter_at(uint32_t index)
{
	return index < LANGUAGE_COUNT ? languages[index] : NULL;
}

const struct interpreter *interpreter_by_name(const char *name)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		if (!strcmp(languages[i]->name, name))
			return languages[i];
	}
	return NULL;
}

int interpreters_probe(uint32_t selected, const struct elf_image *image, const char *path,
		       struct interpreter_file **file)
{
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		int err;

		if (!(selected & 1U << i))
			continue;
		err = languages[i]->ops->probe(image, path, file);
		if (!err)
			(*file)->with_signatures = selected & INTERPRETERS_WITH_SIGNATURES;
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}
