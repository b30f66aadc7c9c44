/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Distinct samples, each stored once, with ids and use counts. Equal traces, processes, strings
 * and labels are one pointer within a table. The table owns a reference on each trace and process,
 * and copies of the rest. Entries never move; an id is reused after its last use is removed. Not
 * thread-safe.
 */
#ifndef REPORTER_SAMPLE_TABLE_H
#define REPORTER_SAMPLE_TABLE_H

#include "lib/base/vector.h"
#include "lib/model/sample.h"
#include "reporter/free_ids.h"
#include "reporter/id_index.h"
#include "reporter/interner.h"

struct sample_entry {
	/** Its trace is NULL if the id is free. */
	struct sample sample;
	/** The link (struct free_ids) if the id is free. */
	uint64_t uses;
};

_Static_assert(sizeof(struct sample_entry) <= 72, "there may be a million");

enum {
	SAMPLE_TABLE_BLOCK = 512,
};

VECTOR_DEFINE(sample_block_vector, struct sample_entry *)

struct sample_table {
	struct sample_block_vector blocks;
	/** Ids below this have been used. */
	uint32_t used;
	struct free_ids free;
	struct id_index index;
	struct interner traces;
	struct interner processes;
	struct interner strings;
	struct interner labels;
	/** The approximate memory of the table, and its limit, which the user may change. */
	size_t bytes;
	size_t max_bytes;
};

void sample_table_init(struct sample_table *table, size_t max_bytes);
void sample_table_deinit(struct sample_table *table);

/**
 * Adds a use of the sample that is equal to @sample, and the sample itself if it is new. *@id
 * is its id. -E2BIG over the limit, -ENOMEM; then no sample has changed.
 */
int sample_table_add(struct sample_table *table, const struct sample *sample, uint32_t *id);

/** Adds a use of the sample with @id. */
void sample_table_use(struct sample_table *table, uint32_t id);

/** Removes a use, and the sample with its last use. */
void sample_table_remove(struct sample_table *table, uint32_t id);

/** Frees entries and indexes for good; the memory that the samples point to stays until deinit. */
void sample_table_freeze(struct sample_table *table);

/** @id is below `used`. */
static inline struct sample_entry *sample_table_at(struct sample_entry *const *blocks, uint32_t id)
{
	return &blocks[id / SAMPLE_TABLE_BLOCK][id % SAMPLE_TABLE_BLOCK];
}

#endif
