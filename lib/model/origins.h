/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The types that outputs give to the origins of samples (ebpf/abi/origins.h), and the weights of samples. A weight is an origin
 * of its own: a sample of it has the stack of a sample of the clock, and as its value that sample's share of what its process cost
 * (reporter/sample_weigher.h).
 */
#ifndef LIB_MODEL_ORIGINS_H
#define LIB_MODEL_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/origins.h"
#include "lib/model/profile_facts.h"

/**
 * The weights. A new row goes to the end.
 *
 *	NAME, name	for identifiers; the value of -weight, and the type in outputs
 *	unit		the unit in outputs
 *	source		a bit of enum cost_source that says whether the machine counts it; 0: every machine does
 *	count		the count in `sum`, a const struct costs_sum *, for reporter/weights.c
 */
#define SAMPLE_WEIGHTS(X)                                                                          \
	X(RUN_TIME, "run-time", "nanoseconds", 0, sum->run_time_ns)                                \
	X(RUNS, "runs", "count", 0, sum->run_count)                                                \
	X(SOFTIRQS, "softirqs", "count", 0, costs_sum_softirqs(sum))                               \
	X(PAGE_READS, "page-reads", "count", COST_PAGE_READS, sum->page_reads)                     \
	X(PAGE_WRITES, "page-writes", "count", COST_PAGE_WRITES, sum->page_writes)                 \
	X(PAGE_FAULTS, "page-faults", "count", COST_FIRST_COUNTER << COST_PAGE_FAULTS,             \
	  costs_sum_counter(sum, COST_PAGE_FAULTS))                                                \
	X(CYCLES, "cycles", "count", COST_FIRST_COUNTER << COST_CYCLES,                            \
	  costs_sum_counter(sum, COST_CYCLES))                                                     \
	X(INSTRUCTIONS, "instructions", "count", COST_FIRST_COUNTER << COST_INSTRUCTIONS,          \
	  costs_sum_counter(sum, COST_INSTRUCTIONS))                                               \
	X(CACHE_MISSES, "cache-misses", "count", COST_FIRST_COUNTER << COST_CACHE_MISSES,          \
	  costs_sum_counter(sum, COST_CACHE_MISSES))                                               \
	X(JOULES, "joules", "microjoules", COST_ANY_ENERGY, (uint64_t)(costs_sum_joules(sum) * 1e6))

/** Numbers that follow those of enum origin. */
enum sample_weight {
	/** One less than the first weight. */
	WEIGHT_BEFORE_FIRST = ORIGIN_COUNT - 1,
#define X(NAME, name, unit, source, count) WEIGHT_##NAME,
	SAMPLE_WEIGHTS(X)
#undef X
	/** The number of origins, those of weights included. */
	SAMPLE_ORIGIN_COUNT,
};

struct sample_origin {
	const char *name;
	/** Each sample has a value; otherwise it counts as one. */
	bool has_values;
	const char *type;
	const char *unit;
	/** "" for none. */
	const char *period_type;
	const char *period_unit;
};

/** Indexed by enum origin and enum sample_weight. */
extern const struct sample_origin sample_origins[SAMPLE_ORIGIN_COUNT];

static inline bool origin_is_weight(uint32_t origin)
{
	return origin >= ORIGIN_COUNT && origin < SAMPLE_ORIGIN_COUNT;
}

/** The type of the weight's values; NULL if @weight is none. */
const struct value_type *sample_weight_type(uint8_t weight);

#endif
