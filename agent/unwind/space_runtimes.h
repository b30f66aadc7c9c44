/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The language runtimes in a stopped process or a core file. They are attached to as the agent does it, from
 * the memory's content. Owned and used by one thread.
 */
#ifndef AGENT_UNWIND_SPACE_RUNTIMES_H
#define AGENT_UNWIND_SPACE_RUNTIMES_H

#include <stdint.h>

#include "agent/processes/user_unwinder.h"
#include "agent/unwind/address_space.h"
#include "interpreters/language.h"
#include "lib/host/remote_memory.h"

struct space_runtimes {
	/** Borrowed. */
	struct remote_memory *memory;
	/** Attached runtimes, count of them; an unwind borrows them. */
	struct user_runtime items[RUNTIMES_MAX];
	uint32_t count;
};

/**
 * Attaches to the runtimes that are mapped in @space, of the languages that it was made for; @memory is
 * borrowed. Failures are logged, and their runtimes left out. -ENOMEM.
 */
int space_runtimes_init(struct space_runtimes *runtimes, struct address_space *space,
			struct remote_memory *memory);
void space_runtimes_deinit(struct space_runtimes *runtimes);

/**
 * Names the frames of the two words, as language_ops.symbolize(); -ESRCH: no such runtime. *@language is set to
 * the language's name, if there is a runtime.
 */
int space_runtimes_name(const struct space_runtimes *runtimes, const uint64_t words[2],
			const char **language, struct interpreted_frames *frames);

#endif
