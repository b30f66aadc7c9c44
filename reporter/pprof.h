/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Profiles for pprof (https://github.com/google/pprof, proto/profile.proto), compressed by gzip.
 *
 * Sample types are samples/count and cpu/nanoseconds; labels are comm, pid, thread and tid, those that
 * the program has given (Go's pprof.Do()) under the same keys, goroutine, its number, and virtual_thread,
 * "true" for one of Java's, whose carrier the thread is. A program's label with a key of ours gets
 * `label.` in front, and one that begins so and ends in one, another. A
 * location is one address of one binary: the ELF virtual address of the instruction (of the call,
 * for callers), inside a mapping given in ELF virtual addresses, too. Kernel frames belong to
 * mappings [kernel.kallsyms] and [kernel.MODULE]. Functions have the names of stack_text.h without
 * suffixes, but guesses keep theirs, and an error is a function `[error: why]` where the root would
 * be. Strings, functions, locations and mappings are never doubled.
 */
#ifndef REPORTER_PPROF_H
#define REPORTER_PPROF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/sample_store.h"

/** What is told of a profile as a whole. Strings are borrowed. */
struct profile_info {
	/** CLOCK_REALTIME and CLOCK_MONOTONIC of the start, ns. */
	uint64_t start_time_ns;
	uint64_t start_monotonic_ns;
	uint64_t duration_ns;
	uint32_t samples_per_second;
	/** The -tags, each `key:value`: comments of the profile. */
	const char *const *tags;
	size_t tag_count;
};

/**
 * Writes the profile. 0 or -ENOMEM; write errors stay in @out (ferror()). @lookup may be NULL.
 */
int pprof_write(FILE *out, const struct sample_snapshot *snapshot, const struct profile_info *info,
		struct symbol_lookup *lookup);

#endif
