/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples by process, by function and by call path, for what people read in a terminal. Functions have the texts of the
 * folded file (reporter/stack_text.h), so the sums of both are equal; functions of one text in different files are
 * different.
 */
#ifndef REPORTER_FUNCTION_COUNTS_H
#define REPORTER_FUNCTION_COUNTS_H

#include <stdint.h>

#include "lib/model/sample.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/sequence_counts.h"
#include "reporter/stack_counts.h"
#include "reporter/stack_ids.h"
#include "reporter/stack_text.h"

/** Texts are ids of strings. */
struct counted_function {
	/** The function; of TEXT_PROCESS the name of a process, which is the outermost of each stack. */
	uint32_t name;
	/** The binary of native code, else the source file or the kernel's module, without folders; "" if unknown. */
	uint32_t file;
	struct text_trait trait;
	/** Samples in which it is the innermost, and those in which it is at all. */
	uint64_t self;
	uint64_t total;
	/** The number of the last stack that counted in the total, from 1. */
	uint64_t last_stack;
};

struct counted_process {
	uint32_t name;
	/** SAMPLE_NO_NUMBER if it is not known. */
	uint32_t pid;
	uint64_t count;
};

VECTOR_DEFINE(counted_function_vector, struct counted_function)
VECTOR_DEFINE(counted_process_vector, struct counted_process)

/** Owner: the thread that fills it. All bytes zero but the lookup is an empty one. */
struct function_counts {
	struct text_vector strings;
	struct counted_function_vector functions;
	struct counted_process_vector processes;
	/** Sequences of functions: the process, if it is known, then the outermost frame first. */
	struct sequence_counts stacks;
	uint64_t total;
	/* Ids by their contents, and scratch memory. */
	struct hash_map string_ids;
	struct hash_map function_ids;
	struct hash_map process_ids;
	struct stack_ids ids;
	struct number_vector stack;
	struct text_builder text;
	uint64_t stack_count;
};

/** @lookup may be NULL, and is used by function_counts_add(). */
void function_counts_init(struct function_counts *counts, struct symbol_lookup *lookup);
void function_counts_deinit(struct function_counts *counts);

/** Adds @count samples that are equal to @sample. -ENOMEM. */
int function_counts_add(struct function_counts *counts, const struct sample *sample,
			uint64_t count);

static inline const char *function_counts_text(const struct function_counts *counts, uint32_t id)
{
	return counts->strings.items[id];
}

#endif
