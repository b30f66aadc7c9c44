/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The transport over gRPC's C core: unary calls, gzip, one at a time. It
 * connects at the first call; a connection that fails is tried again by each call and in between, so
 * that a call fails at once where there is none. Certificates that are renewed on disk are read
 * again after a failure. What a collector answers is bounded to OTLP_ANSWER_MAX_BYTES, unpacked, and
 * trusted in nothing.
 *
 * The C core has threads of its own; signals that they must not take are to be blocked before.
 * What it would write on standard error goes to the log as debug lines.
 */
#ifndef REPORTER_GRPC_TRANSPORT_H
#define REPORTER_GRPC_TRANSPORT_H

#include <stdbool.h>

#include "reporter/transport.h"
#include "reporter/transport_header.h"

/** Borrowed for as long as the transport lives. */
struct grpc_transport_options {
	/** "/package.Service/Method"; NULL: ProfilesService/Export. */
	const char *method;
	/** `host:port`, `1.2.3.4:port` or `[::1]:port`. */
	const char *address;
	/** No TLS; the three paths are not used then. */
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
 * No send may be under way. A call that does not end when it is cancelled is left behind with its memory, and the C
 * core's threads with it (grpc_library_is_left()).
 */
void grpc_transport_destroy(struct grpc_transport *transport);

/** Borrowed from @transport. */
struct transport *grpc_transport_base(struct grpc_transport *transport);

#endif
