/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Profiles for pprof (https://github.com/google/pprof, proto/profile.proto), compressed by gzip.
 *
 * Sample types are samples/count and cpu/nanoseconds, with -weight its own, or those of the opened profile; labels are comm, pid, thread, tid, goroutine
 * (its id), virtual_thread ("true" for a virtual thread of Java; thread and tid are then its
 * carrier's), and those that the program has set (Go's pprof.Do()) under their own keys. If a
 * program's key is equal to one of ours, or to `label.` (once or more) followed by one, it is
 * prefixed with `label.`. A location is one address of one binary: the ELF virtual address of the
 * instruction (for callers: of the call), inside a mapping that is also given in ELF virtual
 * addresses. Kernel frames belong to mappings [kernel.kallsyms] and [kernel.MODULE], which start at 0: their
 * addresses are offsets from the start of that text, as in OTLP (otlp_frames.h). Functions have
 * the names of stack_text.h without suffixes, except that guesses keep theirs. An error is a
 * function `[error: why]` in the position of the root. Strings, functions, locations and mappings
 * have no duplicates.
 */
#ifndef REPORTER_PPROF_H
#define REPORTER_PPROF_H

#include <stdio.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/profile_info.h"
#include "reporter/sample_store.h"

/**
 * Writes the profile. 0 or -ENOMEM; write errors stay in @out (ferror()). @lookup may be NULL.
 */
int pprof_write(FILE *out, const struct sample_snapshot *snapshot, const struct profile_info *info,
		struct symbol_lookup *lookup);

#endif
