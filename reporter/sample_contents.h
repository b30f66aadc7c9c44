/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The samples in a sample store: packed while they are added, and turned into a snapshot by the
 * thread that took them. Not thread-safe.
 */
#ifndef REPORTER_SAMPLE_CONTENTS_H
#define REPORTER_SAMPLE_CONTENTS_H

#include "reporter/sample_store.h"

/**
 * Makes empty contents for a store with these options, whose max_bytes is set. NULL without memory.
 */
struct sample_contents *sample_contents_create(const struct sample_store_options *options);
void sample_contents_destroy(struct sample_contents *contents);

/** Counts one sample. -E2BIG if over the limit, -ENOMEM; the sample is then not counted. */
int sample_contents_add(struct sample_contents *contents, const struct sample_event *event);

/** True if half of the memory limit is used. */
bool sample_contents_are_half_full(const struct sample_contents *contents);

/** The number of samples added, without those of a weight. Not valid once the contents are finished. */
uint64_t sample_contents_count(const struct sample_contents *contents);

/**
 * Allocates all that sample_contents_finish() needs, so that it cannot fail. This is quick, since
 * nothing is written. Call it again after more samples were added. 0 or -ENOMEM.
 */
int sample_contents_prepare(struct sample_contents *contents);

/** Fills *@snapshot, which then owns @contents; no sample may be added afterwards. */
void sample_contents_finish(struct sample_contents *contents, struct sample_snapshot *snapshot);

#endif
