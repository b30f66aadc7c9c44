/* SPDX-License-Identifier: Apache-2.0 */
/* Error texts, one per thread: no locks, no allocation, and errno is left as it was. */

#include "lib/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_TEXT_BYTES = 256 };

static _Thread_local char text[ERROR_TEXT_BYTES];

/*
 * Formats into a second buffer first, since an argument may be error_text() itself, when a caller prefixes its
 * callee's text.
 */
static void set_text(int code, const char *format, va_list arguments)
{
	char fresh[ERROR_TEXT_BYTES];
	char reason[128];
	int bytes = vsnprintf(fresh, sizeof(fresh), format, arguments);

	if (bytes < 0)
		fresh[0] = '\0';
	if (code && bytes >= 0 && bytes < (int)sizeof(fresh))
		snprintf(fresh + bytes, sizeof(fresh) - bytes, ": %s",
			 strerror_r(-code, reason, sizeof(reason)));
	memcpy(text, fresh, sizeof(text));
}

int fail(int code, const char *format, ...)
{
	int saved_errno = errno;
	va_list arguments;

	va_start(arguments, format);
	set_text(0, format, arguments);
	va_end(arguments);
	errno = saved_errno;
	return code;
}

int fail_errno(int code, const char *format, ...)
{
	int saved_errno = errno;
	va_list arguments;

	va_start(arguments, format);
	set_text(code, format, arguments);
	va_end(arguments);
	errno = saved_errno;
	return code;
}

const char *error_text(void)
{
	return text;
}
