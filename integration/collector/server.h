/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The gRPC server on the C core: accepts calls of two methods, passes their messages to a handler,
 * and answers as the handler says. It has one thread and one completion queue, and blocks only in
 * server_step().
 *
 * The core is told not to decompress messages. So the handler sees the bytes of the wire: whether
 * they were compressed (the flag of the gRPC message, with the grpc-encoding of the call), and
 * their size.
 */
#ifndef INTEGRATION_COLLECTOR_SERVER_H
#define INTEGRATION_COLLECTOR_SERVER_H

#include "integration/collector/answers.h"
#include "integration/collector/wire_reader.h"

#define EXPORT_METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define METRICS_METHOD "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

/** A received message. Borrowed for the call. */
struct server_message {
	struct span bytes;
	bool is_gzip;
	/** It came by METRICS_METHOD. */
	bool is_metrics;
	/** In gRPC's form: "ipv4:127.0.0.1:38212". */
	const char *peer;
};

struct server_handler {
	/**
	 * A call of @method has arrived; then its metadata entries, one by one; both before its
	 * message.
	 */
	void (*method)(void *context, struct span method);
	void (*header)(void *context, struct span key, struct span value);
	/** Returns the answer. */
	struct answer (*message)(void *context, const struct server_message *message);
	void *context;
};

struct server_options {
	/** ADDRESS:PORT; port 0 means a free one. */
	const char *listen;
	/** PEM texts; if certificate is NULL: no TLS. */
	const char *certificate;
	const char *key;
	/** PEM text; NULL: clients need no certificate. */
	const char *client_ca;
};

struct server;

/** Listens. -EADDRINUSE or -EINVAL with a text, -ENOMEM. *@port is the port that it listens on. */
int server_create(const struct server_options *options, const struct server_handler *handler,
		  struct server **server, int *port);

/** Handles one event; waits for it at most @timeout_ms. */
void server_step(struct server *server, int timeout_ms);

/** Ends all calls and frees the server; takes NULL. */
void server_destroy(struct server *server);

#endif
