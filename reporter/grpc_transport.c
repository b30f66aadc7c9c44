// SPDX-License-Identifier: Apache-2.0
/*
 * Makes one call at a time on its own completion queue. A thread waits on the queue, so that a call
 * can be leaked together with the queue. This is needed because the C core ends a cancelled call
 * only when its written bytes are taken (20 s later if the collector reads nothing), and does not
 * return from the queue while a collector floods it with frames.
 */
#include "reporter/grpc_transport.h"

#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/monotonic_condition.h"
#include "reporter/grpc_answer.h"
#include "reporter/grpc_channel.h"
#include "reporter/grpc_library.h"
#include "reporter/otlp_answer.h"

/* How long a stop waits for a cancelled call, or for the end of the queue. */
#define CANCEL_TIMEOUT_NS (100 * NS_PER_MS)

/* Owner: the sending thread. The lock guards what cancel() and the queue's thread also use. */
struct grpc_transport {
	struct transport base;
	const struct grpc_transport_options *options;
	grpc_completion_queue *queue;
	/* NULL: the next call opens it. */
	grpc_channel *channel;
	/* grpc_channel_files_state() when the channel was opened. */
	uint64_t files_state;
	pthread_t queue_thread;
	bool has_queue_thread;
	/* The queue's thread has not ended the last call, so nothing may be freed. */
	bool is_left;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* The current call. */
	grpc_call *call;
	bool is_cancelled;
	/* The time until which a cancelled call may end. */
	uint64_t give_up_ns;
	/* A batch is in progress, and the queue's thread waits for it. */
	bool has_batch;
	bool is_ending;
	bool is_queue_ended;
};

/* The state of one call until it has ended; call_destroy() frees all of it. */
struct call_state {
	grpc_call *call;
	grpc_metadata headers[TRANSPORT_HEADER_MAX_COUNT];
	size_t header_count;
	grpc_byte_buffer *request;
	grpc_byte_buffer *response;
	grpc_metadata_array initial_metadata;
	grpc_metadata_array trailing_metadata;
	grpc_status_code status;
	grpc_slice details;
};

static void call_destroy(struct call_state **call)
{
	struct call_state *state = *call;

	if (!state)
		return;
	for (size_t i = 0; i < state->header_count; i++) {
		grpc_slice_unref(state->headers[i].key);
		grpc_slice_unref(state->headers[i].value);
	}
	grpc_byte_buffer_destroy(state->request);
	grpc_byte_buffer_destroy(state->response);
	grpc_metadata_array_destroy(&state->initial_metadata);
	grpc_metadata_array_destroy(&state->trailing_metadata);
	grpc_slice_unref(state->details);
	if (state->call)
		grpc_call_unref(state->call);
	free(state);
}

static int read_headers(struct call_state *state, const struct transport_headers *headers)
{
	char value[TRANSPORT_HEADER_MAX_BYTES + 1];

	for (size_t i = 0; i < headers->count; i++) {
		int error = transport_header_read(&headers->items[i], value);

		if (error)
			return error;
		state->headers[state->header_count++] = (grpc_metadata){
			.key = grpc_slice_from_copied_string(headers->items[i].key),
			.value = grpc_slice_from_copied_string(value),
		};
	}
	return 0;
}

/* Makes the call and publishes it for cancel(); false if all sending is cancelled. */
static bool publish_call(struct grpc_transport *transport, const char *method,
			 struct call_state *state, uint64_t timeout_ns)
{
	gpr_timespec timeout = gpr_time_from_nanos(
		timeout_ns > INT64_MAX ? INT64_MAX : (int64_t)timeout_ns, GPR_TIMESPAN);
	gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), timeout);
	bool is_cancelled;

	pthread_mutex_lock(&transport->lock);
	is_cancelled = transport->is_cancelled;
	if (!is_cancelled) {
		state->call = grpc_channel_create_call(transport->channel, NULL,
						       GRPC_PROPAGATE_DEFAULTS, transport->queue,
						       grpc_slice_from_static_string(method), NULL,
						       deadline, NULL);
		transport->call = state->call;
	}
	pthread_mutex_unlock(&transport->lock);
	return !is_cancelled;
}

static void retract_call(struct grpc_transport *transport)
{
	pthread_mutex_lock(&transport->lock);
	transport->call = NULL;
	pthread_mutex_unlock(&transport->lock);
}

/* Called with the lock held; false after @until_ns. */
static bool wait_for_change(struct grpc_transport *transport, uint64_t until_ns)
{
	return monotonic_condition_wait(&transport->changed, &transport->lock, until_ns);
}

/* Polls the queue during a call and at the end. */
static void *run_queue_thread(void *argument)
{
	struct grpc_transport *transport = argument;

	pthread_setname_np(pthread_self(), "grpc");
	pthread_mutex_lock(&transport->lock);
	while (!transport->is_queue_ended) {
		grpc_completion_type type;

		while (!transport->has_batch && !transport->is_ending)
			pthread_cond_wait(&transport->changed, &transport->lock);
		pthread_mutex_unlock(&transport->lock);
		type = grpc_completion_queue_next(transport->queue,
						  gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
			       .type;
		pthread_mutex_lock(&transport->lock);
		transport->has_batch = false;
		transport->is_queue_ended = type == GRPC_QUEUE_SHUTDOWN;
		pthread_cond_broadcast(&transport->changed);
	}
	pthread_mutex_unlock(&transport->lock);
	return NULL;
}

/* -ETIMEDOUT: the batch is cancelled and does not end. */
static int wait_for_batch(struct grpc_transport *transport)
{
	int error = 0;

	pthread_mutex_lock(&transport->lock);
	transport->has_batch = true;
	pthread_cond_broadcast(&transport->changed);
	while (transport->has_batch && !error) {
		if (!transport->is_cancelled)
			pthread_cond_wait(&transport->changed, &transport->lock);
		else if (!wait_for_change(transport, transport->give_up_ns))
			error = transport->has_batch ? -ETIMEDOUT : 0;
	}
	pthread_mutex_unlock(&transport->lock);
	return error;
}

/*
 * Runs the call until it ends, at the latest by its deadline or by cancel(). -EINVAL: the call
 * cannot be started. -ETIMEDOUT: it was cancelled and does not end; the C core then uses @state for
 * ever.
 */
static int run_call(struct grpc_transport *transport, struct call_state *state)
{
	grpc_op operations[] = {
		{
			.op = GRPC_OP_SEND_INITIAL_METADATA,
			.data.send_initial_metadata = { .count = state->header_count,
							.metadata = state->headers },
		},
		{
			.op = GRPC_OP_SEND_MESSAGE,
			.data.send_message.send_message = state->request,
		},
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
		{
			.op = GRPC_OP_RECV_INITIAL_METADATA,
			.data.recv_initial_metadata.recv_initial_metadata =
				&state->initial_metadata,
		},
		{
			.op = GRPC_OP_RECV_MESSAGE,
			.data.recv_message.recv_message = &state->response,
		},
		{
			.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
			.data.recv_status_on_client = { .trailing_metadata =
								&state->trailing_metadata,
							.status = &state->status,
							.status_details = &state->details },
		},
	};
	size_t count = sizeof(operations) / sizeof(operations[0]);

	if (grpc_call_start_batch(state->call, operations, count, state, NULL) != GRPC_CALL_OK)
		return -EINVAL;
	return wait_for_batch(transport);
}

static void close_channel(struct grpc_transport *transport)
{
	if (transport->channel)
		grpc_channel_destroy(transport->channel);
	transport->channel = NULL;
}

static bool is_connected(const struct grpc_transport *transport)
{
	return grpc_channel_check_connectivity_state(transport->channel, 0) == GRPC_CHANNEL_READY;
}

/*
 * A channel reconnects by itself, but with the certificates that it was opened with. New
 * certificates need a new channel. The channel is not replaced after every failure, because
 * OpenSSL's memory for the CAs is large.
 */
static void close_outdated_channel(struct grpc_transport *transport)
{
	if (transport->channel && !is_connected(transport) &&
	    grpc_channel_files_state(transport->options) != transport->files_state)
		close_channel(transport);
}

static int open_channel(struct grpc_transport *transport)
{
	_cleanup_(free_pointer) char *target = NULL;

	if (asprintf(&target, "dns:///%s", transport->options->address) < 0) {
		target = NULL;
		return fail(-ENOMEM, "no memory for a connection");
	}
	transport->files_state = grpc_channel_files_state(transport->options);
	return grpc_open_channel(transport->options, target, &transport->channel);
}

static void fail_locally(struct transport_answer *answer, enum rpc_status status, const char *text)
{
	answer->status = status;
	otlp_answer_set_message(answer, text);
}

static void grpc_transport_send(struct transport *base, const char *method, const void *bytes,
				size_t byte_count, uint64_t timeout_ns,
				struct transport_answer *answer)
{
	struct grpc_transport *transport = (struct grpc_transport *)base;
	_cleanup_(call_destroy) struct call_state *state = calloc(1, sizeof(*state));
	grpc_slice slice;
	int error;

	*answer = (struct transport_answer){ .retry_delay_ns = UINT64_MAX };
	if (!state)
		return fail_locally(answer, RPC_UNAVAILABLE, "no memory for a call");
	state->details = grpc_empty_slice();
	if (transport->is_left)
		return fail_locally(answer, RPC_CANCELLED, "cancelled");
	close_outdated_channel(transport);
	if ((!transport->channel && open_channel(transport)) ||
	    read_headers(state, transport->options->headers))
		return fail_locally(answer, RPC_UNAVAILABLE, error_text());
	if (!publish_call(transport, method, state, timeout_ns))
		return fail_locally(answer, RPC_CANCELLED, "cancelled");
	slice = grpc_slice_from_copied_buffer(bytes, byte_count);
	state->request = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice_unref(slice);
	error = run_call(transport, state);
	retract_call(transport);
	if (error == -ETIMEDOUT) {
		transport->is_left = true;
		state = NULL;
		return fail_locally(answer, RPC_CANCELLED, "cancelled");
	}
	if (error)
		return fail_locally(answer, RPC_INTERNAL, "gRPC refuses the call");
	grpc_read_answer(answer, state->status, state->details, &state->trailing_metadata,
			 state->response, transport->options->is_plain);
	/*
	 * Reconnect at once, so that the next call finds the connection if the collector is back.
	 */
	if (answer->status != RPC_OK && !is_connected(transport))
		grpc_channel_reset_connect_backoff(transport->channel);
}

static void grpc_transport_cancel(struct transport *base)
{
	struct grpc_transport *transport = (struct grpc_transport *)base;

	pthread_mutex_lock(&transport->lock);
	transport->is_cancelled = true;
	transport->give_up_ns = clock_monotonic_ns() + CANCEL_TIMEOUT_NS;
	if (transport->call)
		grpc_call_cancel(transport->call, NULL);
	pthread_cond_broadcast(&transport->changed);
	pthread_mutex_unlock(&transport->lock);
}

/*
 * OpenSSL reads the certificates only when a connection is made. This makes a call to an address
 * where nobody can listen: it uses no network, and the way in which it fails shows whether the
 * certificates are usable.
 */
static int check_certificates(struct grpc_transport *transport)
{
	const struct grpc_transport_options *options = transport->options;
	const struct transport_headers no_headers = { 0 };
	struct grpc_transport_options nowhere = *options;
	struct transport_answer answer;
	int error;

	if (options->is_plain)
		return 0;
	nowhere.headers = &no_headers;
	transport->files_state = grpc_channel_files_state(options);
	error = grpc_open_channel(options, "unix:/proc/self/nobody", &transport->channel);
	if (error)
		return error;
	transport->options = &nowhere;
	grpc_transport_send(&transport->base, OTLP_PROFILES_METHOD, "", 0, NS_PER_SECOND, &answer);
	transport->options = options;
	close_channel(transport);
	if (!strcmp(answer.message, grpc_unusable_certificates))
		return fail(-EINVAL, "%s", answer.message);
	return 0;
}

static void init_locks(struct grpc_transport *transport)
{
	pthread_mutex_init(&transport->lock, NULL);
	monotonic_condition_init(&transport->changed);
}

static int start_queue_thread(struct grpc_transport *transport)
{
	int error = pthread_create(&transport->queue_thread, NULL, run_queue_thread, transport);

	transport->has_queue_thread = !error;
	return error ? fail_errno(-error, "cannot start a thread for gRPC") : 0;
}

int grpc_transport_create(const struct grpc_transport_options *options,
			  struct grpc_transport **created)
{
	static const struct transport_ops ops = {
		.send = grpc_transport_send,
		.cancel = grpc_transport_cancel,
	};
	struct grpc_transport *transport = calloc(1, sizeof(*transport));
	int error;

	if (!transport)
		return fail(-ENOMEM, "no memory for the transport");
	grpc_library_init();
	transport->base.ops = &ops;
	transport->options = options;
	init_locks(transport);
	transport->queue = grpc_completion_queue_create_for_next(NULL);
	error = start_queue_thread(transport);
	if (!error)
		error = check_certificates(transport);
	if (error) {
		grpc_transport_destroy(transport);
		return error;
	}
	*created = transport;
	return 0;
}

/* No call is in progress. False: the queue's thread does not return. */
static bool end_queue(struct grpc_transport *transport)
{
	uint64_t until_ns = clock_monotonic_ns() + CANCEL_TIMEOUT_NS;
	bool is_ended;

	close_channel(transport);
	grpc_completion_queue_shutdown(transport->queue);
	pthread_mutex_lock(&transport->lock);
	transport->is_ending = true;
	transport->is_queue_ended = !transport->has_queue_thread;
	pthread_cond_broadcast(&transport->changed);
	while (!transport->is_queue_ended && wait_for_change(transport, until_ns))
		;
	is_ended = transport->is_queue_ended;
	pthread_mutex_unlock(&transport->lock);
	return is_ended;
}

void grpc_transport_destroy(struct grpc_transport *transport)
{
	if (!transport)
		return;
	if (transport->is_left || !end_queue(transport)) {
		grpc_library_leave();
		return;
	}
	if (transport->has_queue_thread)
		pthread_join(transport->queue_thread, NULL);
	grpc_completion_queue_destroy(transport->queue);
	pthread_cond_destroy(&transport->changed);
	pthread_mutex_destroy(&transport->lock);
	free(transport);
	grpc_library_deinit();
}

struct transport *grpc_transport_base(struct grpc_transport *transport)
{
	return &transport->base;
}
