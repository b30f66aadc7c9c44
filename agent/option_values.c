// SPDX-License-Identifier: Apache-2.0
#include "agent/option_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

/* Reads the digits at *@text and moves it behind them. */
static int take_digits(const char **text, uint64_t *number)
{
	const char *at = *text;
	uint64_t value = 0;

	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -EINVAL;
	}
	*text = at;
	*number = value;
	return 0;
}

int option_parse_number(const char *text, uint64_t *number)
{
	uint64_t value;

	if (take_digits(&text, &value) || *text)
		return -EINVAL;
	*number = value;
	return 0;
}

int option_parse_duration(const char *text, uint64_t *duration_ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "h", 3600 * NS_PER_SECOND },
		{ "m", 60 * NS_PER_SECOND },
		{ "s", NS_PER_SECOND },
		{ "ms", NS_PER_MS },
	};
	size_t unit_count = sizeof(units) / sizeof(units[0]);
	size_t next_unit = 0;
	uint64_t sum_ns = 0;

	if (!*text)
		return -EINVAL;
	while (*text) {
		uint64_t value;
		size_t length;
		size_t unit;

		if (take_digits(&text, &value))
			return -EINVAL;
		length = strcspn(text, "0123456789");
		for (unit = next_unit; unit < unit_count; unit++) {
			if (strlen(units[unit].name) == length &&
			    strncmp(units[unit].name, text, length) == 0)
				break;
		}
		if (unit == unit_count || __builtin_mul_overflow(value, units[unit].ns, &value) ||
		    __builtin_add_overflow(sum_ns, value, &sum_ns))
			return -EINVAL;
		next_unit = unit + 1;
		text += length;
	}
	*duration_ns = sum_ns;
	return 0;
}

int option_parse_fraction(const char *text, double *fraction)
{
	uint64_t whole;
	double value;
	double unit = 1;

	if (take_digits(&text, &whole) || whole > 1)
		return -EINVAL;
	value = (double)whole;
	if (*text == '.') {
		text++;
		if (!*text)
			return -EINVAL;
		for (; *text >= '0' && *text <= '9'; text++) {
			unit /= 10;
			value += unit * (*text - '0');
		}
	}
	if (*text || value > 1)
		return -EINVAL;
	*fraction = value;
	return 0;
}

int option_parse_size(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	uint64_t value;

	if (take_digits(&text, &value))
		return -EINVAL;
	if (*text) {
		const char *suffix = strchr(suffixes, *text);

		if (!suffix || text[1] ||
		    __builtin_mul_overflow(value, 1024ULL << (10 * (suffix - suffixes)), &value))
			return -EINVAL;
	}
	*bytes = value;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

/* Reads `5` or `0-3` at *@text, and the comma behind it if there is one. */
static int take_range(const char **text, bool allow_ranges, uint64_t *first, uint64_t *last)
{
	if (take_digits(text, first))
		return -EINVAL;
	*last = *first;
	if (allow_ranges && **text == '-') {
		(*text)++;
		if (take_digits(text, last) || *last < *first)
			return -EINVAL;
	}
	if (**text == ',') {
		(*text)++;
		return **text ? 0 : -EINVAL;
	}
	return **text ? -EINVAL : 0;
}

int option_parse_list(const char *text, bool allow_ranges, uint32_t minimum, uint32_t maximum,
		      uint32_t limit, uint32_t **numbers, uint32_t *count)
{
	_cleanup_(free_pointer) uint32_t *found = calloc(limit, sizeof(*found));
	uint32_t found_count = 0;
	uint32_t unique_count = 0;

	if (!found)
		return -ENOMEM;
	do {
		uint64_t first;
		uint64_t last;

		if (take_range(&text, allow_ranges, &first, &last) || first < minimum ||
		    last > maximum)
			return -EINVAL;
		if (last - first >= limit - found_count)
			return -E2BIG;
		for (uint64_t number = first; number <= last; number++)
			found[found_count++] = number;
	} while (*text);

	qsort(found, found_count, sizeof(*found), compare_numbers);
	for (uint32_t i = 0; i < found_count; i++) {
		if (i == 0 || found[i] != found[unique_count - 1])
			found[unique_count++] = found[i];
	}
	*numbers = take_pointer(found);
	*count = unique_count;
	return 0;
}
