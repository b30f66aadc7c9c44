/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface of viewer/: serves the recent samples as a page to browsers. It consists of a
 * struct reporter that keeps the samples, and a thread that answers requests.
 */
#ifndef VIEWER_VIEWER_H
#define VIEWER_VIEWER_H

#include "viewer/api.h"
#include "viewer/history.h"

/** Port of the default address; if it is taken, a free port is used. */
enum { VIEWER_DEFAULT_PORT = 7171 };

struct viewer_options {
	/** `host:port`, an IP address or localhost, in brackets for IPv6; NULL: the default. */
	const char *address;
	/** NULL: no token; only loopback addresses are then accepted for listening. */
	const char *token_file;
	struct history_options history;
	/** Fill all but the history, the epoch, token_needed and shows_command_lines. */
	struct api_config api;
};

struct viewer;

/**
 * Listens, but answers nothing yet. Borrowed memory must outlive it. -EINVAL with a text for users
 * if the address or the token file is unusable, -EADDRINUSE, -ENOMEM.
 */
int viewer_create(const struct viewer_options *options, struct viewer **viewer);

/** Takes NULL. */
void viewer_destroy(struct viewer *viewer);

/** "http://127.0.0.1:7171" */
const char *viewer_url(const struct viewer *viewer);
/** The port at which it listens. */
uint16_t viewer_port(const struct viewer *viewer);

struct history *viewer_history(struct viewer *viewer);

/** Starts to answer. */
int viewer_start(struct viewer *viewer);

/** Stops answering; borrowed memory is no longer used afterwards. */
void viewer_stop(struct viewer *viewer);

#endif
