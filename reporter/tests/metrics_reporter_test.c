/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and profiles go to one collector over one transport, and neither waits for the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "build/proto/otlp_metrics.pb-c.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"
#include "reporter/otlp_reporter.h"

#include <cmocka.h>

#include "reporter/tests/fake_transport.h"
#include "reporter/tests/fixture.h"

#define INTERVAL_NS (5 * NS_PER_SECOND)
#define METRICS_INTERVAL_NS (2 * NS_PER_SECOND)

#define METRICS_(name) opentelemetry__proto__metrics__v1__##name

struct metrics_fixture {
	struct fixture samples;
	struct fake_transport transport;
	struct otlp_options options;
	struct otlp_reporter *reporter;
	struct trace *trace;
	struct capture capture;
	/* Calls by method. */
	uint32_t metrics_calls;
	uint32_t profiles_calls;
	/* The status of the answer to metrics. */
	enum rpc_status metrics_status;
};

static struct metrics_fixture fixture;

static void fill_metrics(void *context, struct metric_table *table)
{
	const struct sample_totals samples = { 0 };
	const struct process_usage usage = { 0 };
	struct metrics_snapshot metrics;
	const struct metric_table_input input = {
		.metrics = &metrics,
		.samples = &samples,
		.usage = &usage,
		.start_ns = 1,
		.version = "v1",
	};

	assert_ptr_equal(context, &fixture);
	metrics_take_snapshot(&metrics);
	metric_table_fill(table, &input);
}

/* The value of allframes.processes in a request. */
static int64_t read_value(const uint8_t *bytes, size_t count)
{
	Opentelemetry__Proto__Metrics__V1__MetricsData *data =
		METRICS_(metrics_data__unpack)(NULL, count, bytes);
	Opentelemetry__Proto__Metrics__V1__ScopeMetrics *scope;
	int64_t value = -1;

	assert_non_null(data);
	scope = data->resource_metrics[0]->scope_metrics[0];
	for (size_t i = 0; i < scope->n_metrics; i++)
		if (!strcmp(scope->metrics[i]->name, "allframes.processes"))
			value = scope->metrics[i]->sum->data_points[0]->as_int;
	METRICS_(metrics_data__free_unpacked)(data, NULL);
	return value;
}

static void note_call(struct fake_transport *transport, uint64_t timeout_ns)
{
	(void)timeout_ns;
	if (!strcmp(transport->method, OTLP_METRICS_METHOD)) {
		fixture.metrics_calls++;
		transport->answer.status = fixture.metrics_status;
	} else {
		assert_string_equal(transport->method, OTLP_PROFILES_METHOD);
		fixture.profiles_calls++;
		transport->answer.status = RPC_OK;
	}
}

static void make_reporter(uint64_t metrics_interval_ns)
{
	const struct otlp_reporter_config config = {
		.sender = {
			.transport = &fixture.transport.base,
			.collector = "host:4317",
			.call_timeout_ns = 10 * NS_PER_SECOND,
			.now_ns = fake_now_ns,
		},
		.otlp = &fixture.options,
		.interval_ns = INTERVAL_NS,
		.metrics_interval_ns = metrics_interval_ns,
		.start_ns = 1,
		.fill_metrics = fill_metrics,
		.metrics_context = &fixture,
	};

	otlp_reporter_destroy(fixture.reporter);
	fixture.reporter = NULL;
	assert_int_equal(otlp_reporter_create(&config, &fixture.reporter), 0);
}

static int set_up(void **state)
{
	struct frame frame;

	(void)state;
	memset(&fixture, 0, sizeof(fixture));
	fixture.options = (struct otlp_options){
		.samples_per_second = 19,
		.agent_version = "test",
		.max_request_bytes = OTLP_MAX_REQUEST_BYTES,
	};
	metrics_reset();
	fixture_init(&fixture.samples);
	fake_transport_init(&fixture.transport);
	fixture.transport.on_send = note_call;
	frame = native_frame(fixture.samples.prog, 0x1000, 0);
	fixture.trace = trace_create(&frame, 1, true, false);
	make_reporter(METRICS_INTERVAL_NS);
	capture_log(&fixture.capture);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	otlp_reporter_destroy(fixture.reporter);
	free(captured_log(&fixture.capture));
	trace_unref(fixture.trace);
	fixture_deinit(&fixture.samples);
	return 0;
}

static void report_sample(void)
{
	struct reporter *door = otlp_reporter_door(fixture.reporter);
	const struct sample_event event = {
		.sample.trace = fixture.trace,
		.time_ns = fake_time_ns,
		.sample.pid = 7,
		.sample.tid = 8,
		.sample.process_comm = "prog",
		.sample.thread_comm = "thread",
		.was_known = true,
	};

	door->ops->report(door, &event);
}

/* Runs both threads' work for @duration_ns. */
static void run_for(uint64_t duration_ns)
{
	uint64_t end_ns = fake_time_ns + duration_ns;

	while (fake_time_ns < end_ns) {
		uint64_t next_ns = otlp_reporter_tick(fixture.reporter);
		uint64_t send_ns;

		while (!(send_ns = otlp_reporter_send(fixture.reporter)))
			;
		if (send_ns < next_ns)
			next_ns = send_ns;
		fake_time_ns = next_ns < end_ns ? next_ns : end_ns;
	}
}

static void metrics_go_at_their_own_interval(void **state)
{
	(void)state;
	metrics_set(METRIC_PROCESSES, 12);
	run_for(4 * METRICS_INTERVAL_NS + NS_PER_SECOND);
	assert_int_equal(fixture.metrics_calls, 4);
	assert_int_equal(fixture.profiles_calls, 0);
	assert_int_equal(metrics_read(METRIC_OTLP_METRIC_REQUESTS_SENT), 4);
	assert_int_equal(metrics_read(METRIC_OTLP_REQUESTS_SENT), 0);
	assert_true(metrics_read(METRIC_OTLP_POINTS_SENT) > 4 * 60);
	assert_true(metrics_read(METRIC_OTLP_SENT) > 0);
	report_sample();
	run_for(INTERVAL_NS);
	assert_int_equal(fixture.profiles_calls, 1);
	assert_int_equal(metrics_read(METRIC_OTLP_SAMPLES_SENT), 1);
}

static void without_an_interval_none_are_sent(void **state)
{
	(void)state;
	make_reporter(0);
	report_sample();
	run_for(100 * INTERVAL_NS);
	otlp_reporter_begin_stop(fixture.reporter, fake_time_ns + NS_PER_SECOND);
	otlp_reporter_finish(fixture.reporter);
	assert_int_equal(fixture.metrics_calls, 0);
	assert_int_equal(fixture.profiles_calls, 1);
}

static void a_collector_without_metrics_still_gets_profiles(void **state)
{
	char *log;

	(void)state;
	fixture.metrics_status = RPC_UNIMPLEMENTED;
	for (int i = 0; i < 20; i++) {
		report_sample();
		run_for(INTERVAL_NS);
	}
	assert_int_equal(metrics_read(METRIC_OTLP_SAMPLES_DROPPED), 0);
	assert_true(metrics_read(METRIC_OTLP_SAMPLES_SENT) >= 19);
	assert_int_equal(metrics_read(METRIC_OTLP_METRIC_REQUESTS_SENT), 0);
	assert_int_equal(metrics_read(METRIC_OTLP_METRIC_REQUESTS_DROPPED), fixture.metrics_calls);
	assert_int_equal(metrics_read(METRIC_OTLP_RETRIES), 0);
	log = captured_log(&fixture.capture);
	/* One line about it. */
	assert_non_null(strstr(log, "data points are dropped"));
	assert_null(strstr(strstr(log, "data points are dropped") + 1, "data points"));
	free(log);
	capture_log(&fixture.capture);
}

static void metrics_that_are_tried_again_delay_no_profiles(void **state)
{
	(void)state;
	fixture.metrics_status = RPC_UNAVAILABLE;
	for (int i = 0; i < 20; i++) {
		report_sample();
		run_for(INTERVAL_NS);
	}
	assert_true(metrics_read(METRIC_OTLP_SAMPLES_SENT) >= 19);
	assert_true(metrics_read(METRIC_OTLP_RETRIES) > 0);
	assert_int_equal(metrics_read(METRIC_OTLP_METRIC_REQUESTS_SENT), 0);
	/* All that waited arrives when the collector is back. */
	fixture.metrics_status = RPC_OK;
	run_for(60 * NS_PER_SECOND);
	assert_int_equal(metrics_read(METRIC_OTLP_METRIC_REQUESTS_DROPPED), 0);
	assert_true(metrics_read(METRIC_OTLP_METRIC_REQUESTS_SENT) >=
		    160 * NS_PER_SECOND / METRICS_INTERVAL_NS - 1);
}

static void requests_that_wait_are_limited(void **state)
{
	uint64_t made = 2 * METRICS_MAX_REQUESTS;

	(void)state;
	fixture.metrics_status = RPC_UNAVAILABLE;
	run_for(made * METRICS_INTERVAL_NS);
	assert_true(metrics_read(METRIC_OTLP_METRIC_REQUESTS_DROPPED) >= made / 2 - 2);
	assert_true(metrics_read(METRIC_OTLP_METRIC_REQUESTS_DROPPED) < made);
}

static void the_last_values_go_at_the_stop(void **state)
{
	(void)state;
	run_for(METRICS_INTERVAL_NS / 2);
	assert_int_equal(fixture.metrics_calls, 0);
	metrics_set(METRIC_PROCESSES, 77);
	assert_int_equal(otlp_reporter_start(fixture.reporter), 0);
	otlp_reporter_begin_stop(fixture.reporter, fake_time_ns + 60 * NS_PER_SECOND);
	otlp_reporter_finish(fixture.reporter);
	assert_int_equal(fixture.metrics_calls, 1);
	assert_int_equal(metrics_read(METRIC_OTLP_METRIC_REQUESTS_SENT), 1);
	assert_int_equal(read_value(fixture.transport.bytes, fixture.transport.byte_count), 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(metrics_go_at_their_own_interval, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_an_interval_none_are_sent, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_collector_without_metrics_still_gets_profiles,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(metrics_that_are_tried_again_delay_no_profiles,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(requests_that_wait_are_limited, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_last_values_go_at_the_stop, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
