/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The destinations of -output: which format a path asks for, whether it can be written, and writing
 * it at the end beside its place, renamed when all of it is on disk. A reader never sees half a
 * file, and an old file stays until the new one is whole.
 */
#ifndef REPORTER_OUTPUT_FILES_H
#define REPORTER_OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/model/symbol_lookup.h"
#include "reporter/otlp_profile.h"
#include "reporter/pprof.h"
#include "reporter/sample_store.h"
#include "reporter/stack_counts.h"

enum output_format {
	OUTPUT_PPROF,
	OUTPUT_FOLDED,
	OUTPUT_STACK_TABLE,
	OUTPUT_OTLP,
	OUTPUT_PAGE,
};

struct output_file {
	/** NULL: standard output. */
	char *path;
	enum output_format format;
};

/** Owner: the thread that runs the agent. */
struct output_files {
	struct output_file *files;
	size_t count;
	/**
	 * How .otlp has attributes and groups resources; borrowed, set by who made the files. Rate
	 * and lookup are those of the others; NULL takes all zero.
	 */
	const struct otlp_options *otlp;
	/** Folded stacks and stack table have source lines; set by who made the files. */
	bool with_lines;
	/**
	 * Writes the stacks as a page (.html), 0 or -errno; failed writes stay in @out. The page belongs to the viewer, so
	 * whoever made the files sets this.
	 */
	int (*write_page)(FILE *out, const struct stack_counts *counts);
};

/**
 * The format that @path asks for by its end: .pb.gz, .folded, .txt, .otlp; `-` is folded on
 * standard output. -EINVAL, with a text that names the known ones.
 */
int output_format_of_path(const char *path, enum output_format *format);

/**
 * Takes the @path_count paths and checks each: its format, and that a file can be made beside it.
 * -EINVAL, with a text that says which path cannot be used and why, or -ENOMEM; then nothing is left to deinit.
 */
int output_files_init(struct output_files *files, const char *const *paths, size_t path_count);
void output_files_deinit(struct output_files *files);

/** True if one of them wants the time of every sample: the store shall keep them then. */
bool output_files_need_times(const struct output_files *files);

/**
 * Writes all of them. One that fails is logged as an error and leaves no file of its own; the
 * others are written all the same. Returns 0 or the first failure's -errno. @lookup may be NULL.
 */
int output_files_write(struct output_files *files, const struct sample_snapshot *snapshot,
		       const struct profile_info *info, struct symbol_lookup *lookup);

#endif
