/* SPDX-License-Identifier: Apache-2.0 */
/** The files of a process by address, from lines of /proc/PID/maps that a profile has. */
#ifndef VIEWER_OPEN_OPENED_ADDRESS_MAP_H
#define VIEWER_OPEN_OPENED_ADDRESS_MAP_H

#include "lib/base/vector.h"
#include "viewer/open/opened_frame.h"

struct address_range {
	uint64_t start;
	uint64_t limit;
	struct opened_mapping mapping;
};

VECTOR_DEFINE(address_range_vector, struct address_range)

/** Initialize with zeros, and nowhere by opened_mapping_init_nowhere(). */
struct opened_address_map {
	struct address_range_vector ranges;
	struct opened_mapping nowhere;
};

/**
 * Adds the range of a line, "00400000-00401000 r-xp 00000000 08:01 1234   /opt/prog"; other lines are skipped. -ENOMEM;
 * -EBADMSG or -E2BIG with a text for users.
 */
int opened_address_map_add(struct opened_address_map *map, const char *line,
			   struct opened_samples *opened);

/** Call it after the last line. */
void opened_address_map_sort(struct opened_address_map *map);

/** The file at @address, or nowhere. */
const struct opened_mapping *opened_address_map_find(const struct opened_address_map *map,
						     uint64_t address);

void opened_address_map_deinit(struct opened_address_map *map);

#endif
