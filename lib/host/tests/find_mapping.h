/* SPDX-License-Identifier: Apache-2.0 */
/** Finds a test's own mapping. */
#ifndef LIB_HOST_TESTS_FIND_MAPPING_H
#define LIB_HOST_TESTS_FIND_MAPPING_H

#include "lib/host/proc_maps.h"

/** The row that holds @address, NULL if none does. Borrowed. */
static inline const struct proc_mapping *find_mapping(const struct proc_maps *maps,
						      uint64_t address)
{
	for (uint32_t i = 0; i < maps->count; i++)
		if (address >= maps->rows[i].start && address < maps->rows[i].end)
			return &maps->rows[i];
	return NULL;
}

#endif
