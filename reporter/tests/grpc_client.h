/* SPDX-License-Identifier: Apache-2.0 */
/** A gRPC transport for tests, with its options (include it after cmocka.h). */
#ifndef REPORTER_TESTS_GRPC_CLIENT_H
#define REPORTER_TESTS_GRPC_CLIENT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "reporter/grpc_transport.h"
#include "reporter/tests/grpc_server.h"

/** Only calls that are meant to time out take this long. */
#define TIMEOUT_NS (60 * NS_PER_SECOND)

/** Clears the environment's settings of proxies, CAs and resolvers. */
static inline void clear_grpc_environment(void)
{
	static const char *const names[] = {
		"http_proxy",
		"https_proxy",
		"grpc_proxy",
		"SSL_CERT_FILE",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	/*
	 * The transport's resolver. Without this, a server that is started first would make gRPC
	 * choose another.
	 */
	setenv("GRPC_DNS_RESOLVER", "native", 1);
}

/** A transport with its options and address. */
struct client {
	char address[64];
	struct grpc_transport_options options;
	struct transport_headers headers;
	struct grpc_transport *transport;
};

static inline struct client *client_create(int port, struct grpc_transport_options options)
{
	struct client *client = calloc(1, sizeof(*client));

	snprintf(client->address, sizeof(client->address), "localhost:%d", port);
	client->options = options;
	client->options.address = client->address;
	client->options.headers = &client->headers;
	client->options.user_agent = "agent/1.2";
	if (grpc_transport_create(&client->options, &client->transport))
		fail_msg("%s", error_text());
	return client;
}

static inline struct client *plain_client(const struct grpc_test_server *server)
{
	return client_create(server->port, (struct grpc_transport_options){ .is_plain = true });
}

static inline void client_destroy(struct client *client)
{
	grpc_transport_destroy(client->transport);
	transport_headers_deinit(&client->headers);
	free(client);
}

static inline struct transport_answer send_within(struct client *client, const void *bytes,
						  size_t count, uint64_t timeout_ns)
{
	struct transport *transport = grpc_transport_base(client->transport);
	struct transport_answer answer;

	memset(&answer, 0x5a, sizeof(answer));
	transport->ops->send(transport, OTLP_PROFILES_METHOD, bytes, count, timeout_ns, &answer);
	return answer;
}

static inline struct transport_answer send_one(struct client *client)
{
	return send_within(client, "request", strlen("request"), TIMEOUT_NS);
}

static inline void assert_answer(const struct transport_answer *answer, enum rpc_status status,
				 const char *text)
{
	if (answer->status != status || !strstr(answer->message, text))
		fail_msg("status %d, '%s'", answer->status, answer->message);
}

#endif
