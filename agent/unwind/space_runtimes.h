/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The language runtimes in a stopped process or a core file: attached to as the agent does, by what
 * is in its memory. Owned and used by one thread.
 */
#ifndef AGENT_UNWIND_SPACE_RUNTIMES_H
#define AGENT_UNWIND_SPACE_RUNTIMES_H

#include <stdint.h>

#include "agent/processes/first_unwinder.h"
#include "agent/unwind/address_space.h"
#include "interpreters/language.h"
#include "lib/host/remote_memory.h"

struct space_runtimes {
	/** Borrowed. */
	struct remote_memory *memory;
	/** Of which a walk borrows the first @count. */
	struct first_runtime items[RUNTIMES_MAX];
	uint32_t count;
};

/**
 * Attaches to the runtimes that are mapped in @space, of the languages it was made for; @memory is
 * borrowed. Those that cannot be attached to are logged and left out. -ENOMEM.
 */
int space_runtimes_init(struct space_runtimes *runtimes, struct address_space *space,
			struct remote_memory *memory);
void space_runtimes_deinit(struct space_runtimes *runtimes);

/**
 * Names the frames of the two words, as language_ops.symbolize; -ESRCH: no such runtime. *@language
 * gets the name of its language where there is one.
 */
int space_runtimes_name(const struct space_runtimes *runtimes, const uint64_t words[2],
			const char **language, struct interpreted_frames *frames);

#endif
