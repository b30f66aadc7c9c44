/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The table of options: names, texts for -help and for docs/options.md, defaults, and the setters that check a
 * value and put it into struct options. options.c reads the values, applies the table and prints -help;
 * agent/tools/options_markdown.c prints the document.
 *
 * Texts are Markdown of one paragraph, in whole sentences. -help shows them without the marks of code, and has no
 * links.
 */
#ifndef AGENT_OPTION_TABLE_H
#define AGENT_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/options.h"

enum {
	OPTION_MAX_COUNT = 64,
	/** Bytes of a wrong value that an error quotes. */
	SHOWN_VALUE_BYTES = 64,
};

struct option;

/** One value that is being set. */
struct setting {
	const struct option *option;
	/** "-pid " or "ALLFRAMES_PID=": the text before the value where the user wrote it. */
	const char *source;
	const char *text;
};

struct option {
	const char *name;
	/** Name of the value in -help; NULL for a flag, whose value is true or false. */
	const char *value_name;
	/** The value is two arguments, which are set one after the other. */
	bool has_two_values;
	/** Default, which is set as if the user had given it; NULL: none. */
	const char *initial;
	/** The default in words, for an option that is not given; NULL: @initial says it, or there is nothing to say. */
	const char *otherwise;
	const char *meaning;
	/** Text behind @meaning that only the document has; NULL: none. */
	const char *details;
	/** 0, or -EINVAL or -ENOMEM with a text for users; then @options can only be freed. */
	int (*set)(struct options *options, const struct setting *setting);
	/** Offset of the field and range of the value, for setters that serve several options. */
	size_t offset;
	uint64_t minimum;
	uint64_t maximum;
};

/** How options and their values are written. */
extern const char option_rules[];
extern const char option_statuses[];
/** For the document only. */
extern const char option_signals[];

extern const struct option option_table[];
extern const size_t option_count;

#endif
