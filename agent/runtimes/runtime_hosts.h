/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes that hold runtimes (runtime_host.h), in a pool (host_pool.h). All that lived in one that hangs is lost:
 * asking for it gives -ENOTCONN, and it may be attached to anew, in a new process. The process whose memory hung is not
 * attached to again.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOSTS_H
#define AGENT_RUNTIMES_RUNTIME_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runtimes/host_pool.h"
#include "agent/runtimes/runtime_home.h"

struct runtime_hosts;

struct runtime_hosts_options {
	/** The program to start; NULL: ours, which must call runtime_host_enter(). Borrowed. */
	const char *program;
	/** Which languages there are (interpreters/registry.h). */
	uint32_t languages;
	/** A host was lost while it read memory or files of @pid (0: of none). Any thread. */
	void (*lost)(void *context, uint32_t pid);
	void *context;
};

int runtime_hosts_create(const struct runtime_hosts_options *options, struct runtime_hosts **hosts);
/** Takes NULL. Everything that lived there was released. Hosts that hang are left behind. */
void runtime_hosts_destroy(struct runtime_hosts *hosts);

/** Borrowed. */
struct runtime_home *runtime_hosts_home(struct runtime_hosts *hosts);

/** How many were lost and have not ended. */
uint32_t runtime_hosts_hanging_count(struct runtime_hosts *hosts);

#endif
