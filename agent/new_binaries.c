// SPDX-License-Identifier: Apache-2.0
/* A binary is identified by its executable id, which the agent never reuses. */
#include "agent/new_binaries.h"

#include <stddef.h>

#include "lib/base/error.h"
#include "lib/model/metrics.h"
#include "lib/model/trace.h"

enum {
	/* Number of remembered binaries for each that may wait; beyond that all are forgotten and queued again. */
	SEEN_PER_WAITING = 2,
	/* The kernel's PID_MAX_LIMIT is 2 to the power of this. */
	PID_BITS = 22,
};

static uint64_t seen_key(const struct new_binary *item)
{
	return item->binary->executable_id << PID_BITS ^ item->pid;
}

static bool is_seen(struct new_binaries *binaries, const struct new_binary *item)
{
	uint64_t key = seen_key(item);

	if (hash_map_find(&binaries->seen, key, NULL))
		return true;
	if (binaries->seen.count >= SEEN_PER_WAITING * binaries->max_count)
		hash_map_deinit(&binaries->seen);
	/* Without memory the binary is queued again later. */
	(void)hash_map_set(&binaries->seen, key, 1);
	return false;
}

/* The queue calls this under its lock. The reference is released later, since that may close a file. */
static void note_dropped(void *context, void *record, size_t bytes)
{
	struct new_binaries *binaries = context;

	(void)bytes;
	binaries->dropped = *(struct new_binary *)record;
}

static void forget_dropped(struct new_binaries *binaries)
{
	struct new_binary *dropped = &binaries->dropped;

	if (!dropped->binary)
		return;
	metrics_add(METRIC_NAMES_UNASKED, 1);
	hash_map_remove(&binaries->seen, seen_key(dropped), NULL);
	binary_unref(dropped->binary);
	*dropped = (struct new_binary){ 0 };
}

static void push(struct new_binaries *binaries, const struct new_binary *item)
{
	binary_ref(item->binary);
	/* No reader is woken, since the main thread polls several times a second anyway. */
	if (bounded_queue_put(&binaries->queue, item, sizeof(*item)))
		binary_unref(item->binary);
	forget_dropped(binaries);
}

static void report(struct reporter *reporter, const struct sample_event *event)
{
	struct new_binaries *binaries = (struct new_binaries *)reporter;
	const struct trace *trace = event->sample.trace;

	if (!event->has_new_trace)
		return;
	for (uint32_t i = 0; i < trace->binary_count; i++) {
		struct new_binary item = { trace_binaries(trace)[i], event->sample.pid };

		if (!item.binary->is_kernel && !item.binary->is_elsewhere &&
		    !is_seen(binaries, &item))
			push(binaries, &item);
	}
}

_Static_assert(offsetof(struct new_binaries, reporter) == 0, "report() casts");

int new_binaries_init(struct new_binaries *binaries, size_t max_count)
{
	static const struct reporter_ops ops = { .report = report };
	int err;

	*binaries = (struct new_binaries){ .reporter.ops = &ops, .max_count = max_count };
	err = bounded_queue_init_fixed(&binaries->queue, max_count, sizeof(struct new_binary),
				       note_dropped, binaries);
	return err ? fail(err, "no memory for binaries whose names are wanted") : 0;
}

void new_binaries_deinit(struct new_binaries *binaries)
{
	struct new_binary item;

	while (binaries->max_count && new_binaries_take(binaries, &item))
		binary_unref(item.binary);
	bounded_queue_deinit(&binaries->queue);
	hash_map_deinit(&binaries->seen);
}

bool new_binaries_take(struct new_binaries *binaries, struct new_binary *taken)
{
	return !bounded_queue_pop(&binaries->queue, taken, NULL, 0);
}
