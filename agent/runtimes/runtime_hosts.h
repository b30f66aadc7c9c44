/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes that hold runtimes (runtime_host.h), one for each user whose programs have runtimes, as the agent
 * sees them: they are started when they are needed, watched, and left behind when they hang. What lived in one
 * is lost then; whoever asks for it gets -EHOSTDOWN, and may attach anew, in another process. The process in
 * whose memory it hung is not attached to again. A user who lets HOSTS_HUNG_OF_USER_MAX of them hang gets no other
 * one until one of these has ended.
 */
#ifndef AGENT_RUNTIMES_RUNTIME_HOSTS_H
#define AGENT_RUNTIMES_RUNTIME_HOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/runtimes/runtime_home.h"

struct runtime_hosts;

enum {
	/** Users beyond them share the last one. */
	HOSTS_MAX = 8,
	HOSTS_HUNG_OF_USER_MAX = 2,
	HOSTS_HUNG_MAX = 16,
};

struct runtime_hosts_options {
	/** The program to start; NULL: ours, which must call runtime_host_enter(). Borrowed. */
	const char *program;
	/** Which languages there are (interpreters/registry.h). */
	uint32_t languages;
	/** A process hangs, while it read in @pid (0: none), and all that lived in it is lost. Any thread. */
	void (*lost)(void *context, uint32_t pid);
	void *context;
};

int runtime_hosts_create(const struct runtime_hosts_options *options, struct runtime_hosts **hosts);
/** Takes NULL. Those that hang are left behind. */
void runtime_hosts_destroy(struct runtime_hosts *hosts);

/** They as a home; borrowed. */
struct runtime_home *runtime_hosts_home(struct runtime_hosts *hosts);

/** How many hang now. */
uint32_t runtime_hosts_hung_count(struct runtime_hosts *hosts);

#endif
