// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "build/proto/otlp_collector.pb-c.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"
#include "reporter/otlp_reporter.h"

#include <cmocka.h>

#include "reporter/tests/fake_transport.h"
#include "reporter/tests/fixture.h"

#define INTERVAL_NS (5 * NS_PER_SECOND)
#define TIMEOUT_NS (10 * NS_PER_SECOND)
#define DAY_NS (86400 * NS_PER_SECOND)

#define COLLECTOR_(name) opentelemetry__proto__collector__profiles__v1development__##name

typedef Opentelemetry__Proto__Collector__Profiles__V1development__ExportProfilesServiceRequest
	export_request;
typedef Opentelemetry__Proto__Profiles__V1development__Profile profile_message;

struct reporter_fixture {
	struct fixture samples;
	struct fake_transport transport;
	struct otlp_options options;
	struct otlp_reporter *reporter;
	struct trace *trace;
	struct capture capture;
	uint64_t reported;
	/* The number of samples passed to `taken`. */
	uint64_t taken;
	/* The window of the last request that was sent. */
	uint64_t start_ns;
	uint64_t end_ns;
};

static struct reporter_fixture fixture;

static void count_taken(void *context, const struct sample_snapshot *snapshot)
{
	struct reporter_fixture *f = context;

	for (size_t i = 0; i < snapshot->count; i++)
		f->taken += snapshot->samples[i].count;
}

static void make_reporter(struct reporter_fixture *f, uint64_t (*now_ns)(void), double jitter,
			  size_t max_bytes)
{
	const struct otlp_reporter_config config = {
		.sender = {
			.transport = &f->transport.base,
			.collector = "host:4317",
			.call_timeout_ns = TIMEOUT_NS,
			.max_bytes = max_bytes,
			.now_ns = now_ns,
		},
		.otlp = &f->options,
		.interval_ns = INTERVAL_NS,
		.jitter = jitter,
		.taken = count_taken,
		.context = f,
	};

	otlp_reporter_destroy(f->reporter);
	f->reporter = NULL;
	assert_int_equal(otlp_reporter_create(&config, &f->reporter), 0);
}

static int set_up(void **state)
{
	struct frame frame;

	memset(&fixture, 0, sizeof(fixture));
	fixture.options = (struct otlp_options){
		.samples_per_second = 19,
		.agent_version = "test",
		.max_request_bytes = OTLP_MAX_REQUEST_BYTES,
	};
	metrics_reset();
	fixture_init(&fixture.samples);
	fake_transport_init(&fixture.transport);
	frame = native_frame(fixture.samples.prog, 0x1000, 0);
	fixture.trace = trace_create(&frame, 1, true, false);
	make_reporter(&fixture, fake_now_ns, 0, 0);
	capture_log(&fixture.capture);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct reporter_fixture *f = *state;

	otlp_reporter_destroy(f->reporter);
	free(captured_log(&f->capture));
	trace_unref(f->trace);
	fixture_deinit(&f->samples);
	return 0;
}

static void report_at(struct reporter_fixture *f, uint64_t time_ns)
{
	struct reporter *door = otlp_reporter_door(f->reporter);
	const struct sample_event event = {
		.sample.trace = f->trace,
		.time_ns = time_ns,
		.sample.pid = 7,
		.sample.tid = 8,
		.sample.process_comm = "prog",
		.sample.thread_comm = "thread",
		.was_known = true,
	};

	door->ops->report(door, &event);
	f->reported++;
}

static uint64_t sent(void)
{
	return metrics_read(METRIC_OTLP_SAMPLES_SENT);
}

static uint64_t dropped(void)
{
	return metrics_read(METRIC_OTLP_SAMPLES_DROPPED);
}

static void without_samples_nothing_is_sent(void **state)
{
	struct reporter_fixture *f = *state;

	for (int i = 0; i < 100; i++) {
		fake_time_ns = otlp_reporter_tick(f->reporter);
		assert_true(otlp_reporter_send(f->reporter) == UINT64_MAX);
	}
	assert_int_equal(f->transport.call_count, 0);
}

static void the_samples_of_an_interval_go_at_its_end(void **state)
{
	struct reporter_fixture *f = *state;
	uint64_t end_ns = fake_time_ns + INTERVAL_NS;

	report_at(f, fake_time_ns + 1);
	report_at(f, fake_time_ns + 2);
	assert_true(otlp_reporter_tick(f->reporter) == end_ns);
	assert_true(otlp_reporter_send(f->reporter) == UINT64_MAX);
	assert_int_equal(f->taken, 0);
	fake_time_ns = end_ns;
	assert_true(otlp_reporter_tick(f->reporter) == end_ns + INTERVAL_NS);
	assert_int_equal(f->taken, 2);
	assert_int_equal(otlp_reporter_send(f->reporter), 0);
	assert_int_equal(sent(), 2);
	assert_true(otlp_reporter_send(f->reporter) == UINT64_MAX);
}

static void intervals_differ_within_the_jitter(void **state)
{
	struct reporter_fixture *f = *state;
	uint64_t lowest_ns = UINT64_MAX, highest_ns = 0;

	make_reporter(f, fake_now_ns, 0.2, 0);
	fake_time_ns = otlp_reporter_tick(f->reporter);
	for (int i = 0; i < 1000; i++) {
		uint64_t interval_ns = otlp_reporter_tick(f->reporter) - fake_time_ns;

		lowest_ns = interval_ns < lowest_ns ? interval_ns : lowest_ns;
		highest_ns = interval_ns > highest_ns ? interval_ns : highest_ns;
		fake_time_ns += interval_ns;
	}
	assert_in_range(lowest_ns, 4 * NS_PER_SECOND, 4100 * NS_PER_MS);
	assert_in_range(highest_ns, 5900 * NS_PER_MS, 6 * NS_PER_SECOND);
}

/* Keeps the interval of the first profile that was sent, as CLOCK_MONOTONIC. */
static void keep_window(struct fake_transport *transport, uint64_t timeout_ns)
{
	uint64_t offset_ns = (uint64_t)clock_realtime_offset_ns();
	export_request *request;
	profile_message *profile;

	(void)timeout_ns;
	assert_in_range(transport->byte_count, 1, 8192);
	request = COLLECTOR_(export_profiles_service_request__unpack)(NULL, transport->byte_count,
								      transport->bytes);
	assert_non_null(request);
	profile = request->resource_profiles[0]->scope_profiles[0]->profiles[0];
	fixture.start_ns = profile->time_unix_nano - offset_ns;
	fixture.end_ns = fixture.start_ns + profile->duration_nano;
	COLLECTOR_(export_profiles_service_request__free_unpacked)(request, NULL);
}

static void send_window(struct reporter_fixture *f)
{
	fake_time_ns = otlp_reporter_tick(f->reporter);
	otlp_reporter_tick(f->reporter);
	assert_int_equal(otlp_reporter_send(f->reporter), 0);
}

/* Times in requests are rounded, and the two clocks are read one after the other. */
static void assert_near(uint64_t time_ns, uint64_t expected_ns)
{
	assert_in_range(time_ns, expected_ns - 20 * NS_PER_MS, expected_ns + 20 * NS_PER_MS);
}

static void windows_follow_each_other_and_hold_late_samples(void **state)
{
	struct reporter_fixture *f = *state;
	uint64_t begin_ns = fake_time_ns;

	f->transport.on_send = keep_window;
	report_at(f, begin_ns + NS_PER_SECOND);
	send_window(f);
	assert_near(f->start_ns, begin_ns);
	assert_near(f->end_ns, begin_ns + INTERVAL_NS);
	report_at(f, fake_time_ns + NS_PER_SECOND);
	send_window(f);
	assert_near(f->start_ns, begin_ns + INTERVAL_NS);
	assert_near(f->end_ns, begin_ns + 2 * INTERVAL_NS);
	/* Taken before the window, but reported in it. */
	report_at(f, fake_time_ns - 300 * NS_PER_MS);
	send_window(f);
	assert_near(f->start_ns, begin_ns + 2 * INTERVAL_NS - 300 * NS_PER_MS);
	assert_near(f->end_ns, begin_ns + 3 * INTERVAL_NS);
	/* Idle intervals are left out of the next window. */
	fake_time_ns = otlp_reporter_tick(f->reporter);
	report_at(f, otlp_reporter_tick(f->reporter) - 1);
	send_window(f);
	assert_near(f->start_ns, begin_ns + 4 * INTERVAL_NS);
}

/* Runs the report thread's work while a call hangs. */
static void hang(struct fake_transport *transport, uint64_t timeout_ns)
{
	uint64_t end_ns = fake_time_ns + timeout_ns;
	uint64_t next_ns;

	while ((next_ns = otlp_reporter_tick(fixture.reporter)) <= end_ns) {
		fake_time_ns = next_ns;
		report_at(&fixture, fake_time_ns - 1);
	}
	fake_time_ns = end_ns;
	fake_answer(transport, RPC_DEADLINE_EXCEEDED, "it does not answer in time");
}

/* Runs the work of both threads in turn until @end_ns. */
static void run_until(struct reporter_fixture *f, uint64_t end_ns)
{
	while (fake_time_ns < end_ns) {
		uint64_t send_ns = otlp_reporter_send(f->reporter);
		uint64_t tick_ns = otlp_reporter_tick(f->reporter);

		if (!send_ns)
			continue;
		fake_time_ns = send_ns < tick_ns ? send_ns : tick_ns;
		if (fake_time_ns == tick_ns)
			report_at(f, fake_time_ns - 1);
	}
}

static void a_day_of_a_hanging_collector_stops_nothing_and_loses_no_count(void **state)
{
	enum { MAX_BYTES = 100000 };
	struct reporter_fixture *f = *state;
	uint64_t begin_ns = fake_time_ns;
	uint64_t waiting;

	make_reporter(f, fake_now_ns, 0.2, MAX_BYTES);
	f->transport.on_send = hang;
	run_until(f, begin_ns + DAY_NS);
	assert_in_range(f->reported, DAY_NS / INTERVAL_NS * 95 / 100,
			DAY_NS / INTERVAL_NS * 105 / 100);
	assert_int_equal(sent(), 0);
	/* Each request has one sample; the last sample may still be in the store. */
	waiting = f->reported - dropped();
	assert_in_range(waiting, 10, MAX_BYTES / 100);

	f->transport.on_send = NULL;
	fake_answer(&f->transport, RPC_OK, "");
	run_until(f, fake_time_ns + 100 * NS_PER_SECOND);
	fake_time_ns = otlp_reporter_tick(f->reporter);
	otlp_reporter_tick(f->reporter);
	while (otlp_reporter_send(f->reporter) != UINT64_MAX)
		;
	assert_int_equal(sent() + dropped(), f->reported);
	assert_in_range(sent(), waiting, f->reported);
}

static void at_the_stop_everything_is_sent(void **state)
{
	struct reporter_fixture *f = *state;

	make_reporter(f, NULL, 0.2, 0);
	assert_int_equal(otlp_reporter_start(f->reporter), 0);
	for (int i = 0; i < 10; i++)
		report_at(f, clock_monotonic_ns());
	otlp_reporter_begin_stop(f->reporter, clock_monotonic_ns() + 60 * NS_PER_SECOND);
	otlp_reporter_finish(f->reporter);
	assert_int_equal(sent(), 10);
	assert_int_equal(dropped(), 0);
	assert_int_equal(f->transport.cancel_count, 0);
}

/* Simulates a collector that hangs for longer than the stop waits. */
static void hang_until_cancelled(struct fake_transport *transport, uint64_t timeout_ns)
{
	(void)timeout_ns;
	while (!__atomic_load_n(&transport->cancel_count, __ATOMIC_SEQ_CST))
		usleep(1000);
	fake_answer(transport, RPC_CANCELLED, "cancelled");
}

static void a_call_that_hangs_is_cancelled_at_the_deadline_and_the_rest_counted(void **state)
{
	struct reporter_fixture *f = *state;

	make_reporter(f, NULL, 0.2, 0);
	f->transport.on_send = hang_until_cancelled;
	assert_int_equal(otlp_reporter_start(f->reporter), 0);
	for (int i = 0; i < 10; i++)
		report_at(f, clock_monotonic_ns());
	otlp_reporter_begin_stop(f->reporter, clock_monotonic_ns() + 50 * NS_PER_MS);
	otlp_reporter_finish(f->reporter);
	assert_int_equal(sent(), 0);
	assert_int_equal(dropped(), 10);
	assert_int_equal(f->transport.cancel_count, 1);
}

/* Simulates a network that is slower than the building of requests. */
static void take_slowly(struct fake_transport *transport, uint64_t timeout_ns)
{
	(void)transport;
	(void)timeout_ns;
	usleep(1000);
}

static void report_threads(struct reporter_fixture *f, int count)
{
	struct reporter *door = otlp_reporter_door(f->reporter);
	struct sample_event event = {
		.sample.trace = f->trace,
		.time_ns = clock_monotonic_ns(),
		.sample.pid = 7,
		.sample.process_comm = "prog",
		.sample.thread_comm = "thread",
		.was_known = true,
	};

	for (int i = 0; i < count; i++) {
		event.sample.tid = i + 1;
		door->ops->report(door, &event);
	}
}

static void an_interval_larger_than_the_queue_is_sent_whole(void **state)
{
	struct reporter_fixture *f = *state;

	f->options.max_request_bytes = 2000;
	make_reporter(f, NULL, 0, 5000);
	f->transport.on_send = take_slowly;
	assert_int_equal(otlp_reporter_start(f->reporter), 0);
	report_threads(f, 2000);
	otlp_reporter_begin_stop(f->reporter, clock_monotonic_ns() + 60 * NS_PER_SECOND);
	otlp_reporter_finish(f->reporter);
	assert_int_equal(dropped(), 0);
	assert_int_equal(sent(), 2000);
}

static void building_ends_at_the_deadline_and_the_rest_is_counted(void **state)
{
	struct reporter_fixture *f = *state;
	char *log;

	f->options.max_request_bytes = 2000;
	make_reporter(f, NULL, 0, 5000);
	assert_int_equal(otlp_reporter_start(f->reporter), 0);
	report_threads(f, 2000);
	otlp_reporter_begin_stop(f->reporter, clock_monotonic_ns());
	otlp_reporter_finish(f->reporter);
	assert_int_equal(dropped(), 2000);
	log = captured_log(&f->capture);
	capture_log(&f->capture);
	assert_string_equal(log, "warn: the stop came before everything was sent; 2000 samples are "
				 "dropped\n");
	free(log);
}

/* A reporter whose store is half full after a few hundred samples. */
static void make_small_reporter(struct reporter_fixture *f, uint64_t (*now_ns)(void))
{
	const struct otlp_reporter_config config = {
		.sender = {
			.transport = &f->transport.base,
			.collector = "host:4317",
			.call_timeout_ns = TIMEOUT_NS,
			.now_ns = now_ns,
		},
		.otlp = &f->options,
		.interval_ns = 3600 * NS_PER_SECOND,
		.store_max_bytes = 64 << 10,
	};

	otlp_reporter_destroy(f->reporter);
	f->reporter = NULL;
	assert_int_equal(otlp_reporter_create(&config, &f->reporter), 0);
}

static void an_interval_that_fills_half_of_the_store_ends_early(void **state)
{
	struct reporter_fixture *f = *state;
	uint64_t next_ns;

	make_small_reporter(f, fake_now_ns);
	next_ns = otlp_reporter_tick(f->reporter);
	for (int i = 0; i < 20; i++) {
		report_threads(f, 600);
		fake_time_ns += NS_PER_SECOND;
		assert_true(otlp_reporter_tick(f->reporter) == next_ns + (i + 1) * NS_PER_SECOND);
		assert_int_equal(otlp_reporter_send(f->reporter), 0);
	}
	assert_int_equal(sent(), 12000);
	/* Less than half does not end the interval. */
	report_threads(f, 100);
	otlp_reporter_tick(f->reporter);
	assert_true(otlp_reporter_send(f->reporter) == UINT64_MAX);
}

static void the_report_thread_is_woken_when_the_store_is_half_full(void **state)
{
	struct reporter_fixture *f = *state;

	make_small_reporter(f, NULL);
	assert_int_equal(otlp_reporter_start(f->reporter), 0);
	report_threads(f, 600);
	/*
	 * Long before the end of the interval; samples that came after the store was emptied are
	 * still there.
	 */
	while (!sent())
		usleep(1000);
	otlp_reporter_begin_stop(f->reporter, clock_monotonic_ns() + 60 * NS_PER_SECOND);
	otlp_reporter_finish(f->reporter);
	assert_int_equal(sent(), 600);
	assert_int_equal(dropped(), 0);
}

static void samples_that_nobody_collects_are_counted(void **state)
{
	struct reporter_fixture *f = *state;

	report_threads(f, 3);
	otlp_reporter_destroy(f->reporter);
	f->reporter = NULL;
	assert_int_equal(sent(), 0);
	assert_int_equal(dropped(), 3);
}

static void an_agent_that_fails_takes_it_down_without_waiting(void **state)
{
	struct reporter_fixture *f = *state;

	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	report_at(f, fake_time_ns);
	make_reporter(f, NULL, 0.2, 0);
	assert_int_equal(otlp_reporter_start(f->reporter), 0);
	otlp_reporter_destroy(f->reporter);
	f->reporter = NULL;
}

#define reporter_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		reporter_test(without_samples_nothing_is_sent),
		reporter_test(the_samples_of_an_interval_go_at_its_end),
		reporter_test(intervals_differ_within_the_jitter),
		reporter_test(windows_follow_each_other_and_hold_late_samples),
		reporter_test(a_day_of_a_hanging_collector_stops_nothing_and_loses_no_count),
		reporter_test(at_the_stop_everything_is_sent),
		reporter_test(a_call_that_hangs_is_cancelled_at_the_deadline_and_the_rest_counted),
		reporter_test(an_interval_larger_than_the_queue_is_sent_whole),
		reporter_test(building_ends_at_the_deadline_and_the_rest_is_counted),
		reporter_test(an_interval_that_fills_half_of_the_store_ends_early),
		reporter_test(the_report_thread_is_woken_when_the_store_is_half_full),
		reporter_test(samples_that_nobody_collects_are_counted),
		reporter_test(an_agent_that_fails_takes_it_down_without_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
