/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Changes that a request makes to stacks before they are merged. Each stack keeps its samples, so all sums stay exact. They are
 * made in this order, whatever the order of the parameters is:
 *
 *	begin=NAME	callers of the outermost such function are left out; the selection has only stacks with one (SELECT_BEGIN)
 *	hide=NAME	such functions are left out: their time becomes their callers'
 *	fold=inlined	inlined functions are left out
 *	fold=unnamed	code that a process generated, without a name, becomes one frame of the process
 *	fold=kernel	adjacent kernel frames become one
 *	fold=runtime	adjacent frames of a binary that runs interpreted code, and of Go's runtime, become one
 *	frames=binary|package	adjacent frames of one binary or package (viewer/packages.h) become one
 *	fold=recursion	a function that is called again below itself is the frame that it already has
 */
#ifndef VIEWER_TRANSFORMS_H
#define VIEWER_TRANSFORMS_H

#include <stdbool.h>

#include "lib/base/vector.h"
#include "viewer/api.h"
#include "viewer/selection.h"
#include "viewer/stack_names.h"

VECTOR_DEFINE(list_vector, uint32_t *)
VECTOR_DEFINE(mark_vector, uint8_t)

enum fold {
	FOLD_INLINED,
	FOLD_UNNAMED,
	FOLD_KERNEL,
	FOLD_RUNTIME,
	FOLD_RECURSION,
	FOLD_COUNT,
};

/** The unit that one frame shows. */
enum frame_unit {
	FRAME_OF_FUNCTION,
	FRAME_OF_BINARY,
	FRAME_OF_PACKAGE,
	FRAME_UNIT_COUNT,
};

struct transforms {
	/** Borrowed from the request. */
	struct value_vector hidden;
	struct value_vector begins;
	/** Bit f: fold f is asked for. */
	unsigned int folds;
	enum frame_unit unit;
	/** By function: what is known of it (enum mark), 0 until that is. */
	struct mark_vector marks;
	/** By location: the group that it is a part of by `unit`, and as a part of a runtime. */
	struct number_vector groups;
	struct number_vector runtime_groups;
	/** String ids of the binaries that run interpreted code. */
	struct hash_map runtimes;
	/** By function: its position in the list that is being changed, and that list's serial number. */
	struct number_vector positions;
	struct number_vector serials;
	uint32_t serial;
	struct text_builder text;
	/** String id of "". */
	uint32_t no_text;
	/** Lists that were changed. */
	struct list_vector lists;
};

/** -EINVAL with a text for users; -ENOMEM. The caller deinits @transforms in any case. */
int transforms_init(struct transforms *transforms, const struct api_request *request);
void transforms_deinit(struct transforms *transforms);

static inline bool transforms_fold(const struct transforms *transforms, enum fold fold)
{
	return transforms->folds & 1U << fold;
}

bool transforms_change_stacks(const struct transforms *transforms);

/** Notes the binaries that run interpreted code in @list: all lists are learned before the first is changed. -ENOMEM. */
int transforms_learn(struct transforms *transforms, const struct stack_names *names,
		     const struct location_list *list);

/**
 * Replaces *@list, of a process called @comm, by a changed one, which lives as long as @transforms. -ENOMEM.
 */
int transforms_apply(struct transforms *transforms, struct stack_names *names, const char *comm,
		     struct location_list *list);

/** The unit that parameter @name of the request asks for. -EINVAL with a text for users. */
int request_unit(const struct api_request *request, const char *name, enum frame_unit *unit);

/** Sets @text to the name of the binary or the package of a location. */
void unit_name(const struct stack_names *names, uint32_t location, enum frame_unit unit,
	       struct text_builder *text);

#endif
