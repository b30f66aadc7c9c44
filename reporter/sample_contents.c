/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A distinct sample is a record of fixed size; its number is its place. Traces, processes, names
 * and labels that are equal are kept once, and found by indexes that hold nothing but numbers. Times
 * are written one behind the other as they come, a few bytes each, and sorted by sample at the end.
 * A sample that is there already costs one look-up and no allocation.
 *
 * Two processes are the same if their pid and their texts are: the agent may have learnt of a
 * process twice, and what is told of it is what counts.
 */

#include "reporter/sample_contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/hash128.h"
#include "agent/base/vector.h"
#include "reporter/kept_bytes.h"
#include "reporter/packed_numbers.h"
#include "reporter/sort_times.h"

enum {
	/* A number and a difference, and an end mark. */
	TIME_ENTRY_MAX_BYTES = PACKED_32_MAX_BYTES + PACKED_64_MAX_BYTES + 1,
	/* What malloc adds to a block. */
	BLOCK_OVERHEAD_BYTES = 16,
};

struct sample_record {
	struct trace *trace;
	struct process_info *process;
	/* While the snapshot is made: the place of its next time. */
	uint64_t count;
	/* Numbers of texts. */
	uint32_t process_comm;
	uint32_t thread_comm;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	/* The number of the labels and 1; 0 for none. */
	uint32_t labels;
};

_Static_assert(sizeof(struct sample_record) == 48, "there may be a million");

enum { CHUNK_RECORDS = CHUNK_BYTES / sizeof(struct sample_record) };

struct sample_contents {
	struct sample_store_options options;
	size_t used_bytes;
	/* Records by number, of every distinct sample. */
	struct chunk_vector records;
	uint32_t record_count;
	struct number_index sample_index;
	/* The number of a record that has the trace or the process. */
	struct number_index trace_index;
	struct number_index process_index;
	/* Names, with their NULs, and labels. */
	struct kept_bytes texts;
	struct kept_bytes label_sets;
	/* Entries of record and time; a chunk's last one is followed by a 0. */
	struct chunk_vector time_chunks;
	uint8_t *time_end;
	size_t time_room;
	uint64_t last_time_ns;
	uint64_t time_count;
	/* Once they are prepared: room for the samples, their times and an order of numbers. */
	void *block;
	/* Once they are finished. */
	struct stored_sample *samples;
	size_t sample_count;
};

static struct sample_record *record_at(const struct sample_contents *contents, uint32_t number)
{
	struct sample_record *chunk = contents->records.items[number / CHUNK_RECORDS];

	return &chunk[number % CHUNK_RECORDS];
}

struct sample_contents *sample_contents_create(const struct sample_store_options *options)
{
	struct sample_contents *contents = calloc(1, sizeof(*contents));

	if (contents)
		contents->options = *options;
	return contents;
}

/* All that is of no use once the samples stand in the block. */
static void free_packed(struct sample_contents *contents)
{
	number_index_deinit(&contents->sample_index);
	number_index_deinit(&contents->trace_index);
	number_index_deinit(&contents->process_index);
	kept_bytes_free_numbers(&contents->texts);
	kept_bytes_free_numbers(&contents->label_sets);
	chunks_free(&contents->records);
	chunks_free(&contents->time_chunks);
	contents->record_count = 0;
}

void sample_contents_destroy(struct sample_contents *contents)
{
	if (!contents)
		return;
	for (uint32_t i = 0; i < contents->record_count; i++) {
		trace_unref(record_at(contents, i)->trace);
		process_info_unref(record_at(contents, i)->process);
	}
	for (size_t i = 0; i < contents->sample_count; i++) {
		trace_unref(contents->samples[i].sample.trace);
		process_info_unref(contents->samples[i].sample.process);
	}
	free_packed(contents);
	kept_bytes_deinit(&contents->texts);
	kept_bytes_deinit(&contents->label_sets);
	free(contents->block);
	free(contents);
}

static int charge(struct sample_contents *contents, size_t bytes)
{
	if (bytes > contents->options.max_bytes - contents->used_bytes)
		return -E2BIG;
	contents->used_bytes += bytes;
	return 0;
}

/* --- what is wanted, and its hashes --- */

/* No padding. */
struct sample_identity {
	struct hash128 trace_hash;
	uint64_t executables_hash;
	uint64_t process_hash;
	uint64_t process_comm_hash;
	uint64_t thread_comm_hash;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	/* Half of it: samples that it does not tell apart are compared. */
	uint32_t labels_hash;
};

_Static_assert(sizeof(struct sample_identity) == 64, "struct sample_identity has no padding");

struct wanted_sample {
	struct trace *trace;
	const struct sample_event *event;
	struct sample_identity identity;
	uint64_t labels_hash;
};

static uint64_t hash_text(const char *text)
{
	return hash64_bytes(text, strlen(text));
}

static uint64_t hash_process(const struct process_info *process)
{
	return process ? process->hash + process->pid : 0;
}

static void describe_wanted(const struct sample_contents *contents,
			    const struct sample_event *event, struct wanted_sample *wanted)
{
	*wanted = (struct wanted_sample){
		.trace = event->sample.trace,
		.event = event,
		.identity = {
			.trace_hash = event->sample.trace->hash,
			.executables_hash = event->sample.trace->executables_hash,
			.process_hash = hash_process(event->sample.process),
			.process_comm_hash = hash_text(event->sample.process_comm),
			.thread_comm_hash = hash_text(event->sample.thread_comm),
			.pid = event->sample.pid,
			.tid = event->sample.tid,
			.cpu = contents->options.keeps_cpus ? event->sample.cpu : SAMPLE_NO_NUMBER,
		},
	};
	if (event->sample.labels) {
		wanted->labels_hash =
			hash64_bytes(event->sample.labels, label_set_bytes(event->sample.labels));
		wanted->identity.labels_hash = wanted->labels_hash;
	}
}

static const char *text_at(const struct sample_contents *contents, uint32_t number)
{
	return kept_bytes_at(&contents->texts, number);
}

static const struct label_set *labels_of(const struct sample_contents *contents,
					 const struct sample_record *record)
{
	return record->labels ? kept_bytes_at(&contents->label_sets, record->labels - 1) : NULL;
}

static bool record_is_wanted(const void *context, uint32_t number, const void *key)
{
	const struct sample_contents *contents = context;
	const struct sample_record *record = record_at(contents, number);
	const struct wanted_sample *wanted = key;

	return record->tid == wanted->identity.tid && record->pid == wanted->identity.pid &&
	       record->cpu == wanted->identity.cpu && traces_equal(record->trace, wanted->trace) &&
	       process_info_equal(record->process, wanted->event->sample.process) &&
	       !strcmp(text_at(contents, record->process_comm),
		       wanted->event->sample.process_comm) &&
	       !strcmp(text_at(contents, record->thread_comm), wanted->event->sample.thread_comm) &&
	       label_sets_equal(labels_of(contents, record), wanted->event->sample.labels);
}

static bool record_has_trace(const void *context, uint32_t number, const void *key)
{
	return traces_equal(record_at(context, number)->trace, key);
}

static bool record_has_process(const void *context, uint32_t number, const void *key)
{
	return process_info_equal(record_at(context, number)->process, key);
}

/* --- keeping --- */

static int keep_bytes(struct sample_contents *contents, struct kept_bytes *kept, const void *bytes,
		      size_t count, uint64_t hash, uint32_t *number)
{
	int err;

	if (kept_bytes_find(kept, bytes, count, hash, number))
		return 0;
	err = kept_bytes_reserve(kept, count);
	if (!err)
		err = charge(contents, kept_bytes_cost(count));
	if (!err)
		*number = kept_bytes_add(kept, bytes, count, hash);
	return err;
}

static int keep_text(struct sample_contents *contents, const char *text, uint64_t hash,
		     uint32_t *number)
{
	return keep_bytes(contents, &contents->texts, text, strlen(text) + 1, hash, number);
}

static int keep_labels(struct sample_contents *contents, const struct wanted_sample *wanted,
		       uint32_t *labels)
{
	const struct label_set *set = wanted->event->sample.labels;
	uint32_t number;
	int err;

	if (!set)
		return 0;
	err = keep_bytes(contents, &contents->label_sets, set, label_set_bytes(set),
			 wanted->labels_hash, &number);
	if (!err)
		*labels = number + 1;
	return err;
}

static size_t process_bytes(const struct process_info *process)
{
	return sizeof(*process) + process->text_bytes + BLOCK_OVERHEAD_BYTES +
	       NUMBER_INDEX_ENTRY_BYTES;
}

/* Room for one more record and its entries in the indexes. */
static int reserve_record(struct sample_contents *contents)
{
	int err = number_index_reserve(&contents->sample_index);

	if (!err)
		err = number_index_reserve(&contents->trace_index);
	if (!err)
		err = number_index_reserve(&contents->process_index);
	if (err)
		return err;
	if (contents->record_count == UINT32_MAX - 1)
		return -E2BIG;
	if (contents->record_count < contents->records.count * CHUNK_RECORDS)
		return 0;
	return chunks_add(&contents->records, CHUNK_BYTES) ? 0 : -ENOMEM;
}

/* The trace and the process of @wanted, or their equals that are kept already. */
static int keep_parts(struct sample_contents *contents, const struct wanted_sample *wanted,
		      struct trace **trace, struct process_info **process)
{
	const struct sample_identity *identity = &wanted->identity;
	/* The two hashes of the trace, seeded. */
	uint64_t trace_hash =
		hash64_bytes(identity, offsetof(struct sample_identity, process_hash));
	bool is_new_trace = false, is_new_process = false;
	size_t bytes = sizeof(struct sample_record) + NUMBER_INDEX_ENTRY_BYTES;
	uint32_t number;
	int err;

	*trace = wanted->trace;
	*process = wanted->event->sample.process;
	if (number_index_find(&contents->trace_index, trace_hash, record_has_trace, contents,
			      *trace, &number)) {
		*trace = record_at(contents, number)->trace;
	} else {
		is_new_trace = true;
		bytes += (*trace)->bytes + BLOCK_OVERHEAD_BYTES + NUMBER_INDEX_ENTRY_BYTES;
	}
	if (*process && number_index_find(&contents->process_index, identity->process_hash,
					  record_has_process, contents, *process, &number)) {
		*process = record_at(contents, number)->process;
	} else if (*process) {
		is_new_process = true;
		bytes += process_bytes(*process);
	}
	err = charge(contents, bytes);
	if (err)
		return err;
	/* The record that comes next has them. */
	if (is_new_trace)
		number_index_add(&contents->trace_index, trace_hash, contents->record_count);
	if (is_new_process)
		number_index_add(&contents->process_index, identity->process_hash,
				 contents->record_count);
	return 0;
}

static int keep_record(struct sample_contents *contents, const struct wanted_sample *wanted,
		       uint64_t hash, uint32_t *number)
{
	const struct sample_identity *identity = &wanted->identity;
	struct sample_record record = {
		.pid = identity->pid,
		.tid = identity->tid,
		.cpu = identity->cpu,
	};
	int err;

	if (number_index_find(&contents->sample_index, hash, record_is_wanted, contents, wanted,
			      number))
		return 0;
	err = reserve_record(contents);
	if (!err)
		err = keep_text(contents, wanted->event->sample.process_comm,
				identity->process_comm_hash, &record.process_comm);
	if (!err)
		err = keep_text(contents, wanted->event->sample.thread_comm,
				identity->thread_comm_hash, &record.thread_comm);
	if (!err)
		err = keep_labels(contents, wanted, &record.labels);
	if (!err)
		err = keep_parts(contents, wanted, &record.trace, &record.process);
	if (err)
		return err;
	trace_ref(record.trace);
	if (record.process)
		process_info_ref(record.process);
	*number = contents->record_count++;
	*record_at(contents, *number) = record;
	number_index_add(&contents->sample_index, hash, *number);
	return 0;
}

/* --- times --- */

/* Room for one more entry and the mark behind it, as far as the limit goes too. */
static int reserve_time(struct sample_contents *contents)
{
	int err = charge(contents, TIME_ENTRY_MAX_BYTES);

	if (err)
		return err;
	contents->used_bytes -= TIME_ENTRY_MAX_BYTES;
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
 * Samples come nearly in the order of their times, so that the difference to the one before is
 * small.
 */
static void add_time(struct sample_contents *contents, uint32_t number, uint64_t time_ns)
{
	uint8_t *end = packed_put(contents->time_end, (uint64_t)number + 1);
	size_t bytes;

	end = packed_put(end, packed_difference(time_ns - contents->last_time_ns));
	*end = 0;
	bytes = end - contents->time_end;
	/* In the snapshot it takes 8. */
	contents->used_bytes += bytes > sizeof(time_ns) ? bytes : sizeof(time_ns);
	contents->time_room -= bytes;
	contents->time_end = end;
	contents->last_time_ns = time_ns;
	contents->time_count++;
}

int sample_contents_add(struct sample_contents *contents, const struct sample_event *event)
{
	struct wanted_sample wanted;
	uint32_t number;
	uint64_t hash;
	int err;

	describe_wanted(contents, event, &wanted);
	hash = hash64_bytes(&wanted.identity, sizeof(wanted.identity));
	/* First, so that no record comes to be without a sample. */
	err = contents->options.keeps_times ? reserve_time(contents) : 0;
	if (!err)
		err = keep_record(contents, &wanted, hash, &number);
	if (err)
		return err;
	record_at(contents, number)->count++;
	if (contents->options.keeps_times)
		add_time(contents, number, event->time_ns);
	return 0;
}

bool sample_contents_are_half_full(const struct sample_contents *contents)
{
	return contents->used_bytes >= contents->options.max_bytes / 2;
}

uint32_t sample_contents_list(const struct sample_contents *contents, uint32_t first,
			      struct listed_trace *traces, uint32_t capacity)
{
	uint32_t count = 0;

	for (; count < capacity && first + count < contents->record_count; count++) {
		const struct sample_record *record = record_at(contents, first + count);

		traces[count] = (struct listed_trace){ trace_ref(record->trace), record->pid };
	}
	return count;
}

uint64_t sample_contents_count(const struct sample_contents *contents)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < contents->record_count; i++)
		count += record_at(contents, i)->count;
	return count;
}

/* --- the snapshot --- */

int sample_contents_prepare(struct sample_contents *contents)
{
	size_t bytes = contents->record_count * (sizeof(struct stored_sample) + sizeof(uint32_t)) +
		       contents->time_count * sizeof(uint64_t);

	free(contents->block);
	contents->block = malloc(bytes + 1);
	return contents->block ? 0 : -ENOMEM;
}

static int compare_counts(const void *a, const void *b, void *context)
{
	uint32_t number_a = *(const uint32_t *)a, number_b = *(const uint32_t *)b;
	uint64_t count_a = record_at(context, number_a)->count;
	uint64_t count_b = record_at(context, number_b)->count;

	if (count_a != count_b)
		return count_a < count_b ? 1 : -1;
	return number_a < number_b ? -1 : number_a > number_b;
}

/* The numbers of all records, most frequent first, and the records' ranks in that order. */
static void rank_records(struct sample_contents *contents, uint32_t *order)
{
	for (uint32_t i = 0; i < contents->record_count; i++)
		order[i] = i;
	if (contents->record_count)
		qsort_r(order, contents->record_count, sizeof(*order), compare_counts, contents);
}

/* Each record's times, the first of which goes to the place that stands in its count now. */
static void unpack_times(struct sample_contents *contents, uint64_t *times)
{
	uint64_t time_ns = 0;

	for (size_t i = 0; i < contents->time_chunks.count; i++) {
		const uint8_t *from = contents->time_chunks.items[i];
		uint64_t number;

		while ((number = packed_get(&from))) {
			time_ns += unpacked_difference(packed_get(&from));
			times[record_at(contents, number - 1)->count++] = time_ns;
		}
	}
}

void sample_contents_finish(struct sample_contents *contents, struct sample_snapshot *snapshot)
{
	struct stored_sample *samples = contents->block;
	uint64_t *times = (uint64_t *)(samples + contents->record_count);
	uint32_t *order = (uint32_t *)(times + contents->time_count);
	uint64_t first_time = 0;

	rank_records(contents, order);
	for (uint32_t i = 0; i < contents->record_count; i++) {
		struct sample_record *record = record_at(contents, order[i]);

		samples[i] = (struct stored_sample){
			.sample.trace = record->trace,
			.sample.process = record->process,
			.sample.process_comm = text_at(contents, record->process_comm),
			.sample.thread_comm = text_at(contents, record->thread_comm),
			.sample.labels = labels_of(contents, record),
			.sample.pid = record->pid,
			.sample.tid = record->tid,
			.sample.cpu = record->cpu,
			.count = record->count,
			.times_ns = contents->options.keeps_times ? times + first_time : NULL,
		};
		record->count = first_time;
		first_time += samples[i].count;
	}
	unpack_times(contents, times);
	for (uint32_t i = 0; contents->options.keeps_times && i < contents->record_count; i++) {
		sort_times(times, samples[i].count);
		times += samples[i].count;
	}
	contents->samples = samples;
	contents->sample_count = contents->record_count;
	free_packed(contents);
	*snapshot = (struct sample_snapshot){
		.samples = samples,
		.count = contents->sample_count,
		.contents = contents,
	};
}
