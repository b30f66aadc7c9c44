/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The processes that open and read files whose file systems may never answer (file_host.h), in a pool (host_pool.h):
 * network and FUSE file systems, and what processes write where they want. The agent has no descriptor of such a file,
 * only copies, so none of its threads can hang in one. An answer that takes 5 s without progress makes the process that
 * owes it a lost one, with all files that it held: they may be opened anew, in a new process, but those on the
 * device that did not answer only when that process has ended.
 */
#ifndef AGENT_RUNTIMES_FILE_HOSTS_H
#define AGENT_RUNTIMES_FILE_HOSTS_H

#include <stdint.h>

#include "agent/runtimes/file_home.h"

struct file_hosts;

struct file_hosts_options {
	/** The program to start; NULL: ours, which must call file_host_enter(). Borrowed. */
	const char *program;
	/** Files were lost: held_file_ops.is_lost(). Any thread; not after file_home_ops.stop(). */
	void (*lost)(void *context);
	void *context;
};

int file_hosts_create(const struct file_hosts_options *options, struct file_hosts **hosts);
/** Takes NULL. No file is held any more. Hosts that hang are left behind. */
void file_hosts_destroy(struct file_hosts *hosts);

/** Borrowed. */
struct file_home *file_hosts_home(struct file_hosts *hosts);

/** How many were lost and have not ended. */
uint32_t file_hosts_hanging_count(struct file_hosts *hosts);

#endif
