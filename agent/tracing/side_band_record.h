/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Records of the perf side-band, read into events. Formats: include/uapi/linux/perf_event.h, with
 * sample_id_all and PERF_SAMPLE_TIME: the last 8 bytes of every record are its time.
 */
#ifndef AGENT_TRACING_SIDE_BAND_RECORD_H
#define AGENT_TRACING_SIDE_BAND_RECORD_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "lib/model/events.h"

/**
 * Fills @event, whose path is borrowed from @record, and *@lost_count with the number of records
 * that a PERF_RECORD_LOST stands for, else 0. Returns 0; -ENOENT for records that nobody asks for
 * (mappings of data, tasks outside the agent's pid namespace); -EBADMSG for one that is too short.
 */
int side_band_record_parse(const struct perf_event_header *record, struct side_band_event *event,
			   uint64_t *lost_count);

#endif
