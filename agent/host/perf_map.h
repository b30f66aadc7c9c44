/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of code that a process makes while it runs, as runtimes write them for perf(1) into
 * /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt of the kernel): a line for each
 * function, appended when its code is made,
 *
 *	START SIZE name
 *
 * with both numbers in hexadecimal. Memory is used again, and nothing says when code is gone: a
 * line takes the place of all earlier ones whose code it overlaps, whole. So does a line that there
 * is no room for: a map that is full has fewer names, not wrong ones.
 *
 * The text is written by the process: any bytes are fine, lines that make no sense are left out.
 */
#ifndef AGENT_HOST_PERF_MAP_H
#define AGENT_HOST_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/vector.h"

enum {
	PERF_MAP_MAX_FUNCTIONS = 1 << 17,
	PERF_MAP_MAX_NAME_BYTES = 6 << 20,
	/** Of one name; longer ones are cut. */
	PERF_MAP_NAME_BYTES = 512,
};

struct perf_map_function {
	uint64_t start;
	uint32_t size;
	/** Where its name is in the bytes of all. */
	uint32_t name;
};

VECTOR_DEFINE(perf_map_functions, struct perf_map_function)
VECTOR_DEFINE(perf_map_names, char)

/** All bytes zero is an empty map. One thread at a time. */
struct perf_map {
	/** By start, without overlaps. */
	struct perf_map_functions functions;
	/** Each with its NUL; some belong to functions that are gone. */
	struct perf_map_names names;
	size_t dead_name_bytes;
	/** Functions that there was no room for. */
	uint64_t left_out_count;
};

void perf_map_deinit(struct perf_map *map);

/**
 * Takes in the whole lines at the start of @text; *@used_bytes is where they end. -ENOMEM: the map
 * lacks some of the lines, and is of no use any more.
 */
int perf_map_add(struct perf_map *map, const char *text, size_t bytes, size_t *used_bytes);

/** The name of the function at @address, borrowed until the map changes; NULL if none is there. */
const char *perf_map_find(const struct perf_map *map, uint64_t address);

/** Memory that the map holds. */
size_t perf_map_bytes(const struct perf_map *map);

#endif
