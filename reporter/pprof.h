/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Profiles for pprof (https://github.com/google/pprof, proto/profile.proto), compressed by gzip.
 *
 * Sample types are samples/count and cpu/nanoseconds, or those of the opened profile; labels are comm, pid, thread, tid, goroutine
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

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/model/profile_facts.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/sample_store.h"

/** Facts about the profile as a whole. Strings are borrowed. */
struct profile_info {
	/** CLOCK_REALTIME and CLOCK_MONOTONIC of the start, ns. */
	uint64_t start_time_ns;
	uint64_t start_monotonic_ns;
	uint64_t duration_ns;
	uint32_t samples_per_second;
	/** The -tags, each `key:value`; they become comments of the profile. */
	const char *const *tags;
	size_t tag_count;
	/**
	 * Facts that an opened profile states about itself. Its types become the sample types; the origin of a sample is the index
	 * of its type, and value_sum its value. NULL: the samples are the agent's.
	 */
	const struct profile_facts *facts;
};

/**
 * Writes the profile. 0 or -ENOMEM; write errors stay in @out (ferror()). @lookup may be NULL.
 */
int pprof_write(FILE *out, const struct sample_snapshot *snapshot, const struct profile_info *info,
		struct symbol_lookup *lookup);

#endif
