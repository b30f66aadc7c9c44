/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A collector for tests: a gRPC server on the C core in a thread of this process. It answers every
 * call as configured, and keeps the contents of the last one.
 */
#ifndef REPORTER_TESTS_GRPC_SERVER_H
#define REPORTER_TESTS_GRPC_SERVER_H

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVER_MAX_METADATA = 64 };

/** How calls are answered. */
struct server_behaviour {
	grpc_status_code status;
	/** NULL: "". */
	const char *details;
	/** The grpc-status-details-bin trailer; NULL: no such trailer. */
	const void *status_details;
	size_t status_details_bytes;
	/** The response; a failed call sends none. */
	const void *response;
	size_t response_bytes;
	/** The compression with which the response has been packed already. */
	grpc_compression_algorithm packed_as;
	/** The call is never answered. */
	bool hangs;
	/** The stream is reset. */
	bool resets;
};

struct grpc_test_server {
	struct server_behaviour behaviour;
	grpc_server *server;
	grpc_completion_queue *queue;
	pthread_t thread;
	int port;
	/** The last call; read these after it has been answered. */
	uint32_t call_count;
	char method[256];
	char metadata[SERVER_MAX_METADATA][2][256];
	size_t metadata_count;
	void *request;
	size_t request_bytes;
	/** Calls that hang until the end. */
	grpc_call *hanging;
};

static inline const char *server_metadata(const struct grpc_test_server *server, const char *key)
{
	for (size_t i = 0; i < server->metadata_count; i++) {
		if (!strcmp(server->metadata[i][0], key))
			return server->metadata[i][1];
	}
	return NULL;
}

static inline void copy_slice(char *text, size_t bytes, grpc_slice slice)
{
	snprintf(text, bytes, "%.*s", (int)GRPC_SLICE_LENGTH(slice),
		 (const char *)GRPC_SLICE_START_PTR(slice));
}

static inline bool server_run_batch(struct grpc_test_server *server, grpc_call *call, grpc_op *ops,
				    size_t count)
{
	if (grpc_call_start_batch(call, ops, count, server, NULL) != GRPC_CALL_OK)
		return false;
	/* Calls come one by one, so the next event belongs to this batch. */
	return grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
		.success;
}

static inline void server_keep_request(struct grpc_test_server *server, grpc_byte_buffer *request)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;

	if (!request || !grpc_byte_buffer_reader_init(&reader, request))
		return;
	slice = grpc_byte_buffer_reader_readall(&reader);
	grpc_byte_buffer_reader_destroy(&reader);
	free(server->request);
	server->request_bytes = GRPC_SLICE_LENGTH(slice);
	server->request = malloc(server->request_bytes + 1);
	memcpy(server->request, GRPC_SLICE_START_PTR(slice), server->request_bytes);
	grpc_slice_unref(slice);
}

static inline void server_answer(struct grpc_test_server *server, grpc_call *call)
{
	const struct server_behaviour *behaviour = &server->behaviour;
	grpc_slice details =
		grpc_slice_from_static_string(behaviour->details ? behaviour->details : "");
	grpc_slice response = grpc_slice_from_static_buffer(
		behaviour->response ? behaviour->response : "", behaviour->response_bytes);
	grpc_byte_buffer *message =
		grpc_raw_compressed_byte_buffer_create(&response, 1, behaviour->packed_as);
	grpc_metadata trailer = {
		.key = grpc_slice_from_static_string("grpc-status-details-bin"),
		.value = grpc_slice_from_static_buffer(
			behaviour->status_details ? behaviour->status_details : "",
			behaviour->status_details_bytes),
	};
	/* gRPC flags a message as compressed only if the call's metadata names the compression. */
	grpc_metadata encoding = {
		.key = grpc_slice_from_static_string("grpc-internal-encoding-request"),
		.value = grpc_slice_from_static_string(
			behaviour->packed_as == GRPC_COMPRESS_GZIP ? "gzip" : "identity"),
	};
	int is_cancelled;
	grpc_op ops[] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA,
		  .data.send_initial_metadata = { .count = 1, .metadata = &encoding } },
		{ .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
		  .data.send_status_from_server = { .status = behaviour->status,
						    .status_details = &details,
						    .trailing_metadata = &trailer,
						    .trailing_metadata_count =
							    behaviour->status_details ? 1 : 0 } },
		{ .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
		  .data.recv_close_on_server.cancelled = &is_cancelled },
		{ .op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message },
	};

	server_run_batch(server, call, ops,
			 behaviour->status == GRPC_STATUS_OK && behaviour->response ? 4 : 3);
	grpc_byte_buffer_destroy(message);
}

static inline void server_handle(struct grpc_test_server *server, grpc_call *call,
				 const grpc_call_details *details,
				 const grpc_metadata_array *metadata)
{
	grpc_byte_buffer *request = NULL;
	grpc_op receive = { .op = GRPC_OP_RECV_MESSAGE,
			    .data.recv_message.recv_message = &request };

	copy_slice(server->method, sizeof(server->method), details->method);
	server->metadata_count = 0;
	for (size_t i = 0; i < metadata->count && i < SERVER_MAX_METADATA; i++) {
		copy_slice(server->metadata[i][0], 256, metadata->metadata[i].key);
		copy_slice(server->metadata[i][1], 256, metadata->metadata[i].value);
		server->metadata_count++;
	}
	server_run_batch(server, call, &receive, 1);
	server_keep_request(server, request);
	grpc_byte_buffer_destroy(request);
	__atomic_fetch_add(&server->call_count, 1, __ATOMIC_SEQ_CST);
	if (server->behaviour.hangs) {
		server->hanging = call;
		return;
	}
	if (server->behaviour.resets)
		grpc_call_cancel(call, NULL);
	else
		server_answer(server, call);
	grpc_call_unref(call);
}

static inline void *server_run(void *argument)
{
	struct grpc_test_server *server = argument;

	for (;;) {
		grpc_metadata_array metadata;
		grpc_call_details details;
		grpc_call *call = NULL;
		grpc_event event;

		grpc_metadata_array_init(&metadata);
		grpc_call_details_init(&details);
		if (grpc_server_request_call(server->server, &call, &details, &metadata,
					     server->queue, server->queue,
					     server) == GRPC_CALL_OK) {
			event = grpc_completion_queue_next(
				server->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
			if (event.success && call)
				server_handle(server, call, &details, &metadata);
			else
				call = NULL;
		}
		grpc_metadata_array_destroy(&metadata);
		grpc_call_details_destroy(&details);
		if (!call)
			return NULL;
	}
}

/** Listens on 127.0.0.1, on @port unless it is 0. @credentials may be NULL: plain text. */
static inline struct grpc_test_server *server_start(grpc_server_credentials *credentials, int port)
{
	struct grpc_test_server *server = calloc(1, sizeof(*server));
	char address[64];

	grpc_init();
	if (!credentials)
		credentials = grpc_insecure_server_credentials_create();
	server->queue = grpc_completion_queue_create_for_next(NULL);
	server->server = grpc_server_create(NULL, NULL);
	grpc_server_register_completion_queue(server->server, server->queue, NULL);
	snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	server->port = grpc_server_add_http2_port(server->server, address, credentials);
	grpc_server_credentials_release(credentials);
	grpc_server_start(server->server);
	pthread_create(&server->thread, NULL, server_run, server);
	return server;
}

static inline void server_stop(struct grpc_test_server *server)
{
	grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);

	grpc_server_shutdown_and_notify(server->server, queue, NULL);
	grpc_server_cancel_all_calls(server->server);
	pthread_join(server->thread, NULL);
	grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
	if (server->hanging)
		grpc_call_unref(server->hanging);
	grpc_server_destroy(server->server);
	grpc_completion_queue_shutdown(queue);
	grpc_completion_queue_destroy(queue);
	grpc_completion_queue_shutdown(server->queue);
	while (grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
		       .type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(server->queue);
	free(server->request);
	free(server);
	grpc_shutdown();
}

#endif
