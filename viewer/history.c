/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples are stored in chunks of columns; new ones are added to the newest chunk. A full
 * chunk never changes, so a view copies only the newest. While there is a view, no chunk and no key
 * is dropped.
 */
#include "viewer/history.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "reporter/packed_numbers.h"

enum {
	/* Room in the newest chunk, divided for keys and times of two or three bytes. */
	KEYS_MAX_BYTES = 14 << 10,
	TIMES_MAX_BYTES = 16 << 10,
	VALUES_MAX_BYTES = 24 << 10,
	CHUNK_MAX_BYTES = KEYS_MAX_BYTES + TIMES_MAX_BYTES,
	/* Dropping happens in steps: fractions of the retention, and of the memory for new keys. */
	CHUNKS_PER_RETENTION = 60,
	CHUNKS_PER_BUDGET = 32,
	/*
	 * While there is a view nothing can be dropped; this fraction of max_bytes may then be
	 * exceeded.
	 */
	EXCESS_DIVISOR = 8,
};

/* Packed numbers, one per sample. */
struct column {
	uint32_t start;
	uint32_t bytes;
	uint32_t max_bytes;
};

enum {
	KEYS,
	/* Differences to the previous sample, in units of time; in the lower bits the CPU plus 1, or 0 where there is none. */
	TIMES,
	/* Values with their signs; empty if each sample counts as one. */
	VALUES,
	COLUMN_COUNT,
};

struct chunk {
	/* The columns, one after the other. */
	uint8_t *data;
	struct column columns[COLUMN_COUNT];
	uint32_t capacity;
	uint32_t samples;
	/* The lower bits of a time that have its CPU. */
	unsigned int cpu_bits;
	/* The time before the first sample, to which its difference refers. */
	uint64_t base_ns;
	uint64_t least_ns;
	uint64_t greatest_ns;
};

VECTOR_DEFINE(history_chunk_vector, struct chunk)

struct history {
	struct reporter reporter;
	struct history_options options;
	pthread_mutex_t lock;
	/* Guarded by the lock: */
	bool is_paused;
	bool has_view;
	struct history_keys keys;
	/* Oldest first; new samples go into the last. */
	struct history_chunk_vector chunks;
	size_t chunk_bytes;
	/* Memory that others need (history_reserve()). */
	size_t reserved_bytes;
	uint64_t last_in_chunk_ns;
	/* The bits that the CPUs of the newest chunk need. */
	unsigned int cpu_bits;
	/* The number of keys that had been made when the newest chunk was started. */
	uint64_t keys_before_chunk;
	uint64_t newest_ns;
	uint64_t samples;
	uint64_t weight;
	uint64_t dropped;
	uint64_t changes;
};

/* --- columns --- */

static const uint8_t *column_data(const struct chunk *chunk, int column)
{
	return chunk->data + chunk->columns[column].start;
}

static bool has_room(const struct chunk *chunk)
{
	for (int i = 0; i < COLUMN_COUNT; i++) {
		const struct column *column = &chunk->columns[i];

		if (column->max_bytes && column->max_bytes - column->bytes < PACKED_64_MAX_BYTES)
			return false;
	}
	return true;
}

static void append(struct chunk *chunk, int column_number, uint64_t number)
{
	struct column *column = &chunk->columns[column_number];
	uint8_t *end = chunk->data + column->start + column->bytes;

	column->bytes += (uint32_t)(packed_put(end, number) - end);
}

static uint32_t bytes_in(const struct chunk *chunk)
{
	uint32_t bytes = 0;

	for (int i = 0; i < COLUMN_COUNT; i++)
		bytes += chunk->columns[i].bytes;
	return bytes;
}

/*
 * Moves the columns to @data, which has bytes_in() bytes, without gaps. @data may be the chunk's
 * own memory.
 */
static void move_columns(struct chunk *chunk, uint8_t *data)
{
	uint32_t start = 0;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		struct column *column = &chunk->columns[i];

		memmove(data + start, column_data(chunk, i), column->bytes);
		column->start = start;
		column->max_bytes = column->bytes;
		start += column->bytes;
	}
	chunk->data = data;
	chunk->capacity = start;
}

static bool is_weight(const struct history *history, const struct sample *sample)
{
	return history->options.weight && sample->origin == history->options.weight;
}

/* --- dropping samples --- */

static void drop_oldest_chunk(struct history *history)
{
	struct chunk chunk = history->chunks.items[0];
	const uint8_t *keys = column_data(&chunk, KEYS), *values = column_data(&chunk, VALUES);

	for (uint32_t i = 0; i < chunk.samples; i++) {
		uint32_t key = (uint32_t)packed_get(&keys);
		uint64_t value = history->options.keeps_values ?
					 unpacked_difference(packed_get(&values)) :
					 1;

		if (history->options.weight &&
		    is_weight(history, history_keys_sample(&history->keys, key)))
			history->weight -= value;
		else
			history->samples--;
		history_keys_remove(&history->keys, key);
	}
	history->changes++;
	history->chunk_bytes -= sizeof(chunk) + chunk.capacity;
	history_chunk_vector_remove(&history->chunks, 0);
	free(chunk.data);
}

static size_t used_bytes(const struct history *history)
{
	return history->chunk_bytes + history_keys_bytes(&history->keys);
}

/* Samples from this time on are kept. */
static uint64_t oldest_kept(const struct history *history)
{
	uint64_t retention = history->options.retention_ns;

	return history->newest_ns > retention ? history->newest_ns - retention : 0;
}

static void drop_old(struct history *history)
{
	if (history->has_view)
		return;
	while (history->chunks.count > 1 &&
	       history->chunks.items[0].greatest_ns < oldest_kept(history))
		drop_oldest_chunk(history);
	while (history->chunks.count &&
	       used_bytes(history) + history->reserved_bytes > history->options.max_bytes) {
		history->dropped += history->chunks.items[0].samples;
		drop_oldest_chunk(history);
	}
}

/* --- adding samples --- */

static struct chunk *newest_chunk(struct history *history)
{
	return &history->chunks.items[history->chunks.count - 1];
}

/* Completes the newest chunk and frees its unused memory. */
static void seal(struct history *history)
{
	struct chunk *chunk = newest_chunk(history);

	history->chunk_bytes -= chunk->capacity - bytes_in(chunk);
	move_columns(chunk, chunk->data);
	chunk->data = vector_shrink(chunk->data, chunk->capacity);
}

static int begin_chunk(struct history *history, uint64_t time_ns, unsigned int cpu_bits)
{
	uint32_t values_bytes = history->options.keeps_values ? VALUES_MAX_BYTES : 0;
	struct chunk chunk = {
		.data = malloc(CHUNK_MAX_BYTES + values_bytes),
		.columns = {
			[KEYS] = { .max_bytes = KEYS_MAX_BYTES },
			[TIMES] = { .start = KEYS_MAX_BYTES, .max_bytes = TIMES_MAX_BYTES },
			[VALUES] = { .start = CHUNK_MAX_BYTES, .max_bytes = values_bytes },
		},
		.capacity = CHUNK_MAX_BYTES + values_bytes,
		.cpu_bits = cpu_bits,
		.base_ns = time_ns,
		.least_ns = UINT64_MAX,
	};
	int err = chunk.data ? history_chunk_vector_push(&history->chunks, chunk) : -ENOMEM;

	if (err) {
		free(chunk.data);
		return err;
	}
	history->chunk_bytes += sizeof(chunk) + chunk.capacity;
	history->last_in_chunk_ns = time_ns;
	history->keys_before_chunk = history->keys.made;
	return 0;
}

/* The memory of the keys that came with the newest chunk, on average. Old keys may have gone meanwhile. */
static uint64_t new_keys_bytes(const struct history *history)
{
	uint64_t count = history->keys.keys.pool.count;

	return count ? (history->keys.made - history->keys_before_chunk) *
			       history_keys_bytes(&history->keys) / count :
		       0;
}

/* @time_ns as it is stored. */
static uint64_t stored_time(const struct history *history, uint64_t time_ns)
{
	return time_ns - time_ns % history->options.time_unit_ns;
}

/* The time since the previous sample, as it is stored. */
static uint64_t time_difference(const struct history *history, uint64_t time_ns)
{
	uint32_t unit_ns = history->options.time_unit_ns;

	return packed_difference(time_ns / unit_ns - history->last_in_chunk_ns / unit_ns);
}

static bool is_full(const struct history *history, const struct chunk *chunk, uint64_t time_ns,
		    unsigned int cpu_bits)
{
	const struct history_options *options = &history->options;
	uint64_t age_ns = time_ns > chunk->base_ns ? time_ns - chunk->base_ns : 0;

	if (!has_room(chunk))
		return true;
	/* The CPU and the time must fit into a number. */
	if (chunk->cpu_bits < cpu_bits ||
	    time_difference(history, time_ns) > UINT64_MAX >> chunk->cpu_bits)
		return true;
	return chunk->samples && (age_ns > options->retention_ns / CHUNKS_PER_RETENTION ||
				  new_keys_bytes(history) > options->max_bytes / CHUNKS_PER_BUDGET);
}

/* One more, so that it is 0 where there is none. */
static uint32_t stored_cpu(const struct sample *sample)
{
	return sample->cpu + 1;
}

_Static_assert(SAMPLE_NO_NUMBER + 1U == 0, "stored_cpu() of no CPU is 0");

static int reserve_sample(struct history *history, const struct sample_event *event)
{
	uint64_t time_ns = stored_time(history, event->time_ns);
	unsigned int bits = 0, most_bits;
	int err = 0;

	while ((uint64_t)stored_cpu(&event->sample) >> bits)
		bits++;
	most_bits = bits > history->cpu_bits ? bits : history->cpu_bits;
	if (!history->chunks.count || is_full(history, newest_chunk(history), time_ns, bits)) {
		if (history->chunks.count)
			seal(history);
		/* It will have the CPUs of the last chunk, most likely. */
		err = begin_chunk(history, time_ns, most_bits);
		most_bits = bits;
	}
	if (!err)
		history->cpu_bits = most_bits;
	return err;
}

/* Beside a weight, samples of the clock count as one. */
static uint64_t value_of(const struct history *history, const struct sample_event *event)
{
	return history->options.weight && !is_weight(history, &event->sample) ? 1 : event->value;
}

static void write_sample(struct history *history, uint32_t key, const struct sample_event *event)
{
	struct chunk *chunk = newest_chunk(history);
	uint64_t time_ns = stored_time(history, event->time_ns);

	append(chunk, KEYS, key);
	append(chunk, TIMES,
	       time_difference(history, time_ns) << chunk->cpu_bits | stored_cpu(&event->sample));
	if (history->options.keeps_values)
		append(chunk, VALUES, packed_difference(value_of(history, event)));
	chunk->samples++;
	if (time_ns < chunk->least_ns)
		chunk->least_ns = time_ns;
	if (time_ns > chunk->greatest_ns)
		chunk->greatest_ns = time_ns;
	if (time_ns > history->newest_ns)
		history->newest_ns = time_ns;
	history->last_in_chunk_ns = time_ns;
}

static int add(struct history *history, const struct sample_event *event)
{
	size_t max_bytes = history->options.max_bytes;
	uint32_t key;
	int err;

	if (used_bytes(history) + history->reserved_bytes > max_bytes + max_bytes / EXCESS_DIVISOR)
		return -E2BIG;
	/* Reserved first, so that no key is added without a sample. */
	err = reserve_sample(history, event);
	if (!err)
		err = history_keys_add(&history->keys, &event->sample, &key);
	if (err)
		return err;
	write_sample(history, key, event);
	if (is_weight(history, &event->sample))
		history->weight += event->value;
	else
		history->samples++;
	history->changes++;
	drop_old(history);
	return 0;
}

static void report(struct reporter *reporter, const struct sample_event *event)
{
	struct history *history = (struct history *)reporter;

	/* The page shows shares of CPU time, so it needs only the clock's samples. */
	if (event->sample.origin != ORIGIN_CLOCK && !history->options.keeps_values)
		return;
	pthread_mutex_lock(&history->lock);
	if (!history->is_paused && add(history, event))
		history->dropped++;
	pthread_mutex_unlock(&history->lock);
}

_Static_assert(offsetof(struct history, reporter) == 0, "report() casts");

static const struct reporter_ops history_ops = {
	.report = report,
};

struct history *history_create(const struct history_options *options)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history || pthread_mutex_init(&history->lock, NULL)) {
		free(history);
		return NULL;
	}
	history->reporter.ops = &history_ops;
	history->options = *options;
	if (!history->options.max_bytes)
		history->options.max_bytes = HISTORY_DEFAULT_MAX_BYTES;
	if (!history->options.time_unit_ns)
		history->options.time_unit_ns = 1;
	if (history_keys_init(&history->keys)) {
		history_destroy(history);
		return NULL;
	}
	return history;
}

void history_destroy(struct history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->chunks.count; i++)
		free(history->chunks.items[i].data);
	history_chunk_vector_deinit(&history->chunks);
	history_keys_deinit(&history->keys);
	pthread_mutex_destroy(&history->lock);
	free(history);
}

struct reporter *history_reporter(struct history *history)
{
	return &history->reporter;
}

void history_pause(struct history *history, bool is_paused)
{
	pthread_mutex_lock(&history->lock);
	history->is_paused = is_paused;
	history->changes++;
	pthread_mutex_unlock(&history->lock);
}

bool history_is_paused(struct history *history)
{
	bool is_paused;

	pthread_mutex_lock(&history->lock);
	is_paused = history->is_paused;
	pthread_mutex_unlock(&history->lock);
	return is_paused;
}

void history_facts(struct history *history, struct history_facts *facts)
{
	pthread_mutex_lock(&history->lock);
	*facts = (struct history_facts){
		.samples = history->samples,
		.weight = history->weight,
		.dropped = history->dropped,
		.bytes = used_bytes(history),
		.changes = history->changes,
	};
	if (history->chunks.count && history->chunks.items[0].samples) {
		uint64_t least = history->chunks.items[0].least_ns;

		facts->first_ns = least > oldest_kept(history) ? least : oldest_kept(history);
		facts->last_ns = history->newest_ns;
	}
	pthread_mutex_unlock(&history->lock);
}

size_t history_max_bytes(const struct history *history)
{
	return history->options.max_bytes;
}

void history_reserve(struct history *history, size_t bytes)
{
	pthread_mutex_lock(&history->lock);
	history->reserved_bytes = bytes;
	drop_old(history);
	pthread_mutex_unlock(&history->lock);
}

/* --- views --- */

static int copy_newest(struct chunk *chunk)
{
	uint8_t *copy = malloc(bytes_in(chunk) + 1);

	if (!copy)
		return -ENOMEM;
	move_columns(chunk, copy);
	return 0;
}

static int fill_view(struct history *history, struct history_view *view)
{
	size_t chunks = history->chunks.count;

	view->chunks = calloc(chunks + 1, sizeof(*view->chunks));
	if (!view->chunks || history_keys_snapshot_init(&view->keys, &history->keys))
		return -ENOMEM;
	if (chunks)
		memcpy(view->chunks, history->chunks.items, chunks * sizeof(*view->chunks));
	if (chunks && copy_newest(&view->chunks[chunks - 1]))
		return -ENOMEM;
	if (history_keys_take_freed(&history->keys, &view->freed)) {
		if (chunks)
			free(view->chunks[chunks - 1].data);
		return -ENOMEM;
	}
	view->history = history;
	view->chunk_count = chunks;
	view->key_count = view->keys.limit;
	view->first_ns = oldest_kept(history);
	return 0;
}

int history_view_open(struct history *history, struct history_view *view)
{
	int err;

	*view = (struct history_view){ 0 };
	pthread_mutex_lock(&history->lock);
	err = fill_view(history, view);
	history->has_view = !err;
	pthread_mutex_unlock(&history->lock);
	if (err)
		history_view_close(view);
	else
		history_view_seek(view, 0, UINT64_MAX);
	return err;
}

void history_view_close(struct history_view *view)
{
	if (view->history) {
		pthread_mutex_lock(&view->history->lock);
		view->history->has_view = false;
		drop_old(view->history);
		pthread_mutex_unlock(&view->history->lock);
	}
	if (view->chunk_count)
		free(view->chunks[view->chunk_count - 1].data);
	free(view->chunks);
	history_keys_snapshot_deinit(&view->keys);
	key_bits_vector_deinit(&view->freed);
	*view = (struct history_view){ 0 };
}

void history_view_seek(struct history_view *view, uint64_t from_ns, uint64_t to_ns)
{
	view->from_ns = from_ns > view->first_ns ? from_ns : view->first_ns;
	view->to_ns = to_ns;
	view->next_chunk = 0;
	view->samples_left = 0;
}

/* Enters the next chunk with samples in the time range. */
static bool enter_chunk(struct history_view *view)
{
	while (view->next_chunk < view->chunk_count) {
		const struct chunk *chunk = &view->chunks[view->next_chunk++];

		if (!chunk->samples || chunk->greatest_ns < view->from_ns ||
		    chunk->least_ns >= view->to_ns)
			continue;
		view->next_key = column_data(chunk, KEYS);
		view->next_time = column_data(chunk, TIMES);
		view->next_value =
			view->history->options.keeps_values ? column_data(chunk, VALUES) : NULL;
		view->samples_left = chunk->samples;
		view->cpu_bits = chunk->cpu_bits;
		view->time_ns = chunk->base_ns;
		return true;
	}
	return false;
}

bool history_view_next(struct history_view *view, struct history_sample *sample)
{
	uint64_t unit_ns = view->history->options.time_unit_ns, number;

	do {
		while (view->samples_left) {
			view->samples_left--;
			number = packed_get(&view->next_time);
			view->time_ns += unpacked_difference(number >> view->cpu_bits) * unit_ns;
			sample->time_ns = view->time_ns;
			sample->key = (uint32_t)packed_get(&view->next_key);
			sample->cpu =
				(uint32_t)(number & ((UINT64_C(1) << view->cpu_bits) - 1)) - 1;
			sample->value = 1;
			if (view->next_value)
				sample->value =
					(int64_t)unpacked_difference(packed_get(&view->next_value));
			if (sample->time_ns >= view->from_ns && sample->time_ns < view->to_ns)
				return true;
		}
	} while (enter_chunk(view));
	return false;
}
