/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covers: jitdump.c code_lines.c
 *
 * Jitdump files, whole and in two chunks as a growing file gives them: functions come out in order and
 * apart, each with a name that ends, and lines that are found. The first two bytes say where the file
 * is cut.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct jitdump *dump)
{
	uint64_t end = 0;

	for (size_t i = 0; i < dump->names.functions.count; i++) {
		const struct code_function *function = &dump->names.functions.items[i];
		uint64_t last = function->start + function->size - 1;
		struct code_location location;

		if (function->start < end || !function->size ||
		    !jitdump_find(dump, function->start, &location) ||
		    !jitdump_find(dump, last, &location) || !*location.function ||
		    strlen(location.function) >= CODE_NAME_BYTES ||
		    (location.file && !*location.file))
			abort();
		end = last + 1;
	}
}

/* Reads @size bytes from @at on, as far as records go; the end of these. */
static size_t add(struct jitdump *dump, const uint8_t *bytes, size_t at, size_t size)
{
	uint64_t used = 1;

	while (at < size && used) {
		size_t left = size - at;

		used = 0;
		if (jitdump_add(dump, bytes + at,
				left < JITDUMP_READ_BYTES ? left : JITDUMP_READ_BYTES, left,
				&used) == -ENOMEM ||
		    used > left)
			abort();
		at += used;
	}
	check(dump);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump whole = { 0 }, parts = { 0 };
	size_t cut, at;

	if (size < 2)
		return 0;
	size -= 2;
	cut = (data[0] | data[1] << 8) % (size + 1);
	add(&whole, data + 2, 0, size);
	at = add(&parts, data + 2, 0, cut);
	add(&parts, data + 2, at, size);
	if (whole.is_broken != parts.is_broken)
		abort();
	jitdump_deinit(&whole);
	jitdump_deinit(&parts);
	return 0;
}
