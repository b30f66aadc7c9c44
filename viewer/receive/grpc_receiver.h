/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Takes unary calls over gRPC's C core; one thread answers them. The number of calls, the bytes of
 * a request (compressed and decompressed), and the time of a call are limited. The token is checked
 * before a byte of the request is read. Certificates that are renewed on disk apply to the next
 * connection. The C core does not limit connections, and stops accepting them when descriptors have
 * run out. In that case, or with more than 2,000 connections, the server is restarted, which closes
 * all connections.
 */
#ifndef VIEWER_RECEIVE_GRPC_RECEIVER_H
#define VIEWER_RECEIVE_GRPC_RECEIVER_H

#include <stddef.h>
#include <stdint.h>

#include "reporter/transport.h"

enum {
	GRPC_ANSWER_MAX_BYTES = 256,
	GRPC_RESPONSE_MAX_BYTES = 512,
};

/** The outcome of a call. */
struct grpc_call_answer {
	enum rpc_status status;
	/** The error text for the sender; "" if there is none. */
	char text[GRPC_ANSWER_MAX_BYTES];
	/** The response message of a successful call. */
	uint8_t response[GRPC_RESPONSE_MAX_BYTES];
	size_t response_bytes;
};

/** The receiver's thread calls both functions, with @answer zeroed: RPC_OK. */
struct grpc_receiver_ops {
	/**
	 * Decides whether the request is read at all. @method is "/package.Service/Method";
	 * @authorization is the header's value, NULL if missing.
	 */
	void (*admit)(void *context, const char *method, const char *authorization,
		      struct grpc_call_answer *answer);
	/** Processes the decompressed request; borrowed. */
	void (*take)(void *context, const char *method, const void *bytes, size_t count,
		     struct grpc_call_answer *answer);
};

/** Borrowed for as long as the receiver lives. */
struct grpc_receiver_options {
	/** An IP address with a port, `1.2.3.4:port` or `[::1]:port`. */
	const char *address;
	/** PEM files of the certificate and its key; NULL, both: plain text. */
	const char *tls_cert;
	const char *tls_key;
	/** Limit of a request, decompressed. */
	size_t max_request_bytes;
	const struct grpc_receiver_ops *ops;
	void *context;
};

struct grpc_receiver;

/**
 * Listens, but answers nothing yet. -EINVAL with a text for users if the address or a file is
 * unusable, -ENOMEM. Block the signals that gRPC's threads must not receive first.
 */
int grpc_receiver_create(const struct grpc_receiver_options *options,
			 struct grpc_receiver **receiver);

/** The port that it listens on. */
uint16_t grpc_receiver_port(const struct grpc_receiver *receiver);

/** Starts to answer. */
int grpc_receiver_start(struct grpc_receiver *receiver);

/** Ends all calls and accepts no more; does not wait. */
void grpc_receiver_begin_stop(struct grpc_receiver *receiver);

/** Ends all calls and the thread; borrowed memory is no longer used afterwards. Takes NULL. */
void grpc_receiver_destroy(struct grpc_receiver *receiver);

#endif
