/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Queues the binaries of new traces: each once for every process that has it, since another process's root may
 * have a debug file. It is a struct reporter, called by the work thread, with a queue that any thread can take
 * from. For a sample of a known trace only one flag is checked.
 *
 * When the queue is full, the oldest binary is dropped and counted. The next new trace that has it queues it
 * again.
 */
#ifndef AGENT_NEW_BINARIES_H
#define AGENT_NEW_BINARIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/bounded_queue.h"
#include "lib/base/hash_map.h"
#include "lib/model/binary.h"
#include "reporter/reporter.h"

struct new_binary {
	/** One reference. */
	struct binary *binary;
	uint32_t pid;
};

/** Owned by the work thread, but for the queue, which locks. */
struct new_binaries {
	struct reporter reporter;
	struct bounded_queue queue;
	size_t max_count;
	/** Keys of the binaries that were queued, each with its process. */
	struct hash_map seen;
	/** The binary that was dropped for the one that is being pushed; NULL if none was. */
	struct new_binary dropped;
};

/** At most @max_count binaries are queued, and twice as many are remembered. -ENOMEM. */
int new_binaries_init(struct new_binaries *binaries, size_t max_count);

/** Takes a zeroed struct. No thread may use it any more. */
void new_binaries_deinit(struct new_binaries *binaries);

/** Takes the binary that has waited longest, with its reference; false if none waits. Any thread. */
bool new_binaries_take(struct new_binaries *binaries, struct new_binary *taken);

#endif
