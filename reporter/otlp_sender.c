// SPDX-License-Identifier: Apache-2.0
#include "reporter/otlp_sender.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/random_state.h"
#include "lib/model/metrics.h"

enum {
	/* How many times the back-off doubles. */
	BACK_OFF_MAX_SHIFT = 5,
	LOSS_LOG_BURST = 4,
	NAME_MAX_BYTES = 128,
};

#define FIRST_BACK_OFF_NS (1 * NS_PER_SECOND)
#define FIRST_DRAIN_BACK_OFF_NS (250 * NS_PER_MS)
/* Limit of the delay that the collector can ask for. */
#define RETRY_DELAY_MAX_NS (300 * NS_PER_SECOND)
#define LOSS_LOG_INTERVAL_NS (600 * NS_PER_SECOND)
#define REFUSAL_LOG_INTERVAL_NS (3600 * NS_PER_SECOND)

struct signal {
	const char *method;
	/** Words for the log: the contents of a request, and their items. */
	const char *things;
	const char *items;
	enum metric requests_sent;
	enum metric requests_dropped;
	enum metric items_sent;
	enum metric items_dropped;
	enum metric rejected;
};

static const struct signal signals[] = {
	[OTLP_PROFILES] = {
		.method = OTLP_PROFILES_METHOD,
		.things = "profiles",
		.items = "samples",
		.requests_sent = METRIC_OTLP_REQUESTS_SENT,
		.requests_dropped = METRIC_OTLP_REQUESTS_DROPPED,
		.items_sent = METRIC_OTLP_SAMPLES_SENT,
		.items_dropped = METRIC_OTLP_SAMPLES_DROPPED,
		.rejected = METRIC_OTLP_PROFILES_REJECTED,
	},
	[OTLP_METRICS] = {
		.method = OTLP_METRICS_METHOD,
		.things = "metrics",
		.items = "data points",
		.requests_sent = METRIC_OTLP_METRIC_REQUESTS_SENT,
		.requests_dropped = METRIC_OTLP_METRIC_REQUESTS_DROPPED,
		.items_sent = METRIC_OTLP_POINTS_SENT,
		.items_dropped = METRIC_OTLP_POINTS_DROPPED,
		.rejected = METRIC_OTLP_POINTS_REJECTED,
	},
};

static const struct signal *signal_of(const struct otlp_sender *sender)
{
	return &signals[sender->config.signal];
}

uint64_t otlp_sender_now_ns(const struct otlp_sender *sender)
{
	return sender->config.now_ns ? sender->config.now_ns() : clock_monotonic_ns();
}

int otlp_sender_init(struct otlp_sender *sender, const struct otlp_sender_config *config)
{
	struct otlp_sender made = {
		.config = *config,
		.loss_limit = { .interval_ns = LOSS_LOG_INTERVAL_NS, .burst = LOSS_LOG_BURST },
		.full_limit = { .interval_ns = LOSS_LOG_INTERVAL_NS, .burst = 1 },
		.partial_limit = { .interval_ns = REFUSAL_LOG_INTERVAL_NS, .burst = 1 },
	};
	int error;

	error = request_queue_init(
		&made.queue,
		config->max_requests ? config->max_requests : OTLP_SENDER_DEFAULT_MAX_REQUESTS,
		config->max_bytes ? config->max_bytes : OTLP_SENDER_DEFAULT_MAX_BYTES);
	if (error)
		return error;
	for (int status = 0; status < RPC_STATUS_COUNT; status++)
		made.refusal_limits[status] = (struct log_limit){
			.interval_ns = REFUSAL_LOG_INTERVAL_NS,
			.burst = 1,
		};
	/* The agents of a fleet must not send at the same moments. */
	random_state_init(made.random_state);
	*sender = made;
	pthread_mutex_init(&sender->lock, NULL);
	return 0;
}

/* Adds the requests that the queue has dropped to the metrics, and sets the queue's length there. */
static void count_queue(struct otlp_sender *sender)
{
	struct request_queue *queue = &sender->queue;

	metrics_add(signal_of(sender)->requests_dropped,
		    queue->dropped_requests - sender->counted_requests);
	metrics_add(signal_of(sender)->items_dropped,
		    queue->dropped_samples - sender->counted_samples);
	if (sender->config.signal == OTLP_PROFILES) {
		metrics_set(METRIC_OTLP_REQUESTS_WAITING, queue->count + queue->is_taken);
		metrics_set(METRIC_OTLP_WAITING, queue->bytes);
	}
	sender->counted_requests = queue->dropped_requests;
	sender->counted_samples = queue->dropped_samples;
}

void otlp_sender_deinit(struct otlp_sender *sender)
{
	request_queue_clear(&sender->queue);
	count_queue(sender);
	request_queue_deinit(&sender->queue);
	pthread_mutex_destroy(&sender->lock);
}

void otlp_sender_push(struct otlp_sender *sender, struct otlp_request *request)
{
	uint64_t dropped_before;

	pthread_mutex_lock(&sender->lock);
	dropped_before = sender->queue.dropped_requests;
	request_queue_push(&sender->queue, request);
	count_queue(sender);
	if (sender->queue.dropped_requests != dropped_before &&
	    log_limit_allow(&sender->full_limit, otlp_sender_now_ns(sender), NULL))
		log_warn("collector %s: more than %zu MiB of %s wait; the oldest are dropped, "
			 "%" PRIu64 " %s so far",
			 sender->config.collector, sender->queue.max_bytes >> 20,
			 signal_of(sender)->things, sender->queue.dropped_samples,
			 signal_of(sender)->items);
	pthread_mutex_unlock(&sender->lock);
}

bool otlp_sender_must_wait(struct otlp_sender *sender, const struct otlp_request *request)
{
	const struct request_queue *queue = &sender->queue;
	bool must_wait;

	pthread_mutex_lock(&sender->lock);
	must_wait = !sender->failure_count && (queue->count || queue->is_taken) &&
		    !request_queue_has_room(queue, request->byte_count);
	pthread_mutex_unlock(&sender->lock);
	return must_wait;
}

void otlp_sender_drain(struct otlp_sender *sender, uint64_t deadline_ns)
{
	pthread_mutex_lock(&sender->lock);
	sender->is_draining = true;
	sender->drain_deadline_ns = deadline_ns;
	sender->failure_count = 0;
	sender->retry_at_ns = 0;
	pthread_mutex_unlock(&sender->lock);
}

bool otlp_sender_is_done(struct otlp_sender *sender)
{
	bool is_done;

	pthread_mutex_lock(&sender->lock);
	is_done = sender->is_draining && !sender->queue.count && !sender->queue.is_taken;
	pthread_mutex_unlock(&sender->lock);
	return is_done;
}

static bool is_retryable(const struct transport_answer *answer)
{
	switch (answer->status) {
	case RPC_CANCELLED:
	case RPC_DEADLINE_EXCEEDED:
	case RPC_ABORTED:
	case RPC_OUT_OF_RANGE:
	case RPC_UNAVAILABLE:
	case RPC_DATA_LOSS:
		return true;
	case RPC_RESOURCE_EXHAUSTED:
		return answer->retry_delay_ns != UINT64_MAX;
	default:
		return false;
	}
}

/* A random time from half of @ns to @ns. */
static uint64_t spread_down(struct otlp_sender *sender, uint64_t ns)
{
	uint64_t half_ns = ns / 2;

	return half_ns + (uint64_t)((double)half_ns * erand48(sender->random_state));
}

/*
 * The delay after failure_count failures. If the collector asks for no delay, ours is the shortest
 * back-off, so that it cannot make us loop.
 */
static uint64_t next_delay_ns(struct otlp_sender *sender, uint64_t wanted_ns)
{
	uint64_t first_ns = sender->is_draining ? FIRST_DRAIN_BACK_OFF_NS : FIRST_BACK_OFF_NS;
	uint32_t shift = sender->failure_count - 1;

	if (wanted_ns == UINT64_MAX)
		return spread_down(sender,
				   first_ns << (shift < BACK_OFF_MAX_SHIFT ? shift :
									     BACK_OFF_MAX_SHIFT));
	if (wanted_ns > RETRY_DELAY_MAX_NS)
		wanted_ns = RETRY_DELAY_MAX_NS;
	if (wanted_ns < first_ns / 2)
		wanted_ns = first_ns / 2;
	return wanted_ns + (uint64_t)((double)wanted_ns / 10 * erand48(sender->random_state));
}

/* " (and N such before)", for suppressed lines. */
static const char *held_back_text(uint64_t held_back, char *text, size_t bytes)
{
	text[0] = '\0';
	if (held_back)
		snprintf(text, bytes, " (and %" PRIu64 " times before)", held_back);
	return text;
}

/* Logs once when the collector is lost, and again when the reason changes. */
static void log_loss(struct otlp_sender *sender, const struct transport_answer *answer)
{
	bool is_news = !sender->is_loss_logged || strcmp(sender->logged_loss, answer->message);

	log_debug("collector %s: status %d, %s", sender->config.collector, answer->status,
		  answer->message);
	if (!is_news || !log_limit_allow(&sender->loss_limit, otlp_sender_now_ns(sender), NULL))
		return;
	sender->is_loss_logged = true;
	memcpy(sender->logged_loss, answer->message, sizeof(sender->logged_loss));
	if (sender->is_draining)
		log_warn("collector %s: %s; trying again until the stop", sender->config.collector,
			 answer->message);
	else
		log_warn("collector %s: %s; trying again, up to %zu MiB of %s wait",
			 sender->config.collector, answer->message, sender->queue.max_bytes >> 20,
			 signal_of(sender)->things);
}

static void log_return(struct otlp_sender *sender)
{
	if (sender->is_loss_logged)
		log_info("collector %s takes %s again; %" PRIu32 " more requests wait",
			 sender->config.collector, signal_of(sender)->things, sender->queue.count);
	sender->is_loss_logged = false;
}

static void log_partial_success(struct otlp_sender *sender, const struct transport_answer *answer)
{
	char before[64];
	uint64_t held_back;

	if (!answer->rejected_count && !answer->message[0])
		return;
	if (!log_limit_allow(&sender->partial_limit, otlp_sender_now_ns(sender), &held_back))
		return;
	held_back_text(held_back, before, sizeof(before));
	if (answer->rejected_count)
		log_warn("collector %s rejects %" PRId64 " %s of a request: %s%s",
			 sender->config.collector, answer->rejected_count,
			 sender->config.signal == OTLP_PROFILES ? "profiles" : "data points",
			 answer->message, before);
	else
		log_warn("collector %s warns: %s%s", sender->config.collector, answer->message,
			 before);
}

static void log_refusal(struct otlp_sender *sender, const struct transport_answer *answer,
			const struct otlp_request *request)
{
	char before[64];
	uint64_t held_back;

	if (!log_limit_allow(&sender->refusal_limits[answer->status], otlp_sender_now_ns(sender),
			     &held_back))
		return;
	log_warn("collector %s: %s; %" PRIu64 " %s are dropped%s", sender->config.collector,
		 answer->message, request->sample_count, signal_of(sender)->items,
		 held_back_text(held_back, before, sizeof(before)));
}

static bool is_past_stop(const struct otlp_sender *sender)
{
	return sender->is_draining && otlp_sender_now_ns(sender) >= sender->drain_deadline_ns;
}

/* Retries @request, if there is time left. */
static void handle_failure(struct otlp_sender *sender, struct otlp_request *request,
			   const struct transport_answer *answer)
{
	bool is_cut_short = is_past_stop(sender) && (answer->status == RPC_CANCELLED ||
						     answer->status == RPC_DEADLINE_EXCEEDED);

	sender->failure_count++;
	sender->retry_at_ns =
		otlp_sender_now_ns(sender) + next_delay_ns(sender, answer->retry_delay_ns);
	if (!is_cut_short)
		memcpy(sender->loss, answer->message, sizeof(sender->loss));
	if (!is_past_stop(sender))
		log_loss(sender, answer);
	request_queue_put_back(&sender->queue, request);
}

static void handle_answer(struct otlp_sender *sender, struct otlp_request *request,
			  const struct transport_answer *answer)
{
	if (is_retryable(answer)) {
		handle_failure(sender, request, answer);
		return;
	}
	sender->loss[0] = '\0';
	sender->failure_count = 0;
	sender->retry_at_ns = 0;
	if (answer->status == RPC_OK) {
		metrics_add(signal_of(sender)->requests_sent, 1);
		metrics_add(signal_of(sender)->items_sent, request->sample_count);
		metrics_add(signal_of(sender)->rejected, answer->rejected_count);
		metrics_add(METRIC_OTLP_SENT, request->byte_count);
		log_partial_success(sender, answer);
		log_return(sender);
	} else {
		metrics_add(signal_of(sender)->requests_dropped, 1);
		metrics_add(signal_of(sender)->items_dropped, request->sample_count);
		log_refusal(sender, answer, request);
	}
	request_queue_release(&sender->queue, request);
}

/* Sends @request, which was taken from the queue. Called without the lock. */
static void send_request(struct otlp_sender *sender, struct otlp_request *request,
			 uint64_t timeout_ns)
{
	struct transport *transport = sender->config.transport;
	struct transport_answer answer;

	if (request->try_count++)
		metrics_add(METRIC_OTLP_RETRIES, 1);
	pthread_mutex_unlock(&sender->lock);
	transport->ops->send(transport, signal_of(sender)->method, request->bytes,
			     request->byte_count, timeout_ns, &answer);
	pthread_mutex_lock(&sender->lock);
	handle_answer(sender, request, &answer);
	count_queue(sender);
}

/*
 * The deadline of the stop has passed. The log has the loss already; the summary has the samples.
 */
static void give_up(struct otlp_sender *sender)
{
	uint64_t dropped_before = sender->queue.dropped_samples;

	if (!sender->queue.count)
		return;
	request_queue_clear(&sender->queue);
	count_queue(sender);
	if (sender->is_loss_logged)
		return;
	log_warn("collector %s: %s; %" PRIu64 " %s are dropped", sender->config.collector,
		 sender->loss[0] ? sender->loss : "no answer until the stop",
		 sender->queue.dropped_samples - dropped_before, signal_of(sender)->items);
}

static uint64_t step(struct otlp_sender *sender)
{
	uint64_t time_ns = otlp_sender_now_ns(sender);
	uint64_t left_ns = sender->drain_deadline_ns - time_ns;
	uint64_t timeout_ns = sender->config.call_timeout_ns;
	struct otlp_request request;

	if (sender->is_draining && time_ns >= sender->drain_deadline_ns) {
		give_up(sender);
		return UINT64_MAX;
	}
	if (!sender->queue.count)
		return UINT64_MAX;
	if (time_ns < sender->retry_at_ns)
		return sender->is_draining && sender->drain_deadline_ns < sender->retry_at_ns ?
			       sender->drain_deadline_ns :
			       sender->retry_at_ns;
	request_queue_take(&sender->queue, &request);
	if (sender->is_draining && left_ns < timeout_ns)
		timeout_ns = left_ns;
	send_request(sender, &request, timeout_ns);
	return 0;
}

uint64_t otlp_sender_step(struct otlp_sender *sender)
{
	uint64_t next_ns;

	pthread_mutex_lock(&sender->lock);
	next_ns = step(sender);
	pthread_mutex_unlock(&sender->lock);
	return next_ns;
}
