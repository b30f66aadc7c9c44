/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Facts that a profile states about itself besides its samples: the types of its values, its period, its duration and its
 * comments. Readers of files fill it, and exports write it again.
 */
#ifndef LIB_MODEL_PROFILE_FACTS_H
#define LIB_MODEL_PROFILE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/text_builder.h"

enum {
	/** Profiles with more types of values are refused. */
	PROFILE_TYPES_MAX = 64,
	/** Further parts are not listed. */
	PROFILE_PARTS_MAX = 64,
	/** Further comments are left out. */
	PROFILE_COMMENTS_MAX = 1024,
	/** Decimals of values, so that a unit has 10^9 parts at most. */
	VALUE_DECIMALS_MAX = 9,
};

/** "inuse_space" in "bytes". */
struct value_type {
	char *type;
	char *unit;
	/** Values are stored as whole numbers of 10^-decimals units. */
	uint8_t decimals;
};

/** One of several profiles that are read together, each at times of its own. */
struct profile_part {
	char *name;
	/** Times of the first and the last sample. */
	uint64_t first_ns;
	uint64_t last_ns;
};

/** Initialize with zeros. Owns its strings. */
struct profile_facts {
	struct value_type *types;
	uint32_t type_count;
	/** The index of the type that is shown first. */
	uint32_t shown_type;
	/** The profile names that type. */
	bool names_shown_type;
	/** NULL and 0 if there is no period. */
	char *period_type;
	char *period_unit;
	int64_t period;
	uint64_t duration_ns;
	/** The profile states when it was taken. */
	bool has_time;
	char **comments;
	size_t comment_count;
	/** NULL if there is only one profile. */
	struct profile_part *parts;
	size_t part_count;
};

void profile_facts_deinit(struct profile_facts *facts);

/**
 * The index of the type, which is added if it is new. A unit such as "1/10 count" has decimals. -ENOMEM; -E2BIG with
 * a text for users if there are too many types.
 */
int profile_facts_add_type(struct profile_facts *facts, const char *type, const char *unit,
			   uint32_t *index);

/** Sets the period unless there is one. -ENOMEM. */
int profile_facts_set_period(struct profile_facts *facts, const char *type, const char *unit,
			     int64_t period);

/** -ENOMEM. */
int profile_facts_add_comment(struct profile_facts *facts, const char *comment);

/** -ENOMEM. */
int profile_facts_add_part(struct profile_facts *facts, const char *name, uint64_t first_ns,
			   uint64_t last_ns);

/** Whether a user calls the type @type in @unit @name, which is "type" or "type/unit". */
bool value_type_is_called(const char *type, const char *unit, const char *name);

/** The index of the type that a user calls @name, or -ENOENT. */
int profile_facts_find_type(const struct profile_facts *facts, const char *name, uint32_t *index);

/** 10^decimals. */
uint64_t value_type_scale(const struct value_type *type);

/** Appends the unit as outputs that have only whole numbers write it: "count", or with decimals "1/10 count". */
void value_type_append_unit(struct text_builder *text, const struct value_type *type);

/** Appends a value, of either sign, in the type's unit. */
void value_type_append_value(struct text_builder *text, const struct value_type *type,
			     int64_t value);

#endif
