/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Changes that a request makes to stacks before they are merged: functions that it hides (`hide=NAME`, repeatable). The time of a
 * hidden function becomes its caller's.
 */
#ifndef VIEWER_TRANSFORMS_H
#define VIEWER_TRANSFORMS_H

#include "lib/base/vector.h"
#include "viewer/api.h"
#include "viewer/selection.h"
#include "viewer/stack_names.h"

VECTOR_DEFINE(list_vector, uint32_t *)
VECTOR_DEFINE(mark_vector, uint8_t)

struct transforms {
	/** Borrowed from the request. */
	struct value_vector hidden;
	/** By function: whether it is hidden, 0 until that is known. */
	struct mark_vector marks;
	/** Lists that were changed. */
	struct list_vector lists;
};

/** -EINVAL with a text for users; -ENOMEM. The caller deinits @transforms in any case. */
int transforms_init(struct transforms *transforms, const struct api_request *request);
void transforms_deinit(struct transforms *transforms);

/** Replaces *@list if something in it changes; the new one lives as long as @transforms. -ENOMEM. */
int transforms_apply(struct transforms *transforms, const struct stack_names *names,
		     struct location_list *list);

#endif
