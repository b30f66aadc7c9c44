/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Profiles for the Firefox profiler (https://profiler.firefox.com; Perfetto reads them, too) in its processed format, version
 * 48: a track for each thread, a category for each kind of frames. Format: firefox-devtools/profiler, src/types/profile.ts
 * and docs-developer/CHANGELOG-formats.md.
 */
#ifndef REPORTER_FIREFOX_H
#define REPORTER_FIREFOX_H

#include <stdio.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/profile_info.h"

/**
 * Writes the samples; of an opened profile those of the shown type. 0 or -ENOMEM; write errors stay in @out (ferror()).
 * @lookup may be NULL.
 */
int firefox_write(FILE *out, const struct sample_snapshot *snapshot,
		  const struct profile_info *info, struct symbol_lookup *lookup);

#endif
