// SPDX-License-Identifier: Apache-2.0
#include "agent/option_tags.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/option_setters.h"
#include "lib/base/cleanup.h"

enum {
	TAG_MAX_COUNT = 64,
	TAG_KEY_MAX_BYTES = 63,
	TAG_VALUE_MAX_BYTES = 255,
};

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

/* Adds `key:value`, which is cut in two in place. */
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
