/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of heap copies: first samples are rare next to others, and of very different sizes. */
#include "agent/processes/first_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void first_samples_deinit(struct first_samples *samples)
{
	for (uint32_t i = 0; i < samples->count; i++)
		free(samples->waiting[(samples->start + i) % FIRST_SAMPLES_MAX].record);
	samples->count = 0;
}

int first_samples_add(struct first_samples *samples, const struct waiting_sample *sample,
		      size_t bytes)
{
	struct waiting_sample *place;
	struct trace_record *copy;

	if (samples->count == FIRST_SAMPLES_MAX)
		return -ENOSPC;
	copy = malloc(bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, sample->record, bytes);
	place = &samples->waiting[(samples->start + samples->count++) % FIRST_SAMPLES_MAX];
	*place = *sample;
	place->record = copy;
	return 0;
}

uint32_t first_samples_count_of(const struct first_samples *samples, uint32_t pid)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < samples->count; i++)
		count += samples->waiting[(samples->start + i) % FIRST_SAMPLES_MAX].record->pid ==
			 pid;
	return count;
}

void first_samples_try(struct first_samples *samples, uint64_t now_ns,
		       bool (*try_sample)(void *context, struct waiting_sample *sample,
					  uint64_t now_ns),
		       void *context)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < samples->count; i++) {
		uint32_t index = (samples->start + i) % FIRST_SAMPLES_MAX;
		struct waiting_sample waiting = samples->waiting[index];

		if (try_sample(context, &waiting, now_ns)) {
			free(waiting.record);
			continue;
		}
		samples->waiting[(samples->start + kept++) % FIRST_SAMPLES_MAX] = waiting;
	}
	samples->count = kept;
}
