/* SPDX-License-Identifier: Apache-2.0 */
/** The samples of a snapshot as tracks of threads, each in the order of time. */
#ifndef REPORTER_SAMPLE_TRACKS_H
#define REPORTER_SAMPLE_TRACKS_H

#include <stdint.h>

#include "lib/base/vector.h"
#include "reporter/sample_store.h"

/** A value at a time. */
struct track_event {
	uint32_t track;
	/** Index of the sample in the snapshot. */
	uint32_t sample;
	uint64_t time_ns;
	int64_t value;
};

struct sample_track {
	/** One of the track's samples, with the names and numbers of the thread; borrowed from the snapshot. */
	const struct sample *sample;
	/** The track's events are event_count from first_event on. */
	size_t first_event;
	size_t event_count;
	/** Sum of the values. */
	int64_t total;
};

VECTOR_DEFINE(track_event_vector, struct track_event)
VECTOR_DEFINE(sample_track_vector, struct sample_track)

struct sample_tracks {
	struct sample_track_vector tracks;
	/** Sorted by track, then by time. */
	struct track_event_vector events;
};

/**
 * Takes the samples with origin @origin. Their values are counts, or those of an opened profile if @has_values. A sample
 * without times has one event, at @start_ns. -ENOMEM.
 */
int sample_tracks_init(struct sample_tracks *tracks, const struct sample_snapshot *snapshot,
		       uint8_t origin, bool has_values, uint64_t start_ns);
void sample_tracks_deinit(struct sample_tracks *tracks);

#endif
