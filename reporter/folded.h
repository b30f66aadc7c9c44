/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Folded stacks, the input of flame graph tools: one line per distinct stack, `comm;root;...;leaf
 * count`, most frequent first. The texts are those of reporter/stack_text.h.
 */
#ifndef REPORTER_FOLDED_H
#define REPORTER_FOLDED_H

#include <stdio.h>

#include "lib/model/profile_facts.h"
#include "reporter/stack_counts.h"

/** Write errors stay in @out (ferror()). */
void folded_write(FILE *out, const struct stack_counts *counts);

/** The same for counts that are sums of values of @type. */
void folded_write_values(FILE *out, const struct stack_counts *counts,
			 const struct value_type *type);

#endif
