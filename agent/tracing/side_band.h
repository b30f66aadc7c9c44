/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Events of mappings, and of code that the kernel loads, from perf's side-band: one PERF_COUNT_SW_DUMMY event with its own mmapped ring per online
 * CPU. Every new executable mapping is reported, so that a library replaced at the same address is noticed; the
 * kernel does not report munmap and mremap. Record formats: perf_event_open(2),
 * include/uapi/linux/perf_event.h, with sample_id_all and PERF_SAMPLE_TIME: the last 8 bytes of every record
 * are its time.
 *
 * Owned by the ring thread once an event reader has it. Counts what the kernel writes in METRIC_SIDE_BAND_RECORDS and
 * METRIC_SIDE_BAND_READ, events in METRIC_SIDE_BAND_EVENTS, and lost ones in METRIC_SIDE_BAND_LOST.
 */
#ifndef AGENT_TRACING_SIDE_BAND_H
#define AGENT_TRACING_SIDE_BAND_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "lib/model/events.h"

struct side_band;

/** Opens a ring on every online CPU. -EPERM, -EOPNOTSUPP as for the sampler. */
int side_band_create(struct side_band **side_band);
void side_band_destroy(struct side_band *side_band);

/** A descriptor that is readable (epoll) when there is much to drain. */
int side_band_fd(const struct side_band *side_band);

/**
 * Hands all records that were there at the call to @handler->side_band, one CPU after the other, each CPU's in
 * order. Returns the number of events.
 */
uint32_t side_band_drain(struct side_band *side_band, const struct event_handler *handler);

/**
 * Follows CPUs that went online or offline. If one went online, SIDE_BAND_LOST is sent, because earlier events
 * on it are not known. To be called about once a second. Returns 0, or -errno if a new CPU has no ring yet; it
 * is tried again.
 */
int side_band_tick(struct side_band *side_band, const struct event_handler *handler);

/**
 * Fills @event, whose path is borrowed from @record, and *@lost_count with the number of records that a
 * PERF_RECORD_LOST reports, otherwise 0. Returns 0; -ENOENT for irrelevant records (mappings of data, tasks
 * outside the agent's pid namespace, kernel code that was unloaded); -EBADMSG for a record that is too short.
 */
int side_band_record_parse(const struct perf_event_header *record, struct side_band_event *event,
			   uint64_t *lost_count);

#endif
