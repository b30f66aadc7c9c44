/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread processes a completion queue. Each call has a slot, whose state says what its one
 * pending event will mean. Slots are reused, so that there are never more calls than slots. Calls
 * without a slot wait in the C core, which then holds only their headers.
 */
#include "viewer/receive/grpc_receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "reporter/grpc_library.h"
#include "reporter/grpc_message.h"
#include "viewer/receive/grpc_certificate.h"

enum {
	CALLS = 256,
	/* From this number on, the short time limit applies. */
	MANY_CALLS = CALLS / 2,
	STREAMS_PER_CONNECTION = 8,
	/* If there are more, all are closed; well-behaved clients reconnect. */
	CONNECTIONS_MAX = 2000,
	METADATA_MAX_BYTES = 16 << 10,
	HANDSHAKE_TIMEOUT_MS = 10 * 1000,
	/* Limit of a connection without a call. Agents send more often, or reconnect. */
	IDLE_TIMEOUT_MS = 60 * 1000,
	/*
	 * Endless calls cannot keep a connection open either; it ends after this age, with extra
	 * time for the last call.
	 */
	AGE_MAX_MS = 60 * 60 * 1000,
	AGE_GRACE_MS = 60 * 1000,
	/* Clients are pinged every few minutes, and those that do not answer are closed. */
	KEEPALIVE_MS = 2 * 60 * 1000,
	KEEPALIVE_TIMEOUT_MS = 20 * 1000,
	/* Limit of all memory of the C core for connections and requests. */
	CORE_MAX_BYTES = 64 << 20,
	METHOD_MAX_BYTES = 256,
	ADDRESS_MAX_BYTES = 64,
	AUTHORIZATION_MAX_BYTES = 1024,
};

/*
 * Time limits of a call from the first byte to the last: the usual one, and the one when many calls
 * are waiting.
 */
static const uint64_t call_timeout_ns = 60 * NS_PER_SECOND;
static const uint64_t short_timeout_ns = 2 * NS_PER_SECOND;
/* How often running calls are checked for this. */
static const uint64_t turn_ns = NS_PER_SECOND;

enum call_state {
	/* No call has arrived yet. */
	CALL_AWAITED,
	CALL_IS_READ,
	CALL_IS_ANSWERED,
	/* No more calls are awaited. */
	CALL_NONE,
};

struct call_slot {
	enum call_state state;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *request;
	grpc_byte_buffer *response;
	grpc_slice text;
	char method[METHOD_MAX_BYTES];
	int was_cancelled;
	uint64_t start_ns;
};

struct grpc_receiver {
	struct grpc_receiver_options options;
	/* With the actual port. */
	char address[ADDRESS_MAX_BYTES];
	struct grpc_certificate certificate;
	grpc_completion_queue *queue;
	grpc_server *server;
	uint16_t port;
	struct call_slot slots[CALLS];
	pthread_t thread;
	bool has_thread;
	/* Guards the server, which the thread may replace, and the fields below. */
	pthread_mutex_t server_lock;
	bool is_stopping;
	/* The server is shutting down: this happens once, and gives one event with its tag. */
	atomic_bool is_ending;
	/* Used by the thread only. */
	uint64_t accept_failures;
};

/* --- one call --- */

static void clear_slot(struct call_slot *slot)
{
	if (slot->call)
		grpc_call_unref(slot->call);
	grpc_call_details_destroy(&slot->details);
	grpc_metadata_array_destroy(&slot->metadata);
	grpc_byte_buffer_destroy(slot->request);
	grpc_byte_buffer_destroy(slot->response);
	grpc_slice_unref(slot->text);
	*slot = (struct call_slot){ .state = CALL_NONE };
}

static void await_call(struct grpc_receiver *receiver, struct call_slot *slot)
{
	slot->state = CALL_AWAITED;
	slot->text = grpc_empty_slice();
	grpc_call_details_init(&slot->details);
	grpc_metadata_array_init(&slot->metadata);
	if (receiver->is_ending ||
	    grpc_server_request_call(receiver->server, &slot->call, &slot->details, &slot->metadata,
				     receiver->queue, receiver->queue, slot) != GRPC_CALL_OK)
		clear_slot(slot);
}

static void start_batch(struct grpc_receiver *receiver, struct call_slot *slot,
			const grpc_op *operations, size_t count)
{
	/* A refused batch would be our bug. */
	if (grpc_call_start_batch(slot->call, operations, count, slot, NULL) != GRPC_CALL_OK) {
		log_error("gRPC refuses to answer a call; it is dropped");
		clear_slot(slot);
		await_call(receiver, slot);
	}
}

static void read_request(struct grpc_receiver *receiver, struct call_slot *slot)
{
	const grpc_op operation = {
		.op = GRPC_OP_RECV_MESSAGE,
		.data.recv_message.recv_message = &slot->request,
	};

	slot->state = CALL_IS_READ;
	start_batch(receiver, slot, &operation, 1);
}

static void send_answer(struct grpc_receiver *receiver, struct call_slot *slot,
			const struct grpc_call_answer *answer)
{
	grpc_op operations[] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{
			.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
			.data.send_status_from_server = {
				.status = (grpc_status_code)answer->status,
				.status_details = &slot->text,
			},
		},
		{
			.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
			.data.recv_close_on_server.cancelled = &slot->was_cancelled,
		},
		{ .op = GRPC_OP_SEND_MESSAGE },
	};
	grpc_slice response = grpc_slice_from_copied_buffer((const char *)answer->response,
							    answer->response_bytes);

	slot->state = CALL_IS_ANSWERED;
	slot->text = grpc_slice_from_copied_string(answer->text);
	slot->response = grpc_raw_byte_buffer_create(&response, 1);
	grpc_slice_unref(response);
	operations[3].data.send_message.send_message = slot->response;
	start_batch(receiver, slot, operations, answer->status == RPC_OK ? 4 : 3);
}

/* False if it does not fit into @text. */
static bool copy_slice(char *text, size_t bytes, grpc_slice slice)
{
	size_t length = GRPC_SLICE_LENGTH(slice);

	if (length >= bytes)
		return false;
	memcpy(text, GRPC_SLICE_START_PTR(slice), length);
	text[length] = '\0';
	return true;
}

static const char *find_authorization(const struct call_slot *slot, char *text, size_t bytes)
{
	for (size_t i = 0; i < slot->metadata.count; i++) {
		const grpc_metadata *entry = &slot->metadata.metadata[i];

		if (!grpc_slice_str_cmp(entry->key, "authorization"))
			return copy_slice(text, bytes, entry->value) ? text : NULL;
	}
	return NULL;
}

static void admit_call(struct grpc_receiver *receiver, struct call_slot *slot)
{
	char authorization[AUTHORIZATION_MAX_BYTES];
	struct grpc_call_answer answer = { 0 };

	slot->start_ns = clock_monotonic_ns();
	if (copy_slice(slot->method, sizeof(slot->method), slot->details.method))
		receiver->options.ops->admit(
			receiver->options.context, slot->method,
			find_authorization(slot, authorization, sizeof(authorization)), &answer);
	else
		answer.status = RPC_UNIMPLEMENTED;
	if (answer.status == RPC_OK)
		read_request(receiver, slot);
	else
		send_answer(receiver, slot, &answer);
}

static void take_request(struct grpc_receiver *receiver, struct call_slot *slot)
{
	struct grpc_call_answer answer = { 0 };
	_cleanup_(free_pointer) char *bytes = NULL;
	size_t count = 0;
	int err = grpc_message_read(slot->request, receiver->options.max_request_bytes, &bytes,
				    &count);

	if (err) {
		answer.status = err == -ENOMEM ? RPC_RESOURCE_EXHAUSTED : RPC_INVALID_ARGUMENT;
		snprintf(answer.text, sizeof(answer.text), "%s",
			 err == -ENOMEM ? "there is no memory for the request" : error_text());
	} else {
		receiver->options.ops->take(receiver->options.context, slot->method, bytes, count,
					    &answer);
	}
	grpc_byte_buffer_destroy(slot->request);
	slot->request = NULL;
	send_answer(receiver, slot, &answer);
}

static void handle_event(struct grpc_receiver *receiver, struct call_slot *slot, bool is_success)
{
	switch (slot->state) {
	case CALL_AWAITED:
		if (is_success)
			admit_call(receiver, slot);
		else
			clear_slot(slot);
		break;
	case CALL_IS_READ:
		take_request(receiver, slot);
		break;
	case CALL_IS_ANSWERED:
		clear_slot(slot);
		await_call(receiver, slot);
		break;
	case CALL_NONE:
		break;
	}
}

/* --- the thread --- */

static bool is_under_way(const struct call_slot *slot)
{
	return slot->state == CALL_IS_READ || slot->state == CALL_IS_ANSWERED;
}

static uint32_t count_under_way(const struct grpc_receiver *receiver)
{
	uint32_t count = 0;

	for (size_t i = 0; i < CALLS; i++)
		count += is_under_way(&receiver->slots[i]);
	return count;
}

static void cancel_late_calls(struct grpc_receiver *receiver, uint64_t now_ns)
{
	uint64_t timeout_ns = count_under_way(receiver) < MANY_CALLS ? call_timeout_ns :
								       short_timeout_ns;

	for (size_t i = 0; i < CALLS; i++) {
		struct call_slot *slot = &receiver->slots[i];

		if (is_under_way(slot) && now_ns - slot->start_ns > timeout_ns)
			grpc_call_cancel(slot->call, NULL);
	}
}

static bool has_calls(const struct grpc_receiver *receiver)
{
	for (size_t i = 0; i < CALLS; i++)
		if (receiver->slots[i].state != CALL_NONE)
			return true;
	return false;
}

static bool is_connection(const struct grpc_receiver *receiver, int fd)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} address = { 0 };
	socklen_t bytes = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &bytes))
		return false;
	if (address.any.ss_family == AF_INET)
		return ntohs(address.four.sin_port) == receiver->port;
	return address.any.ss_family == AF_INET6 && ntohs(address.six.sin6_port) == receiver->port;
}

/* The C core neither limits nor counts connections, so descriptors are counted. */
static bool has_too_many_connections(const struct grpc_receiver *receiver)
{
	int free_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
	uint32_t count = 0;

	if (free_fd < 0)
		return false;
	close(free_fd);
	for (int fd = 0; fd < free_fd && free_fd > CONNECTIONS_MAX; fd++)
		count += is_connection(receiver, fd);
	return count > CONNECTIONS_MAX;
}

/* Called with the server's lock held. */
static void end_server(struct grpc_receiver *receiver)
{
	if (!receiver->server || receiver->is_ending)
		return;
	receiver->is_ending = true;
	grpc_server_shutdown_and_notify(receiver->server, receiver->queue, receiver);
	grpc_server_cancel_all_calls(receiver->server);
}

/*
 * The C core's listener stops accepting when it finds no descriptor for a connection (1.51:
 * on_read() in src/core/lib/iomgr/tcp_server_posix.cc).
 */
static void end_if_flooded(struct grpc_receiver *receiver)
{
	if (receiver->is_ending || (grpc_library_accept_failures() == receiver->accept_failures &&
				    !has_too_many_connections(receiver)))
		return;
	log_warn("too many connections at %s; closing all of them", receiver->address);
	pthread_mutex_lock(&receiver->server_lock);
	end_server(receiver);
	pthread_mutex_unlock(&receiver->server_lock);
}

static gpr_timespec next_turn(void)
{
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_nanos((int64_t)turn_ns, GPR_TIMESPAN));
}

/* Serves calls until the server has ended. */
static void serve(struct grpc_receiver *receiver)
{
	uint64_t looked_ns = 0;
	bool has_ended = false;

	for (size_t i = 0; i < CALLS; i++)
		await_call(receiver, &receiver->slots[i]);
	while (!has_ended || has_calls(receiver)) {
		grpc_event event = grpc_completion_queue_next(receiver->queue, next_turn(), NULL);
		uint64_t now_ns;

		/* The server's own tag means that it has shut down. */
		if (event.type == GRPC_OP_COMPLETE && event.tag == receiver)
			has_ended = true;
		else if (event.type == GRPC_OP_COMPLETE)
			handle_event(receiver, event.tag, event.success);
		now_ns = clock_monotonic_ns();
		if (now_ns - looked_ns < turn_ns)
			continue;
		cancel_late_calls(receiver, now_ns);
		end_if_flooded(receiver);
		looked_ns = now_ns;
	}
}

/* --- the server --- */

static grpc_arg number_argument(const char *key, int value)
{
	return (grpc_arg){ .type = GRPC_ARG_INTEGER, .key = (char *)key, .value.integer = value };
}

static grpc_server *make_server(const struct grpc_receiver *receiver)
{
	grpc_resource_quota *quota = grpc_resource_quota_create("receiver");
	grpc_arg arguments[] = {
		/* Two agents must never share a port. */
		number_argument(GRPC_ARG_ALLOW_REUSEPORT, 0),
		/* We decompress ourselves, because the C core does so without a limit. */
		number_argument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
		number_argument(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
				(int)receiver->options.max_request_bytes),
		number_argument(GRPC_ARG_MAX_CONCURRENT_STREAMS, STREAMS_PER_CONNECTION),
		number_argument(GRPC_ARG_MAX_METADATA_SIZE, METADATA_MAX_BYTES),
		number_argument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, HANDSHAKE_TIMEOUT_MS),
		number_argument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, IDLE_TIMEOUT_MS),
		number_argument(GRPC_ARG_MAX_CONNECTION_AGE_MS, AGE_MAX_MS),
		number_argument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, AGE_GRACE_MS),
		number_argument(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS),
		number_argument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_TIMEOUT_MS),
		number_argument(GRPC_ARG_HTTP2_BDP_PROBE, 0),
		number_argument(GRPC_ARG_ENABLE_CHANNELZ, 0),
		number_argument(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
		{
			.type = GRPC_ARG_POINTER,
			.key = GRPC_ARG_RESOURCE_QUOTA,
			.value.pointer = { .p = quota, .vtable = grpc_resource_quota_arg_vtable() },
		},
	};
	const grpc_channel_args server_arguments = {
		.num_args = sizeof(arguments) / sizeof(arguments[0]),
		.args = arguments,
	};
	grpc_server *server;

	grpc_resource_quota_resize(quota, CORE_MAX_BYTES + receiver->options.max_request_bytes);
	server = grpc_server_create(&server_arguments, NULL);
	grpc_resource_quota_unref(quota);
	return server;
}

static int listen_at(struct grpc_receiver *receiver)
{
	grpc_server_credentials *credentials = NULL;
	int err = grpc_certificate_credentials(&receiver->certificate, &credentials), port;

	if (err)
		return err;
	receiver->server = make_server(receiver);
	grpc_server_register_completion_queue(receiver->server, receiver->queue, NULL);
	port = grpc_server_add_http2_port(receiver->server, receiver->address, credentials);
	grpc_server_credentials_release(credentials);
	if (port <= 0)
		return fail(-EINVAL, "cannot listen on %s%s", receiver->address,
			    receiver->options.tls_cert ?
				    ": it is taken, or the certificate does not go with its key" :
				    ": it is taken");
	receiver->port = (uint16_t)port;
	receiver->accept_failures = grpc_library_accept_failures();
	return 0;
}

static void set_port(struct grpc_receiver *receiver)
{
	char *colon = strrchr(receiver->address, ':');
	size_t length = colon ? (size_t)(colon - receiver->address) : 0;

	snprintf(receiver->address + length, sizeof(receiver->address) - length, ":%u",
		 receiver->port);
}

/* Called with the server's lock held. */
static int renew_server(struct grpc_receiver *receiver)
{
	int err;

	if (receiver->server)
		grpc_server_destroy(receiver->server);
	receiver->server = NULL;
	err = listen_at(receiver);
	if (!err) {
		receiver->is_ending = false;
		grpc_server_start(receiver->server);
	} else if (receiver->server) {
		/* A server that was not started ends without an event of its own. */
		grpc_server_shutdown_and_notify(receiver->server, receiver->queue, receiver);
		grpc_completion_queue_next(receiver->queue, gpr_inf_future(GPR_CLOCK_REALTIME),
					   NULL);
		grpc_server_destroy(receiver->server);
		receiver->server = NULL;
	}
	return err;
}

/* Replaces the ended server by a new one; false at the stop. */
static bool begin_again(struct grpc_receiver *receiver)
{
	static const struct timespec pause = { .tv_sec = 1 };
	int err = -EAGAIN;

	while (err) {
		pthread_mutex_lock(&receiver->server_lock);
		if (receiver->is_stopping) {
			pthread_mutex_unlock(&receiver->server_lock);
			return false;
		}
		err = renew_server(receiver);
		pthread_mutex_unlock(&receiver->server_lock);
		if (!err)
			break;
		log_debug("%s; trying again", error_text());
		nanosleep(&pause, NULL);
	}
	return true;
}

static void *run(void *argument)
{
	struct grpc_receiver *receiver = argument;

	pthread_setname_np(pthread_self(), "receiver");
	do
		serve(receiver);
	while (begin_again(receiver));
	return NULL;
}

int grpc_receiver_create(const struct grpc_receiver_options *options,
			 struct grpc_receiver **receiver)
{
	struct grpc_receiver *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return fail(-ENOMEM, "no memory for the receiver");
	grpc_library_init();
	made->options = *options;
	snprintf(made->address, sizeof(made->address), "%s", options->address);
	grpc_certificate_init(&made->certificate, options->tls_cert, options->tls_key);
	pthread_mutex_init(&made->server_lock, NULL);
	for (size_t i = 0; i < CALLS; i++)
		made->slots[i].state = CALL_NONE;
	made->queue = grpc_completion_queue_create_for_next(NULL);
	err = listen_at(made);
	if (err) {
		grpc_receiver_destroy(made);
		return err;
	}
	set_port(made);
	*receiver = made;
	return 0;
}

uint16_t grpc_receiver_port(const struct grpc_receiver *receiver)
{
	return receiver->port;
}

int grpc_receiver_start(struct grpc_receiver *receiver)
{
	int err;

	grpc_server_start(receiver->server);
	err = -pthread_create(&receiver->thread, NULL, run, receiver);
	receiver->has_thread = !err;
	return err ? fail_errno(err, "cannot start the receiver's thread") : 0;
}

void grpc_receiver_begin_stop(struct grpc_receiver *receiver)
{
	pthread_mutex_lock(&receiver->server_lock);
	receiver->is_stopping = true;
	end_server(receiver);
	pthread_mutex_unlock(&receiver->server_lock);
}

static void shut_down(struct grpc_receiver *receiver)
{
	grpc_receiver_begin_stop(receiver);
	if (receiver->has_thread)
		pthread_join(receiver->thread, NULL);
	else
		grpc_completion_queue_next(receiver->queue, gpr_inf_future(GPR_CLOCK_REALTIME),
					   NULL);
	if (receiver->server)
		grpc_server_destroy(receiver->server);
}

void grpc_receiver_destroy(struct grpc_receiver *receiver)
{
	if (!receiver)
		return;
	if (receiver->server || receiver->has_thread)
		shut_down(receiver);
	grpc_completion_queue_shutdown(receiver->queue);
	while (grpc_completion_queue_next(receiver->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
		       .type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(receiver->queue);
	pthread_mutex_destroy(&receiver->server_lock);
	free(receiver);
	grpc_library_deinit();
}
