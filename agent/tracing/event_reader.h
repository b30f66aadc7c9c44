/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Drains the kernel's rings (`process_events`, `samples` and the side-band) and hands their records to one struct
 * event_handler. It never converts, and blocks only in its own epoll.
 *
 * Order: a side-band event or a process event that the kernel wrote before a sample is handed out before that sample,
 * so that the handler knows which samples a change of mappings may affect.
 *
 * Counts in METRIC_SAMPLES_RECEIVED, METRIC_SAMPLES_MALFORMED and METRIC_PROCESS_EVENTS_RECEIVED.
 */
#ifndef AGENT_TRACING_EVENT_READER_H
#define AGENT_TRACING_EVENT_READER_H

#include "agent/tracing/bpf_loader.h"
#include "agent/tracing/side_band.h"
#include "lib/model/events.h"

struct event_reader;

/**
 * Reads @fds->samples and @fds->process_events, which the loader owns and which must outlive the reader. @handler is
 * copied. @side_band is borrowed, and from now on used by the ring thread alone; NULL for none.
 */
int event_reader_create(const struct bpf_fds *fds, struct side_band *side_band,
			const struct event_handler *handler, struct event_reader **reader);
void event_reader_destroy(struct event_reader *reader);

/** Starts the ring thread, which drains until event_reader_stop(), and then once more. -errno. */
int event_reader_start(struct event_reader *reader);

/** Stops the ring thread and waits for its end; takes NULL, and a reader that was not started or was stopped. */
void event_reader_stop(struct event_reader *reader);

/** Whether the @bytes bytes at @record, aligned to 8, match the lengths in the record. */
bool event_reader_is_well_formed(const struct trace_record *record, size_t bytes);

/** Drains once without waiting. Only while there is no ring thread. */
void event_reader_drain(struct event_reader *reader);

#endif
