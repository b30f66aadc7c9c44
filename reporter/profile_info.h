/* SPDX-License-Identifier: Apache-2.0 */
/** Facts about a profile as a whole, and where it comes from, for all outputs. */
#ifndef REPORTER_PROFILE_INFO_H
#define REPORTER_PROFILE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/text_builder.h"
#include "lib/model/profile_facts.h"
#include "reporter/sample_store.h"

/** Strings are borrowed. */
struct profile_info {
	/** CLOCK_REALTIME and CLOCK_MONOTONIC of the start, ns. */
	uint64_t start_time_ns;
	uint64_t start_monotonic_ns;
	uint64_t duration_ns;
	uint32_t samples_per_second;
	/** The -tags, each `key:value`; they become comments of the profile. */
	const char *const *tags;
	size_t tag_count;
	/** The machine, its kernel's release, and the agent's version; NULL or "" if unknown. */
	const char *host;
	const char *kernel;
	const char *version;
	/** The options that selected the samples, such as "-pid 12"; NULL or "" if all were taken. */
	const char *selection;
	/**
	 * Facts that an opened profile states about itself. Its types become the sample types; the origin of a sample is the index
	 * of its type, and value_sum its value. NULL: the samples are the agent's.
	 */
	const struct profile_facts *facts;
	/** The weight that the samples have beside their count (enum sample_weight); 0: none. */
	uint8_t weight;
	/** Outputs with one value show the weight. */
	bool shows_weight;
	/** In pprof the outermost frame of each stack is the name of its process. */
	bool with_processes;
};

/** The origin of the agent's samples that outputs with one value show. */
static inline uint8_t profile_info_shown_origin(const struct profile_info *info)
{
	return info->shows_weight ? info->weight : ORIGIN_CLOCK;
}

/** The type of the values that outputs with one value show; NULL: samples of the agent. */
const struct value_type *profile_info_shown_type(const struct profile_info *info);

/** A fact for people, such as "host" and "box". */
typedef void profile_info_line(void *context, const char *key, const char *value);

/**
 * Calls @take for each fact that is known: where the samples of @snapshot come from and how good their stacks are, unless it is
 * NULL. The facts of an opened profile are its comments, whose key is "comment".
 */
void profile_info_describe(const struct profile_info *info, const struct sample_snapshot *snapshot,
			   profile_info_line *take, void *context);

/**
 * The same for people: of an opened profile also its start, duration and period, and comments that an output of the agent has
 * for such facts have their keys ("host" and "box", and not "comment" and "host: box").
 */
void profile_info_describe_all(const struct profile_info *info,
			       const struct sample_snapshot *snapshot, profile_info_line *take,
			       void *context);

typedef void profile_info_comment(void *context, const char *comment);

/**
 * Calls @take for each fact of profile_info_describe() as files have it in their comments: "host: box". The comments of an opened
 * profile stay as they are. -ENOMEM.
 */
int profile_info_comments(const struct profile_info *info, const struct sample_snapshot *snapshot,
			  profile_info_comment *take, void *context);

/** Writes these comments as lines of a text: "# host: box". -ENOMEM; write errors stay in @out (ferror()). */
int profile_info_write_lines(FILE *out, const struct profile_info *info,
			     const struct sample_snapshot *snapshot);

/** The key of profile_info_describe_all() that @text begins with, as in "host: box"; NULL: it begins with none. */
const char *profile_info_key(const char *text);

/** Appends "box, 2026-11-29T19:30:23Z", the profile's name; "profile" if neither is known. */
void profile_info_append_name(const struct profile_info *info, struct text_builder *text);

#endif
