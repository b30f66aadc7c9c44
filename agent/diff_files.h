/* SPDX-License-Identifier: Apache-2.0 */
/** -diff: prints the functions of two profiles by how much they changed, and is a gate for build pipelines (-fail-above). */
#ifndef AGENT_DIFF_FILES_H
#define AGENT_DIFF_FILES_H

#include "agent/options.h"

/**
 * Prints to standard output. Returns an enum exit_status: EXIT_STATUS_REGRESSION if a function grew significantly and by
 * more than the limit.
 */
int diff_files(const struct options *options);

#endif
