/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Serves the page and the API's answers over HTTP with libmicrohttpd, in one thread. Connections,
 * the bytes of a request, the bytes of unread answers, and the idle time of a client are limited.
 */
#ifndef VIEWER_HTTP_SERVER_H
#define VIEWER_HTTP_SERVER_H

#include <stdint.h>

#include "viewer/access_token.h"
#include "viewer/api.h"

struct http_server_options {
	/** A listening socket; if http_server_start() succeeds, the server owns it. */
	int fd;
	uint16_t port;
	/** Borrowed; only the server's thread uses it. */
	struct api *api;
	/** NULL: everybody who can connect may send requests. Borrowed. */
	const struct access_token *token;
	/** The machine's name, which requests may use as host too; borrowed. */
	const char *host_name;
};

struct http_server;

int http_server_start(const struct http_server_options *options, struct http_server **server);

/** Closes all connections and ends the thread. Takes NULL. */
void http_server_stop(struct http_server *server);

#endif
