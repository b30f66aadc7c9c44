/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The agent's first_unwinder: unwinds the stack copy of a first sample with the kernel side's own unwinder
 * (agent/unwind/user_walk.h).
 */
#ifndef AGENT_FIRST_WALK_H
#define AGENT_FIRST_WALK_H

#include "agent/processes/first_unwinder.h"

struct first_walk;

/** -ENOMEM. */
int first_walk_create(struct first_walk **walk);
void first_walk_destroy(struct first_walk *walk);

/** Borrowed from @walk; used by one thread at a time. */
struct first_unwinder *first_walk_unwinder(struct first_walk *walk);

#endif
