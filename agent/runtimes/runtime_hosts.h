/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes that hold runtimes (runtime_host.h), one for each user whose programs have some. They are started when
 * they are needed, watched, and abandoned when they hang. All that lived in one is lost then: asking for it gives
 * -ENOTCONN, and it may be attached to anew, in a new process. The process whose memory hung is not attached to
 * again. A user whose programs have HOSTS_LOST_OF_USER_MAX of them hang within a minute gets no new one for the
 * rest of it, nor while so many still hang.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOSTS_H
#define AGENT_RUNTIMES_RUNTIME_HOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/runtimes/runtime_home.h"

struct runtime_hosts;

enum {
	/** More users share one. */
	HOSTS_MAX = 8,
	HOSTS_LOST_OF_USER_MAX = 2,
	/** All users together. */
	HOSTS_LOST_MAX = 16,
};

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
