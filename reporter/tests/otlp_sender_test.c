// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/model/metrics.h"
#include "reporter/otlp_sender.h"

#include <cmocka.h>

#include "reporter/tests/fake_transport.h"

enum { SAMPLES_PER_REQUEST = 7, MAX_BYTES = 1000, MAX_REQUESTS = 8 };

#define TIMEOUT_NS (10 * NS_PER_SECOND)

/* All state is reset between the tests; log lines go to @log. */
struct sender_fixture {
	struct otlp_sender sender;
	struct fake_transport transport;
	struct capture capture;
};

static int set_up(void **state)
{
	static struct sender_fixture fixture;
	const struct otlp_sender_config config = {
		.transport = &fixture.transport.base,
		.collector = "host:4317",
		.call_timeout_ns = TIMEOUT_NS,
		.max_bytes = MAX_BYTES,
		.max_requests = MAX_REQUESTS,
		.now_ns = fake_now_ns,
	};

	metrics_reset();
	fake_transport_init(&fixture.transport);
	assert_int_equal(otlp_sender_init(&fixture.sender, &config), 0);
	capture_log(&fixture.capture);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct sender_fixture *f = *state;

	free(captured_log(&f->capture));
	otlp_sender_deinit(&f->sender);
	return 0;
}

/* Returns the log so far, and continues to capture it. */
static char *take_log(struct sender_fixture *f)
{
	char *text = captured_log(&f->capture);

	capture_log(&f->capture);
	return text;
}

static uint32_t count_lines(const char *text)
{
	uint32_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static void push(struct sender_fixture *f, const char *text)
{
	struct otlp_request request = {
		.bytes = (uint8_t *)strdup(text),
		.byte_count = strlen(text),
		.sample_count = SAMPLES_PER_REQUEST,
	};

	otlp_sender_push(&f->sender, &request);
}

static void assert_counts(uint64_t sent, uint64_t dropped)
{
	assert_int_equal(metrics_read(METRIC_OTLP_REQUESTS_SENT), sent);
	assert_int_equal(metrics_read(METRIC_OTLP_SAMPLES_SENT), sent * SAMPLES_PER_REQUEST);
	assert_int_equal(metrics_read(METRIC_OTLP_REQUESTS_DROPPED), dropped);
	assert_int_equal(metrics_read(METRIC_OTLP_SAMPLES_DROPPED), dropped * SAMPLES_PER_REQUEST);
}

static void assert_sent(struct sender_fixture *f, const char *text)
{
	assert_int_equal(f->transport.byte_count, strlen(text));
	assert_memory_equal(f->transport.bytes, text, strlen(text));
}

static void requests_are_sent_oldest_first_and_once(void **state)
{
	struct sender_fixture *f = *state;

	assert_true(otlp_sender_step(&f->sender) == UINT64_MAX);
	assert_int_equal(f->transport.call_count, 0);
	push(f, "one");
	push(f, "two");
	assert_int_equal(otlp_sender_step(&f->sender), 0);
	assert_sent(f, "one");
	assert_true(f->transport.timeout_ns == TIMEOUT_NS);
	assert_int_equal(otlp_sender_step(&f->sender), 0);
	assert_sent(f, "two");
	assert_true(otlp_sender_step(&f->sender) == UINT64_MAX);
	assert_int_equal(f->transport.call_count, 2);
	assert_counts(2, 0);
}

static void only_some_failures_are_tried_again(void **state)
{
	static const bool retried[RPC_STATUS_COUNT] = {
		[RPC_CANCELLED] = true,	   [RPC_DEADLINE_EXCEEDED] = true, [RPC_ABORTED] = true,
		[RPC_OUT_OF_RANGE] = true, [RPC_UNAVAILABLE] = true,	   [RPC_DATA_LOSS] = true,
	};
	struct sender_fixture *f = *state;
	uint64_t dropped = 0;

	for (int status = RPC_CANCELLED; status < RPC_STATUS_COUNT; status++) {
		fake_answer(&f->transport, status, "no");
		push(f, "request");
		assert_int_equal(otlp_sender_step(&f->sender), 0);
		dropped += !retried[status];
		assert_counts(0, dropped);
		assert_int_equal(f->sender.queue.count, retried[status]);
		request_queue_clear(&f->sender.queue);
		f->sender.counted_requests = f->sender.queue.dropped_requests;
		f->sender.counted_samples = f->sender.queue.dropped_samples;
		fake_time_ns += 60 * NS_PER_SECOND;
	}
	/* With RetryInfo this status is retried too. */
	fake_answer(&f->transport, RPC_RESOURCE_EXHAUSTED, "no");
	f->transport.answer.retry_delay_ns = NS_PER_SECOND;
	push(f, "request");
	assert_int_equal(otlp_sender_step(&f->sender), 0);
	assert_int_equal(f->sender.queue.count, 1);
}

static void a_retry_has_the_same_bytes_and_waits_longer_each_time(void **state)
{
	struct sender_fixture *f = *state;
	uint64_t full_ns = NS_PER_SECOND;

	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	push(f, "first");
	push(f, "second");
	for (int i = 0; i < 12; i++) {
		uint64_t wait_ns;

		assert_int_equal(otlp_sender_step(&f->sender), 0);
		assert_sent(f, "first");
		assert_int_equal(f->transport.call_count, i + 1);
		wait_ns = otlp_sender_step(&f->sender) - fake_time_ns;
		assert_int_equal(f->transport.call_count, i + 1);
		assert_in_range(wait_ns, full_ns / 2, full_ns);
		fake_time_ns += wait_ns - 1;
		otlp_sender_step(&f->sender);
		assert_int_equal(f->transport.call_count, i + 1);
		fake_time_ns += 1;
		if (full_ns < 32 * NS_PER_SECOND)
			full_ns *= 2;
	}
	fake_answer(&f->transport, RPC_OK, "");
	otlp_sender_step(&f->sender);
	assert_sent(f, "first");
	otlp_sender_step(&f->sender);
	assert_sent(f, "second");
	assert_counts(2, 0);
	assert_int_equal(metrics_read(METRIC_OTLP_RETRIES), 12);
	/* The delay after the next failure is short again. */
	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	push(f, "third");
	otlp_sender_step(&f->sender);
	assert_in_range(otlp_sender_step(&f->sender) - fake_time_ns, NS_PER_SECOND / 2,
			NS_PER_SECOND);
}

static uint64_t wait_after_retry_info(struct sender_fixture *f, uint64_t delay_ns)
{
	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	f->transport.answer.retry_delay_ns = delay_ns;
	push(f, "request");
	fake_time_ns += 3600 * NS_PER_SECOND;
	assert_int_equal(otlp_sender_step(&f->sender), 0);
	return otlp_sender_step(&f->sender) - fake_time_ns;
}

static void the_collectors_delay_is_honoured_within_bounds(void **state)
{
	struct sender_fixture *f = *state;

	assert_in_range(wait_after_retry_info(f, 7 * NS_PER_SECOND), 7 * NS_PER_SECOND,
			8 * NS_PER_SECOND);
	assert_in_range(wait_after_retry_info(f, 100 * NS_PER_SECOND), 100 * NS_PER_SECOND,
			110 * NS_PER_SECOND);
	assert_in_range(wait_after_retry_info(f, 0), NS_PER_SECOND / 2, NS_PER_SECOND);
	assert_in_range(wait_after_retry_info(f, UINT64_MAX - 1), 300 * NS_PER_SECOND,
			330 * NS_PER_SECOND);
}

static void a_partial_success_is_logged_and_not_tried_again(void **state)
{
	struct sender_fixture *f = *state;
	char *log;

	fake_answer(&f->transport, RPC_OK, "too old");
	f->transport.answer.rejected_count = 3;
	for (int i = 0; i < 5; i++) {
		push(f, "request");
		otlp_sender_step(&f->sender);
	}
	assert_int_equal(f->transport.call_count, 5);
	assert_counts(5, 0);
	assert_int_equal(metrics_read(METRIC_OTLP_PROFILES_REJECTED), 15);
	log = take_log(f);
	assert_string_equal(log, "warn: collector host:4317 rejects 3 profiles of a request: "
				 "too old\n");
	free(log);
	/* Only a warning, an hour later. */
	fake_time_ns += 3601 * NS_PER_SECOND;
	fake_answer(&f->transport, RPC_OK, "soon");
	push(f, "request");
	otlp_sender_step(&f->sender);
	log = take_log(f);
	assert_string_equal(log, "warn: collector host:4317 warns: soon (and 4 times before)\n");
	free(log);
}

static void a_refusal_is_logged_once_per_kind(void **state)
{
	struct sender_fixture *f = *state;
	char *log;

	for (int i = 0; i < 10; i++) {
		fake_answer(&f->transport, i % 2 ? RPC_UNAUTHENTICATED : RPC_INVALID_ARGUMENT,
			    "it refuses");
		push(f, "request");
		otlp_sender_step(&f->sender);
	}
	assert_counts(0, 10);
	log = take_log(f);
	assert_int_equal(count_lines(log), 2);
	assert_non_null(strstr(log, "warn: collector host:4317: it refuses; 7 samples are "
				    "dropped\n"));
	free(log);
}

static void a_lost_collector_is_logged_once_and_its_return_too(void **state)
{
	struct sender_fixture *f = *state;
	char *log;

	fake_answer(&f->transport, RPC_UNAVAILABLE, "it refuses the connection");
	push(f, "one");
	push(f, "two");
	push(f, "three");
	for (int i = 0; i < 20; i++) {
		otlp_sender_step(&f->sender);
		fake_time_ns += 40 * NS_PER_SECOND;
	}
	log = take_log(f);
	assert_string_equal(log, "warn: collector host:4317: it refuses the connection; trying "
				 "again, up to 0 MiB of profiles wait\n");
	free(log);
	/* A different reason is logged again. */
	fake_answer(&f->transport, RPC_UNAVAILABLE, "its certificate has expired");
	for (int i = 0; i < 20; i++) {
		otlp_sender_step(&f->sender);
		fake_time_ns += 40 * NS_PER_SECOND;
	}
	log = take_log(f);
	assert_int_equal(count_lines(log), 1);
	assert_non_null(strstr(log, "its certificate has expired"));
	free(log);
	fake_answer(&f->transport, RPC_OK, "");
	for (int i = 0; i < 3; i++)
		otlp_sender_step(&f->sender);
	log = take_log(f);
	assert_string_equal(log, "info: collector host:4317 takes profiles again; 2 more requests "
				 "wait\n");
	free(log);
}

static void a_flickering_collector_does_not_fill_the_log(void **state)
{
	struct sender_fixture *f = *state;
	char *log;

	for (int i = 0; i < 2000; i++) {
		fake_answer(&f->transport, i % 2 ? RPC_OK : RPC_ABORTED, "");
		snprintf(f->transport.answer.message, 32, "number %d", i % 2 ? 0 : i);
		if (i % 2)
			f->transport.answer.message[0] = '\0';
		else
			push(f, "request");
		otlp_sender_step(&f->sender);
		fake_time_ns += NS_PER_SECOND;
	}
	assert_counts(1000, 0);
	log = take_log(f);
	assert_in_range(count_lines(log), 2, 16);
	free(log);
}

/* A day with a collector that never answers: a request every 5 s, a timeout of 10 s. */
static void push_while_hanging(struct fake_transport *transport, uint64_t timeout_ns)
{
	fake_time_ns += timeout_ns;
	fake_answer(transport, RPC_DEADLINE_EXCEEDED, "it does not answer in time");
}

static void a_collector_that_hangs_for_a_day_fills_the_queue_and_no_more(void **state)
{
	struct sender_fixture *f = *state;
	uint64_t begin_ns = fake_time_ns, next_push_ns = fake_time_ns, pushed = 0;
	char text[101];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	f->transport.on_send = push_while_hanging;
	while (fake_time_ns < begin_ns + 86400 * NS_PER_SECOND) {
		uint64_t next_ns = otlp_sender_step(&f->sender);

		while (next_push_ns <= fake_time_ns) {
			push(f, text);
			pushed++;
			next_push_ns += 5 * NS_PER_SECOND;
		}
		assert_in_range(f->sender.queue.bytes, 0, MAX_BYTES);
		assert_in_range(f->sender.queue.count, 0, MAX_REQUESTS);
		if (next_ns)
			fake_time_ns = next_ns < next_push_ns ? next_ns : next_push_ns;
	}
	assert_in_range(pushed, 86400 / 5, 86400 / 5 + 3);
	assert_counts(0, pushed - f->sender.queue.count);
	assert_in_range(f->transport.call_count, 86400 / 43, 86400 / 24);
	/* The collector is back: all waiting requests are delivered. */
	f->transport.on_send = NULL;
	fake_answer(&f->transport, RPC_OK, "");
	fake_time_ns += 60 * NS_PER_SECOND;
	while (otlp_sender_step(&f->sender) != UINT64_MAX)
		;
	assert_counts(MAX_REQUESTS, pushed - MAX_REQUESTS);
}

static void with_random_faults_every_sample_is_taken_or_counted_as_dropped(void **state)
{
	struct sender_fixture *f = *state;
	unsigned int seed = 1;

	for (int i = 0; i < 20000; i++) {
		int status = rand_r(&seed) % (RPC_STATUS_COUNT * 2);

		fake_answer(&f->transport, status < RPC_STATUS_COUNT ? status : RPC_OK, "");
		if (rand_r(&seed) % 4 == 0)
			f->transport.answer.retry_delay_ns = rand_r(&seed);
		push(f, "request");
		otlp_sender_step(&f->sender);
		fake_time_ns += rand_r(&seed) % (4 * NS_PER_SECOND);
	}
	assert_int_equal(metrics_read(METRIC_OTLP_REQUESTS_SENT) +
				 metrics_read(METRIC_OTLP_REQUESTS_DROPPED) + f->sender.queue.count,
			 20000);
	assert_int_equal(metrics_read(METRIC_OTLP_SAMPLES_SENT) +
				 metrics_read(METRIC_OTLP_SAMPLES_DROPPED),
			 SAMPLES_PER_REQUEST * (20000 - f->sender.queue.count));
}

static void draining_sends_what_waits_and_is_done(void **state)
{
	struct sender_fixture *f = *state;

	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	push(f, "one");
	push(f, "two");
	for (int i = 0; i < 8; i++) {
		otlp_sender_step(&f->sender);
		fake_time_ns += 40 * NS_PER_SECOND;
	}
	otlp_sender_step(&f->sender);
	/* The stop begins during a long back-off. */
	fake_answer(&f->transport, RPC_OK, "");
	assert_false(otlp_sender_is_done(&f->sender));
	otlp_sender_drain(&f->sender, fake_time_ns + 5 * NS_PER_SECOND);
	assert_false(otlp_sender_is_done(&f->sender));
	assert_int_equal(otlp_sender_step(&f->sender), 0);
	assert_true(f->transport.timeout_ns == 5 * NS_PER_SECOND);
	assert_int_equal(otlp_sender_step(&f->sender), 0);
	assert_true(otlp_sender_is_done(&f->sender));
	assert_counts(2, 0);
}

static void draining_gives_up_at_its_deadline_and_counts(void **state)
{
	struct sender_fixture *f = *state;
	uint64_t deadline_ns = fake_time_ns + 5 * NS_PER_SECOND;
	char *log;

	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	push(f, "one");
	push(f, "two");
	otlp_sender_drain(&f->sender, deadline_ns);
	while (!otlp_sender_is_done(&f->sender)) {
		uint64_t next_ns = otlp_sender_step(&f->sender);

		if (next_ns && next_ns != UINT64_MAX)
			fake_time_ns = next_ns;
		assert_in_range(fake_time_ns, 0, deadline_ns);
	}
	assert_in_range(f->transport.call_count, 4, 12);
	assert_counts(0, 2);
	assert_int_equal(metrics_read(METRIC_OTLP_RETRIES), f->transport.call_count - 1);
	log = take_log(f);
	assert_string_equal(log, "warn: collector host:4317: no; trying again until the stop\n");
	free(log);
}

static void the_first_try_in_the_drain_is_a_repeat_too(void **state)
{
	struct sender_fixture *f = *state;

	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	push(f, "one");
	otlp_sender_step(&f->sender);
	fake_answer(&f->transport, RPC_OK, "");
	otlp_sender_drain(&f->sender, fake_time_ns + NS_PER_SECOND);
	otlp_sender_step(&f->sender);
	assert_counts(1, 0);
	assert_int_equal(metrics_read(METRIC_OTLP_RETRIES), 1);
}

static void hang_until_the_stop(struct fake_transport *transport, uint64_t timeout_ns)
{
	fake_time_ns += timeout_ns;
	fake_answer(transport, RPC_CANCELLED, "the agent cancelled the call");
}

static void a_call_that_the_stop_cuts_short_is_one_line(void **state)
{
	struct sender_fixture *f = *state;
	char *log;

	f->transport.on_send = hang_until_the_stop;
	push(f, "one");
	otlp_sender_drain(&f->sender, fake_time_ns + NS_PER_SECOND);
	while (!otlp_sender_is_done(&f->sender))
		otlp_sender_step(&f->sender);
	log = take_log(f);
	assert_string_equal(log, "warn: collector host:4317: no answer until the stop; 7 samples "
				 "are dropped\n");
	free(log);
}

static void an_outage_after_much_flickering_is_logged_in_the_end(void **state)
{
	struct sender_fixture *f = *state;
	char *log;

	for (int i = 0; i < 20; i++) {
		fake_answer(&f->transport, i % 2 ? RPC_OK : RPC_UNAVAILABLE, i % 2 ? "" : "gone");
		push(f, "request");
		otlp_sender_step(&f->sender);
		fake_time_ns += NS_PER_SECOND;
		while (i % 2 && otlp_sender_step(&f->sender) != UINT64_MAX)
			;
	}
	free(take_log(f));
	fake_answer(&f->transport, RPC_UNAVAILABLE, "gone");
	push(f, "request");
	for (int i = 0; i < 60; i++) {
		otlp_sender_step(&f->sender);
		fake_time_ns += 40 * NS_PER_SECOND;
	}
	log = take_log(f);
	assert_int_equal(count_lines(log), 1);
	assert_non_null(strstr(log, "gone; trying again"));
	free(log);
}

static void a_full_queue_is_logged_once_in_a_while(void **state)
{
	struct sender_fixture *f = *state;
	char *log;

	for (int i = 0; i < 3 * MAX_REQUESTS; i++)
		push(f, "request");
	assert_counts(0, 2 * MAX_REQUESTS);
	log = take_log(f);
	assert_string_equal(log, "warn: collector host:4317: more than 0 MiB of profiles wait; the "
				 "oldest are dropped, 7 samples so far\n");
	free(log);
}

static void who_pushes_waits_for_room_unless_calls_fail(void **state)
{
	const struct otlp_request one = { .byte_count = 7 }, huge = { .byte_count = 2 * MAX_BYTES };
	struct sender_fixture *f = *state;

	assert_false(otlp_sender_must_wait(&f->sender, &huge));
	for (int i = 0; i < MAX_REQUESTS; i++) {
		assert_false(otlp_sender_must_wait(&f->sender, &one));
		push(f, "request");
	}
	assert_true(otlp_sender_must_wait(&f->sender, &one));
	otlp_sender_step(&f->sender);
	assert_false(otlp_sender_must_wait(&f->sender, &one));
	push(f, "request");
	fake_answer(&f->transport, RPC_UNAVAILABLE, "no");
	otlp_sender_step(&f->sender);
	assert_false(otlp_sender_must_wait(&f->sender, &one));
}

static void what_waits_at_the_end_is_counted(void **state)
{
	struct sender_fixture *f = *state;
	struct otlp_sender sender;

	assert_int_equal(otlp_sender_init(&sender, &f->sender.config), 0);
	otlp_sender_push(&sender, &(struct otlp_request){ .bytes = calloc(1, 1),
							  .byte_count = 1,
							  .sample_count = SAMPLES_PER_REQUEST });
	otlp_sender_deinit(&sender);
	assert_counts(0, 1);
}

#define sender_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		sender_test(requests_are_sent_oldest_first_and_once),
		sender_test(only_some_failures_are_tried_again),
		sender_test(a_retry_has_the_same_bytes_and_waits_longer_each_time),
		sender_test(the_collectors_delay_is_honoured_within_bounds),
		sender_test(a_partial_success_is_logged_and_not_tried_again),
		sender_test(a_refusal_is_logged_once_per_kind),
		sender_test(a_lost_collector_is_logged_once_and_its_return_too),
		sender_test(a_flickering_collector_does_not_fill_the_log),
		sender_test(a_collector_that_hangs_for_a_day_fills_the_queue_and_no_more),
		sender_test(with_random_faults_every_sample_is_taken_or_counted_as_dropped),
		sender_test(draining_sends_what_waits_and_is_done),
		sender_test(draining_gives_up_at_its_deadline_and_counts),
		sender_test(the_first_try_in_the_drain_is_a_repeat_too),
		sender_test(a_call_that_the_stop_cuts_short_is_one_line),
		sender_test(an_outage_after_much_flickering_is_logged_in_the_end),
		sender_test(a_full_queue_is_logged_once_in_a_while),
		sender_test(who_pushes_waits_for_room_unless_calls_fail),
		sender_test(what_waits_at_the_end_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
