/* SPDX-License-Identifier: Apache-2.0 */
/* The lock, and the pointer that is exchanged under it; the work is in sample_contents.c. */

#include "reporter/sample_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/model/metrics.h"
#include "reporter/sample_contents.h"

struct sample_store {
	struct reporter reporter;
	struct sample_store_options options;
	pthread_mutex_t lock;
	/* Guarded by the lock: */
	struct sample_contents *contents;
	bool has_warned;
	bool has_reported_half_full;
};

static void report(struct reporter *reporter, const struct sample_event *event)
{
	struct sample_store *store = (struct sample_store *)reporter;
	bool must_warn = false, must_tell;
	int err;

	pthread_mutex_lock(&store->lock);
	err = sample_contents_add(store->contents, event);
	must_tell = store->options.half_full && !store->has_reported_half_full &&
		    sample_contents_are_half_full(store->contents);
	store->has_reported_half_full |= must_tell;
	if (err) {
		must_warn = !store->has_warned;
		store->has_warned = true;
	}
	pthread_mutex_unlock(&store->lock);
	if (must_tell)
		store->options.half_full(store->options.context);
	if (!err)
		return;
	metrics_add(store->options.unstored_metric, 1);
	if (must_warn)
		log_warn("the sample store is full (%s): samples are dropped and counted",
			 err == -ENOMEM ? "no memory" : "its limit is reached");
}

_Static_assert(offsetof(struct sample_store, reporter) == 0, "report() casts");

static const struct reporter_ops store_ops = {
	.report = report,
};

struct sample_store *sample_store_create(const struct sample_store_options *options)
{
	struct sample_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->reporter.ops = &store_ops;
	store->options = *options;
	if (!store->options.max_bytes)
		store->options.max_bytes = SAMPLE_STORE_DEFAULT_MAX_BYTES;
	if (!store->options.unstored_metric)
		store->options.unstored_metric = METRIC_SAMPLES_UNSTORED;
	store->contents = sample_contents_create(&store->options);
	if (!store->contents || pthread_mutex_init(&store->lock, NULL)) {
		sample_contents_destroy(store->contents);
		free(store);
		return NULL;
	}
	return store;
}

void sample_store_destroy(struct sample_store *store)
{
	if (!store)
		return;
	sample_contents_destroy(store->contents);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

struct reporter *sample_store_reporter(struct sample_store *store)
{
	return &store->reporter;
}

uint64_t sample_store_count(struct sample_store *store)
{
	uint64_t count;

	pthread_mutex_lock(&store->lock);
	count = sample_contents_count(store->contents);
	pthread_mutex_unlock(&store->lock);
	return count;
}

int sample_store_take(struct sample_store *store, struct sample_snapshot *snapshot)
{
	struct sample_contents *fresh = sample_contents_create(&store->options);
	struct sample_contents *taken;
	int err;

	if (!fresh)
		return -ENOMEM;
	pthread_mutex_lock(&store->lock);
	taken = store->contents;
	err = sample_contents_prepare(taken);
	if (!err) {
		store->contents = fresh;
		store->has_warned = false;
		store->has_reported_half_full = false;
	}
	pthread_mutex_unlock(&store->lock);
	if (err) {
		sample_contents_destroy(fresh);
		return err;
	}
	sample_contents_finish(taken, snapshot);
	return 0;
}

void sample_snapshot_deinit(struct sample_snapshot *snapshot)
{
	sample_contents_destroy(snapshot->contents);
	memset(snapshot, 0, sizeof(*snapshot));
}
