/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the numbers into one line of text. */

#include "reporter/summary.h"

#include <inttypes.h>

void run_summary_collect(struct run_summary *summary, const struct sample_totals *totals,
			 const struct metrics_snapshot *metrics)
{
	*summary = (struct run_summary){
		.samples = *totals,
		.idle = metrics->values[metric_of_counter(COUNTER_IDLE)] +
			metrics->values[METRIC_IDLE_UNSEEN],
		.unselected = metrics->values[metric_of_counter(COUNTER_UNSELECTED)],
		.stolen = metrics->values[METRIC_TICKS_STOLEN],
		.lost_ring_full = metrics->values[metric_of_counter(COUNTER_LOST_RING_FULL)],
		.lost_skipped = metrics->values[METRIC_SAMPLES_SKIPPED],
		.lost_dropped = metrics->values[METRIC_SAMPLES_UNSENT] +
				metrics->values[METRIC_SAMPLES_UNREAD] +
				metrics->values[METRIC_SAMPLES_DROPPED] +
				metrics->values[METRIC_SAMPLES_MALFORMED],
		.unstored = metrics->values[METRIC_SAMPLES_UNSTORED],
		.files_gone = metrics->values[METRIC_FILES_GONE],
	};
}

static uint64_t lost_ticks(const struct run_summary *summary)
{
	return summary->lost_ring_full + summary->lost_skipped + summary->lost_dropped;
}

uint64_t run_summary_ticks(const struct run_summary *summary)
{
	return summary->samples.samples + summary->idle + summary->unselected + summary->stolen +
	       lost_ticks(summary);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void append_errors(const struct sample_totals *samples, struct text_builder *text)
{
	const char *separator = " (";
	uint64_t sum = 0;

	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		sum += samples->errors[error];
	text_builder_format(text, ", errors %.2f%%", percent(sum, samples->samples));
	for (int error = 0; error < UNWIND_ERROR_COUNT; error++) {
		if (!samples->errors[error])
			continue;
		text_builder_format(text, "%s%s %" PRIu64, separator, unwind_error_text(error),
				    samples->errors[error]);
		separator = ", ";
	}
	if (sum)
		text_builder_append(text, ")");
}

void run_summary_append(const struct run_summary *summary, struct text_builder *text)
{
	const struct sample_totals *samples = &summary->samples;
	uint64_t lost = lost_ticks(summary), ticks = run_summary_ticks(summary);

	text_builder_format(text, "%" PRIu64 " busy samples, idle %.1f%%", samples->samples,
			    percent(summary->idle, ticks));
	text_builder_format(text,
			    ", lost %" PRIu64 " (%.2f%%: ring full %" PRIu64
			    ", skipped by the kernel %" PRIu64 ", dropped %" PRIu64 ")",
			    lost, percent(lost, ticks), summary->lost_ring_full,
			    summary->lost_skipped, summary->lost_dropped);
	text_builder_format(text, ", not selected %" PRIu64, summary->unselected);
	if (summary->stolen)
		text_builder_format(text, ", taken by the hypervisor %" PRIu64, summary->stolen);
	text_builder_format(text, ", ticks in all %" PRIu64, ticks);
	text_builder_format(text, ", complete %.2f%% (user stacks of known processes %.2f%%)",
			    percent(samples->complete, samples->samples),
			    percent(samples->known_user_complete, samples->known_user));
	text_builder_format(text, ", guesses %.2f%%", percent(samples->guesses, samples->samples));
	append_errors(samples, text);
	text_builder_format(text, ", from before the process was known %.2f%%",
			    percent(samples->before_known, samples->samples));
	if (summary->unstored)
		text_builder_format(text, ", in no file for want of memory %" PRIu64,
				    summary->unstored);
	if (summary->files_gone)
		text_builder_format(text, ", files gone before they were read for names %" PRIu64,
				    summary->files_gone);
}
