/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Serves a site over HTTP with libmicrohttpd, in one thread: the page with the API's answers, or the metrics. Connections,
 * the bytes of a request, the bytes of unread answers, and the idle time of a client are limited.
 */
#ifndef VIEWER_HTTP_SERVER_H
#define VIEWER_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "viewer/access_token.h"
#include "viewer/api.h"

/** A site. Only the server's thread calls the functions. All is borrowed. */
struct http_site {
	/** Name of the thread. */
	const char *name;
	/** The page's files are served too. */
	bool has_page;
	/** How the paths begin that are answered, such as "/api/". */
	const char *prefix;
	/** Fills *@answer for a path behind the prefix. */
	void (*answer)(void *context, const struct api_request *request, struct api_answer *answer);
	/** Whether no token is needed for the path; NULL: it is needed for each. */
	bool (*is_for_all)(const char *path);
	/** Frees memory that is no longer used; NULL: there is none. */
	void (*tidy)(void *context);
	void *context;
};

struct http_server_options {
	/** A listening socket; if http_server_start() succeeds, the server owns it. */
	int fd;
	uint16_t port;
	struct http_site site;
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
