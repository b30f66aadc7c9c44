/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines. Each is put together on the stack and written by one write(2), so that lines of several threads
 * never mix. A line that cannot be written is lost.
 */

#include "lib/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	LOG_LINE_BYTES = 1024,
	/* With the line ends and blanks that wrapping adds. */
	WRAPPED_BYTES = 2 * LOG_LINE_BYTES,
	WRAPPED_MAX_BYTES = WRAPPED_BYTES - 16,
	/* Narrower terminals get lines as they are. */
	COLUMNS_MIN = 40,
};

/* The beginning of the further lines of a wrapped one. */
#define WRAPPED_INDENT "  "

/* Goes to the first column, and clears the line. */
#define CLEAR_LINE "\r\033[K"

/* A status is shown. */
static bool has_status;

static enum log_level current_level = LOG_INFO;

void log_set_level(enum log_level level)
{
	__atomic_store_n(&current_level, level, __ATOMIC_RELAXED);
}

enum log_level log_get_level(void)
{
	return __atomic_load_n(&current_level, __ATOMIC_RELAXED);
}

/* C0 controls, DEL, and C1 controls as UTF-8 writes them: terminals obey all of these. */
static void mask_controls(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = text[i];
		unsigned char next = i + 1 < bytes ? text[i + 1] : 0;

		if (byte < 0x20 || byte == 0x7f) {
			text[i] = '?';
		} else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
			text[i] = '?';
			text[i + 1] = '?';
		}
	}
}

/* The columns of the terminal that standard error is; 0: it is none. */
static size_t terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < COLUMNS_MIN ? 0 :
										      size.ws_col;
}

/* The columns of @bytes of UTF-8, wide characters taken for narrow ones. */
static size_t count_columns(const char *text, size_t bytes)
{
	size_t columns = 0;

	for (size_t i = 0; i < bytes; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

/*
 * Breaks @line between words where the terminal would do so within them: addresses in it stay whole. Returns the bytes in
 * @wrapped.
 */
static size_t wrap(const char *line, size_t bytes, size_t columns, char *wrapped)
{
	size_t used = 0, length = 0;

	while (bytes && length + bytes < WRAPPED_MAX_BYTES) {
		const char *blank = memchr(line + 1, ' ', bytes - 1);
		/* A word with the blank before it. */
		size_t word = blank ? (size_t)(blank - line) : bytes;
		size_t width = count_columns(line, word);

		if (used && used + width > columns) {
			length += strlen(strcpy(wrapped + length, "\n" WRAPPED_INDENT));
			used = strlen(WRAPPED_INDENT);
			if (*line == ' ') {
				line++;
				word--;
				bytes--;
				width--;
			}
		}
		memcpy(wrapped + length, line, word);
		length += word;
		used += width;
		line += word;
		bytes -= word;
	}
	memcpy(wrapped + length, line, bytes);
	return length + bytes;
}

void log_write(enum log_level level, const char *format, ...)
{
	static const char *const names[] = {
		[LOG_ERROR] = "error",
		[LOG_WARN] = "warn",
		[LOG_INFO] = "info",
		[LOG_DEBUG] = "debug",
	};
	static const char cut_mark[] = "...";
	char line[LOG_LINE_BYTES], wrapped[WRAPPED_BYTES];
	int saved_errno = errno;
	va_list arguments;
	size_t start = 0, bytes, columns;
	int text_bytes;

	if (level > log_get_level())
		return;
	if (__atomic_exchange_n(&has_status, false, __ATOMIC_RELAXED))
		start = strlen(strcpy(line, CLEAR_LINE));
	bytes = start + snprintf(line + start, sizeof(line) - start, "%s: ", names[level]);
	va_start(arguments, format);
	text_bytes = vsnprintf(line + bytes, sizeof(line) - bytes, format, arguments);
	va_end(arguments);
	if (text_bytes < 0)
		return;
	bytes += text_bytes;
	if (bytes >= sizeof(line)) {
		bytes = sizeof(line) - 1;
		strcpy(line + bytes - strlen(cut_mark), cut_mark);
	}
	mask_controls(line + start, bytes - start);
	columns = terminal_columns();
	memcpy(wrapped, line, start);
	if (columns) {
		bytes = start + wrap(line + start, bytes - start, columns, wrapped + start);
	} else {
		memcpy(wrapped + start, line + start, bytes - start);
	}
	wrapped[bytes++] = '\n';
	while (write(STDERR_FILENO, wrapped, bytes) < 0 && errno == EINTR)
		;
	errno = saved_errno;
}

void log_show_status(const char *text)
{
	char line[LOG_LINE_BYTES];
	bool was_shown = __atomic_exchange_n(&has_status, text != NULL, __ATOMIC_RELAXED);
	int bytes = snprintf(line, sizeof(line), CLEAR_LINE "%s", text ? text : "");

	if (bytes >= (int)sizeof(line))
		bytes = sizeof(line) - 1;
	if (!text && !was_shown)
		return;
	mask_controls(line + strlen(CLEAR_LINE), (size_t)bytes - strlen(CLEAR_LINE));
	while (write(STDERR_FILENO, line, (size_t)bytes) < 0 && errno == EINTR)
		;
}

/*
 * tokens_time_ns is the time at which the bucket is full again. A line costs one interval; it may
 * be written while the bucket lacks less than all of its tokens.
 */
int log_limit_allow(struct log_limit *limit, uint64_t now_ns, uint64_t *suppressed)
{
	uint64_t burst = limit->burst ? limit->burst : 1;
	uint64_t full_ns = __atomic_load_n(&limit->tokens_time_ns, __ATOMIC_RELAXED);
	uint64_t from_ns, held_back;

	do {
		from_ns = full_ns > now_ns ? full_ns : now_ns;
		if (from_ns - now_ns > (burst - 1) * limit->interval_ns) {
			__atomic_fetch_add(&limit->suppressed, 1, __ATOMIC_RELAXED);
			return 0;
		}
	} while (!__atomic_compare_exchange_n(&limit->tokens_time_ns, &full_ns,
					      from_ns + limit->interval_ns, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	held_back = __atomic_exchange_n(&limit->suppressed, 0, __ATOMIC_RELAXED);
	if (suppressed)
		*suppressed = held_back;
	return 1;
}
