/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Serves the agent's metrics to Prometheus (metrics_text.h), and its state to those that watch over it:
 *
 *	/metrics	the metrics
 *	/healthz	200: the agent works; 503: samples or process events have waited for a minute, or nobody has looked
 *			at them for a minute
 *	/readyz		200: the agent samples
 *
 * Who may ask is as for the page; the last two need no token.
 */
#ifndef VIEWER_METRICS_SERVER_H
#define VIEWER_METRICS_SERVER_H

#include "viewer/metrics_text.h"

/** Strings are borrowed. */
struct metrics_server_options {
	/** `host:port`, an IP address or localhost, in brackets for IPv6. */
	const char *address;
	/** NULL: no token; only loopback addresses are then accepted. */
	const char *token_file;
	/** The machine's name, which requests may use as host too. */
	const char *host;
	/** Fills the table, which is empty. Called by the server's thread. */
	void (*fill)(void *context, struct metric_table *table);
	/** How long ago the metrics were brought up to date. Likewise. */
	uint64_t (*age_ms)(void *context);
	void *context;
};

struct metrics_server;

/** Listens, but answers nothing yet. Errors as viewer_create(). */
int metrics_server_create(const struct metrics_server_options *options,
			  struct metrics_server **server);

/** "http://127.0.0.1:9464/metrics" */
const char *metrics_server_url(const struct metrics_server *server);

/** Starts to answer, when the agent samples. */
int metrics_server_start(struct metrics_server *server);

/** Takes NULL. Borrowed memory is no longer used afterwards. */
void metrics_server_destroy(struct metrics_server *server);

#endif
