/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces and strings are kept once and known by a number; a sample's key is made of these numbers.
 * Nothing is ever taken out: local outputs want all of a run. A sample that is there already costs
 * five hash lookups and no allocation.
 */

#include "reporter/sample_store.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "agent/base/hash_map.h"
#include "agent/base/log.h"
#include "agent/base/metrics.h"
#include "agent/base/vector.h"

enum {
	/* What a map slot, a copied key, a vector element and malloc add, rounded up. */
	STRING_OVERHEAD_BYTES = 160,
	TRACE_OVERHEAD_BYTES = 192,
	SAMPLE_COST_BYTES = 320,
};

struct kept_trace {
	struct trace *trace;
	bool has_guess;
	/* Bit e: holds an error frame of enum unwind_error e. */
	uint32_t error_mask;
};

_Static_assert(UNWIND_ERROR_COUNT <= 32, "error_mask has a bit for each");

VECTOR_DEFINE(trace_vector, struct kept_trace)
VECTOR_DEFINE(string_vector, char *)
VECTOR_DEFINE(sample_vector, struct stored_sample)

struct sample_store {
	struct reporter reporter;
	pthread_mutex_t lock;
	/* Below here: under the lock. */
	size_t max_bytes;
	size_t used_bytes;
	bool has_warned;
	struct hash_map trace_numbers;
	struct trace_vector traces;
	struct hash_map string_numbers;
	struct string_vector strings;
	struct hash_map sample_numbers;
	struct sample_vector samples;
	struct sample_totals totals;
};

struct trace_key {
	struct hash128 hash;
	uint64_t executables_hash;
};

struct sample_key {
	uint32_t trace;
	uint32_t pid;
	uint32_t tid;
	uint32_t process_comm;
	uint32_t thread_comm;
	uint32_t executable_path;
};

static int charge(struct sample_store *store, size_t bytes)
{
	if (bytes > store->max_bytes - store->used_bytes)
		return -E2BIG;
	store->used_bytes += bytes;
	return 0;
}

static int keep_string(struct sample_store *store, const char *string, uint32_t *number)
{
	size_t bytes = strlen(string);
	uint64_t found;
	char *copy;
	int err;

	if (hash_map_find_bytes(&store->string_numbers, string, bytes, &found)) {
		*number = found;
		return 0;
	}
	err = charge(store, 2 * bytes + STRING_OVERHEAD_BYTES);
	if (err)
		return err;
	err = string_vector_reserve(&store->strings, store->strings.count + 1);
	if (err)
		return err;
	copy = strdup(string);
	if (!copy)
		return -ENOMEM;
	err = hash_map_set_bytes(&store->string_numbers, string, bytes, store->strings.count);
	if (err) {
		free(copy);
		return err;
	}
	*number = store->strings.count;
	return string_vector_push(&store->strings, copy);
}

static struct kept_trace judge_trace(struct trace *trace)
{
	struct kept_trace kept = { .trace = trace };

	for (uint32_t i = 0; i < trace->frame_count; i++) {
		struct frame frame = trace_frame(trace, i);

		if (frame.flags & FRAME_GUESS)
			kept.has_guess = true;
		if (frame.kind == FRAME_ERROR && frame.error < UNWIND_ERROR_COUNT)
			kept.error_mask |= 1U << frame.error;
	}
	return kept;
}

static int keep_trace(struct sample_store *store, struct trace *trace, uint32_t *number)
{
	struct trace_key key = { trace->hash, trace->executables_hash };
	uint64_t found;
	int err;

	if (hash_map_find_bytes(&store->trace_numbers, &key, sizeof(key), &found)) {
		*number = found;
		return 0;
	}
	err = charge(store, trace->bytes + TRACE_OVERHEAD_BYTES);
	if (err)
		return err;
	err = trace_vector_reserve(&store->traces, store->traces.count + 1);
	if (err)
		return err;
	err = hash_map_set_bytes(&store->trace_numbers, &key, sizeof(key), store->traces.count);
	if (err)
		return err;
	*number = store->traces.count;
	return trace_vector_push(&store->traces, judge_trace(trace_ref(trace)));
}

static int keep_sample(struct sample_store *store, const struct sample_key *key, uint64_t *number)
{
	struct stored_sample sample = {
		.trace = store->traces.items[key->trace].trace,
		.process_comm = store->strings.items[key->process_comm],
		.thread_comm = store->strings.items[key->thread_comm],
		.executable_path = store->strings.items[key->executable_path],
		.pid = key->pid,
		.tid = key->tid,
	};
	int err;

	if (hash_map_find_bytes(&store->sample_numbers, key, sizeof(*key), number))
		return 0;
	err = charge(store, SAMPLE_COST_BYTES);
	if (err)
		return err;
	err = sample_vector_reserve(&store->samples, store->samples.count + 1);
	if (err)
		return err;
	err = hash_map_set_bytes(&store->sample_numbers, key, sizeof(*key), store->samples.count);
	if (err)
		return err;
	*number = store->samples.count;
	return sample_vector_push(&store->samples, sample);
}

static void add_to_totals(struct sample_totals *totals, const struct kept_trace *kept,
			  const struct sample_context *context)
{
	const struct trace *trace = kept->trace;

	totals->samples++;
	totals->complete += trace->is_complete;
	totals->guesses += kept->has_guess;
	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		totals->errors[error] += kept->error_mask >> error & 1;
	if (!context->was_known) {
		totals->before_known++;
	} else if (!trace->is_kernel_thread && !(kept->error_mask & 1U << UNWIND_NO_MEMORY)) {
		totals->known_user++;
		totals->known_user_complete += trace->is_complete;
	}
}

static int count_sample(struct sample_store *store, struct trace *trace,
			const struct sample_context *context)
{
	struct sample_key key = { .pid = context->pid, .tid = context->tid };
	uint64_t number;
	int err;

	err = keep_trace(store, trace, &key.trace);
	if (!err)
		err = keep_string(store, context->process_comm, &key.process_comm);
	if (!err)
		err = keep_string(store, context->thread_comm, &key.thread_comm);
	if (!err)
		err = keep_string(store, context->executable_path, &key.executable_path);
	if (!err)
		err = keep_sample(store, &key, &number);
	if (err)
		return err;
	store->samples.items[number].count++;
	add_to_totals(&store->totals, &store->traces.items[key.trace], context);
	return 0;
}

static void report(struct reporter *reporter, struct trace *trace,
		   const struct sample_context *context)
{
	struct sample_store *store = (struct sample_store *)reporter;
	bool must_warn = false;
	int err;

	pthread_mutex_lock(&store->lock);
	err = count_sample(store, trace, context);
	if (err) {
		store->totals.dropped++;
		must_warn = !store->has_warned;
		store->has_warned = true;
	}
	pthread_mutex_unlock(&store->lock);
	if (!err)
		return;
	metrics_add(METRIC_SAMPLES_UNSTORED, 1);
	if (must_warn)
		log_warn(
			"the sample store is full (%s): new stacks are dropped and counted as lost",
			err == -ENOMEM ? "no memory" : "its limit is reached");
}

_Static_assert(offsetof(struct sample_store, reporter) == 0, "report() casts");

static const struct reporter_ops store_ops = {
	.report = report,
};

struct sample_store *sample_store_create(size_t max_bytes)
{
	struct sample_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	if (pthread_mutex_init(&store->lock, NULL)) {
		free(store);
		return NULL;
	}
	store->reporter.ops = &store_ops;
	store->max_bytes = max_bytes ? max_bytes : SAMPLE_STORE_DEFAULT_MAX_BYTES;
	return store;
}

void sample_store_destroy(struct sample_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->traces.count; i++)
		trace_unref(store->traces.items[i].trace);
	for (size_t i = 0; i < store->strings.count; i++)
		free(store->strings.items[i]);
	trace_vector_deinit(&store->traces);
	string_vector_deinit(&store->strings);
	sample_vector_deinit(&store->samples);
	hash_map_deinit(&store->trace_numbers);
	hash_map_deinit(&store->string_numbers);
	hash_map_deinit(&store->sample_numbers);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

struct reporter *sample_store_reporter(struct sample_store *store)
{
	return &store->reporter;
}

int sample_store_take_snapshot(struct sample_store *store, struct sample_snapshot *snapshot)
{
	struct stored_sample *samples;
	size_t count;

	pthread_mutex_lock(&store->lock);
	count = store->samples.count;
	samples = malloc((count + 1) * sizeof(*samples));
	if (samples) {
		for (size_t i = 0; i < count; i++) {
			samples[i] = store->samples.items[i];
			trace_ref(samples[i].trace);
		}
		*snapshot = (struct sample_snapshot){
			.samples = samples,
			.count = count,
			.totals = store->totals,
		};
	}
	pthread_mutex_unlock(&store->lock);
	return samples ? 0 : -ENOMEM;
}

void sample_snapshot_deinit(struct sample_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->count; i++)
		trace_unref(snapshot->samples[i].trace);
	free(snapshot->samples);
	memset(snapshot, 0, sizeof(*snapshot));
}
