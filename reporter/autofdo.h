/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A profile of native code for compilers, as text (`clang -fprofile-sample-use=`, GCC's create_gcov): how many samples each
 * line of a function has, counted from the function's first line, and the same for the calls that are inlined into it.
 * Format: LLVM, SampleProfReader.h, "Text format".
 */
#ifndef REPORTER_AUTOFDO_H
#define REPORTER_AUTOFDO_H

#include <stdio.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/profile_info.h"
#include "reporter/sample_store.h"

/**
 * Writes where the samples come from, as comments, and the samples whose innermost frame is native code with lines. 0 or
 * -ENOMEM; write errors stay in @out (ferror()). @lookup may be NULL.
 */
int autofdo_write(FILE *out, const struct sample_snapshot *snapshot,
		  const struct profile_info *info, struct symbol_lookup *lookup);

#endif
