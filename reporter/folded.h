/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Folded stacks, the input of flame graph tools: one line per distinct stack, `comm;root;...;leaf
 * count`, most frequent first. The texts are those of reporter/stack_text.h.
 */
#ifndef REPORTER_FOLDED_H
#define REPORTER_FOLDED_H

#include <stdio.h>

#include "reporter/stack_counts.h"

/** Write errors stay in @out (ferror()). */
void folded_write(FILE *out, const struct stack_counts *counts);

#endif
