/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The one table of metrics: what the agent counts, with name, unit and meaning. The first
 * COUNTER_COUNT are the kernel side's (ebpf/abi/counters.h, unwind errors included), which
 * agent/tracing sets from the BPF map; the rest are counted here. Some are shown in the exit summary and on the page;
 * `-log-level debug` logs at the end all that are not 0.
 *
 * All functions are thread-safe and lock-free. A new metric is one line in USER_METRICS.
 */
#ifndef LIB_MODEL_METRICS_H
#define LIB_MODEL_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/counters.h"

/* name; SUM: it only grows, STATE: it may fall; unit, meaning */
/* clang-format takes the table for a call that goes on. */
/* clang-format off */
#define USER_METRICS(X) \
	X(SAMPLES_SKIPPED, SUM, "samples", "ticks for which the kernel did not run the program") \
	X(IDLE_UNSEEN, SUM, "samples", "ticks kept back by idle CPUs, by the time they were idle") \
	X(TICKS_STOLEN, SUM, "samples", "ticks gone while a hypervisor had the CPU, at most") \
	X(SAMPLES_UNSENT, SUM, "samples", "runs of the sampling program that should have sent a sample") \
	X(SAMPLES_UNREAD, SUM, "samples", "samples that still lay in their ring at the end") \
	X(SAMPLES_RECEIVED, SUM, "samples", "the clock's records read from the ring of samples") \
	X(OTHER_SAMPLES, SUM, "samples", "samples of other origins put on the ring") \
	X(OTHER_SAMPLES_LOST, SUM, "samples", "samples of other origins lost because the ring was full") \
	X(SAMPLES_DROPPED, SUM, "samples", "samples dropped because a queue was full") \
	X(SAMPLES_UNSTORED, SUM, "samples", "samples dropped because the sample store was full") \
	X(SAMPLES_MALFORMED, SUM, "samples", "records whose shape made no sense") \
	X(OLDEST_SAMPLE_AGE, STATE, "ms", "age of the oldest sample that the work thread is not done with") \
	X(OLDEST_EVENT_AGE, STATE, "ms", "how long the oldest process event has waited for the sync thread") \
	X(PROCESSES_HANGING, STATE, "processes", "processes whose memory or files did not answer within the last minute") \
	X(TRACE_CACHE_HITS, SUM, "samples", "samples whose trace was in the cache") \
	X(TRACES_CONVERTED, SUM, "traces", "raw traces converted") \
	X(PROCESS_EVENTS_RECEIVED, SUM, "events", "process events read") \
	X(SIDE_BAND_RECORDS, SUM, "events", "records in the side-band's rings") \
	X(SIDE_BAND_READ, SUM, "bytes", "bytes of the records in the side-band's rings") \
	X(SIDE_BAND_EVENTS, SUM, "events", "mapping records read, of equal ones in a row the first and the last") \
	X(SIDE_BAND_LOST, SUM, "events", "side-band records that the kernel reported lost") \
	X(MAPPINGS_REPLACED, SUM, "events", "mapping records with another file at the addresses of an earlier one") \
	X(PROCESSES, STATE, "processes", "processes known now") \
	X(PROCESS_SYNCS, SUM, "syncs", "times the mappings of a process were read") \
	X(PROCESSES_REPLAYED, SUM, "processes", "processes gone whose mappings came from the side-band") \
	X(PROCESS_SYNCS_FAILED, SUM, "syncs", "times the mappings of a process could not be read") \
	X(EXECUTABLES, STATE, "files", "executables known now") \
	X(EXECUTABLES_LOADED, SUM, "files", "executables whose unwind rows were loaded") \
	X(EXECUTABLES_FAILED, SUM, "files", "executables whose unwind rows could not be made") \
	X(MAP_MEMORY, STATE, "bytes", "memory of BPF maps in use by tables of processes and executables") \
	X(EXECUTABLES_EVICTED, SUM, "files", "executables unloaded for lack of map memory") \
	X(INTERPRETERS_REFUSED, SUM, "files", "runtimes of a version or make that is not known") \
	X(INTERPRETERS_ATTACHED, STATE, "runtimes", "runtimes in processes attached to now") \
	X(INTERPRETERS_DETACHED, SUM, "runtimes", "runtimes let go since there were too many") \
	X(RUNTIME_HOSTS_LOST, SUM, "processes", "processes that held runtimes, and hang or have ended") \
	X(FILE_HOSTS_LOST, SUM, "processes", "processes that read files, and hang or have ended") \
	X(PROC_HOSTS_LOST, SUM, "processes", "processes that read maps, and hang or have ended") \
	X(ELF_HOSTS_LOST, SUM, "processes", "processes that parsed executables, and hang or have ended") \
	X(FRAMES_NAMED, SUM, "frames", "interpreted frames named, once per converted trace") \
	X(FRAMES_UNNAMED, SUM, "frames", "interpreted frames whose function was gone or unreadable") \
	X(STACKS_REPLACED, SUM, "stacks", "stacks cut off since another file had been mapped meanwhile") \
	X(FRAMES_GONE, SUM, "frames", "interpreted frames whose function was freed before it was read") \
	X(SYMBOL_CACHES_MADE, SUM, "files", "symbol caches made of symbols and debug data") \
	X(SYMBOL_CACHES_CACHED, SUM, "files", "symbol caches found in the disk cache") \
	X(SYMBOL_CACHES_FAILED, SUM, "files", "files of which no symbol cache could be made") \
	X(NAMES_UNASKED, SUM, "files", "files whose names were not asked for since a queue was full") \
	X(FILES_GONE, SUM, "files", "files that were gone before their names or lines were read") \
	X(SYMBOL_CACHES_DROPPED, SUM, "files", "symbol caches without a name dropped for lack of room") \
	X(DEBUG_FILES_FETCHED, SUM, "files", "debug files that debuginfod's client brought") \
	X(OTLP_REQUESTS_SENT, SUM, "requests", "requests with samples that the collector took") \
	X(OTLP_SAMPLES_SENT, SUM, "samples", "samples in the requests that the collector took") \
	X(OTLP_REQUESTS_DROPPED, SUM, "requests", "requests with samples that waited too long or were refused") \
	X(OTLP_SAMPLES_DROPPED, SUM, "samples", "samples dropped on their way to the collector") \
	X(OTLP_SENT, SUM, "bytes", "bytes of the requests that the collector took, before compression") \
	X(OTLP_RETRIES, SUM, "calls", "calls to the collector made because one had failed") \
	X(OTLP_PROFILES_REJECTED, SUM, "profiles", "profiles that the collector rejected") \
	X(OTLP_REQUESTS_WAITING, STATE, "requests", "requests with samples that wait to be sent") \
	X(OTLP_WAITING, STATE, "bytes", "bytes of the requests with samples that wait to be sent") \
	X(OTLP_METRIC_REQUESTS_SENT, SUM, "requests", "requests with metrics that the collector took") \
	X(OTLP_METRIC_REQUESTS_DROPPED, SUM, "requests", "requests with metrics that waited too long or were refused") \
	X(OTLP_POINTS_SENT, SUM, "points", "data points in the requests that the collector took") \
	X(OTLP_POINTS_DROPPED, SUM, "points", "data points dropped on their way to the collector") \
	X(OTLP_POINTS_REJECTED, SUM, "points", "data points that the collector rejected") \
	X(SAMPLES_WAITING, STATE, "samples", "records that wait for the work thread") \
	X(EVENTS_WAITING, STATE, "events", "process events that wait for the sync thread") \
	X(LOADS_WAITING, STATE, "requests", "requests to read a file or to attach to a runtime that wait for a load thread") \
	X(NAMES_WAITING, STATE, "files", "files whose names or lines are still to be read") \
	X(STALLED, SUM, "ms", "time in which the oldest sample or process event had waited for longer than a second")

enum metric {
	METRIC_FIRST_USER = COUNTER_COUNT,
	METRIC_BEFORE_USER = METRIC_FIRST_USER - 1,
#define X(name, kind, unit, meaning) METRIC_##name,
	USER_METRICS(X)
#undef X
	METRIC_COUNT,
};
/* clang-format on */

/** The metric of a kernel-side counter (COUNTER_RUNS, COUNTER_ERRORS + UNWIND_NO_INFO ...). */
static inline enum metric metric_of_counter(uint32_t counter)
{
	return (enum metric)counter;
}

struct metric_description {
	/** Lower case with underscores; the kernel side's begin with "bpf_". */
	const char *name;
	const char *unit;
	const char *meaning;
	/** A value that may fall; all others only grow. */
	bool is_state;
};

/** Static; @metric is below METRIC_COUNT. */
const struct metric_description *metric_describe(enum metric metric);

void metrics_add(enum metric metric, uint64_t count);

/** Sets a metric that is a state and not a sum, or one that is counted elsewhere (in the BPF map). */
void metrics_set(enum metric metric, uint64_t value);

uint64_t metrics_read(enum metric metric);

struct metrics_snapshot {
	uint64_t values[METRIC_COUNT];
};

/** Each value is consistent, but values are read one after the other while other threads may go on counting. */
void metrics_take_snapshot(struct metrics_snapshot *snapshot);

/** Sets all metrics to 0, for tests. */
void metrics_reset(void);

#endif
