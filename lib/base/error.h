/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Errors: functions that can fail return 0 or -errno, and leave their outputs untouched on failure. The text
 * that goes with the code is kept per thread until the next failure.
 *
 *	-ESRCH		the process is gone
 *	-EAGAIN		not now, later
 *	-EBADMSG	malformed input
 *	-EOPNOTSUPP	a version or feature that is not known
 *	-E2BIG		over a limit of ours
 *	-ENOENT		what was asked for is not there (no such section, no such symbol)
 *	others		as the system call said
 */
#ifndef LIB_BASE_ERROR_H
#define LIB_BASE_ERROR_H

/**
 * Keeps the text (at most 255 bytes) for error_text() and returns @code, a negative errno:
 * `return fail(-EBADMSG, "CIE at %#zx: no augmentation", offset);` An argument may be error_text().
 */
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** As fail(), with ": " and strerror(-code) behind the text. */
int fail_errno(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The calling thread's last text; "" if it never failed. Valid until the thread's next failure. */
const char *error_text(void);

#endif
