/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/string_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "symbols/cache/big_bytes.h"

enum {
	FIRST_SLOTS = 1024,
};

void string_table_deinit(struct string_table *table)
{
	big_bytes_deinit(&table->bytes);
	string_table_finish(table);
}

void string_table_finish(struct string_table *table)
{
	free(table->slots);
	table->slots = NULL;
	table->slot_count = 0;
}

/* The slot of @text, or the free slot for it. */
static uint32_t *find_slot(const struct string_table *table, const char *text, size_t length)
{
	uint32_t mask = table->slot_count - 1;
	uint32_t i = hash64_bytes(text, length) & mask;

	for (;; i = (i + 1) & mask) {
		uint32_t id = table->slots[i];
		const uint8_t *known;

		if (!id)
			return &table->slots[i];
		known = table->bytes.items + id;
		if (table->bytes.count - id > length && !known[length] &&
		    !memcmp(known, text, length))
			return &table->slots[i];
	}
}

static int grow(struct string_table *table)
{
	struct string_table larger = *table;

	larger.slot_count = table->slot_count ? table->slot_count * 2 : FIRST_SLOTS;
	larger.slots = calloc(larger.slot_count, sizeof(larger.slots[0]));
	if (!larger.slots)
		return fail(-ENOMEM, "no memory for strings");
	for (uint32_t i = 0; i < table->slot_count; i++) {
		const char *text = (const char *)table->bytes.items + table->slots[i];

		if (table->slots[i])
			*find_slot(&larger, text, strlen(text)) = table->slots[i];
	}
	free(table->slots);
	*table = larger;
	return 0;
}

int string_table_add(struct string_table *table, const char *text, size_t length, uint32_t *id)
{
	uint32_t max_bytes = table->max_bytes ? table->max_bytes : STRING_TABLE_MAX_BYTES;
	size_t wanted = table->bytes.count + length + 2;
	uint32_t *slot;

	if (!length) {
		*id = 0;
		return 0;
	}
	if (table->count >= table->slot_count / 4 * 3) {
		int err = grow(table);

		if (err)
			return err;
	}
	slot = find_slot(table, text, length);
	if (*slot) {
		*id = *slot;
		return 0;
	}
	if (length >= max_bytes || wanted > max_bytes)
		return fail(-E2BIG, "more than %u bytes of names", max_bytes);
	if (big_bytes_reserve(&table->bytes, wanted))
		return fail(-ENOMEM, "no memory for strings");
	if (!table->bytes.count)
		table->bytes.items[table->bytes.count++] = 0;
	*slot = table->bytes.count;
	*id = *slot;
	memcpy(table->bytes.items + table->bytes.count, text, length);
	table->bytes.count += length;
	table->bytes.items[table->bytes.count++] = 0;
	table->count++;
	return 0;
}
