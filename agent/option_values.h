/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Texts of option values to numbers: strict (digits only where digits are meant, no blanks, no
 * signs), and checked for overflow. All return 0 or -EINVAL, and leave their output alone then;
 * the caller knows the option and words the error.
 */
#ifndef AGENT_OPTION_VALUES_H
#define AGENT_OPTION_VALUES_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
