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

/* A list in parentheses of what is not zero. */
struct breakdown {
	struct text_builder *text;
	const char *separator;
};

static void breakdown_add(struct breakdown *list, const char *what, uint64_t count)
{
	if (!count)
		return;
	text_builder_format(list->text, "%s%s %" PRIu64, list->separator, what, count);
	list->separator = ", ";
}

static void append_lost(const struct run_summary *summary, uint64_t ticks,
			struct text_builder *text)
{
	uint64_t lost = lost_ticks(summary);
	struct breakdown list = { .text = text, .separator = "" };

	if (!lost) {
		text_builder_append(text, ", none lost");
		return;
	}
	text_builder_format(text, ", %" PRIu64 " lost (%.2f %%: ", lost, percent(lost, ticks));
	breakdown_add(&list, "ring full", summary->lost_ring_full);
	breakdown_add(&list, "skipped by the kernel", summary->lost_skipped);
	breakdown_add(&list, "dropped", summary->lost_dropped);
	text_builder_append(text, ")");
}

static void append_errors(const struct sample_totals *samples, struct text_builder *text)
{
	struct breakdown list = { .text = text, .separator = " (" };
	uint64_t sum = 0;

	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		sum += samples->errors[error];
	if (!sum)
		return;
	text_builder_format(text, ", errors %.2f %%", percent(sum, samples->samples));
	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		breakdown_add(&list, unwind_error_text(error), samples->errors[error]);
	text_builder_append(text, ")");
}

/* Rounded down: 100 % are all. */
static double percent_down(uint64_t part, uint64_t whole)
{
	uint64_t hundredths = whole ? (uint64_t)((unsigned __int128)part * 100 * 100 / whole) : 0;

	return (double)hundredths / 100;
}

static void append_stacks(const struct sample_totals *samples, struct text_builder *text)
{
	if (!samples->samples)
		return;
	if (samples->complete == samples->samples) {
		text_builder_append(text, ", all stacks complete");
	} else {
		text_builder_format(text, ", %.2f %% of the stacks complete",
				    percent_down(samples->complete, samples->samples));
		if (samples->known_user)
			text_builder_format(text, " (user stacks of known processes %.2f %%)",
					    percent_down(samples->known_user_complete,
							 samples->known_user));
	}
	if (samples->guesses)
		text_builder_format(text, ", guesses %.2f %%",
				    percent(samples->guesses, samples->samples));
	append_errors(samples, text);
	if (samples->before_known)
		text_builder_format(text, ", from before the process was known %.2f %%",
				    percent(samples->before_known, samples->samples));
}

void run_summary_append(const struct run_summary *summary, struct text_builder *text)
{
	uint64_t samples = summary->samples.samples, ticks = run_summary_ticks(summary);

	if (samples)
		text_builder_format(text, "%" PRIu64 " sample%s", samples, samples == 1 ? "" : "s");
	else
		text_builder_append(text, "no samples");
	text_builder_format(text, " (%.0f %% busy)",
			    percent(ticks - summary->idle - summary->stolen, ticks));
	append_lost(summary, ticks, text);
	if (summary->unselected)
		text_builder_format(text, ", %" PRIu64 " not selected", summary->unselected);
	if (summary->stolen)
		text_builder_format(text, ", %" PRIu64 " taken by the hypervisor", summary->stolen);
	append_stacks(&summary->samples, text);
	if (summary->unstored)
		text_builder_format(text, ", in no file for want of memory %" PRIu64,
				    summary->unstored);
	if (summary->files_gone)
		text_builder_format(text, ", files gone before they were read for names %" PRIu64,
				    summary->files_gone);
}
