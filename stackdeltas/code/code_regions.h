/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which calls come back. What stands behind one that does not is another function's, or a cold part
 * of one, and its state is not that of the call; nothing in the call tells.
 *
 * A region is what paths reach from a function's start, from behind one call, or from where a table
 * of jumps may lead, up to the next calls. It is proven if a path that goes on from it comes to an exit with the stack as at the entry,
 * or agrees with a region that is trusted. It is trusted if it is proven, or if the call is of a
 * trusted region and its callee comes back elsewhere, at half of its calls at least, or by
 * its own exits if there are few calls.
 */
#ifndef STACKDELTAS_CODE_CODE_REGIONS_H
#define STACKDELTAS_CODE_CODE_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash_map.h"
#include "lib/base/vector.h"

enum {
	CODE_NO_CALLEE = UINT32_MAX,
	/** Of a region at a function's start. */
	CODE_NO_CALLER = UINT32_MAX,
};

struct code_region {
	/** The region of the call or jump, and what is called, if that is known. */
	uint32_t caller;
	uint32_t callee;
	bool is_proven;
	bool is_trusted;
};

/** A path of one region comes to the other, and their states agree. */
struct code_region_edge {
	uint32_t from;
	uint32_t to;
};

VECTOR_DEFINE(code_region_vector, struct code_region)
VECTOR_DEFINE(code_region_edge_vector, struct code_region_edge)

/** Zeroed: none. */
struct code_regions {
	struct code_region_vector regions;
	struct code_region_edge_vector edges;
	/** What is known of callees: 0: they do not come back; 1: they do. */
	struct hash_map callees;
};

/** Adds a region behind a call, or that of a function's start, which is proven. -ENOMEM. */
int code_regions_add(struct code_regions *regions, uint32_t caller, uint32_t callee,
		     uint32_t *region);
/** A path of @from comes to @to. -ENOMEM. */
int code_regions_connect(struct code_regions *regions, uint32_t from, uint32_t to);

/** @callee comes back, or does not, which overrules. -ENOMEM. */
int code_regions_set_callee(struct code_regions *regions, uint32_t callee, bool returns);
bool code_regions_is_noreturn(const struct code_regions *regions, uint32_t callee);

/** A path of @region comes to an exit. */
static inline void code_regions_prove(struct code_regions *regions, uint32_t region)
{
	regions->regions.items[region].is_proven = true;
}

/**
 * Tells which regions are trusted, by all that was said of them. What would need very many steps is
 * not. -ENOMEM.
 */
int code_regions_resolve(struct code_regions *regions);

static inline bool code_regions_is_trusted(const struct code_regions *regions, uint32_t region)
{
	return regions->regions.items[region].is_trusted;
}

void code_regions_deinit(struct code_regions *regions);

#endif
