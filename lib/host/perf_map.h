/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of run-time generated code, as runtimes write them for perf(1) into /tmp/perf-PID.map
 * (tools/perf/Documentation/jit-interface.txt of the kernel): a line for each function, appended when its code
 * is made,
 *
 *	START SIZE name
 *
 * with both numbers in hexadecimal. The file does not record when code is freed; code_names.h keeps the latest
 * code at each address.
 *
 * The process writes the text: any bytes are fine, and malformed lines are skipped.
 */
#ifndef LIB_HOST_PERF_MAP_H
#define LIB_HOST_PERF_MAP_H

#include "lib/host/code_names.h"

/**
 * Reads the whole lines at the start of @text; *@used_bytes is the offset of their end. -ENOMEM: the names are
 * incomplete and must not be used any more.
 */
int perf_map_add(struct code_names *names, const char *text, size_t bytes, size_t *used_bytes);

#endif
