/* SPDX-License-Identifier: Apache-2.0 */
/** All languages. */
#ifndef INTERPRETERS_REGISTRY_H
#define INTERPRETERS_REGISTRY_H

#include "interpreters/language.h"

/** The set of all languages: bit i is language_at(i). */
#define LANGUAGES_ALL (LANGUAGES_WITH_SIGNATURES - 1)
/** A flag in a set of languages: names of methods include their types (runtime_file.with_signatures). */
#define LANGUAGES_WITH_SIGNATURES (1U << 31)

/** The language with that index or name; NULL if there is none. */
const struct language *language_at(uint32_t index);
const struct language *language_by_name(const char *name);

/**
 * Probes @image for the languages in @selected. -ENOENT: it is none of their runtimes; other errors as
 * language_ops.probe.
 */
int languages_probe(uint32_t selected, const struct elf_image *image, const char *path,
		    struct runtime_file **file);

/** Whether @image is a library for one of the languages in @selected that copies stacks (language_ops.copies_stacks). */
bool languages_copy_stacks(uint32_t selected, const struct elf_image *image);

/** Collects the facts about @image from all languages (language_ops.describe); false if there are none. */
bool languages_describe(const struct elf_image *image, struct program_facts *facts);

#endif
