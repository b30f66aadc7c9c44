/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes that hold runtimes (runtime_host.h), in a pool (host_pool.h). All runtimes and memories in one
 * that hangs are lost: requests for them give -ENOTCONN, and they may be attached to again in a new process.
 * The process whose memory hung is not attached to again.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOSTS_H
#define AGENT_RUNTIMES_RUNTIME_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runtimes/host_pool.h"
#include "agent/runtimes/runtime_home.h"

struct runtime_hosts;

struct runtime_hosts_options {
	/** The program to start; NULL: our own, which must call runtime_host_enter(). Borrowed. */
	const char *program;
	/** The set of languages (interpreters/registry.h). */
	uint32_t languages;
	/** A host was lost while it read memory or files of @pid (0: of none). Any thread. */
	void (*lost)(void *context, uint32_t pid);
	void *context;
};

int runtime_hosts_create(const struct runtime_hosts_options *options, struct runtime_hosts **hosts);
/** Takes NULL. Everything in the home must have been released. Hosts that hang are abandoned. */
void runtime_hosts_destroy(struct runtime_hosts *hosts);

/** Borrowed. */
struct runtime_home *runtime_hosts_home(struct runtime_hosts *hosts);

/** Number of hosts that were lost and have not ended. */
uint32_t runtime_hosts_hanging_count(struct runtime_hosts *hosts);

#endif
