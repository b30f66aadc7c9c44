/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The first_unwinder of the agent: walks the stack copy of a first sample with the kernel side's own
 * unwinder (ebpf/host), which it shows the tables in user space as if they lay in slabs. Nothing is
 * copied: each table is a slab, or several neighbouring ones, of its own.
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
