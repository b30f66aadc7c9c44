/* SPDX-License-Identifier: Apache-2.0 */
/**
 * `-top`: the thread that shows processes, functions and calls live in the terminal, and reads the keys. Meanwhile lines of
 * the log are kept, and written when the screen is given back.
 */
#ifndef AGENT_TOP_TOP_H
#define AGENT_TOP_TOP_H

#include <stdint.h>

#include "lib/model/symbol_lookup.h"

struct top;

struct top_options {
	/** Used by the top thread between start and stop. */
	struct symbol_lookup *lookup;
	uint32_t samples_per_second;
	uint32_t cpu_count;
	/** Called by the top thread when the user wants to quit. */
	void (*quit)(void *context);
	void *context;
};

/** -ENOMEM. */
int top_create(const struct top_options *options, struct top **top);
/** Takes NULL. */
void top_destroy(struct top *top);

/** The reporter that takes the samples. */
struct reporter *top_reporter(struct top *top);

/** Takes over the terminal. -errno with a text. */
int top_start(struct top *top);
/** Gives it back. To be called before the lookup is used by others. Takes NULL. */
void top_stop(struct top *top);

#endif
