/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call exists from grpc_server_request_call() until it is closed and none of its batches is in
 * progress. It is closed when the client has its answer, or is gone.
 */

#include "integration/collector/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

enum {
	/* Larger than the limit that is checked, so that the check sees larger messages. */
	MESSAGE_MAX_BYTES = 64 << 20,
	MAX_DESCRIPTORS = 65536,
	STEP_MAX_MS = 10,
};

enum event {
	EVENT_CALL,
	EVENT_MESSAGE,
	EVENT_ANSWERED,
	EVENT_CLOSED,
	EVENT_COUNT,
};

struct call;

/* The target of a completion queue's tag. */
struct tag {
	struct call *call;
	enum event event;
};

struct call {
	struct server *server;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *payload;
	struct tag tags[EVENT_COUNT];
	unsigned int pending;
	bool is_closed;
	int is_cancelled;
	struct answer answer;
	/* CLOCK_MONOTONIC; 0: no answer is pending. */
	uint64_t due_ns;
	struct call *next;
	struct call *previous;
};

struct server {
	struct server_handler handler;
	grpc_server *server;
	grpc_completion_queue *queue;
	/* All calls but the one that has not arrived yet. */
	struct call *calls;
};

/* --- calls --- */

static void free_call(struct call *call)
{
	if (call->next)
		call->next->previous = call->previous;
	if (call->previous)
		call->previous->next = call->next;
	else if (call->server->calls == call)
		call->server->calls = call->next;
	if (call->payload)
		grpc_byte_buffer_destroy(call->payload);
	if (call->call)
		grpc_call_unref(call->call);
	grpc_call_details_destroy(&call->details);
	grpc_metadata_array_destroy(&call->metadata);
	free(call);
}

/* Requests the next call from the core. */
static void expect_call(struct server *server)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		return;
	call->server = server;
	for (int event = 0; event < EVENT_COUNT; event++)
		call->tags[event] = (struct tag){ call, event };
	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->metadata);
	call->pending = 1;
	if (grpc_server_request_call(server->server, &call->call, &call->details, &call->metadata,
				     server->queue, server->queue,
				     &call->tags[EVENT_CALL]) != GRPC_CALL_OK)
		free_call(call);
}

static void start_batch(struct call *call, const grpc_op *ops, size_t count, enum event event)
{
	if (grpc_call_start_batch(call->call, ops, count, &call->tags[event], NULL) == GRPC_CALL_OK)
		call->pending++;
}

static struct span span_of(const grpc_slice *slice)
{
	return (struct span){ GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice) };
}

/* A call has arrived: its metadata is complete; this reads its message. */
static void open_call(struct call *call)
{
	struct server *server = call->server;
	grpc_op close = { .op = GRPC_OP_RECV_CLOSE_ON_SERVER };
	grpc_op receive = { .op = GRPC_OP_RECV_MESSAGE };

	call->next = server->calls;
	if (call->next)
		call->next->previous = call;
	server->calls = call;
	server->handler.method(server->handler.context, span_of(&call->details.method));
	for (size_t i = 0; i < call->metadata.count; i++)
		server->handler.header(server->handler.context,
				       span_of(&call->metadata.metadata[i].key),
				       span_of(&call->metadata.metadata[i].value));
	close.data.recv_close_on_server.cancelled = &call->is_cancelled;
	receive.data.recv_message.recv_message = &call->payload;
	start_batch(call, &close, 1, EVENT_CLOSED);
	start_batch(call, &receive, 1, EVENT_MESSAGE);
}

/* --- answers --- */

static grpc_byte_buffer *buffer_of(const uint8_t *bytes, size_t count)
{
	grpc_slice slice = grpc_slice_from_copied_buffer((const char *)bytes, count);
	grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);

	grpc_slice_unref(slice);
	return buffer;
}

static void send_status(struct call *call, grpc_status_code status, const char *text)
{
	grpc_slice details = grpc_slice_from_copied_string(text);
	uint8_t bytes[ANSWER_MESSAGE_MAX_BYTES];
	size_t count = answer_status_details(&call->answer, bytes);
	grpc_metadata trailer = {
		.key = grpc_slice_from_static_string("grpc-status-details-bin"),
		.value = grpc_slice_from_copied_buffer((const char *)bytes, count),
	};
	grpc_byte_buffer *message = NULL;
	grpc_op ops[3] = { { .op = GRPC_OP_SEND_INITIAL_METADATA } };
	size_t op_count = 1;

	if (status == GRPC_STATUS_OK) {
		message = buffer_of(bytes, answer_response(&call->answer, bytes));
		ops[op_count].op = GRPC_OP_SEND_MESSAGE;
		ops[op_count++].data.send_message.send_message = message;
	}
	ops[op_count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	ops[op_count].data.send_status_from_server.status = status;
	ops[op_count].data.send_status_from_server.status_details = &details;
	ops[op_count].data.send_status_from_server.trailing_metadata = &trailer;
	ops[op_count++].data.send_status_from_server.trailing_metadata_count = count ? 1 : 0;
	start_batch(call, ops, op_count, EVENT_ANSWERED);
	if (message)
		grpc_byte_buffer_destroy(message);
	grpc_slice_unref(trailer.value);
	grpc_slice_unref(details);
}

static unsigned int port_of(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)address)->sin_port);
	if (address->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
	return 0;
}

/*
 * Shuts down the call's connection. The core has no function for it, so the socket is found by the
 * peer's port.
 */
static void reset_connection(struct call *call)
{
	char *peer = grpc_call_get_peer(call->call);
	const char *colon = strrchr(peer, ':');
	unsigned int port = colon ? strtoul(colon + 1, NULL, 10) : 0;

	for (int fd = 3; fd < MAX_DESCRIPTORS && port; fd++) {
		struct sockaddr_storage address = { 0 };
		socklen_t size = sizeof(address);

		if (!getpeername(fd, (struct sockaddr *)&address, &size) &&
		    port_of(&address) == port)
			shutdown(fd, SHUT_RDWR);
	}
	gpr_free(peer);
}

static void give_answer(struct call *call)
{
	const struct answer *answer = &call->answer;

	call->due_ns = 0;
	if (call->is_closed)
		return;
	switch (answer->kind) {
	case ANSWER_HANG:
		break;
	case ANSWER_RESET:
		reset_connection(call);
		break;
	case ANSWER_STATUS:
	case ANSWER_RETRY_INFO:
		send_status(call, (grpc_status_code)answer->number, answer->text);
		break;
	default:
		send_status(call, GRPC_STATUS_OK, "");
	}
}

static bool is_method(const struct call *call, const char *method)
{
	return grpc_slice_eq(call->details.method, grpc_slice_from_static_string(method));
}

static void take_message(struct call *call)
{
	struct server *server = call->server;
	bool is_metrics = is_method(call, METRICS_METHOD);
	grpc_byte_buffer_reader reader;
	grpc_slice slice;
	char *peer;

	if (!call->payload) {
		send_status(call, GRPC_STATUS_INTERNAL, "no message");
		return;
	}
	if (!is_metrics && !is_method(call, EXPORT_METHOD)) {
		send_status(call, GRPC_STATUS_UNIMPLEMENTED, "unknown method");
		return;
	}
	if (!grpc_byte_buffer_reader_init(&reader, call->payload)) {
		send_status(call, GRPC_STATUS_INTERNAL, "unreadable message");
		return;
	}
	slice = grpc_byte_buffer_reader_readall(&reader);
	peer = grpc_call_get_peer(call->call);
	call->answer = server->handler.message(
		server->handler.context,
		&(struct server_message){
			.bytes = span_of(&slice),
			.is_gzip = call->payload->data.raw.compression == GRPC_COMPRESS_GZIP,
			.is_metrics = is_metrics,
			.peer = peer,
		});
	gpr_free(peer);
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
	if (call->answer.kind == ANSWER_LATE)
		call->due_ns = clock_monotonic_ns() + call->answer.delay_ns;
	else
		give_answer(call);
}

/* --- the server --- */

static grpc_server_credentials *make_credentials(const struct server_options *options)
{
	grpc_ssl_pem_key_cert_pair pair = { options->key, options->certificate };

	if (!options->certificate)
		return grpc_insecure_server_credentials_create();
	return grpc_ssl_server_credentials_create_ex(
		options->client_ca, &pair, 1,
		options->client_ca ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY :
				     GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
		NULL);
}

static int listen_on(struct server *server, const struct server_options *options, int *port)
{
	grpc_server_credentials *credentials = make_credentials(options);
	int bound;

	if (!credentials)
		return fail(-EINVAL, "the certificate and the key cannot be used");
	bound = grpc_server_add_http2_port(server->server, options->listen, credentials);
	grpc_server_credentials_release(credentials);
	if (!bound)
		return fail(-EADDRINUSE, "cannot listen on %s", options->listen);
	*port = bound;
	return 0;
}

int server_create(const struct server_options *options, const struct server_handler *handler,
		  struct server **server, int *port)
{
	grpc_arg arguments[] = {
		{ .type = GRPC_ARG_INTEGER,
		  .key = GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION,
		  .value.integer = 0 },
		{ .type = GRPC_ARG_INTEGER,
		  .key = GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
		  .value.integer = MESSAGE_MAX_BYTES },
		/* Otherwise a second server on the port would get some of the calls. */
		{ .type = GRPC_ARG_INTEGER, .key = GRPC_ARG_ALLOW_REUSEPORT, .value.integer = 0 },
	};
	grpc_channel_args channel = { sizeof(arguments) / sizeof(arguments[0]), arguments };
	struct server *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for a server");
	grpc_init();
	created->handler = *handler;
	created->queue = grpc_completion_queue_create_for_next(NULL);
	created->server = grpc_server_create(&channel, NULL);
	grpc_server_register_completion_queue(created->server, created->queue, NULL);
	err = listen_on(created, options, port);
	grpc_server_start(created->server);
	if (err) {
		server_destroy(created);
		return err;
	}
	expect_call(created);
	*server = created;
	return 0;
}

static void handle_event(struct tag *tag, bool is_success)
{
	struct call *call = tag->call;

	call->pending--;
	switch (tag->event) {
	case EVENT_CALL:
		if (!is_success) {
			free_call(call);
			return;
		}
		expect_call(call->server);
		open_call(call);
		break;
	case EVENT_MESSAGE:
		take_message(call);
		break;
	case EVENT_CLOSED:
		call->is_closed = true;
		break;
	default:
		break;
	}
	if (call->is_closed && !call->pending)
		free_call(call);
}

/* Sends the late answers that are due. */
static void give_due_answers(struct server *server)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct call *call = server->calls; call; call = call->next) {
		if (call->due_ns && call->due_ns <= now_ns)
			give_answer(call);
	}
}

void server_step(struct server *server, int timeout_ms)
{
	gpr_timespec deadline = gpr_time_add(
		gpr_now(GPR_CLOCK_MONOTONIC),
		gpr_time_from_millis(timeout_ms < STEP_MAX_MS ? timeout_ms : STEP_MAX_MS,
				     GPR_TIMESPAN));
	grpc_event event = grpc_completion_queue_next(server->queue, deadline, NULL);

	if (event.type == GRPC_OP_COMPLETE && event.tag)
		handle_event(event.tag, event.success);
	give_due_answers(server);
}

void server_destroy(struct server *server)
{
	grpc_event event;

	if (!server)
		return;
	/* The tag is NULL, which is not the tag of a call. */
	grpc_server_shutdown_and_notify(server->server, server->queue, NULL);
	grpc_server_cancel_all_calls(server->server);
	do {
		event = grpc_completion_queue_next(server->queue,
						   gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		if (event.type == GRPC_OP_COMPLETE && event.tag)
			handle_event(event.tag, event.success);
	} while (event.tag || event.type != GRPC_OP_COMPLETE);
	grpc_completion_queue_shutdown(server->queue);
	do {
		event = grpc_completion_queue_next(server->queue,
						   gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		if (event.type == GRPC_OP_COMPLETE && event.tag)
			handle_event(event.tag, event.success);
	} while (event.type != GRPC_QUEUE_SHUTDOWN);
	while (server->calls)
		free_call(server->calls);
	grpc_server_destroy(server->server);
	grpc_completion_queue_destroy(server->queue);
	free(server);
	grpc_shutdown_blocking();
}
