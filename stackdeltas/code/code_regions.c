/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs and trust are propagated in passes over all regions; the number of passes is limited. */
#include "stackdeltas/code/code_regions.h"

#include <string.h>

#include "lib/base/cleanup.h"

enum {
	/*
	 * A pass propagates proofs from the last region to the first, and trust from the first to the last,
	 * in the direction of most paths, so that few passes are needed.
	 */
	MAX_PASSES = 16,
	MANY_CALLS = 3,
};

int code_regions_add(struct code_regions *regions, uint32_t caller, uint32_t callee,
		     uint32_t offset, uint32_t *region)
{
	const struct code_region added = {
		.caller = caller,
		.callee = callee,
		.offset = offset,
		.is_proven = caller == CODE_NO_CALLER,
	};
	int error = code_region_vector_push(&regions->regions, added);

	if (!error)
		*region = regions->regions.count - 1;
	return error;
}

int code_regions_connect(struct code_regions *regions, uint32_t from, uint32_t to)
{
	if (from == to)
		return 0;
	return code_region_edge_vector_push(&regions->edges, (struct code_region_edge){ from, to });
}

int code_regions_set_callee(struct code_regions *regions, uint32_t callee, bool returns)
{
	if (code_regions_is_noreturn(regions, callee))
		return 0;
	return hash_map_set(&regions->callees, callee, returns);
}

bool code_regions_is_noreturn(const struct code_regions *regions, uint32_t callee)
{
	uint64_t returns;

	return hash_map_find(&regions->callees, callee, &returns) && !returns;
}

/* Propagates proofs once; true if something has changed. */
static bool carry_proofs(struct code_regions *regions)
{
	struct code_region *items = regions->regions.items;
	bool has_changed = false;

	for (size_t i = regions->edges.count; i--;) {
		const struct code_region_edge *edge = &regions->edges.items[i];

		if (items[edge->from].is_proven ||
		    (!items[edge->to].is_proven && !items[edge->to].is_trusted))
			continue;
		items[edge->from].is_proven = true;
		has_changed = true;
	}
	for (size_t i = regions->regions.count; i--;) {
		struct code_region *caller;

		if (!items[i].is_proven || items[i].caller == CODE_NO_CALLER)
			continue;
		caller = &items[items[i].caller];
		has_changed |= !caller->is_proven;
		caller->is_proven = true;
	}
	return has_changed;
}

/* Counts the calls of each callee: proven ones in the high half, all in the low half. */
static int count_calls(const struct code_regions *regions, struct hash_map *counts)
{
	const struct code_region *items = regions->regions.items;
	int error = 0;

	for (size_t i = 0; !error && i < regions->regions.count; i++) {
		uint64_t count = 0;

		if (items[i].callee >= CODE_ANY_CALLEE)
			continue;
		hash_map_find(counts, items[i].callee, &count);
		count += 1 + ((uint64_t)(items[i].is_proven || items[i].is_sure) << 32);
		error = hash_map_set(counts, items[i].callee, count);
	}
	return error;
}

static bool comes_back(const struct code_regions *regions, const struct hash_map *counts,
		       uint32_t callee)
{
	uint64_t returns = 0, count = 0;
	bool is_known;

	if (callee >= CODE_ANY_CALLEE)
		return callee == CODE_ANY_CALLEE;
	is_known = hash_map_find(&regions->callees, callee, &returns);
	if (is_known && !returns)
		return false;
	hash_map_find(counts, callee, &count);
	/*
	 * From MANY_CALLS calls on, the share of proven calls decides. The callee's own exits are not enough, since such
	 * an exit may belong to the code that follows the function.
	 */
	if (is_known && (uint32_t)count < MANY_CALLS)
		return true;
	return (count >> 32) * 2 >= (uint32_t)count;
}

static int carry_trust(struct code_regions *regions, bool *has_changed)
{
	_cleanup_(hash_map_deinit) struct hash_map counts = { 0 };
	struct code_region *items = regions->regions.items;
	int error = count_calls(regions, &counts);

	for (size_t i = 0; !error && i < regions->regions.count; i++) {
		struct code_region *region = &items[i];

		if (region->is_trusted)
			continue;
		if (!region->is_proven &&
		    (!items[region->caller].is_trusted ||
		     (!region->is_sure && !comes_back(regions, &counts, region->callee))))
			continue;
		region->is_trusted = true;
		*has_changed = true;
	}
	return error;
}

int code_regions_resolve(struct code_regions *regions)
{
	bool has_changed = true;
	int error = 0;

	for (int pass = 0; !error && has_changed && pass < MAX_PASSES; pass++) {
		has_changed = carry_proofs(regions);
		error = carry_trust(regions, &has_changed);
	}
	return error;
}

void code_regions_deinit(struct code_regions *regions)
{
	code_region_vector_deinit(&regions->regions);
	code_region_edge_vector_deinit(&regions->edges);
	hash_map_deinit(&regions->callees);
	memset(regions, 0, sizeof(*regions));
}
