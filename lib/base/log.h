/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The log: lines on stderr, each one write(2): `level: text`. One line says what failed, for which
 * pid or path, and what happens next. Only main, agent, tracing, processes and reporter log above
 * debug. Control characters in the text are written as `?`, so that hostile names cannot forge
 * lines. On a terminal, long lines are broken between words.
 */
#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdint.h>

enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG,
};

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
/**
 * Shows @text, which has no line end, below the log of a terminal, in place of what was shown there before. A line of the log
 * removes it; NULL does as well. For one thread.
 */
void log_show_status(const char *text);

/** Arguments are not evaluated unless the level is debug. */
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_get_level() >= LOG_DEBUG)                                                  \
			log_write(LOG_DEBUG, __VA_ARGS__);                                         \
	} while (0)

/**
 * Allows @burst lines at once and one more every @interval_ns: for messages that a process under
 * profile can cause. Static storage, zero-initialised but for the two limits; thread-safe.
 */
struct log_limit {
	uint64_t interval_ns;
	uint32_t burst;
	uint64_t tokens_time_ns;
	uint64_t suppressed;
};

/** Nonzero if a line may be written now; then *@suppressed is the number of lines suppressed before. */
int log_limit_allow(struct log_limit *limit, uint64_t now_ns, uint64_t *suppressed);

#endif
