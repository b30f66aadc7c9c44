/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of any bytes: pprof, OTLP, texts, JSON. All values that are read can be reported, and
 * their sum is the announced one; marks and strings of names are within their limits.
 *
 * covers: open_pprof.c open_otlp.c open_folded.c opened_frame.c opened_identity.c opened_samples.c
 * covers: decode_budget.c open_json.c json_index.c open_perf.c open_pprof_text.c open_firefox.c opened_json.c
 * covers: opened_address_map.c profile_difference.c open_page.c otlp_version.c
 */
#include "viewer/open/open_file.h"
#include "viewer/open/open_otlp.h"
#include "viewer/open/profile_difference.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

enum {
	RECEIVED_MAX_BYTES = 64 << 10,
	RECEIVED_SAMPLES_MAX = 1000,
	COMPARED_SAMPLES_MAX = 100,
};

static uint64_t reported, sum;

static void report(struct reporter *reporter, const struct sample_event *event)
{
	const struct trace *trace = event->sample.trace;

	(void)reporter;
	assert(trace->frame_count <= OPENED_FRAMES_MAX);
	assert(strlen(event->sample.process_comm) + strlen(event->sample.thread_comm) < 1024);
	assert(event->value);
	sum += (int64_t)event->value < 0 ? -event->value : event->value;
	reported++;
	/* Checks only the first ones: there may be many. */
	if (reported > 1000)
		return;
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		struct frame frame = trace_frame(trace, i);

		assert(frame.kind != FRAME_ERROR || frame.error < UNWIND_ERROR_COUNT);
		assert(!frame.function || *frame.function);
	}
}

/* Reads the bytes with the limits for received profiles. */
static void open_received(const uint8_t *bytes, size_t count)
{
	struct opened_samples opened = {
		.max_bytes = RECEIVED_MAX_BYTES,
		.max_samples = RECEIVED_SAMPLES_MAX,
	};

	if (!open_otlp(bytes, count, 16 * RECEIVED_MAX_BYTES, &opened))
		assert(opened.total <= RECEIVED_SAMPLES_MAX &&
		       opened_samples_bytes(&opened) <= RECEIVED_MAX_BYTES);
	opened_samples_deinit(&opened);
}

/* A profile and itself: no function has changed. */
static void compare(const struct opened_samples *opened)
{
	struct profile_difference difference;

	if (profile_difference_init(&difference, opened, opened))
		abort();
	for (size_t i = 0; i < difference.functions.count; i++) {
		const struct function_difference *function = &difference.functions.items[i];

		assert(*function->name);
		assert(!profile_difference_change(&difference, function->total));
		assert(!profile_difference_z(&difference, function->self));
	}
	profile_difference_deinit(&difference);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	static const struct reporter_ops ops = { .report = report };
	struct reporter reporter = { .ops = &ops };
	struct opened_samples opened = { 0 };
	char *copy = malloc(count + 1);

	if (count)
		memcpy(copy, bytes, count);
	reported = sum = 0;
	if (!open_bytes(copy, count, &opened)) {
		opened_samples_report_values(&opened, &reporter);
		assert(reported == opened.moments.count);
		assert(sum == opened.total || opened.total == UINT64_MAX);
		assert(opened.facts.shown_type < opened.facts.type_count || !opened.total);
		if (opened.total && opened.table.used < COMPARED_SAMPLES_MAX)
			compare(&opened);
	}
	opened_samples_deinit(&opened);
	free(copy);
	open_received(bytes, count);
	return 0;
}
