/* SPDX-License-Identifier: Apache-2.0 */
/** The languages there are. */
#ifndef INTERPRETERS_REGISTRY_H
#define INTERPRETERS_REGISTRY_H

#include "interpreters/language.h"

/** A set of languages: bit i is the i-th of language_at(). */
#define LANGUAGES_ALL (LANGUAGES_WITH_SIGNATURES - 1)
/** Beside the languages of a set: names of methods have their types (runtime_file.with_signatures). */
#define LANGUAGES_WITH_SIGNATURES (1U << 31)

/** The language of that index or name; NULL if there is none. */
const struct language *language_at(uint32_t index);
const struct language *language_by_name(const char *name);

/**
 * The runtime that @image is, of the set @selected; -ENOENT if it is none, and else
 * as language_ops.probe.
 */
int languages_probe(uint32_t selected, const struct elf_image *image, const char *path,
		    struct runtime_file **file);

/** What @image says of itself to all languages that ask (language_ops.describe); false if that is nothing. */
bool languages_describe(const struct elf_image *image, struct program_facts *facts);

#endif
