/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Values of options. Parsers turn texts into numbers, strictly (only digits, no blanks, no signs) and with a
 * check for overflow. They return 0 or -EINVAL, and then leave their output untouched; the caller knows the
 * option and sets the error's text.
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

/** 0 to 1, such as `0.2`: digits, and optionally a point and more digits. */
int option_parse_fraction(const char *text, double *fraction);

/** A number of bytes, which may end in K, M or G for powers of 1024. */
int option_parse_size(const char *text, uint64_t *bytes);

/**
 * Numbers and, with @allow_ranges, ranges such as `0-3`, separated by commas; each from @minimum to @maximum.
 * *@numbers is sorted, without duplicates; the caller frees it. -E2BIG for more than @limit numbers, -ENOMEM
 * without memory.
 */
int option_parse_list(const char *text, bool allow_ranges, uint32_t minimum, uint32_t maximum,
		      uint32_t limit, uint32_t **numbers, uint32_t *count);

/** Whether @number is one of the @count numbers of option_parse_list(). */
bool option_list_has(const uint32_t *numbers, uint32_t count, uint32_t number);

#define NS_PER_HOUR (3600 * NS_PER_SECOND)

/** Fails with "SOURCE VALUE: what to do". */
#define option_refuse(setting, format, ...)                                                        \
	fail(-EINVAL, "%s%.*s: " format, (setting)->source, SHOWN_VALUE_BYTES,                     \
	     (setting)->text __VA_OPT__(, ) __VA_ARGS__)

/** Returns -ENOMEM and sets its text. */
int option_out_of_memory(void);

/** Sets a uint32_t. */
int option_set_number(struct options *options, const struct setting *setting);
/** Sets a uint64_t of ns. */
int option_set_duration(struct options *options, const struct setting *setting);
/** Sets a uint64_t of bytes, a multiple of SLAB_BYTES. */
int option_set_size(struct options *options, const struct setting *setting);
/** Sets a char * that is not empty. */
int option_set_path(struct options *options, const struct setting *setting);
/** Sets a bool. */
int option_set_switch(struct options *options, const struct setting *setting);
/** Sets a double from 0 to 1. */
int option_set_fraction(struct options *options, const struct setting *setting);

/** Parses the value of a flag. */
int option_read_flag(const struct setting *setting, bool *flag);

/** -tags: `key:value` pairs, separated by commas. */
int option_set_tags(struct options *options, const struct setting *setting);

/** The percentage of -fail-above. */
int option_set_fail_above(struct options *options, const struct setting *setting);

#endif
