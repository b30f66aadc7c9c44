/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covers: expression.c name_pattern.c
 *
 * Patterns of any text, and names to search in. A pattern is refused with a text, or it always gives the
 * same answer; a text without special characters is found in itself.
 */
#include "viewer/name_pattern.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void search(const char *text, const char *name)
{
	struct name_pattern *pattern = NULL;
	int err = name_pattern_create(text, &pattern);
	bool is_match;

	if (err) {
		assert(err == -EINVAL && *error_text() && !pattern);
		return;
	}
	is_match = name_pattern_matches(pattern, name);
	assert(name_pattern_matches(pattern, name) == is_match);
	if (*text != '/')
		assert(name_pattern_matches(pattern, text));
	name_pattern_destroy(pattern);
}

/* The first line is the pattern, the rest a name. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	char *text = calloc(1, count + 1), *name;

	if (!text)
		return 0;
	memcpy(text, bytes, count);
	name = strchr(text, '\n');
	if (name)
		*name++ = '\0';
	search(text, name ? name : "");
	free(text);
	return 0;
}
