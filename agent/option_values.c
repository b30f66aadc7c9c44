// SPDX-License-Identifier: Apache-2.0
#include "agent/option_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/slab.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"

enum {
	TAG_MAX_COUNT = 64,
	TAG_KEY_MAX_BYTES = 63,
	TAG_VALUE_MAX_BYTES = 255,
};

/* --- texts to numbers --- */

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

bool option_list_has(const uint32_t *numbers, uint32_t count, uint32_t number)
{
	return bsearch(&number, numbers, count, sizeof(*numbers), compare_numbers);
}

/* --- setters --- */

int option_out_of_memory(void)
{
	return fail(-ENOMEM, "out of memory while the options are read");
}

static void *field_of(struct options *options, const struct setting *setting)
{
	return (char *)options + setting->option->offset;
}

int option_set_number(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	uint64_t number;

	if (option_parse_number(setting->text, &number) || number < option->minimum ||
	    number > option->maximum)
		return option_refuse(setting, "give a number from %llu to %llu",
				     (unsigned long long)option->minimum,
				     (unsigned long long)option->maximum);
	*(uint32_t *)field_of(options, setting) = number;
	return 0;
}

int option_set_duration(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	bool in_seconds = option->minimum % NS_PER_SECOND == 0;
	uint64_t duration_ns;

	if (option_parse_duration(setting->text, &duration_ns))
		return option_refuse(setting, "give a duration such as 100ms, 5s, 2m30s or 1h");
	if (duration_ns < option->minimum || duration_ns > option->maximum)
		return option_refuse(setting, "give a duration from %llu%s to %lluh",
				     (unsigned long long)(option->minimum /
							  (in_seconds ? NS_PER_SECOND : NS_PER_MS)),
				     in_seconds ? "s" : "ms",
				     (unsigned long long)(option->maximum / NS_PER_HOUR));
	*(uint64_t *)field_of(options, setting) = duration_ns;
	return 0;
}

int option_set_size(struct options *options, const struct setting *setting)
{
	const struct option *option = setting->option;
	uint64_t bytes;

	if (option_parse_size(setting->text, &bytes) || bytes < option->minimum ||
	    bytes > option->maximum)
		return option_refuse(setting, "give a size from %lluM to %lluM, such as 256M",
				     (unsigned long long)(option->minimum >> 20),
				     (unsigned long long)(option->maximum >> 20));
	*(uint64_t *)field_of(options, setting) = bytes - bytes % SLAB_BYTES;
	return 0;
}

int option_read_flag(const struct setting *setting, bool *flag)
{
	const char *text = setting->text;

	if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
		*flag = true;
	else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
		*flag = false;
	else
		return option_refuse(setting, "give true or false, or the option without a value");
	return 0;
}

int option_set_path(struct options *options, const struct setting *setting)
{
	char **field = field_of(options, setting);
	char *path;

	if (!*setting->text)
		return option_refuse(setting, "give a path");
	path = strdup(setting->text);
	if (!path)
		return option_out_of_memory();
	free(*field);
	*field = path;
	return 0;
}

int option_set_switch(struct options *options, const struct setting *setting)
{
	return option_read_flag(setting, field_of(options, setting));
}

int option_set_fraction(struct options *options, const struct setting *setting)
{
	if (option_parse_fraction(setting->text, field_of(options, setting)))
		return option_refuse(setting, "give a number from 0 to 1, such as 0.2");
	return 0;
}

/* --- -tags --- */

static bool is_tag_key(const char *key)
{
	size_t length = strlen(key);

	if (length > TAG_KEY_MAX_BYTES || !isalnum((unsigned char)key[0]))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)key[i]) && !strchr("._-/", key[i]))
			return false;
	}
	return true;
}

static bool is_tag_value(const char *value)
{
	size_t length = strlen(value);

	for (size_t i = 0; i < length; i++) {
		if (iscntrl((unsigned char)value[i]))
			return false;
	}
	return length > 0 && length <= TAG_VALUE_MAX_BYTES;
}

/* Adds `key:value`; @pair is split within its own memory. */
static int add_tag(struct options *options, const struct setting *setting, char *pair)
{
	struct option_tag *tag = &options->tags[options->tag_count];
	char *value = strchr(pair, ':');
	size_t key_bytes;
	size_t value_bytes;

	if (!value)
		return option_refuse(setting, "'%.32s' is not of the form key:value", pair);
	*value++ = '\0';
	if (!is_tag_key(pair))
		return option_refuse(
			setting,
			"give keys of letters, digits and ._-/ that start with a letter or "
			"digit, %d bytes at most",
			TAG_KEY_MAX_BYTES);
	if (!is_tag_value(value))
		return option_refuse(setting,
				     "give values of 1 to %d bytes without control characters",
				     TAG_VALUE_MAX_BYTES);
	for (uint32_t i = 0; i < options->tag_count; i++) {
		if (strcmp(options->tags[i].key, pair) == 0)
			return option_refuse(setting, "key %s given twice; give each key once",
					     pair);
	}
	key_bytes = strlen(pair) + 1;
	value_bytes = strlen(value) + 1;
	tag->key = malloc(key_bytes + value_bytes);
	if (!tag->key)
		return option_out_of_memory();
	memcpy(tag->key, pair, key_bytes);
	tag->value = tag->key + key_bytes;
	memcpy(tag->value, value, value_bytes);
	options->tag_count++;
	return 0;
}

int option_set_tags(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) char *text = strdup(setting->text);
	char *rest = text;
	char *pair;

	options_free_tags(options);
	options->tag_count = 0;
	options->tags = calloc(TAG_MAX_COUNT, sizeof(*options->tags));
	if (!text || !options->tags)
		return option_out_of_memory();
	while ((pair = strsep(&rest, ","))) {
		int error;

		if (options->tag_count == TAG_MAX_COUNT)
			return option_refuse(setting, "give at most %d tags", TAG_MAX_COUNT);
		error = add_tag(options, setting, pair);
		if (error)
			return error;
	}
	return 0;
}

/* "5%", or "0.5%". */
int option_set_fail_above(struct options *options, const struct setting *setting)
{
	char *end;
	double percent = strtod(setting->text, &end);

	if (end == setting->text || strcmp(end, "%") != 0 || !(percent >= 0) || percent > 100)
		return option_refuse(setting, "give a percentage, such as 5%%");
	options->has_fail_above = true;
	options->fail_above = percent / 100;
	return 0;
}
