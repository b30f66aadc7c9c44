/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decides which calls return. Code behind a call that does not return belongs to another function, or to
 * a cold part of one, and its state is not that of the call. The call itself does not show this.
 *
 * A region is the code that paths reach from a function's start, from behind one call, or from the
 * possible targets of a jump table, up to the next calls. It is proven if a path from it reaches an exit
 * with the stack as at the entry, or agrees with a trusted region. It is trusted if it is proven, or if
 * its call is in a trusted region and its callee returns elsewhere: at least at half of its calls, or, if
 * there are few calls, by its own exits. Calls by pointers that vary return, and those where nothing else
 * leads to the code behind them.
 */
#ifndef STACKDELTAS_CODE_CODE_REGIONS_H
#define STACKDELTAS_CODE_CODE_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"

enum {
	CODE_NO_CALLEE = UINT32_MAX,
	/** The callee of a call by a pointer that varies. Functions that do not return are not called so. */
	CODE_ANY_CALLEE = UINT32_MAX - 1,
	/** Value of code_region.caller for a region at a function's start. */
	CODE_NO_CALLER = UINT32_MAX,
};

struct code_region {
	/** The region of the call or jump; the callee, if it is known. */
	uint32_t caller;
	uint32_t callee;
	/** Where it starts. */
	uint32_t offset;
	/** The call returns, since nothing else leads here. */
	bool is_sure;
	bool is_proven;
	bool is_trusted;
};

/** A path of one region reaches the other, and their states agree. */
struct code_region_edge {
	uint32_t from;
	uint32_t to;
};

VECTOR_DEFINE(code_region_vector, struct code_region)
VECTOR_DEFINE(code_region_edge_vector, struct code_region_edge)

/** Zeroed: empty. */
struct code_regions {
	struct code_region_vector regions;
	struct code_region_edge_vector edges;
	/** Known callees. 0: they do not return; 1: they do. */
	struct hash_map callees;
};

/** Adds a region behind a call, or the region of a function's start, which is proven. -ENOMEM. */
int code_regions_add(struct code_regions *regions, uint32_t caller, uint32_t callee,
		     uint32_t offset, uint32_t *region);
/** Records that a path of @from reaches @to. -ENOMEM. */
int code_regions_connect(struct code_regions *regions, uint32_t from, uint32_t to);

/** Records that @callee returns or that it does not; the latter has precedence. -ENOMEM. */
int code_regions_set_callee(struct code_regions *regions, uint32_t callee, bool returns);
bool code_regions_is_noreturn(const struct code_regions *regions, uint32_t callee);

/** Records that a path of @region reaches an exit. */
static inline void code_regions_prove(struct code_regions *regions, uint32_t region)
{
	regions->regions.items[region].is_proven = true;
}

/**
 * Decides which regions are trusted, by all that was recorded. Regions that would need very many steps
 * are not. -ENOMEM.
 */
int code_regions_resolve(struct code_regions *regions);

static inline bool code_regions_is_trusted(const struct code_regions *regions, uint32_t region)
{
	return regions->regions.items[region].is_trusted;
}

void code_regions_deinit(struct code_regions *regions);

#endif
