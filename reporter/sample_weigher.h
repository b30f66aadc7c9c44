/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Shares out what processes cost over their samples, for -weight. It is a reporter that takes the samples, and hands a sample of the
 * weight's origin (lib/model/origins.h) on for each: the same stack, the same time, and the sample's share as its value. All
 * samples of a process in an interval have the same share; the remainder of the division is spread over them, one each. So the
 * values of a process's samples add up to what it cost, exactly.
 *
 * What a process costs while it has no sample is added to the shares of its next samples. What is left when it has ended is the
 * value of a sample of its own, whose stack is a frame `[no sample]`. Samples come later than costs, since they wait in queues
 * and may have to be unwound: so an interval is shared out some time after its end. Samples that come later still take part in a
 * later interval.
 *
 * The work thread reports samples; one other thread, which owns the weigher, calls all other functions, and is the one that hands
 * samples on.
 */
#ifndef REPORTER_SAMPLE_WEIGHER_H
#define REPORTER_SAMPLE_WEIGHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/costs.h"
#include "reporter/reporter.h"

/** The frame of what no sample stands for. */
#define NO_SAMPLE_FRAME "[no sample]"

enum {
	SAMPLE_WEIGHER_MAX_NEXT = 3,
};

struct sample_weigher;

struct sample_weigher_options {
	/** enum sample_weight. */
	uint8_t weight;
	/** How long an interval waits for its samples. */
	uint64_t delay_ns;
	/** All processes are sampled. Otherwise processes that never had a sample are left out. */
	bool has_all_processes;
	/** Limits of the samples that wait and of the processes; 0: the defaults. */
	size_t max_samples;
	size_t max_processes;
};

/** NULL without memory. */
struct sample_weigher *sample_weigher_create(const struct sample_weigher_options *options);
/** Takes NULL. */
void sample_weigher_destroy(struct sample_weigher *weigher);

/** The reporter that takes samples; borrowed. */
struct reporter *sample_weigher_reporter(struct sample_weigher *weigher);

/** Hands weighed samples on to @next, too: at most SAMPLE_WEIGHER_MAX_NEXT calls. */
void sample_weigher_add_next(struct sample_weigher *weigher, struct reporter *next);

uint8_t sample_weigher_weight(const struct sample_weigher *weigher);

/** The costs of a process in an interval. */
struct weighed_cost {
	/** Processes outside of the agent's pid namespace, whose pid is 0, have no samples that could be told from others. */
	struct cost_key key;
	/** Below 0 where an estimated sum has become less. */
	int64_t count;
	/** The name of its leader. */
	char comm[COMM_BYTES];
	bool has_ended;
};

/** Adds to the interval that has begun. -ENOMEM, -E2BIG. */
int sample_weigher_add(struct sample_weigher *weigher, const struct weighed_cost *cost);

/**
 * Ends the interval at @end_ns (CLOCK_MONOTONIC) and begins the next one; shares out those that have waited for long enough. -ENOMEM,
 * -E2BIG: a part of the costs is not shared out.
 */
int sample_weigher_end_interval(struct sample_weigher *weigher, uint64_t end_ns);

/** Shares out everything. All samples were reported. Errors as above. */
int sample_weigher_finish(struct sample_weigher *weigher);

#endif
