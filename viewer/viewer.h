/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The door of viewer/: shows the samples of the last while as a page, to browsers. A struct reporter that keeps them,
 * and a thread that answers.
 */
#ifndef VIEWER_VIEWER_H
#define VIEWER_VIEWER_H

#include "viewer/api.h"
#include "viewer/history.h"

/** Port of the default address; a free one if that is taken. */
enum { VIEWER_DEFAULT_PORT = 7171 };

struct viewer_options {
	/** `host:port`, an IP address or localhost, in brackets for IPv6; NULL: the default. */
	const char *address;
	/** NULL: none, and then only addresses of this machine's own loopback can be listened on. */
	const char *token_file;
	struct history_options history;
	/** All but the history, the epoch and token_needed. */
	struct api_config api;
};

struct viewer;

/**
 * Listens, but answers nobody yet. What is borrowed lives longer. -EINVAL with a text for users for addresses and token
 * files that do not do, -EADDRINUSE, -ENOMEM.
 */
int viewer_create(const struct viewer_options *options, struct viewer **viewer);

/** Takes NULL. */
void viewer_destroy(struct viewer *viewer);

/** "http://127.0.0.1:7171" */
const char *viewer_url(const struct viewer *viewer);

struct history *viewer_history(struct viewer *viewer);

/** Begins to answer. */
int viewer_start(struct viewer *viewer);

/** Answers nobody any more; nothing of what was borrowed is used any more. */
void viewer_stop(struct viewer *viewer);

#endif
