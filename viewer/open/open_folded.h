/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads folded stacks. For the agent's own (reporter/folded.h), frame kinds and marks are restored;
 * files of other tools are read as well.
 */
#ifndef VIEWER_OPEN_OPEN_FOLDED_H
#define VIEWER_OPEN_OPEN_FOLDED_H

#include <stdbool.h>
#include <stddef.h>

#include "viewer/open/opened_samples.h"

/**
 * Adds the samples of lines like "comm;main;work 17". @text has @count bytes and a NUL after them,
 * and is modified. -EBADMSG with a text for users, -ENOMEM, -E2BIG.
 */
int open_folded(char *text, size_t count, struct opened_samples *opened);

/** True if the first line is one of our stack table (reporter/stack_table.h); @text ends with a NUL. */
bool is_stack_table(const char *text);
/** The same for a stack table, whose values are shares in percent. */
int open_stack_table(char *text, size_t count, struct opened_samples *opened);

#endif
