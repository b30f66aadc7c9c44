/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/access_token.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

static bool is_token_text(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("-._~+/=", *text))
			return false;
	return true;
}

int access_token_read(const char *path, struct access_token *token)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[ACCESS_TOKEN_MAX_BYTES + 2];
	struct stat file;
	ssize_t length;

	if (fd < 0 || fstat(fd, &file))
		return fail(-EINVAL, "cannot read the token file %s: %s", path, strerror(errno));
	if (!S_ISREG(file.st_mode))
		return fail(-EINVAL, "the token file %s is no regular file", path);
	if (file.st_mode & (S_IRWXG | S_IRWXO))
		return fail(-EINVAL,
			    "others than its owner may read the token file %s; chmod 600 it", path);
	length = read(fd, text, sizeof(text));
	if (length < 0)
		return fail(-EINVAL, "cannot read the token file %s: %s", path, strerror(errno));
	if (length && text[length - 1] == '\n')
		length--;
	if (length < ACCESS_TOKEN_MIN_BYTES || length > ACCESS_TOKEN_MAX_BYTES ||
	    memchr(text, '\0', (size_t)length))
		return fail(-EINVAL, "the token file %s must have one line of %d to %d characters",
			    path, ACCESS_TOKEN_MIN_BYTES, ACCESS_TOKEN_MAX_BYTES);
	text[length] = '\0';
	if (!is_token_text(text))
		return fail(-EINVAL,
			    "the token in %s may consist of letters, digits and -._~+/=", path);
	memcpy(token->text, text, (size_t)length + 1);
	return 0;
}

static bool is_text(const char *secret, const char *text)
{
	size_t wanted = strlen(secret), length = text ? strlen(text) : 0;
	unsigned int difference = wanted != length;

	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)text[i] ^ (unsigned char)secret[i % wanted];
	return text && !difference;
}

bool access_token_is(const struct access_token *token, const char *text)
{
	return is_text(token->text, text);
}

int access_cookie_make(const struct access_token *token, uint16_t port,
		       struct access_cookie *cookie)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned int length = 0;

	snprintf(cookie->name, sizeof(cookie->name), "allframes_token_%u", port);
	if (!HMAC(EVP_sha256(), token->text, (int)strlen(token->text),
		  (const unsigned char *)cookie->name, strlen(cookie->name), digest, &length))
		return fail(-EIO, "no digest of the token");
	for (unsigned int i = 0; i < length && 2 * i + 2 < sizeof(cookie->value); i++)
		snprintf(cookie->value + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

bool access_cookie_is(const struct access_cookie *cookie, const char *text)
{
	return is_text(cookie->value, text);
}

bool access_token_in_authorization(const struct access_token *token, const char *header)
{
	static const char scheme[] = "Bearer ";

	return header && !strncasecmp(header, scheme, sizeof(scheme) - 1) &&
	       access_token_is(token, header + sizeof(scheme) - 1);
}
