/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/metrics_reporter.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/random_state.h"

int metrics_reporter_init(struct metrics_reporter *reporter,
			  const struct metrics_reporter_config *config)
{
	struct otlp_sender_config sender = config->sender;
	int error;

	sender.signal = OTLP_METRICS;
	sender.max_bytes = METRICS_MAX_BYTES;
	sender.max_requests = METRICS_MAX_REQUESTS;
	reporter->config = *config;
	error = otlp_sender_init(&reporter->sender, &sender);
	if (error)
		return error;
	random_state_init(reporter->random_state);
	metrics_reporter_begin(reporter);
	return 0;
}

void metrics_reporter_deinit(struct metrics_reporter *reporter)
{
	otlp_sender_deinit(&reporter->sender);
}

static void set_next_tick(struct metrics_reporter *reporter, uint64_t now_ns)
{
	uint64_t interval_ns = reporter->config.interval_ns;

	reporter->next_tick_ns =
		interval_ns ? now_ns + random_interval_ns(reporter->random_state, interval_ns,
							  reporter->config.jitter) :
			      UINT64_MAX;
}

void metrics_reporter_begin(struct metrics_reporter *reporter)
{
	set_next_tick(reporter, otlp_sender_now_ns(&reporter->sender));
}

void metrics_reporter_send_now(struct metrics_reporter *reporter)
{
	const struct metrics_reporter_config *config = &reporter->config;
	_cleanup_(metric_table_deinit) struct metric_table table = { 0 };
	struct otlp_metrics_times times = { config->start_ns, clock_realtime_ns() };
	struct otlp_request request;

	if (!config->interval_ns)
		return;
	/* The clock may have been set back. */
	if (times.now < times.start)
		times.start = times.now;
	config->fill(config->context, &table);
	if (otlp_metrics_encode(&table, config->otlp, &times, &request))
		log_warn("%s; they go with the next", error_text());
	else
		otlp_sender_push(&reporter->sender, &request);
}

uint64_t metrics_reporter_tick(struct metrics_reporter *reporter)
{
	uint64_t now_ns = otlp_sender_now_ns(&reporter->sender);

	if (now_ns >= reporter->next_tick_ns) {
		metrics_reporter_send_now(reporter);
		set_next_tick(reporter, now_ns);
	}
	return reporter->next_tick_ns;
}
