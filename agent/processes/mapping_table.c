/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/mapping_table.h"

#include <stdlib.h>
#include <string.h>

struct mapping_table *mapping_table_create(const struct mapping_row *rows, uint32_t count)
{
	size_t bytes = count * sizeof(*rows);
	struct mapping_table *table = malloc(sizeof(*table) + bytes);

	if (!table)
		return NULL;
	table->references = 1;
	table->count = count;
	if (bytes)
		memcpy(table->rows, rows, bytes);
	return table;
}

struct mapping_table *mapping_table_ref(struct mapping_table *table)
{
	__atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
	return table;
}

void mapping_table_unref(struct mapping_table *table)
{
	if (table && __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) == 0)
		free(table);
}

bool mapping_table_equal(const struct mapping_table *a, const struct mapping_table *b)
{
	return a && a->count == b->count && !memcmp(a->rows, b->rows, a->count * sizeof(*a->rows));
}

bool mapping_table_loses(const struct mapping_table *before, const struct mapping_table *after)
{
	uint32_t k = 0;

	for (uint32_t i = 0; before && i < before->count; i++) {
		const struct mapping_row *row = &before->rows[i];

		while (k < after->count && after->rows[k].end < row->end)
			k++;
		if (k == after->count || after->rows[k].start > row->start ||
		    after->rows[k].executable_id != row->executable_id ||
		    after->rows[k].bias != row->bias)
			return true;
	}
	return false;
}
