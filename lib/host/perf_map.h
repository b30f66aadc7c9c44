/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of code that a process makes while it runs, as runtimes write them for perf(1) into
 * /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt of the kernel): a line for each
 * function, appended when its code is made,
 *
 *	START SIZE name
 *
 * with both numbers in hexadecimal. Nothing says when code is gone: code_names.h has the latest.
 *
 * The text is written by the process: any bytes are fine, lines that make no sense are left out.
 */
#ifndef LIB_HOST_PERF_MAP_H
#define LIB_HOST_PERF_MAP_H

#include "lib/host/code_names.h"

/**
 * Takes in the whole lines at the start of @text; *@used_bytes is where they end. -ENOMEM: the names
 * lack some of the lines, and are of no use any more.
 */
int perf_map_add(struct code_names *names, const char *text, size_t bytes, size_t *used_bytes);

#endif
