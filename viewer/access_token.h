/* SPDX-License-Identifier: Apache-2.0 */
/** The access token that other machines must send: one line of a file. */
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
 * Reads the token: one line of letters, digits and -._~+/=. -EINVAL with a text for users, also for
 * a file that users other than its owner may read.
 */
int access_token_read(const char *path, struct access_token *token);

/** Compares in a time that does not depend on how much of @text is right. @text may be NULL. */
bool access_token_is(const struct access_token *token, const char *text);

/** Checks the header `Authorization: Bearer TOKEN`; NULL if there is no such header. */
bool access_token_in_authorization(const struct access_token *token, const char *header);

#endif
