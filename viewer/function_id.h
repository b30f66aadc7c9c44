/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Ids of functions in answers and requests. An id is a hash of all that distinguishes functions, so that it
 * means the same in each answer and after a restart of the agent.
 */
#ifndef VIEWER_FUNCTION_ID_H
#define VIEWER_FUNCTION_ID_H

#include "viewer/stack_names.h"

/** Letters, digits, `-` and `_`. */
enum { FUNCTION_ID_LENGTH = 8 };

/** The id of a function, or with a line of a code location. */
uint64_t function_id_of(const struct stack_names *names, struct stack_location location);

/** Writes @id to @text and ends it with a NUL. */
void function_id_write(uint64_t id, char text[FUNCTION_ID_LENGTH + 1]);

/** Reads the FUNCTION_ID_LENGTH characters at @text, which may end earlier. False if they are no id. */
bool function_id_read(const char *text, uint64_t *id);

#endif
