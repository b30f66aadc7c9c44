/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/metrics_text.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/model/trace.h"
#include "reporter/summary.h"

enum { NAME_BYTES = 96 };

#define US_PER_SECOND 1e6

struct writer {
	struct text_builder *text;
	bool is_open;
};

/* Writes the lines before the values of @name; the name of a counter is without "_total". */
static void describe(const struct writer *writer, const char *name, bool is_counter,
		     const char *meaning)
{
	/* In OpenMetrics a family of counters has the name without the ending. */
	const char *ending = is_counter && !writer->is_open ? "_total" : "";

	text_builder_format(writer->text, "# HELP %s%s %c%s\n# TYPE %s%s %s\n", name, ending,
			    meaning[0] >= 'a' && meaning[0] <= 'z' ? meaning[0] - 'a' + 'A' :
								     meaning[0],
			    meaning + 1, name, ending, is_counter ? "counter" : "gauge");
}

static void put_count(const struct writer *writer, const char *name, const char *label,
		      const char *value, uint64_t count)
{
	text_builder_format(writer->text, "%s_total{%s=\"%s\"} %" PRIu64 "\n", name, label, value,
			    count);
}

static void put_number(const struct writer *writer, const char *name, bool is_counter,
		       const char *meaning, double number)
{
	describe(writer, name, is_counter, meaning);
	text_builder_format(writer->text, "%s%s %.17g\n", name, is_counter ? "_total" : "", number);
}

static void put_metric(const struct writer *writer, const struct metric_description *description,
		       uint64_t value)
{
	bool is_time = !strcmp(description->unit, "ms");
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "allframes_%s%s", description->name,
		 is_time ? "_seconds" : "");
	if (is_time) {
		put_number(writer, name, !description->is_state, description->meaning,
			   (double)value / 1000);
		return;
	}
	describe(writer, name, !description->is_state, description->meaning);
	text_builder_format(writer->text, "%s%s %" PRIu64 "\n", name,
			    description->is_state ? "" : "_total", value);
}

static void put_unwind_errors(const struct writer *writer, const struct metrics_snapshot *metrics)
{
	static const char name[] = "allframes_unwind_errors";

	describe(writer, name, true,
		 "unwinds that ended before the thread's first function, by reason");
	for (int error = UNWIND_OK + 1; error < UNWIND_ERROR_COUNT; error++)
		put_count(writer, name, "error", unwind_error_name(error),
			  metrics->values[COUNTER_ERRORS + error]);
}

/* Each tick of the sampling clock is in exactly one class; some are known only when the agent ends. */
static void put_ticks(const struct writer *writer, const struct run_summary *summary)
{
	static const char name[] = "allframes_ticks";

	describe(writer, name, true, "ticks of the sampling clock on all CPUs, by class");
	put_count(writer, name, "class", "busy", summary->samples.samples);
	put_count(writer, name, "class", "idle", summary->idle);
	put_count(writer, name, "class", "unselected", summary->unselected);
	put_count(writer, name, "class", "stolen", summary->stolen);
	put_count(writer, name, "class", "lost_ring_full", summary->lost_ring_full);
	put_count(writer, name, "class", "lost_skipped", summary->lost_skipped);
	put_count(writer, name, "class", "lost_dropped", summary->lost_dropped);
}

static void put_stacks(const struct writer *writer, const struct sample_totals *samples)
{
	static const char name[] = "allframes_stacks";
	uint64_t errors = 0;

	for (int error = 0; error < UNWIND_ERROR_COUNT; error++)
		errors += samples->errors[error];
	describe(writer, name, true, "stacks of busy samples, by quality; one may be in no class");
	put_count(writer, name, "quality", "complete", samples->complete);
	put_count(writer, name, "quality", "guess", samples->guesses);
	put_count(writer, name, "quality", "error", errors);
}

static void put_usage(const struct writer *writer, const struct process_usage *usage,
		      double start_seconds)
{
	put_number(writer, "process_cpu_seconds", true, "CPU time of the agent",
		   usage->cpu_seconds);
	put_number(writer, "process_resident_memory_bytes", false, "resident memory of the agent",
		   (double)usage->resident_bytes);
	put_number(writer, "process_virtual_memory_bytes", false, "virtual memory of the agent",
		   (double)usage->virtual_bytes);
	put_number(writer, "process_open_fds", false, "open file descriptors of the agent",
		   (double)usage->open_fds);
	put_number(writer, "process_max_fds", false, "limit of open file descriptors",
		   (double)usage->max_fds);
	put_number(writer, "process_start_time_seconds", false,
		   "when the agent was started, in seconds since 1970", start_seconds);
}

void metrics_text_append(struct text_builder *text, const struct metrics_text_input *input,
			 bool is_open)
{
	const struct writer writer = { text, is_open };
	struct run_summary summary;

	run_summary_collect(&summary, input->samples, input->metrics);
	describe(&writer, "allframes_build_info", false, "version of the agent");
	text_builder_format(text, "allframes_build_info{version=\"%s\"} 1\n", input->version);
	put_ticks(&writer, &summary);
	put_stacks(&writer, input->samples);
	put_unwind_errors(&writer, input->metrics);
	for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
		if (metric < (enum metric)COUNTER_ERRORS || metric >= METRIC_FIRST_USER)
			put_metric(&writer, metric_describe(metric),
				   input->metrics->values[metric]);
	put_usage(&writer, input->usage, (double)input->start_ns / NS_PER_SECOND);
	if (is_open)
		text_builder_append(text, "# EOF\n");
}

bool metrics_text_is_open(const char *accept)
{
	return accept && strstr(accept, "application/openmetrics-text");
}

/* --- usage --- */

static uint64_t count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	uint64_t count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	/* ".", ".." and the folder's own. */
	return count > 3 ? count - 3 : 0;
}

void process_usage_read(struct process_usage *usage)
{
	_cleanup_(close_file) FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long virtual_pages = 0, resident_pages = 0;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct rlimit limit = { 0 };
	struct rusage used;

	*usage = (struct process_usage){ .open_fds = count_fds() };
	if (!getrusage(RUSAGE_SELF, &used))
		usage->cpu_seconds =
			(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / US_PER_SECOND;
	if (file && fscanf(file, "%llu %llu", &virtual_pages, &resident_pages) == 2) {
		usage->virtual_bytes = virtual_pages * page;
		usage->resident_bytes = resident_pages * page;
	}
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		usage->max_fds = limit.rlim_cur;
}
