/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The facts that a language finds in the file of a program (language_ops.describe): which languages' code is in it,
 * and attributes of the binary and of the processes that run it.
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
	/** As OTLP has it; a text of the language's own, which is never freed. */
	const char *key;
	/** Said of the binary, else of the process whose program it is. */
	bool is_of_binary;
	char text[PROGRAM_FACT_MAX_BYTES + 1];
};

/** Plain data: a copy is as good. */
struct program_facts {
	/** language_bit() of languages whose own tables tell of native code in the file. */
	uint32_t languages;
	uint32_t count;
	struct program_fact items[PROGRAM_FACTS_MAX];
};

/** Leaves out what has no room, and empty texts. */
void program_facts_add(struct program_facts *facts, const char *key, const char *text,
		       bool is_of_binary);

#endif
