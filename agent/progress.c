// SPDX-License-Identifier: Apache-2.0
#include "agent/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"

void progress_init(struct progress *progress, const struct options *options,
		   const struct sample_counter *counter, uint64_t start_ns)
{
	const char *terminal = getenv("TERM");

	*progress = (struct progress){
		.is_shown = !options->command && !options->top && isatty(STDERR_FILENO) &&
			    terminal && strcmp(terminal, "dumb") && log_get_level() == LOG_INFO,
		.start_ns = start_ns,
		.duration_ns = options->duration_ns,
		.counter = counter,
	};
}

void progress_show(const struct progress *progress, uint64_t now_ns)
{
	char duration[32] = "", line[128];
	struct sample_totals totals;

	if (!progress->is_shown)
		return;
	sample_counter_read(progress->counter, &totals);
	if (progress->duration_ns)
		snprintf(duration, sizeof(duration), " of %g",
			 (double)progress->duration_ns / NS_PER_SECOND);
	snprintf(line, sizeof(line), "%llu%s s, %llu samples; Ctrl-C stops",
		 (unsigned long long)((now_ns - progress->start_ns) / NS_PER_SECOND), duration,
		 (unsigned long long)totals.samples);
	log_show_status(line);
}
