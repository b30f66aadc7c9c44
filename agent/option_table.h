/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The table of options: names, texts for -help, for docs/options.md, the manual page and shells, defaults, and the
 * setters that check a value and put it into struct options. options.c reads the values and applies the table;
 * option_help.c prints -help, and tools/options_*.c print what is made of it besides.
 *
 * Texts but the briefs are Markdown of one paragraph, in whole sentences.
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
	OPTION_BRIEF_MAX = 46,
};

struct option;

/** The groups of -help, in its order, but that the first comes last. */
enum option_group {
	OPTION_MORE,
	OPTION_SELECTION,
	OPTION_DESTINATION,
	OPTION_STACKS,
	OPTION_PAGE,
	OPTION_COLLECTOR,
	OPTION_GROUP_COUNT,
};

/** One value that is being set. */
struct setting {
	const struct option *option;
	/** "-pid " or "ALLFRAMES_PID=": the text before the value where the user wrote it. */
	const char *source;
	const char *text;
};

struct option {
	const char *name;
	/** A letter that stands for the name; 0: none. */
	char letter;
	/** enum option_group */
	uint8_t group;
	/** The meaning for -help and for shells, short and plain: at most OPTION_BRIEF_MAX bytes. */
	const char *brief;
	/** Name of the value in -help; NULL for a flag, whose value is true or false. */
	const char *value_name;
	/** The value is two arguments, which are set one after the other. */
	bool has_two_values;
	/** The values for shells to complete, with blanks between; NULL: files if the name of the value is one of a path. */
	const char *choices;
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
/** For the document and the manual only. */
extern const char option_signals[];
extern const char option_command_text[];

extern const struct option option_table[];
extern const size_t option_count;

#endif
