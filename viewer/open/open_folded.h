/* SPDX-License-Identifier: Apache-2.0 */
/** Reads folded stacks: the agent's (reporter/folded.h) as what they were, and those of other tools. */
#ifndef VIEWER_OPEN_OPEN_FOLDED_H
#define VIEWER_OPEN_OPEN_FOLDED_H

#include <stddef.h>

#include "viewer/open/opened_samples.h"

/**
 * Adds the samples of lines such as "comm;main;work 17". @text has @count bytes and a NUL behind them, and is
 * written to. -EBADMSG with a text for users, -ENOMEM, -E2BIG.
 */
int open_folded(char *text, size_t count, struct opened_samples *opened);

#endif
