/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples wait in a table, each with its time. To share an interval out, those up to its end are taken, sorted by process and
 * divided. A process is found by its pid and the sample's time: it is the last one with this pid that had started by then.
 */
#include "reporter/sample_weigher.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_map.h"
#include "lib/base/log.h"
#include "lib/base/vector.h"
#include "lib/model/origins.h"
#include "reporter/free_ids.h"
#include "reporter/sample_table.h"

enum {
	MAX_SAMPLES = 1 << 20,
	MAX_PROCESSES = 1 << 16,
	TABLE_MAX_BYTES = 64 << 20,
	NO_PROCESS = UINT32_MAX,
};

/* Executable ids of the agent and of opened profiles are smaller and larger. */
#define NO_SAMPLE_EXECUTABLE_ID (1ULL << 61)

/* A sample that waits, and in the end its process. Its table entry stays while it waits. */
struct waiting_sample {
	const struct sample *sample;
	uint64_t time_ns;
	uint32_t id;
	uint32_t process;
};

struct weighed_process {
	struct cost_key key;
	/* An older process with the same pid; a link (struct free_ids) if the slot is free. */
	uint32_t older;
	bool is_ending;
	bool has_samples;
	/* A part of the costs that is not shared out yet. */
	int64_t rest;
	char comm[COMM_BYTES + 1];
	/* The attributes that its last sample had; a reference. */
	struct process_info *info;
};

VECTOR_DEFINE(waiting_sample_vector, struct waiting_sample)
VECTOR_DEFINE(weighed_process_vector, struct weighed_process)
VECTOR_DEFINE(weighed_cost_vector, struct weighed_cost)
VECTOR_DEFINE(process_index_vector, uint32_t)

struct cost_interval {
	uint64_t end_ns;
	struct weighed_cost_vector costs;
};

VECTOR_DEFINE(cost_interval_vector, struct cost_interval)

struct sample_weigher {
	struct reporter reporter;
	struct sample_weigher_options options;
	struct reporter *next[SAMPLE_WEIGHER_MAX_NEXT];
	uint32_t next_count;
	struct trace *no_sample;
	pthread_mutex_t lock;
	/* Guarded by the lock: */
	struct sample_table table;
	struct waiting_sample_vector waiting;
	bool has_warned;
	/* The owner's: the intervals that wait, oldest first; the last one has not ended. */
	struct cost_interval_vector intervals;
	/* The end of the last one that has. */
	uint64_t end_ns;
	struct weighed_process_vector processes;
	struct free_ids free;
	size_t process_count;
	/* By pid: the last one that was started. */
	struct hash_map by_pid;
	/* Processes that ended in the last interval that was shared out. */
	struct process_index_vector ending;
};

/* --- samples --- */

static int keep(struct sample_weigher *weigher, const struct sample_event *event)
{
	struct waiting_sample waiting = { .time_ns = event->time_ns };
	int err = weigher->waiting.count < weigher->options.max_samples ?
			  waiting_sample_vector_reserve(&weigher->waiting,
							weigher->waiting.count + 1) :
			  -E2BIG;

	if (!err)
		err = sample_table_add(&weigher->table, &event->sample, &waiting.id);
	if (err)
		return err;
	waiting.sample = &sample_table_at(weigher->table.blocks.items, waiting.id)->sample;
	return waiting_sample_vector_push(&weigher->waiting, waiting);
}

static void report(struct reporter *reporter, const struct sample_event *event)
{
	struct sample_weigher *weigher = (struct sample_weigher *)reporter;
	bool must_warn = false;

	if (event->sample.origin != ORIGIN_CLOCK)
		return;
	pthread_mutex_lock(&weigher->lock);
	if (keep(weigher, event)) {
		must_warn = !weigher->has_warned;
		weigher->has_warned = true;
	}
	pthread_mutex_unlock(&weigher->lock);
	if (must_warn)
		log_warn("too many samples wait for their weight; other samples of their "
			 "processes get it");
}

_Static_assert(offsetof(struct sample_weigher, reporter) == 0, "report() casts");

/* Takes out the samples up to @end_ns. Without memory they stay. */
static int take_samples(struct sample_weigher *weigher, uint64_t end_ns,
			struct waiting_sample_vector *taken)
{
	struct waiting_sample_vector *waiting = &weigher->waiting;
	size_t left = 0;
	int err;

	pthread_mutex_lock(&weigher->lock);
	err = waiting_sample_vector_reserve(taken, waiting->count);
	for (size_t i = 0; i < waiting->count && !err; i++) {
		if (waiting->items[i].time_ns <= end_ns)
			taken->items[taken->count++] = waiting->items[i];
		else
			waiting->items[left++] = waiting->items[i];
	}
	if (!err)
		waiting->count = left;
	pthread_mutex_unlock(&weigher->lock);
	return err;
}

static void drop_samples(struct sample_weigher *weigher, struct waiting_sample_vector *taken)
{
	pthread_mutex_lock(&weigher->lock);
	for (size_t i = 0; i < taken->count; i++)
		sample_table_remove(&weigher->table, taken->items[i].id);
	pthread_mutex_unlock(&weigher->lock);
	waiting_sample_vector_deinit(taken);
}

/* --- processes --- */

static struct weighed_process *process_at(const struct sample_weigher *weigher, uint32_t index)
{
	return &weigher->processes.items[index];
}

static uint32_t newest_of(const struct sample_weigher *weigher, uint32_t pid)
{
	uint64_t index = NO_PROCESS;

	hash_map_find(&weigher->by_pid, pid, &index);
	return (uint32_t)index;
}

/* The process with @pid that ran at @time_ns. */
static uint32_t process_of(const struct sample_weigher *weigher, uint32_t pid, uint64_t time_ns)
{
	uint32_t index = newest_of(weigher, pid);

	while (index != NO_PROCESS && process_at(weigher, index)->key.start_time_ns > time_ns)
		index = process_at(weigher, index)->older;
	return index;
}

static int make_process(struct sample_weigher *weigher, const struct cost_key *key, uint32_t *made)
{
	struct weighed_process process = { .key = *key, .older = NO_PROCESS };
	uint32_t index = (uint32_t)weigher->processes.count, older, newer = NO_PROCESS;
	int err = weigher->process_count < weigher->options.max_processes ? 0 : -E2BIG;

	if (!err && free_ids_are_empty(&weigher->free))
		err = weighed_process_vector_push(&weigher->processes, process);
	else if (!err)
		index = free_ids_next(&weigher->free);
	if (err)
		return err;
	for (older = newest_of(weigher, key->pid);
	     older != NO_PROCESS &&
	     process_at(weigher, older)->key.start_time_ns > key->start_time_ns;
	     older = process_at(weigher, older)->older)
		newer = older;
	err = newer == NO_PROCESS ? hash_map_set(&weigher->by_pid, key->pid, index) : 0;
	if (err) {
		if (index + 1 == weigher->processes.count)
			weigher->processes.count--;
		return err;
	}
	if (newer != NO_PROCESS)
		process_at(weigher, newer)->older = index;
	if (!free_ids_are_empty(&weigher->free) && free_ids_next(&weigher->free) == index)
		free_ids_take(&weigher->free, process_at(weigher, index)->older);
	process.older = older;
	*process_at(weigher, index) = process;
	weigher->process_count++;
	*made = index;
	return 0;
}

static int find_process(struct sample_weigher *weigher, const struct cost_key *key, uint32_t *found)
{
	uint32_t index = newest_of(weigher, key->pid);

	while (index != NO_PROCESS && memcmp(&process_at(weigher, index)->key, key, sizeof(*key)))
		index = process_at(weigher, index)->older;
	if (index == NO_PROCESS)
		return make_process(weigher, key, found);
	*found = index;
	return 0;
}

static void remove_process(struct sample_weigher *weigher, uint32_t index)
{
	struct weighed_process *process = process_at(weigher, index);
	uint32_t newer = newest_of(weigher, process->key.pid), pid = process->key.pid;

	if (newer == index && process->older == NO_PROCESS) {
		hash_map_remove(&weigher->by_pid, pid, NULL);
	} else if (newer == index) {
		/* The key exists, so this needs no memory. */
		(void)hash_map_set(&weigher->by_pid, pid, process->older);
	} else {
		while (process_at(weigher, newer)->older != index)
			newer = process_at(weigher, newer)->older;
		process_at(weigher, newer)->older = process->older;
	}
	process_info_unref(process->info);
	*process = (struct weighed_process){ .older = free_ids_add(&weigher->free, index) };
	weigher->process_count--;
}

/* --- sharing out --- */

static void hand_on(struct sample_weigher *weigher, const struct sample *sample, uint64_t time_ns,
		    uint64_t value)
{
	struct sample_event event = {
		.sample = *sample,
		.time_ns = time_ns,
		.value = value,
		.was_known = true,
	};

	event.sample.origin = weigher->options.weight;
	for (uint32_t i = 0; i < weigher->next_count; i++)
		weigher->next[i]->ops->report(weigher->next[i], &event);
}

/* Share @index of @count equal shares of @total; they differ by one at most, and add up to it. */
static uint64_t share_of(uint64_t total, uint64_t index, uint64_t count)
{
	uint64_t rest = total % count;

	return total / count + (rest * (index + 1) / count - rest * index / count);
}

/* Shares the rest of a process's costs out over its samples, of which there is at least one. */
static void share_out(struct sample_weigher *weigher, const struct waiting_sample *samples,
		      size_t count)
{
	struct weighed_process *process = process_at(weigher, samples[0].process);
	struct process_info *info = samples[count - 1].sample->process;

	process->has_samples = true;
	if (info != process->info) {
		process_info_unref(process->info);
		process->info = info ? process_info_ref(info) : NULL;
	}
	if (process->rest <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		uint64_t share = share_of((uint64_t)process->rest, i, count);

		if (share)
			hand_on(weigher, samples[i].sample, samples[i].time_ns, share);
	}
	process->rest = 0;
}

static int compare_samples(const void *a, const void *b)
{
	const struct waiting_sample *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static void share_out_all(struct sample_weigher *weigher, struct waiting_sample_vector *taken)
{
	size_t next;

	for (size_t i = 0; i < taken->count; i++) {
		struct waiting_sample *sample = &taken->items[i];

		sample->process = process_of(weigher, sample->sample->pid, sample->time_ns);
	}
	if (taken->count)
		qsort(taken->items, taken->count, sizeof(*taken->items), compare_samples);
	for (size_t first = 0; first < taken->count; first = next) {
		uint32_t process = taken->items[first].process;

		for (next = first + 1;
		     next < taken->count && taken->items[next].process == process;)
			next++;
		if (process != NO_PROCESS)
			share_out(weigher, &taken->items[first], next - first);
	}
}

/* Makes a sample of its own of the costs that no sample of the process stands for, and removes the process. */
static void finish_process(struct sample_weigher *weigher, uint32_t index, uint64_t time_ns)
{
	const struct weighed_process *process = process_at(weigher, index);
	const struct sample sample = {
		.trace = weigher->no_sample,
		.process = process->info,
		.process_comm = process->comm,
		.thread_comm = "",
		.pid = process->key.pid,
		.tid = SAMPLE_NO_NUMBER,
		.cpu = SAMPLE_NO_NUMBER,
	};

	if (process->rest > 0 && (process->has_samples || weigher->options.has_all_processes))
		hand_on(weigher, &sample, time_ns, (uint64_t)process->rest);
	remove_process(weigher, index);
}

static int add_costs(struct sample_weigher *weigher, const struct cost_interval *interval,
		     struct process_index_vector *ending)
{
	int result = 0;

	for (size_t i = 0; i < interval->costs.count; i++) {
		const struct weighed_cost *cost = &interval->costs.items[i];
		struct weighed_process *process;
		uint32_t index;
		int err = find_process(weigher, &cost->key, &index);

		if (err) {
			result = err;
			continue;
		}
		process = process_at(weigher, index);
		process->rest += cost->count;
		memcpy(process->comm, cost->comm, COMM_BYTES);
		if (!cost->has_ended || process->is_ending)
			continue;
		process->is_ending = true;
		err = process_index_vector_push(ending, index);
		result = err ? err : result;
	}
	return result;
}

/*
 * Processes go an interval after the one in which they ended, since samples of their last moments may come late, and so may what
 * other CPUs counted of them. The interval takes the samples until @until_ns.
 */
static int share_interval(struct sample_weigher *weigher, const struct cost_interval *interval,
			  uint64_t until_ns)
{
	struct waiting_sample_vector taken = { 0 };
	struct process_index_vector ending = { 0 };
	int err = add_costs(weigher, interval, &ending), take_err;

	take_err = take_samples(weigher, until_ns, &taken);
	share_out_all(weigher, &taken);
	drop_samples(weigher, &taken);
	for (size_t i = 0; i < weigher->ending.count; i++)
		finish_process(weigher, weigher->ending.items[i], interval->end_ns);
	process_index_vector_deinit(&weigher->ending);
	weigher->ending = ending;
	return err ? err : take_err;
}

static int share_oldest(struct sample_weigher *weigher)
{
	struct cost_interval interval = weigher->intervals.items[0];
	bool is_last = weigher->intervals.count == 1;
	int err = share_interval(weigher, &interval, is_last ? UINT64_MAX : interval.end_ns);

	weighed_cost_vector_deinit(&interval.costs);
	cost_interval_vector_remove(&weigher->intervals, 0);
	return err;
}

/* --- the interface --- */

static struct trace *make_no_sample(void)
{
	struct binary *binary = binary_create(&(struct binary){
		.executable_id = NO_SAMPLE_EXECUTABLE_ID,
		.is_elsewhere = true,
		.fd = -1,
		.path = NO_SAMPLE_FRAME,
	});
	const struct frame frame = {
		.kind = FRAME_NATIVE,
		.binary = binary,
		.function = NO_SAMPLE_FRAME,
	};
	struct trace *trace = binary ? trace_create(&frame, 1, true, false) : NULL;

	binary_unref(binary);
	return trace;
}

struct sample_weigher *sample_weigher_create(const struct sample_weigher_options *options)
{
	static const struct reporter_ops ops = { .report = report };
	struct sample_weigher *weigher = calloc(1, sizeof(*weigher));

	if (!weigher)
		return NULL;
	weigher->reporter.ops = &ops;
	weigher->options = *options;
	if (!weigher->options.max_samples)
		weigher->options.max_samples = MAX_SAMPLES;
	if (!weigher->options.max_processes)
		weigher->options.max_processes = MAX_PROCESSES;
	pthread_mutex_init(&weigher->lock, NULL);
	sample_table_init(&weigher->table, TABLE_MAX_BYTES);
	weigher->no_sample = make_no_sample();
	if (!weigher->no_sample ||
	    cost_interval_vector_push(&weigher->intervals, (struct cost_interval){ 0 })) {
		sample_weigher_destroy(weigher);
		return NULL;
	}
	return weigher;
}

void sample_weigher_destroy(struct sample_weigher *weigher)
{
	if (!weigher)
		return;
	for (size_t i = 0; i < weigher->intervals.count; i++)
		weighed_cost_vector_deinit(&weigher->intervals.items[i].costs);
	cost_interval_vector_deinit(&weigher->intervals);
	for (size_t i = 0; i < weigher->processes.count; i++)
		process_info_unref(weigher->processes.items[i].info);
	weighed_process_vector_deinit(&weigher->processes);
	process_index_vector_deinit(&weigher->ending);
	hash_map_deinit(&weigher->by_pid);
	waiting_sample_vector_deinit(&weigher->waiting);
	sample_table_deinit(&weigher->table);
	if (weigher->no_sample)
		trace_unref(weigher->no_sample);
	pthread_mutex_destroy(&weigher->lock);
	free(weigher);
}

struct reporter *sample_weigher_reporter(struct sample_weigher *weigher)
{
	return &weigher->reporter;
}

void sample_weigher_add_next(struct sample_weigher *weigher, struct reporter *next)
{
	assert(weigher->next_count < SAMPLE_WEIGHER_MAX_NEXT);
	weigher->next[weigher->next_count++] = next;
}

uint8_t sample_weigher_weight(const struct sample_weigher *weigher)
{
	return weigher->options.weight;
}

int sample_weigher_add(struct sample_weigher *weigher, const struct weighed_cost *cost)
{
	struct cost_interval *last = &weigher->intervals.items[weigher->intervals.count - 1];

	return cost->key.pid ? weighed_cost_vector_push(&last->costs, *cost) : 0;
}

int sample_weigher_end_interval(struct sample_weigher *weigher, uint64_t end_ns)
{
	struct cost_interval_vector *intervals = &weigher->intervals;
	int err = cost_interval_vector_push(intervals, (struct cost_interval){ 0 }), result = err;

	/* Without memory the interval goes on. */
	if (!err)
		intervals->items[intervals->count - 2].end_ns = end_ns;
	weigher->end_ns = end_ns;
	while (intervals->count > 1 &&
	       intervals->items[0].end_ns + weigher->options.delay_ns <= end_ns) {
		err = share_oldest(weigher);
		result = result ? result : err;
	}
	return result;
}

/* The samples of the end belong to the last interval. */
int sample_weigher_finish(struct sample_weigher *weigher)
{
	struct cost_interval_vector *intervals = &weigher->intervals;
	int result = 0;

	if (intervals->count > 1 && !intervals->items[intervals->count - 1].costs.count)
		intervals->count--;
	else if (intervals->count)
		intervals->items[intervals->count - 1].end_ns = weigher->end_ns;
	while (intervals->count) {
		int err = share_oldest(weigher);

		result = result ? result : err;
	}
	process_index_vector_deinit(&weigher->ending);
	for (uint32_t i = 0; i < weigher->processes.count; i++)
		if (process_at(weigher, i)->key.id)
			finish_process(weigher, i, weigher->end_ns);
	return result;
}
