/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The destinations of -output: which format a path asks for, whether it can be written, and writing
 * it at the end. The output is written to a temporary file beside its path and renamed when all of
 * it is on disk. A reader never sees half a file, and an old file stays until the new one is
 * complete.
 */
#ifndef REPORTER_OUTPUT_FILES_H
#define REPORTER_OUTPUT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/file_folder.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/otlp_profile.h"
#include "reporter/pprof.h"
#include "reporter/sample_store.h"
#include "reporter/stack_counts.h"

/** Endings of paths, for people; output_files.c has the table. */
#define OUTPUT_SUFFIXES                                                                            \
	".pb.gz, .folded, .txt, .otlp, .html, .svg, .speedscope.json, .firefox.json or .afdo.txt"

enum output_format {
	OUTPUT_PPROF,
	OUTPUT_FOLDED,
	OUTPUT_STACK_TABLE,
	OUTPUT_OTLP,
	OUTPUT_PAGE,
	OUTPUT_SVG,
	OUTPUT_SPEEDSCOPE,
	OUTPUT_FIREFOX,
	OUTPUT_AUTOFDO,
};

struct output_file {
	/** NULL: standard output. */
	char *path;
	enum output_format format;
	struct file_folder folder;
};

typedef int output_counts_writer(FILE *out, const struct stack_counts *counts,
				 const struct sample_snapshot *snapshot,
				 const struct profile_info *info);

/** Owner: the thread that runs the agent. */
struct output_files {
	struct output_file *files;
	size_t count;
	/**
	 * Attributes and resource grouping of .otlp. Borrowed; set by whoever made the files.
	 * Sampling rate and lookup are those of the other formats. NULL: all zero.
	 */
	const struct otlp_options *otlp;
	/** Folded stacks and the stack table show source lines; set by whoever made the files. */
	bool with_lines;
	/**
	 * Write the stacks as a page (.html) and as a picture (.svg), 0 or -errno; failed writes stay in @out. Both belong to the
	 * viewer, so whoever made the files sets these.
	 */
	output_counts_writer *write_page;
	output_counts_writer *write_svg;
};

/**
 * The format that the suffix of @path asks for; `-` is folded stacks on standard output. -EINVAL with
 * a text that names the known suffixes.
 */
int output_format_of_path(const char *path, enum output_format *format);

/**
 * Checks each of the @path_count paths: its format, and that a file can be created beside it.
 * -EINVAL with a text that says which path cannot be used and why, or -ENOMEM; then nothing needs a
 * deinit.
 */
int output_files_init(struct output_files *files, const char *const *paths, size_t path_count);
void output_files_deinit(struct output_files *files);

/** True if one of the formats needs the time of every sample, so that the store must keep times. */
bool output_files_need_times(const struct output_files *files);

/**
 * Writes all files. A file that fails is logged as an error and leaves nothing behind; the others
 * are still written. Returns 0 or the first error. @lookup may be NULL.
 */
int output_files_write(struct output_files *files, const struct sample_snapshot *snapshot,
		       const struct profile_info *info, struct symbol_lookup *lookup);

#endif
