/* SPDX-License-Identifier: Apache-2.0 */
/** The token that is asked for where others than this machine can ask: a line of a file. */
#ifndef VIEWER_ACCESS_TOKEN_H
#define VIEWER_ACCESS_TOKEN_H

#include <stdbool.h>

enum {
	ACCESS_TOKEN_MIN_BYTES = 16,
	ACCESS_TOKEN_MAX_BYTES = 255,
};

struct access_token {
	char text[ACCESS_TOKEN_MAX_BYTES + 1];
};

/**
 * Reads it: one line of letters, digits and -._~+/=. -EINVAL with a text for users, also for a file that others than
 * its owner may read.
 */
int access_token_read(const char *path, struct access_token *token);

/** In a time that does not tell how much of @text is right. @text may be NULL. */
bool access_token_is(const struct access_token *token, const char *text);

/** Of the header `Authorization: Bearer TOKEN`; NULL is none. */
bool access_token_in_authorization(const struct access_token *token, const char *header);

#endif
