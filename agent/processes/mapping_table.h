/* SPDX-License-Identifier: Apache-2.0 */
/** The rows of a process as the kernel side has them; forks share those of their parent. */
#ifndef AGENT_PROCESSES_MAPPING_TABLE_H
#define AGENT_PROCESSES_MAPPING_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/process.h"

/** Immutable, shared by reference count (atomic). */
struct mapping_table {
	unsigned int references;
	uint32_t count;
	struct mapping_row rows[];
};

/** NULL without memory. */
struct mapping_table *mapping_table_create(const struct mapping_row *rows, uint32_t count);
struct mapping_table *mapping_table_ref(struct mapping_table *table);
void mapping_table_unref(struct mapping_table *table);

/** Whether both have the same rows; @a may be NULL, and then they have not. */
bool mapping_table_equal(const struct mapping_table *a, const struct mapping_table *b);

/** Whether an address that had a meaning in @before (or NULL) lost it or got another. */
bool mapping_table_loses(const struct mapping_table *before, const struct mapping_table *after);

#endif
