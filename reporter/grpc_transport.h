/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The transport over gRPC's C core: unary calls, gzip, one at a time. It connects at the first
 * call. A failed connection is retried by each call and in between, so a call fails at once while
 * there is no connection. Certificates that are renewed on disk are read again after a failure. A
 * collector's answer is limited to OTLP_ANSWER_MAX_BYTES, decompressed, and not trusted.
 *
 * The C core has its own threads; block the signals that they must not receive before it starts.
 * Its output on standard error goes to the log as debug lines.
 */
#ifndef REPORTER_GRPC_TRANSPORT_H
#define REPORTER_GRPC_TRANSPORT_H

#include <stdbool.h>

#include "reporter/transport.h"
#include "reporter/transport_header.h"

/** Borrowed for as long as the transport lives. */
struct grpc_transport_options {
	/** `host:port`, `1.2.3.4:port` or `[::1]:port`. */
	const char *address;
	/** No TLS; the three paths are then unused. */
	bool is_plain;
	/** PEM file of CAs; NULL: the system's. */
	const char *tls_ca;
	/** PEM files of a client certificate and its key; NULL: none. */
	const char *tls_cert;
	const char *tls_key;
	const struct transport_headers *headers;
	/** `name/version`. */
	const char *user_agent;
	bool no_compression;
};

struct grpc_transport;

/**
 * -EINVAL with a text for users if a file cannot be read or holds no certificate or key, -ENOMEM.
 * Does not connect.
 */
int grpc_transport_create(const struct grpc_transport_options *options,
			  struct grpc_transport **transport);

/**
 * No send may be in progress. A call that does not end when it is cancelled is leaked with its
 * memory, and the C core's threads are left running (grpc_library_is_left()).
 */
void grpc_transport_destroy(struct grpc_transport *transport);

/** Borrowed from @transport. */
struct transport *grpc_transport_base(struct grpc_transport *transport);

#endif
