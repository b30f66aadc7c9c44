/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Requests without an answer to a process that holds runtimes: they are sent before its next question for names, in
 * their order, and whoever makes one never waits. Any thread.
 */
#ifndef AGENT_RUNTIMES_HOST_NOTICES_H
#define AGENT_RUNTIMES_HOST_NOTICES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/runtimes/host_protocol.h"
#include "lib/base/vector.h"

struct host_notice {
	enum host_request_kind kind;
	uint64_t id;
	/** HOST_REQUEST_ADD_MEMORY: the notices own it; else -1. */
	int fd;
};

VECTOR_DEFINE(host_notice_vector, struct host_notice)

struct host_notices {
	pthread_mutex_t lock;
	struct host_notice_vector waiting;
};

void host_notices_init(struct host_notices *notices);
void host_notices_deinit(struct host_notices *notices);

/** -ENOMEM; then the descriptor is still the caller's. */
int host_notices_add(struct host_notices *notices, struct host_notice notice);

/** Whoever may not wait leaves for the next time what does not fit into @socket. One thread at a time. */
void host_notices_send(struct host_notices *notices, int socket, bool may_wait);

#endif
