/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Profiles for speedscope (https://www.speedscope.app/file-format-schema.json): a profile for each thread, with the samples in
 * the order of time where times are known. Functions have the marks of folded stacks (reporter/stack_text.h).
 */
#ifndef REPORTER_SPEEDSCOPE_H
#define REPORTER_SPEEDSCOPE_H

#include <stdio.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/profile_info.h"

/**
 * Writes the samples; of an opened profile those of the shown type. 0 or -ENOMEM; write errors stay in @out (ferror()).
 * @lookup may be NULL.
 */
int speedscope_write(FILE *out, const struct sample_snapshot *snapshot,
		     const struct profile_info *info, struct symbol_lookup *lookup);

#endif
