/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The gRPC server on the C core: takes calls of one method, hands what they send to a handler and
 * answers as that says. One thread, one completion queue, no blocking but in server_step().
 *
 * The core is told not to decompress messages. So the handler sees what went over the wire: whether
 * it was compressed (the flag of the gRPC message, with the grpc-encoding of the call), and its
 * size.
 */
#ifndef INTEGRATION_COLLECTOR_SERVER_H
#define INTEGRATION_COLLECTOR_SERVER_H

#include "integration/collector/answers.h"
#include "integration/collector/wire_reader.h"

#define EXPORT_METHOD "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

/** A message that came in. Borrowed for the call. */
struct server_message {
	struct span bytes;
	bool is_gzip;
	/** As gRPC has it: "ipv4:127.0.0.1:38212". */
	const char *peer;
};

struct server_handler {
	/** A call of @method came, with its metadata one by one; before its message. */
	void (*method)(void *context, struct span method);
	void (*header)(void *context, struct span key, struct span value);
	/** Returns how to answer. */
	struct answer (*message)(void *context, const struct server_message *message);
	void *context;
};

struct server_options {
	/** ADDRESS:PORT; port 0 takes a free one. */
	const char *listen;
	/** PEM texts; certificate NULL: no TLS. */
	const char *certificate;
	const char *key;
	/** PEM text; NULL: clients need no certificate. */
	const char *client_ca;
};

struct server;

/** Listens. -EADDRINUSE or -EINVAL with a text, -ENOMEM. *@port is the one that it listens on. */
int server_create(const struct server_options *options, const struct server_handler *handler,
		  struct server **server, int *port);

/** Handles one event, for which it waits @timeout_ms at most. */
void server_step(struct server *server, int timeout_ms);

/** Ends all calls and frees the server; takes NULL. */
void server_destroy(struct server *server);

#endif
