/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The pool (host_pool.h) of processes that open and read files whose file systems may never answer
 * (file_host.h): files on network and FUSE file systems, and files whose path a process chooses. The agent has
 * only copies and no descriptor of such a file, so none of its threads can hang in one. If an answer takes 5 s
 * without progress, the process that owes it is lost, with all files that it held. They may be opened again in
 * a new process; those on the device that did not answer only after the lost process has ended.
 */
#ifndef AGENT_RUNTIMES_FILE_HOSTS_H
#define AGENT_RUNTIMES_FILE_HOSTS_H

#include <stdint.h>

#include "agent/runtimes/file_home.h"

struct file_hosts;

struct file_hosts_options {
	/** The program to start; NULL: our own, which must call file_host_enter(). Borrowed. */
	const char *program;
	/** Files were lost: held_file_ops.is_lost(). Any thread; not after file_home_ops.stop(). */
	void (*lost)(void *context);
	void *context;
};

int file_hosts_create(const struct file_hosts_options *options, struct file_hosts **hosts);
/** Takes NULL. No file may be held any more. Processes that hang are abandoned. */
void file_hosts_destroy(struct file_hosts *hosts);

/** Borrowed. */
struct file_home *file_hosts_home(struct file_hosts *hosts);

/** Number of processes that were lost and have not ended. */
uint32_t file_hosts_hanging_count(struct file_hosts *hosts);

#endif
