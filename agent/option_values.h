/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Values of options. Functions that parse turn texts into numbers: strictly (digits only where digits are
 * meant, no blanks, no signs), and checked for overflow. They return 0 or -EINVAL, and leave their output
 * alone then; the caller knows the option and words the error.
 *
 * Setters serve several options: each puts a value into the field at the option's offset, and refuses
 * what lies outside of its minimum and maximum.
 */
#ifndef AGENT_OPTION_VALUES_H
#define AGENT_OPTION_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/option_table.h"
#include "lib/base/error.h"

/** Decimal digits only. */
int option_parse_number(const char *text, uint64_t *number);

/** `100ms`, `5s`, `2m30s`, `1h`: numbers with the units h, m, s, ms, each once, in this order. */
int option_parse_duration(const char *text, uint64_t *duration_ns);

/** 0 to 1, such as `0.2`: digits, and a point among them if there are others behind it. */
int option_parse_fraction(const char *text, double *fraction);

/** Bytes, or with K, M or G behind it multiples of 1024. */
int option_parse_size(const char *text, uint64_t *bytes);

/**
 * Numbers and, if @allow_ranges, ranges such as `0-3`, with commas between; each in @minimum to
 * @maximum. *@numbers is sorted, without duplicates, and the caller's to free. -E2BIG for
 * more than @limit numbers, -ENOMEM without memory.
 */
int option_parse_list(const char *text, bool allow_ranges, uint32_t minimum, uint32_t maximum,
		      uint32_t limit, uint32_t **numbers, uint32_t *count);

#define NS_PER_HOUR (3600 * NS_PER_SECOND)

/** Fails with "SOURCE VALUE: what to do". */
#define option_refuse(setting, format, ...)                                                        \
	fail(-EINVAL, "%s%.*s: " format, (setting)->source, SHOWN_VALUE_BYTES,                     \
	     (setting)->text __VA_OPT__(, ) __VA_ARGS__)

/** -ENOMEM, with its text. */
int option_out_of_memory(void);

/** A uint32_t. */
int option_set_number(struct options *options, const struct setting *setting);
/** A uint64_t of ns. */
int option_set_duration(struct options *options, const struct setting *setting);
/** A uint64_t of bytes, a multiple of SLAB_BYTES. */
int option_set_size(struct options *options, const struct setting *setting);
/** A char * that is not empty. */
int option_set_path(struct options *options, const struct setting *setting);
/** A bool. */
int option_set_switch(struct options *options, const struct setting *setting);
/** A double from 0 to 1. */
int option_set_fraction(struct options *options, const struct setting *setting);

/** The value of a flag. */
int option_read_flag(const struct setting *setting, bool *flag);

/** -tags: `key:value` with commas between. */
int option_set_tags(struct options *options, const struct setting *setting);

#endif
