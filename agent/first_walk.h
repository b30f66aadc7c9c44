/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The first_unwinder of the agent: walks the stack copy of a first sample with the kernel side's own
 * unwinder (agent/unwind/user_walk.h).
 */
#ifndef AGENT_FIRST_WALK_H
#define AGENT_FIRST_WALK_H

#include "agent/processes/first_unwinder.h"

struct first_walk;

/** -ENOMEM. */
int first_walk_create(struct first_walk **walk);
void first_walk_destroy(struct first_walk *walk);

/** Borrowed from @walk; to be used by one thread at a time. */
struct first_unwinder *first_walk_unwinder(struct first_walk *walk);

#endif
