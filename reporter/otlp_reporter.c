// SPDX-License-Identifier: Apache-2.0
#include "reporter/otlp_reporter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/monotonic_condition.h"
#include "lib/base/random_state.h"
#include "lib/model/metrics.h"
#include "reporter/sample_store.h"

/*
 * Owner of the interval's fields: the report thread. The comments name the owners of the other
 * fields.
 */
struct otlp_reporter {
	struct otlp_reporter_config config;
	struct sample_store *store;
	struct otlp_sender sender;
	struct metrics_reporter metrics;
	uint64_t window_start_ns;
	uint64_t next_tick_ns;
	unsigned short random_state[3];

	/* Guards the fields below. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Incremented by everything that a waiting thread must react to. */
	uint64_t change_count;
	bool is_stopping;
	/* Set by the store: an interval that fills half of it ends early. */
	bool is_half_full;
	uint64_t deadline_ns;
	bool is_sending_done;

	/* Owned by the agent's thread. */
	pthread_t report_thread;
	pthread_t send_thread;
	bool has_report_thread;
	bool has_send_thread;
	bool is_rest_counted;
};

static uint64_t next_interval_ns(struct otlp_reporter *reporter)
{
	return random_interval_ns(reporter->random_state, reporter->config.interval_ns,
				  reporter->config.jitter);
}

static void begin_interval(struct otlp_reporter *reporter)
{
	reporter->window_start_ns = otlp_sender_now_ns(&reporter->sender);
	reporter->next_tick_ns = reporter->window_start_ns + next_interval_ns(reporter);
}

static void init_locks(struct otlp_reporter *reporter)
{
	pthread_mutex_init(&reporter->lock, NULL);
	monotonic_condition_init(&reporter->changed);
}

static void note_half_full(void *context)
{
	struct otlp_reporter *reporter = context;

	pthread_mutex_lock(&reporter->lock);
	reporter->is_half_full = true;
	pthread_cond_broadcast(&reporter->changed);
	pthread_mutex_unlock(&reporter->lock);
}

static int init_senders(struct otlp_reporter *reporter)
{
	const struct otlp_reporter_config *config = &reporter->config;
	const struct metrics_reporter_config metrics = {
		.sender = config->sender,
		.otlp = config->otlp,
		.interval_ns = config->metrics_interval_ns,
		.jitter = config->jitter,
		.start_ns = config->start_ns,
		.fill = config->fill_metrics,
		.context = config->metrics_context,
	};
	int error = otlp_sender_init(&reporter->sender, &config->sender);

	if (error)
		return error;
	error = metrics_reporter_init(&reporter->metrics, &metrics);
	if (error)
		otlp_sender_deinit(&reporter->sender);
	return error;
}

int otlp_reporter_create(const struct otlp_reporter_config *config, struct otlp_reporter **created)
{
	struct otlp_reporter *reporter = calloc(1, sizeof(*reporter));
	const struct sample_store_options store_options = {
		.max_bytes = config->store_max_bytes ? config->store_max_bytes :
						       OTLP_STORE_MAX_BYTES,
		.keeps_times = true,
		.keeps_cpus = config->keeps_cpus,
		.unstored_metric = METRIC_OTLP_SAMPLES_DROPPED,
		.half_full = note_half_full,
		.context = reporter,
	};
	int error;

	if (!reporter)
		return fail(-ENOMEM, "no memory for the reporter");
	reporter->config = *config;
	error = init_senders(reporter);
	if (error) {
		free(reporter);
		return error;
	}
	init_locks(reporter);
	random_state_init(reporter->random_state);
	begin_interval(reporter);
	reporter->store = sample_store_create(&store_options);
	if (!reporter->store) {
		otlp_reporter_destroy(reporter);
		return fail(-ENOMEM, "no memory for the samples to send");
	}
	*created = reporter;
	return 0;
}

struct reporter *otlp_reporter_door(struct otlp_reporter *reporter)
{
	return sample_store_reporter(reporter->store);
}

static void wake_threads(struct otlp_reporter *reporter)
{
	pthread_mutex_lock(&reporter->lock);
	reporter->change_count++;
	pthread_cond_broadcast(&reporter->changed);
	pthread_mutex_unlock(&reporter->lock);
}

/* State of building an interval's requests. */
struct handed_over {
	struct otlp_reporter *reporter;
	uint64_t sample_count;
};

/* Called with the lock held; false after @until_ns. */
static bool wait_for_change(struct otlp_reporter *reporter, uint64_t until_ns)
{
	return monotonic_condition_wait(&reporter->changed, &reporter->lock, until_ns);
}

/*
 * Requests are built far faster than they are sent. The requests of one interval must not push each
 * other out while the collector takes them. -ETIMEDOUT: the deadline of the stop has passed.
 */
static int wait_for_room(struct otlp_reporter *reporter, const struct otlp_request *request)
{
	uint64_t until_ns =
		otlp_sender_now_ns(&reporter->sender) + reporter->config.sender.call_timeout_ns;
	bool is_over;

	pthread_mutex_lock(&reporter->lock);
	while (reporter->has_send_thread && otlp_sender_must_wait(&reporter->sender, request)) {
		if (reporter->is_stopping && reporter->deadline_ns < until_ns)
			until_ns = reporter->deadline_ns;
		if (!wait_for_change(reporter, until_ns))
			break;
	}
	is_over = reporter->is_stopping &&
		  otlp_sender_now_ns(&reporter->sender) >= reporter->deadline_ns;
	pthread_mutex_unlock(&reporter->lock);
	return is_over ? -ETIMEDOUT : 0;
}

static int hand_over(void *context, struct otlp_request *request)
{
	struct handed_over *handed = context;
	int error = wait_for_room(handed->reporter, request);

	if (error) {
		free(request->bytes);
		return error;
	}
	handed->sample_count += request->sample_count;
	otlp_sender_push(&handed->reporter->sender, request);
	wake_threads(handed->reporter);
	return 0;
}

/*
 * Empties the store into requests for the sender. Samples that were queued for long can be older
 * than the interval; their profiles then begin earlier. -ENOMEM: the samples are still in the
 * store.
 */
static int collect(struct otlp_reporter *reporter, uint64_t end_ns)
{
	_cleanup_(sample_snapshot_deinit) struct sample_snapshot snapshot = { 0 };
	struct handed_over handed = { .reporter = reporter };
	struct otlp_window window = {
		.start_ns = reporter->window_start_ns,
		.end_ns = end_ns,
		.realtime_offset_ns = clock_realtime_offset_ns(),
	};
	uint64_t sample_count = 0;
	int error = sample_store_take(reporter->store, &snapshot);

	if (error)
		return error;
	reporter->window_start_ns = end_ns;
	if (!snapshot.count)
		return 0;
	if (reporter->config.taken)
		reporter->config.taken(reporter->config.context, &snapshot);
	error = otlp_build_requests(&snapshot, &window, reporter->config.otlp, hand_over, &handed);
	if (error) {
		for (size_t i = 0; i < snapshot.count; i++)
			if (!origin_is_weight(snapshot.samples[i].sample.origin))
				sample_count += snapshot.samples[i].count;
		metrics_add(METRIC_OTLP_SAMPLES_DROPPED, sample_count - handed.sample_count);
		log_warn("%s; %llu samples are dropped",
			 error == -ETIMEDOUT ? "the stop came before everything was sent" :
					       "no memory to build a request",
			 (unsigned long long)(sample_count - handed.sample_count));
	}
	return 0;
}

/* Counts the samples that are left in the store at the end, which are never sent. */
static void count_rest(struct otlp_reporter *reporter)
{
	uint64_t count = reporter->is_rest_counted ? 0 : sample_store_count(reporter->store);

	reporter->is_rest_counted = true;
	if (!count)
		return;
	metrics_add(METRIC_OTLP_SAMPLES_DROPPED, count);
	log_warn("%llu samples could not be taken out of the store; they are dropped",
		 (unsigned long long)count);
}

static bool take_half_full(struct otlp_reporter *reporter)
{
	bool is_half_full;

	pthread_mutex_lock(&reporter->lock);
	is_half_full = reporter->is_half_full;
	reporter->is_half_full = false;
	pthread_mutex_unlock(&reporter->lock);
	return is_half_full;
}

/* Makes a request with metrics if it is time for it. Returns the time of the next tick. */
static uint64_t tick_metrics(struct otlp_reporter *reporter)
{
	uint64_t due_ns = reporter->metrics.next_tick_ns;
	uint64_t next_ns = metrics_reporter_tick(&reporter->metrics);

	if (next_ns != due_ns)
		wake_threads(reporter);
	return next_ns < reporter->next_tick_ns ? next_ns : reporter->next_tick_ns;
}

uint64_t otlp_reporter_tick(struct otlp_reporter *reporter)
{
	uint64_t time_ns = otlp_sender_now_ns(&reporter->sender);

	if (take_half_full(reporter) || time_ns >= reporter->next_tick_ns) {
		if (collect(reporter, time_ns))
			log_warn("no memory to send the samples of this interval; they go with the "
				 "next");
		reporter->next_tick_ns = time_ns + next_interval_ns(reporter);
	}
	return tick_metrics(reporter);
}

uint64_t otlp_reporter_send(struct otlp_reporter *reporter)
{
	uint64_t profiles_ns = otlp_sender_step(&reporter->sender);
	uint64_t metrics_ns = otlp_sender_step(&reporter->metrics.sender);

	return profiles_ns < metrics_ns ? profiles_ns : metrics_ns;
}

static bool is_sending_done(struct otlp_reporter *reporter)
{
	return otlp_sender_is_done(&reporter->sender) &&
	       otlp_sender_is_done(&reporter->metrics.sender);
}

/* From now on nothing more is pushed. */
static void drain_senders(struct otlp_reporter *reporter, uint64_t deadline_ns)
{
	otlp_sender_drain(&reporter->sender, deadline_ns);
	otlp_sender_drain(&reporter->metrics.sender, deadline_ns);
}

static void *run_report_thread(void *argument)
{
	struct otlp_reporter *reporter = argument;
	uint64_t deadline_ns;

	pthread_setname_np(pthread_self(), "report");
	pthread_mutex_lock(&reporter->lock);
	while (!reporter->is_stopping) {
		uint64_t next_ns;

		pthread_mutex_unlock(&reporter->lock);
		next_ns = otlp_reporter_tick(reporter);
		pthread_mutex_lock(&reporter->lock);
		while (!reporter->is_stopping && !reporter->is_half_full &&
		       wait_for_change(reporter, next_ns))
			;
	}
	deadline_ns = reporter->deadline_ns;
	pthread_mutex_unlock(&reporter->lock);
	collect(reporter, otlp_sender_now_ns(&reporter->sender));
	metrics_reporter_send_now(&reporter->metrics);
	drain_senders(reporter, deadline_ns);
	wake_threads(reporter);
	return NULL;
}

static void *run_send_thread(void *argument)
{
	struct otlp_reporter *reporter = argument;

	pthread_setname_np(pthread_self(), "send");
	while (!is_sending_done(reporter)) {
		uint64_t seen, next_ns;

		pthread_mutex_lock(&reporter->lock);
		seen = reporter->change_count;
		pthread_mutex_unlock(&reporter->lock);
		next_ns = otlp_reporter_send(reporter);
		/*
		 * There may be room now. change_count stays: this thread itself needs no wake-up.
		 */
		pthread_mutex_lock(&reporter->lock);
		pthread_cond_broadcast(&reporter->changed);
		pthread_mutex_unlock(&reporter->lock);
		if (!next_ns || is_sending_done(reporter))
			continue;
		pthread_mutex_lock(&reporter->lock);
		while (reporter->change_count == seen && wait_for_change(reporter, next_ns))
			;
		pthread_mutex_unlock(&reporter->lock);
	}
	pthread_mutex_lock(&reporter->lock);
	reporter->is_sending_done = true;
	pthread_cond_broadcast(&reporter->changed);
	pthread_mutex_unlock(&reporter->lock);
	return NULL;
}

int otlp_reporter_start(struct otlp_reporter *reporter)
{
	int error;

	begin_interval(reporter);
	metrics_reporter_begin(&reporter->metrics);
	error = pthread_create(&reporter->send_thread, NULL, run_send_thread, reporter);
	if (error)
		return fail_errno(-error, "cannot start the send thread");
	reporter->has_send_thread = true;
	error = pthread_create(&reporter->report_thread, NULL, run_report_thread, reporter);
	if (error)
		return fail_errno(-error, "cannot start the report thread");
	reporter->has_report_thread = true;
	return 0;
}

void otlp_reporter_begin_stop(struct otlp_reporter *reporter, uint64_t deadline_ns)
{
	pthread_mutex_lock(&reporter->lock);
	reporter->is_stopping = true;
	reporter->deadline_ns = deadline_ns;
	reporter->change_count++;
	pthread_cond_broadcast(&reporter->changed);
	pthread_mutex_unlock(&reporter->lock);
}

/* A call that began before the stop has its own timeout: it is cancelled at the deadline. */
static void cancel_at_deadline(struct otlp_reporter *reporter)
{
	struct transport *transport = reporter->config.sender.transport;

	pthread_mutex_lock(&reporter->lock);
	while (!reporter->is_sending_done && wait_for_change(reporter, reporter->deadline_ns))
		;
	if (!reporter->is_sending_done)
		transport->ops->cancel(transport);
	pthread_mutex_unlock(&reporter->lock);
}

void otlp_reporter_finish(struct otlp_reporter *reporter)
{
	if (reporter->has_report_thread)
		pthread_join(reporter->report_thread, NULL);
	else
		drain_senders(reporter, reporter->deadline_ns);
	wake_threads(reporter);
	reporter->has_report_thread = false;
	count_rest(reporter);
	if (!reporter->has_send_thread)
		return;
	cancel_at_deadline(reporter);
	pthread_join(reporter->send_thread, NULL);
	reporter->has_send_thread = false;
}

void otlp_reporter_destroy(struct otlp_reporter *reporter)
{
	if (!reporter)
		return;
	if (reporter->has_report_thread || reporter->has_send_thread) {
		otlp_reporter_begin_stop(reporter, 0);
		otlp_reporter_finish(reporter);
	}
	if (reporter->store)
		count_rest(reporter);
	metrics_reporter_deinit(&reporter->metrics);
	otlp_sender_deinit(&reporter->sender);
	sample_store_destroy(reporter->store);
	pthread_cond_destroy(&reporter->changed);
	pthread_mutex_destroy(&reporter->lock);
	free(reporter);
}
