/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Samples over time: the time line, and the heat map of fractions of seconds. Errors have a text
 * for users.
 */
#ifndef VIEWER_API_TIME_H
#define VIEWER_API_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "viewer/question.h"

/** Fills @object as in viewer/page/API.md. -EINVAL, -ENOMEM. */
int answer_timeline(struct question *question, json_t *object);
int answer_heatmap(struct question *question, json_t *object);

/**
 * Divides the selected range, with or without samples, into at most @most buckets of whole sampling periods. Returns their
 * number.
 */
size_t time_buckets(const struct question *question, uint64_t most, uint64_t *from_ms,
		    uint64_t *to_ms, uint64_t *step_ms);

#endif
