/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_map.h"

/* Texts and processes of a snapshot are equal if their pointers are. */
struct track_key {
	uint64_t process;
	uint64_t process_comm;
	uint64_t thread_comm;
	uint32_t pid;
	uint32_t tid;
};

static int find_track(struct sample_tracks *tracks, struct hash_map *indexes,
		      const struct sample *sample, uint32_t *track)
{
	const struct track_key key = {
		.process = (uintptr_t)sample->process,
		.process_comm = (uintptr_t)sample->process_comm,
		.thread_comm = (uintptr_t)sample->thread_comm,
		.pid = sample->pid,
		.tid = sample->tid,
	};
	uint64_t index = tracks->tracks.count;
	int err = 0;

	if (!hash_map_find_bytes(indexes, &key, sizeof(key), &index)) {
		err = sample_track_vector_push(&tracks->tracks,
					       (struct sample_track){ .sample = sample });
		if (!err)
			err = hash_map_set_bytes(indexes, &key, sizeof(key), index);
	}
	*track = (uint32_t)index;
	return err;
}

static int add_sample(struct sample_tracks *tracks, struct hash_map *indexes,
		      const struct stored_sample *sample, uint32_t index, bool has_values,
		      uint64_t start_ns)
{
	struct track_event event = { .sample = index, .time_ns = start_ns };
	struct sample_track *track;
	int err = find_track(tracks, indexes, &sample->sample, &event.track);
	size_t count = sample->times_ns ? sample->count : 1;

	for (size_t i = 0; i < count && !err; i++) {
		event.value = 1;
		if (has_values)
			event.value = (int64_t)(sample->times_ns && sample->values ?
							sample->values[i] :
							sample->value_sum);
		else if (!sample->times_ns)
			event.value = (int64_t)sample->count;
		if (sample->times_ns)
			event.time_ns = sample->times_ns[i];
		track = &tracks->tracks.items[event.track];
		track->event_count++;
		/* Sums of an opened profile's values may wrap. */
		track->total = (int64_t)((uint64_t)track->total + (uint64_t)event.value);
		err = track_event_vector_push(&tracks->events, event);
	}
	return err;
}

static int compare_events(const void *a, const void *b)
{
	const struct track_event *one = a, *other = b;

	if (one->track != other->track)
		return one->track < other->track ? -1 : 1;
	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return (one->sample > other->sample) - (one->sample < other->sample);
}

int sample_tracks_init(struct sample_tracks *tracks, const struct sample_snapshot *snapshot,
		       uint8_t origin, bool has_values, uint64_t start_ns)
{
	struct sample_tracks fresh = { 0 };
	struct hash_map indexes = { 0 };
	size_t first = 0;
	int err = 0;

	for (size_t i = 0; i < snapshot->count && !err; i++)
		if (snapshot->samples[i].sample.origin == origin)
			err = add_sample(&fresh, &indexes, &snapshot->samples[i], (uint32_t)i,
					 has_values, start_ns);
	hash_map_deinit(&indexes);
	if (err) {
		sample_tracks_deinit(&fresh);
		return err;
	}
	if (fresh.events.count)
		qsort(fresh.events.items, fresh.events.count, sizeof(*fresh.events.items),
		      compare_events);
	for (size_t i = 0; i < fresh.tracks.count; i++) {
		fresh.tracks.items[i].first_event = first;
		first += fresh.tracks.items[i].event_count;
	}
	*tracks = fresh;
	return 0;
}

void sample_tracks_deinit(struct sample_tracks *tracks)
{
	track_event_vector_deinit(&tracks->events);
	sample_track_vector_deinit(&tracks->tracks);
}
