/* SPDX-License-Identifier: Apache-2.0 */
/*
 * covers: perf_map.c code_names.c
 *
 * Text of perf maps, in chunks as a growing file gives it: functions come out in order and apart,
 * each with a name that ends. The first two bytes say where the text is cut.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/host/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct code_names *names)
{
	uint64_t end = 0;

	for (size_t i = 0; i < names->functions.count; i++) {
		const struct code_function *function = &names->functions.items[i];
		const char *name = code_names_text(names, function);

		if (function->start < end || !function->size || !*name ||
		    code_names_find(names, function->start + function->size - 1) != function ||
		    strlen(name) + 1 != function->text_bytes || strlen(name) >= CODE_NAME_BYTES)
			abort();
		end = function->start + function->size;
	}
	if (names->dead_text_bytes > names->text.count || code_names_find(names, end))
		abort();
}

/* Adds @size bytes as far as whole lines go; the end of these. */
static size_t add(struct code_names *map, const char *text, size_t size)
{
	size_t used = 0;

	if (perf_map_add(map, text, size, &used) || used > size)
		abort();
	check(map);
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_names whole = { 0 }, parts = { 0 };
	const char *text = (const char *)data + 2;
	size_t cut, used;

	if (size < 2)
		return 0;
	size -= 2;
	cut = (data[0] | data[1] << 8) % (size + 1);
	add(&whole, text, size);
	used = add(&parts, text, cut);
	used += add(&parts, text + used, size - used);
	if (used && text[used - 1] != '\n')
		abort();
	code_names_deinit(&whole);
	code_names_deinit(&parts);
	return 0;
}
