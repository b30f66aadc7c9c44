/* SPDX-License-Identifier: Apache-2.0 */
/** The access token that other machines must send, one line of a file, and the cookie that browsers get for it. */
#ifndef VIEWER_ACCESS_TOKEN_H
#define VIEWER_ACCESS_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	ACCESS_TOKEN_MIN_BYTES = 16,
	ACCESS_TOKEN_MAX_BYTES = 255,
	/** With the NUL. */
	ACCESS_COOKIE_NAME_BYTES = 32,
	ACCESS_COOKIE_BYTES = 65,
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

/**
 * A browser's proof that it has had the token: a cookie for the page at @port. Browsers send the cookies of one port to all
 * others of a machine too, so its name has the port, and its value is no token: a digest of the token and the port.
 */
struct access_cookie {
	char name[ACCESS_COOKIE_NAME_BYTES];
	char value[ACCESS_COOKIE_BYTES];
};

/** -EIO: there is no digest. */
int access_cookie_make(const struct access_token *token, uint16_t port,
		       struct access_cookie *cookie);

/** As access_token_is(). */
bool access_cookie_is(const struct access_cookie *cookie, const char *text);

/** Checks the header `Authorization: Bearer TOKEN`; NULL if there is no such header. */
bool access_token_in_authorization(const struct access_token *token, const char *header);

#endif
