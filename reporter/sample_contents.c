/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of samples, and their times. Times are appended as they come, a few bytes each, and
 * sorted by sample at the end. A known sample costs one look-up and no allocation.
 */

#include "reporter/sample_contents.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/vector.h"
#include "lib/model/origins.h"
#include "reporter/byte_pool.h"
#include "reporter/packed_numbers.h"
#include "reporter/sample_table.h"
#include "reporter/sort_times.h"

enum {
	/* An id, a difference and a value, and an end mark. */
	TIME_ENTRY_MAX_BYTES = PACKED_32_MAX_BYTES + 2 * PACKED_64_MAX_BYTES + 1,
};

VECTOR_DEFINE(value_vector, uint64_t)

struct sample_contents {
	struct sample_store_options options;
	/*
	 * The uses of a sample are its count. While the snapshot is made, they are the index of its
	 * next time.
	 */
	struct sample_table table;
	/* Memory of the times. */
	size_t time_bytes;
	/* Sums of values by sample id, up to the last sample of an origin that has values. */
	struct value_vector value_sums;
	/*
	 * Entries of id and time, and value if the origin has values; a 0 follows the last
	 * entry of a chunk.
	 */
	struct chunk_vector time_chunks;
	uint8_t *time_end;
	size_t time_room;
	uint64_t last_time_ns;
	uint64_t time_count;
	/*
	 * The prepared memory: the samples, their times, the values if there are any, and an order
	 * of ids.
	 */
	void *block;
};

static struct sample_entry *entry_at(const struct sample_contents *contents, uint32_t id)
{
	return sample_table_at(contents->table.blocks.items, id);
}

struct sample_contents *sample_contents_create(const struct sample_store_options *options)
{
	struct sample_contents *contents = calloc(1, sizeof(*contents));

	if (!contents)
		return NULL;
	contents->options = *options;
	sample_table_init(&contents->table, options->max_bytes);
	return contents;
}

void sample_contents_destroy(struct sample_contents *contents)
{
	if (!contents)
		return;
	sample_table_deinit(&contents->table);
	chunks_free(&contents->time_chunks);
	value_vector_deinit(&contents->value_sums);
	free(contents->block);
	free(contents);
}

static bool has_values(const struct sample *sample)
{
	return sample_origins[sample->origin].has_values;
}

static size_t used_bytes(const struct sample_contents *contents)
{
	return contents->table.bytes + contents->time_bytes +
	       contents->value_sums.count * sizeof(uint64_t);
}

/* --- times --- */

/* Reserves room for one more entry and its end mark, within the memory limit. */
static int reserve_time(struct sample_contents *contents)
{
	if (used_bytes(contents) + TIME_ENTRY_MAX_BYTES > contents->options.max_bytes)
		return -E2BIG;
	if (contents->time_room >= TIME_ENTRY_MAX_BYTES)
		return 0;
	contents->time_end = chunks_add(&contents->time_chunks, CHUNK_BYTES);
	contents->time_room = 0;
	if (!contents->time_end)
		return -ENOMEM;
	contents->time_room = CHUNK_BYTES;
	*contents->time_end = 0;
	return 0;
}

/*
 * Samples come nearly in the order of their times, so the difference to the previous time is small.
 */
static void add_time(struct sample_contents *contents, uint32_t id,
		     const struct sample_event *event)
{
	uint8_t *end = packed_put(contents->time_end, (uint64_t)id + 1);
	size_t bytes, snapshot_bytes = sizeof(event->time_ns);

	end = packed_put(end, packed_difference(event->time_ns - contents->last_time_ns));
	if (has_values(&event->sample)) {
		end = packed_put(end, event->value);
		snapshot_bytes += sizeof(event->value);
	}
	*end = 0;
	bytes = end - contents->time_end;
	contents->time_bytes += bytes > snapshot_bytes ? bytes : snapshot_bytes;
	contents->time_room -= bytes;
	contents->time_end = end;
	contents->last_time_ns = event->time_ns;
	contents->time_count++;
}

/* Reserves the sums up to that of the next new id. */
static int reserve_sum(struct sample_contents *contents)
{
	size_t more = contents->table.used + 1 - contents->value_sums.count;

	if (contents->value_sums.count > contents->table.used)
		return 0;
	if (used_bytes(contents) + more * sizeof(uint64_t) > contents->options.max_bytes)
		return -E2BIG;
	return value_vector_reserve(&contents->value_sums, contents->table.used + 1);
}

/* The room was reserved. */
static void add_value(struct sample_contents *contents, uint32_t id, uint64_t value)
{
	while (contents->value_sums.count <= id)
		(void)value_vector_push(&contents->value_sums, 0);
	contents->value_sums.items[id] += value;
}

int sample_contents_add(struct sample_contents *contents, const struct sample_event *event)
{
	struct sample sample = event->sample;
	uint32_t id;
	int err;

	if (!contents->options.keeps_cpus)
		sample.cpu = SAMPLE_NO_NUMBER;
	contents->table.max_bytes =
		contents->options.max_bytes - (used_bytes(contents) - contents->table.bytes);
	/* Reserved first, so that no sample is added without its time. */
	err = contents->options.keeps_times ? reserve_time(contents) : 0;
	if (!err && has_values(&sample))
		err = reserve_sum(contents);
	if (!err)
		err = sample_table_add(&contents->table, &sample, &id);
	if (err)
		return err;
	if (contents->options.keeps_times)
		add_time(contents, id, event);
	if (has_values(&sample))
		add_value(contents, id, event->value);
	return 0;
}

bool sample_contents_are_half_full(const struct sample_contents *contents)
{
	return used_bytes(contents) >= contents->options.max_bytes / 2;
}

uint64_t sample_contents_count(const struct sample_contents *contents)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < contents->table.used; i++)
		if (!origin_is_weight(entry_at(contents, i)->sample.origin))
			count += entry_at(contents, i)->uses;
	return count;
}

/* --- the snapshot --- */

int sample_contents_prepare(struct sample_contents *contents)
{
	size_t arrays = contents->value_sums.count ? 2 : 1;
	size_t bytes = contents->table.used * (sizeof(struct stored_sample) + sizeof(uint32_t)) +
		       arrays * contents->time_count * sizeof(uint64_t);

	free(contents->block);
	contents->block = malloc(bytes + 1);
	return contents->block ? 0 : -ENOMEM;
}

static int compare_counts(const void *a, const void *b, void *context)
{
	uint32_t id_a = *(const uint32_t *)a, id_b = *(const uint32_t *)b;
	uint64_t count_a = entry_at(context, id_a)->uses;
	uint64_t count_b = entry_at(context, id_b)->uses;

	if (count_a != count_b)
		return count_a < count_b ? 1 : -1;
	return id_a < id_b ? -1 : id_a > id_b;
}

/* Sorts the ids of all samples, most frequent first. */
static void rank_samples(struct sample_contents *contents, uint32_t *order)
{
	for (uint32_t i = 0; i < contents->table.used; i++)
		order[i] = i;
	if (contents->table.used)
		qsort_r(order, contents->table.used, sizeof(*order), compare_counts, contents);
}

/*
 * Unpacks each sample's times, and values if there are any. A sample's uses are now the index of
 * its first time.
 */
static void unpack_times(struct sample_contents *contents, uint64_t *times, uint64_t *values)
{
	uint64_t time_ns = 0;

	for (size_t i = 0; i < contents->time_chunks.count; i++) {
		const uint8_t *from = contents->time_chunks.items[i];
		uint64_t id;

		while ((id = packed_get(&from))) {
			struct sample_entry *entry = entry_at(contents, id - 1);

			time_ns += unpacked_difference(packed_get(&from));
			times[entry->uses] = time_ns;
			if (has_values(&entry->sample))
				values[entry->uses] = packed_get(&from);
			entry->uses++;
		}
	}
}

void sample_contents_finish(struct sample_contents *contents, struct sample_snapshot *snapshot)
{
	struct stored_sample *samples = contents->block;
	uint64_t *times = (uint64_t *)(samples + contents->table.used);
	uint64_t *values = contents->value_sums.count ? times + contents->time_count : NULL;
	uint32_t *order = (uint32_t *)((values ? values : times) + contents->time_count);
	bool keeps_times = contents->options.keeps_times;
	uint64_t first_time = 0;

	rank_samples(contents, order);
	for (uint32_t i = 0; i < contents->table.used; i++) {
		struct sample_entry *entry = entry_at(contents, order[i]);

		samples[i] = (struct stored_sample){
			.sample = entry->sample,
			.count = entry->uses,
			.times_ns = keeps_times ? times + first_time : NULL,
		};
		if (has_values(&entry->sample)) {
			samples[i].value_sum = contents->value_sums.items[order[i]];
			samples[i].values = keeps_times ? values + first_time : NULL;
		}
		entry->uses = first_time;
		first_time += samples[i].count;
	}
	unpack_times(contents, times, values);
	first_time = 0;
	for (uint32_t i = 0; keeps_times && i < contents->table.used; i++) {
		sort_times(times + first_time, samples[i].values ? values + first_time : NULL,
			   samples[i].count);
		first_time += samples[i].count;
	}
	*snapshot = (struct sample_snapshot){
		.samples = samples,
		.count = contents->table.used,
		.contents = contents,
	};
	sample_table_freeze(&contents->table);
	chunks_free(&contents->time_chunks);
}
