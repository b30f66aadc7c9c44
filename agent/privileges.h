/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Limits what the agent may do once it has started: docs/security.md. Programs are started by
 * the launcher (lib/base/launcher.h), which is forked before.
 */
#ifndef AGENT_PRIVILEGES_H
#define AGENT_PRIVILEGES_H

#include <stdint.h>

#include "agent/options.h"

/**
 * Starts the launcher, with the programs that the agent itself needs, and the folders of outputs and caches. What a user asks to
 * be started is forked before or after this, but before privileges_drop(). -errno.
 */
int privileges_start_launcher(const struct options *options);

/**
 * Keeps the capabilities that @options need, and filters system calls, for the calling thread and all that are started
 * later; so there must be no other yet. Signals can be sent to the process of @command_fd only, a pidfd (-1: to none), except
 * for SIGKILL. -errno if capabilities cannot be dropped; a kernel without filters is warned of.
 */
int privileges_drop(const struct options *options, int command_fd);

/** Bits (1 << CAP_...) of the capabilities that @options need. */
uint64_t privileges_needed(const struct options *options);

#endif
