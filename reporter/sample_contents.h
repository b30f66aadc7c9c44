/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is in a sample store between two takings: packed while it is filled, and turned into the
 * samples of a snapshot by whoever took it. Not thread-safe.
 */
#ifndef REPORTER_SAMPLE_CONTENTS_H
#define REPORTER_SAMPLE_CONTENTS_H

#include "reporter/sample_store.h"

/** Empty ones, for a store with these options, max_bytes set. NULL without memory. */
struct sample_contents *sample_contents_create(const struct sample_store_options *options);
void sample_contents_destroy(struct sample_contents *contents);

/** Counts one sample. -E2BIG over the limit, -ENOMEM; then it is not. */
int sample_contents_add(struct sample_contents *contents, const struct sample_event *event);

/** Whether half of the memory that they may take is used. */
bool sample_contents_are_half_full(const struct sample_contents *contents);

/** How many were counted; not once they are finished. */
uint64_t sample_contents_count(const struct sample_contents *contents);

/**
 * Allocates all that sample_contents_finish() needs, so that it cannot fail. It takes no time, since
 * nothing is written. To be called again if something was added. 0 or -ENOMEM.
 */
int sample_contents_prepare(struct sample_contents *contents);

/** Fills *@snapshot, which owns @contents from now on; nothing can be added any more. */
void sample_contents_finish(struct sample_contents *contents, struct sample_snapshot *snapshot);

#endif
