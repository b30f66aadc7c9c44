/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Unary calls from others over gRPC's C core, answered by one thread: bounded in calls at once, in the bytes of a
 * request, packed and unpacked, and in the time that a call may take. Who calls is asked for the token before a byte
 * of the request is read. Certificates that are renewed on disk are used for the next connection. The C core has no
 * limit of connections, and takes none any more when descriptors have run out: it is begun anew then, as it is for
 * more than 2,000 connections, which all end.
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

/** What becomes of a call. */
struct grpc_call_answer {
	enum rpc_status status;
	/** Why it failed, for the sender; "" is nothing. */
	char text[GRPC_ANSWER_MAX_BYTES];
	/** The message that it is answered with, if it did not fail. */
	uint8_t response[GRPC_RESPONSE_MAX_BYTES];
	size_t response_bytes;
};

/** Both are called by the receiver's thread, with @answer zeroed: RPC_OK. */
struct grpc_receiver_ops {
	/**
	 * Whether it is to be read at all: "/package.Service/Method"; @authorization is the header's value, NULL without
	 * one.
	 */
	void (*admit)(void *context, const char *method, const char *authorization,
		      struct grpc_call_answer *answer);
	/** The request, unpacked; borrowed. */
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
	/** Of a request, unpacked. */
	size_t max_request_bytes;
	const struct grpc_receiver_ops *ops;
	void *context;
};

struct grpc_receiver;

/**
 * Listens, but answers nobody yet. -EINVAL with a text for users for an address or files that do not do, -ENOMEM.
 * Signals that gRPC's threads must not take are to be blocked before.
 */
int grpc_receiver_create(const struct grpc_receiver_options *options,
			 struct grpc_receiver **receiver);

/** The port it listens on. */
uint16_t grpc_receiver_port(const struct grpc_receiver *receiver);

/** Begins to answer. */
int grpc_receiver_start(struct grpc_receiver *receiver);

/** Has all calls end, and takes no more; does not wait. */
void grpc_receiver_begin_stop(struct grpc_receiver *receiver);

/** Ends all calls and the thread: nothing of what was borrowed is used any more. Takes NULL. */
void grpc_receiver_destroy(struct grpc_receiver *receiver);

#endif
