/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The page and its answers over HTTP, by libmicrohttpd, in one thread: bounded in connections, in the bytes of a
 * request and of answers that nobody has read yet, and in the time that a client may do nothing.
 */
#ifndef VIEWER_HTTP_SERVER_H
#define VIEWER_HTTP_SERVER_H

#include <stdint.h>

#include "viewer/access_token.h"
#include "viewer/api.h"

struct http_server_options {
	/** Listening, of the server from http_server_start() on, if that succeeds. */
	int fd;
	uint16_t port;
	/** Borrowed; asked by the server's thread alone. */
	struct api *api;
	/** NULL: everybody who can connect may ask. Borrowed. */
	const struct access_token *token;
	/** The machine's name, under which it may be asked, too; borrowed. */
	const char *host_name;
};

struct http_server;

int http_server_start(const struct http_server_options *options, struct http_server **server);

/** Ends all connections and the thread. Takes NULL. */
void http_server_stop(struct http_server *server);

#endif
