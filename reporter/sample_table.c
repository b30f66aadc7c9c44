/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the kinds of parts --- */

static uint64_t trace_hash(const void *item)
{
	const struct trace *trace = item;
	const uint64_t hashes[] = { trace->hash.high, trace->hash.low, trace->executables_hash };

	return hash64_bytes(hashes, sizeof(hashes));
}

static bool trace_equal(const void *a, const void *b)
{
	return traces_equal(a, b);
}

static size_t trace_bytes(const void *item)
{
	return ((const struct trace *)item)->bytes;
}

static void *trace_keep(const void *item)
{
	return trace_ref((struct trace *)item);
}

static void trace_drop(void *item)
{
	trace_unref(item);
}

static uint64_t process_hash(const void *item)
{
	const struct process_info *process = item;
	const uint64_t hashes[] = { process->hash, process->pid };

	return hash64_bytes(hashes, sizeof(hashes));
}

static bool process_equal(const void *a, const void *b)
{
	return process_info_equal(a, b);
}

static size_t process_bytes(const void *item)
{
	return process_info_bytes(item);
}

static void *process_keep(const void *item)
{
	return process_info_ref((struct process_info *)item);
}

static void process_drop(void *item)
{
	process_info_unref(item);
}

static size_t text_bytes(const void *item)
{
	return strlen(item) + 1;
}

static uint64_t text_hash(const void *item)
{
	return hash64_bytes(item, strlen(item));
}

static bool text_equal(const void *a, const void *b)
{
	return !strcmp(a, b);
}

static void *text_keep(const void *item)
{
	return strdup(item);
}

static size_t labels_bytes(const void *item)
{
	return label_set_bytes(item);
}

static uint64_t labels_hash(const void *item)
{
	return hash64_bytes(item, label_set_bytes(item));
}

static bool labels_equal(const void *a, const void *b)
{
	return label_sets_equal(a, b);
}

/* Copies are cut after their texts (struct label_set). */
static void *labels_keep(const void *item)
{
	void *copy = malloc(label_set_bytes(item));

	return copy ? memcpy(copy, item, label_set_bytes(item)) : NULL;
}

static const struct interner_ops trace_ops = { trace_hash, trace_equal, trace_bytes, trace_keep,
					       trace_drop };
static const struct interner_ops process_ops = { process_hash, process_equal, process_bytes,
						 process_keep, process_drop };
static const struct interner_ops text_ops = { text_hash, text_equal, text_bytes, text_keep, free };
static const struct interner_ops label_ops = { labels_hash, labels_equal, labels_bytes, labels_keep,
					       free };

/* --- the table --- */

void sample_table_init(struct sample_table *table, size_t max_bytes)
{
	*table = (struct sample_table){ .max_bytes = max_bytes };
	interner_init(&table->traces, &trace_ops);
	interner_init(&table->processes, &process_ops);
	interner_init(&table->strings, &text_ops);
	interner_init(&table->labels, &label_ops);
}

void sample_table_freeze(struct sample_table *table)
{
	for (size_t i = 0; i < table->blocks.count; i++)
		free(table->blocks.items[i]);
	sample_block_vector_deinit(&table->blocks);
	table->used = 0;
	id_index_deinit(&table->index);
	interner_freeze(&table->traces);
	interner_freeze(&table->processes);
	interner_freeze(&table->strings);
	interner_freeze(&table->labels);
}

void sample_table_deinit(struct sample_table *table)
{
	sample_table_freeze(table);
	interner_deinit(&table->traces);
	interner_deinit(&table->processes);
	interner_deinit(&table->strings);
	interner_deinit(&table->labels);
}

static bool entry_equals(const void *context, uint32_t id, const void *key)
{
	const struct sample_table *table = context;

	return sample_equal(&sample_table_at(table->blocks.items, id)->sample, key);
}

/* Memory of the next new entry; a reused entry has been counted already. */
static size_t entry_cost(const struct sample_table *table)
{
	return free_ids_are_empty(&table->free) ?
		       sizeof(struct sample_entry) + ID_INDEX_ENTRY_BYTES :
		       0;
}

/* Reserves room for one more entry. */
static int reserve_entry(struct sample_table *table)
{
	struct sample_entry *block;
	int err = id_index_reserve(&table->index);

	if (err)
		return err;
	if (table->used == UINT32_MAX - SAMPLE_TABLE_BLOCK ||
	    table->bytes + entry_cost(table) > table->max_bytes)
		return -E2BIG;
	if (!free_ids_are_empty(&table->free) ||
	    table->used < table->blocks.count * SAMPLE_TABLE_BLOCK)
		return 0;
	block = calloc(SAMPLE_TABLE_BLOCK, sizeof(*block));
	err = block ? sample_block_vector_push(&table->blocks, block) : -ENOMEM;
	if (err)
		free(block);
	return err;
}

static uint32_t take_id(struct sample_table *table)
{
	uint32_t id;

	if (free_ids_are_empty(&table->free))
		return table->used++;
	id = free_ids_next(&table->free);
	free_ids_take(&table->free, (uint32_t)sample_table_at(table->blocks.items, id)->uses);
	return id;
}

static int intern(struct sample_table *table, struct interner *interner, const void *item,
		  void **interned)
{
	size_t most = table->max_bytes > table->bytes ? table->max_bytes - table->bytes : 0;
	size_t cost;
	int err;

	if (!item)
		return 0;
	err = interner_add(interner, item, most, interned, &cost);
	if (!err)
		table->bytes += cost;
	return err;
}

static void drop_part(struct sample_table *table, struct interner *interner, const void *interned)
{
	if (interned)
		table->bytes -= interner_remove(interner, interned);
}

/* Drops the parts of @sample; some may be missing. */
static void drop_parts(struct sample_table *table, const struct sample *sample)
{
	drop_part(table, &table->traces, sample->trace);
	drop_part(table, &table->processes, sample->process);
	drop_part(table, &table->labels, sample->labels);
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT; i++)
		if (sample_attributes[i].kind == ATTRIBUTE_TEXT)
			drop_part(table, &table->strings, sample_text(sample, i));
}

static int intern_attribute(struct sample_table *table, const struct sample *sample,
			    uint32_t attribute, struct sample *interned)
{
	void *text = NULL;
	int err;

	if (sample_attributes[attribute].kind == ATTRIBUTE_NUMBER) {
		sample_set_number(interned, attribute, sample_number(sample, attribute));
		return 0;
	}
	err = intern(table, &table->strings, sample_text(sample, attribute), &text);
	sample_set_text(interned, attribute, text);
	return err;
}

/* Fills *@interned, which is zeroed. */
static int intern_parts(struct sample_table *table, const struct sample *sample,
			struct sample *interned)
{
	int err = intern(table, &table->traces, sample->trace, (void **)&interned->trace);

	if (!err)
		err = intern(table, &table->processes, sample->process,
			     (void **)&interned->process);
	if (!err)
		err = intern(table, &table->labels, sample->labels, (void **)&interned->labels);
	interned->origin = sample->origin;
	for (uint32_t i = 0; i < SAMPLE_ATTRIBUTE_COUNT && !err; i++)
		err = intern_attribute(table, sample, i, interned);
	if (err)
		drop_parts(table, interned);
	return err;
}

static int make_entry(struct sample_table *table, const struct sample *sample, uint64_t hash,
		      uint32_t *id)
{
	struct sample interned = { 0 };
	size_t cost = entry_cost(table);
	int err = reserve_entry(table);

	if (err)
		return err;
	table->bytes += cost;
	err = intern_parts(table, sample, &interned);
	if (err) {
		table->bytes -= cost;
		return err;
	}
	*id = take_id(table);
	*sample_table_at(table->blocks.items, *id) = (struct sample_entry){ .sample = interned };
	id_index_add(&table->index, hash, *id);
	return 0;
}

int sample_table_add(struct sample_table *table, const struct sample *sample, uint32_t *id)
{
	uint64_t hash = sample_hash(sample);
	uint32_t found;
	bool is_known = id_index_find(&table->index, hash, entry_equals, table, sample, &found);
	int err = is_known ? 0 : make_entry(table, sample, hash, &found);

	if (err)
		return err;
	sample_table_use(table, found);
	*id = found;
	return 0;
}

void sample_table_use(struct sample_table *table, uint32_t id)
{
	sample_table_at(table->blocks.items, id)->uses++;
}

void sample_table_remove(struct sample_table *table, uint32_t id)
{
	struct sample_entry *entry = sample_table_at(table->blocks.items, id);

	if (--entry->uses)
		return;
	id_index_remove(&table->index, sample_hash(&entry->sample), id);
	drop_parts(table, &entry->sample);
	*entry = (struct sample_entry){ .uses = free_ids_add(&table->free, id) };
}
