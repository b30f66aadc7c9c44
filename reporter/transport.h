/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How a finished request gets to a collector: one call, its deadline and its answer. The reporter
 * decides what to send and when to try again; a transport sends. gRPC is the one there is
 * (reporter/grpc_transport.h); tests put a fake in.
 */
#ifndef REPORTER_TRANSPORT_H
#define REPORTER_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

enum { TRANSPORT_MESSAGE_BYTES = 256 };

/** Canonical gRPC status codes (grpc.io/docs/guides/status-codes). */
enum rpc_status {
	RPC_OK = 0,
	RPC_CANCELLED = 1,
	RPC_UNKNOWN = 2,
	RPC_INVALID_ARGUMENT = 3,
	RPC_DEADLINE_EXCEEDED = 4,
	RPC_NOT_FOUND = 5,
	RPC_ALREADY_EXISTS = 6,
	RPC_PERMISSION_DENIED = 7,
	RPC_RESOURCE_EXHAUSTED = 8,
	RPC_FAILED_PRECONDITION = 9,
	RPC_ABORTED = 10,
	RPC_OUT_OF_RANGE = 11,
	RPC_UNIMPLEMENTED = 12,
	RPC_INTERNAL = 13,
	RPC_UNAVAILABLE = 14,
	RPC_DATA_LOSS = 15,
	RPC_UNAUTHENTICATED = 16,
};

struct transport_answer {
	enum rpc_status status;
	/** RetryInfo: how long to wait before the next try; UINT64_MAX if there was none. */
	uint64_t retry_delay_ns;
	/** Of a partial success; 0 if there was none, or a warning only. */
	int64_t rejected_profiles;
	/** The status's or the partial success's text, cleaned for a log line; "" if there is none. */
	char message[TRANSPORT_MESSAGE_BYTES];
};

struct transport;

struct transport_ops {
	/**
	 * Sends one request (an ExportProfilesServiceRequest, if it is no transport of another method) and
	 * waits for the answer, @timeout_ns at most. Always
	 * fills *@answer: what fails on the way is a status too.
	 */
	void (*send)(struct transport *transport, const void *bytes, size_t byte_count,
		     uint64_t timeout_ns, struct transport_answer *answer);
	/** Any thread: ends a send that waits, at once, with RPC_CANCELLED, and all later ones. */
	void (*cancel)(struct transport *transport);
};

struct transport {
	const struct transport_ops *ops;
};

#endif
