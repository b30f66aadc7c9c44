/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The agent's user_unwinder: unwinds the stack copy of a deferred sample with the kernel side's own unwinder
 * (agent/unwind/user_unwind.h).
 */
#ifndef AGENT_DEFERRED_UNWINDER_H
#define AGENT_DEFERRED_UNWINDER_H

#include "agent/processes/user_unwinder.h"

struct deferred_unwinder;

/** -ENOMEM. */
int deferred_unwinder_create(struct deferred_unwinder **deferred);
void deferred_unwinder_destroy(struct deferred_unwinder *deferred);

/** Borrowed from @deferred; used by one thread at a time. */
struct user_unwinder *deferred_unwinder_interface(struct deferred_unwinder *deferred);

#endif
