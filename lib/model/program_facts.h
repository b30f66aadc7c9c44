/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Facts that a language finds in a program's file (language_ops.describe): the languages of its code, and
 * attributes of the binary and of the processes that run it.
 */
#ifndef LIB_MODEL_PROGRAM_FACTS_H
#define LIB_MODEL_PROGRAM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PROGRAM_FACTS_MAX = 8,
	/** Longer texts are left out. */
	PROGRAM_FACT_MAX_BYTES = 255,
};

struct program_fact {
	/** Key as in OTLP; a static text of the language's. */
	const char *key;
	/** The fact is an attribute of the binary; otherwise of the processes that run the program. */
	bool is_of_binary;
	char text[PROGRAM_FACT_MAX_BYTES + 1];
};

/** Plain data, which may be copied. */
struct program_facts {
	/** language_bit() of each language whose own tables describe native code in the file. */
	uint32_t languages;
	uint32_t count;
	struct program_fact items[PROGRAM_FACTS_MAX];
};

/** Adds a fact. Empty texts, and facts that do not fit, are left out. */
void program_facts_add(struct program_facts *facts, const char *key, const char *text,
		       bool is_of_binary);

#endif
