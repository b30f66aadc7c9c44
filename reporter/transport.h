/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How a finished request gets to a collector: one call, its deadline and its answer. The reporter
 * decides what to send and when to retry; a transport sends. The only one is gRPC
 * (reporter/grpc_transport.h); tests use a fake.
 */
#ifndef REPORTER_TRANSPORT_H
#define REPORTER_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

enum { TRANSPORT_MESSAGE_BYTES = 256 };

#define OTLP_PROFILES_METHOD                                                                       \
	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define OTLP_METRICS_METHOD "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

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
	/** Rejected profiles or data points of a partial success; 0 if there was none, or only a warning. */
	int64_t rejected_count;
	/** The status's or the partial success's text, cleaned for a log line; "" if there is none. */
	char message[TRANSPORT_MESSAGE_BYTES];
};

struct transport;

struct transport_ops {
	/**
	 * Sends one request of @method, "/package.Service/Method", and waits at most @timeout_ns for the
	 * answer. Always fills *@answer: local failures become a status too.
	 */
	void (*send)(struct transport *transport, const char *method, const void *bytes,
		     size_t byte_count, uint64_t timeout_ns, struct transport_answer *answer);
	/**
	 * Ends a waiting send at once with RPC_CANCELLED, and all later sends too. Any thread may
	 * call it.
	 */
	void (*cancel)(struct transport *transport);
};

struct transport {
	const struct transport_ops *ops;
};

#endif
