// SPDX-License-Identifier: Apache-2.0
#include "agent/top/top.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/top/top_model.h"
#include "agent/top/top_screen.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "viewer/history.h"

enum {
	HISTORY_MAX_BYTES = 16 << 20,
	/* A stop is noticed within this time. */
	KEY_TIMEOUT_MS = 100,
	/* Bytes of the kept log that are written. */
	LOG_MAX_BYTES = 64 << 10,
};

/* The time whose samples are shown, and how often. */
#define WINDOW_NS (5 * NS_PER_SECOND)
#define RETENTION_NS (30 * NS_PER_SECOND)
#define REFRESH_NS NS_PER_SECOND

struct top {
	struct top_options options;
	struct history *history;
	pthread_t thread;
	bool is_running;
	/* Atomic. */
	bool is_stopping;
	/* Standard error while lines of the log are kept in a memory file instead; -1: they are not. */
	int standard_error;
	/* The top thread's. */
	struct top_model model;
	struct top_view view;
	uint64_t start_ns;
	uint64_t next_count_ns;
};

int top_create(const struct top_options *options, struct top **top)
{
	const struct history_options history = { .retention_ns = RETENTION_NS,
						 .max_bytes = HISTORY_MAX_BYTES };
	struct top *made = calloc(1, sizeof(*made));

	if (!made)
		return fail(-ENOMEM, "no memory for -top");
	made->options = *options;
	made->standard_error = -1;
	made->history = history_create(&history);
	if (!made->history) {
		top_destroy(made);
		return fail(-ENOMEM, "no memory for -top");
	}
	*top = made;
	return 0;
}

void top_destroy(struct top *top)
{
	if (!top)
		return;
	top_stop(top);
	top_model_deinit(&top->model);
	history_destroy(top->history);
	free(top);
}

struct reporter *top_reporter(struct top *top)
{
	return history_reporter(top->history);
}

/* --- the log --- */

/* A log that goes elsewhere disturbs nobody. */
static void keep_log(struct top *top)
{
	int fd;

	if (!isatty(STDERR_FILENO))
		return;
	fd = memfd_create("log", MFD_CLOEXEC);
	if (fd < 0)
		return;
	top->standard_error = dup(STDERR_FILENO);
	if (top->standard_error >= 0)
		dup2(fd, STDERR_FILENO);
	close(fd);
}

static void write_kept_log(struct top *top)
{
	_cleanup_(free_pointer) char *text = malloc(LOG_MAX_BYTES);
	off_t size = lseek(STDERR_FILENO, 0, SEEK_END), from;
	ssize_t got = 0;

	if (top->standard_error < 0)
		return;
	from = size > LOG_MAX_BYTES ? size - LOG_MAX_BYTES : 0;
	if (text)
		got = pread(STDERR_FILENO, text, LOG_MAX_BYTES, from);
	dup2(top->standard_error, STDERR_FILENO);
	close_fd(&top->standard_error);
	top->standard_error = -1;
	if (got > 0)
		(void)!write(STDERR_FILENO, text, (size_t)got);
}

/* --- keys --- */

static void choose_list(struct top *top, enum top_list list)
{
	top->model.list = list;
	top->view.cursor = top->view.first = 0;
	top->next_count_ns = 0;
}

/* The process in the row of the cursor becomes the one whose functions and calls are shown. */
static void choose_process(struct top *top)
{
	const struct top_model *model = &top->model;

	if (model->list != TOP_PROCESSES) {
		choose_list(top, TOP_CALLS);
		return;
	}
	if (top->view.cursor >= model->rows.count)
		return;
	top->model.has_process = true;
	top->model.pid = model->rows.items[top->view.cursor].pid;
	top->model.filter[0] = '\0';
	choose_list(top, TOP_FUNCTIONS);
}

/* Undoes the last choice: the filter, the process, the list. */
static void go_back(struct top *top)
{
	if (top->model.filter[0])
		top->model.filter[0] = '\0';
	else if (top->model.has_process)
		top->model.has_process = false;
	choose_list(top, top->model.has_process ? top->model.list : TOP_PROCESSES);
}

/* While it is frozen, no samples are taken, so those of the shown time stay. */
static void freeze(struct top *top)
{
	top->view.is_frozen = !top->view.is_frozen;
	history_pause(top->history, top->view.is_frozen);
}

static void move_cursor(struct top *top, int key)
{
	size_t count = top->model.rows.count, page = top_screen_rows(), *cursor = &top->view.cursor;

	switch (key) {
	case TOP_KEY_UP:
		*cursor -= *cursor > 0;
		break;
	case TOP_KEY_DOWN:
		*cursor += *cursor + 1 < count;
		break;
	case TOP_KEY_PAGE_UP:
		*cursor = *cursor > page ? *cursor - page : 0;
		break;
	case TOP_KEY_PAGE_DOWN:
		*cursor = *cursor + page < count ? *cursor + page : count - (count > 0);
		break;
	case TOP_KEY_HOME:
		*cursor = 0;
		break;
	case TOP_KEY_END:
		*cursor = count - (count > 0);
		break;
	}
}

static void take_typed(struct top *top, int key)
{
	char *filter = top->model.filter;
	size_t length = strlen(filter);

	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
		top->view.is_typing = false;
	if (key == TOP_KEY_ESCAPE)
		filter[0] = '\0';
	else if (key == TOP_KEY_BACK && length)
		filter[length - 1] = '\0';
	else if (key >= ' ' && key < TOP_KEY_UP && length + 1 < TOP_FILTER_BYTES) {
		filter[length] = (char)key;
		filter[length + 1] = '\0';
	}
}

static void take_key(struct top *top, int key)
{
	if (key == TOP_KEY_QUIT) {
		top->options.quit(top->options.context);
		return;
	}
	if (key == TOP_KEY_SUSPEND) {
		top_screen_suspend();
		return;
	}
	if (top->view.is_typing) {
		take_typed(top, key);
		return;
	}
	switch (key) {
	case 'q':
		top->options.quit(top->options.context);
		break;
	case 'p':
		choose_list(top, TOP_PROCESSES);
		break;
	case 'f':
		choose_list(top, TOP_FUNCTIONS);
		break;
	case 'c':
		choose_list(top, TOP_CALLS);
		break;
	case TOP_KEY_TAB:
		choose_list(top, (top->model.list + 1) % TOP_LIST_COUNT);
		break;
	case 's':
		top->model.sort = (top->model.sort + 1) % TOP_SORT_COUNT;
		break;
	case '/':
		top->view.is_typing = true;
		top->view.cursor = 0;
		break;
	case ' ':
		freeze(top);
		break;
	case TOP_KEY_ENTER:
		choose_process(top);
		break;
	case TOP_KEY_ESCAPE:
	case TOP_KEY_BACK:
		go_back(top);
		break;
	default:
		move_cursor(top, key);
	}
}

/* --- the thread --- */

/* Counts anew once in a while, and at once after another choice. */
static void count(struct top *top, uint64_t now_ns)
{
	bool is_due = now_ns >= top->next_count_ns;
	int error = 0;

	if (is_due && (!top->view.is_frozen || !top->next_count_ns)) {
		if (!top->view.is_frozen) {
			top->model.to_ns = now_ns;
			top->model.from_ns = now_ns - WINDOW_NS > top->start_ns ?
						     now_ns - WINDOW_NS :
						     top->start_ns;
		}
		error = top_model_count(&top->model);
		top->next_count_ns = now_ns + REFRESH_NS;
	}
	if (!error)
		error = top_model_list(&top->model);
	top->view.trouble = error ? strerror(-error) : NULL;
	top->view.elapsed_ns = now_ns - top->start_ns;
}

static void *run(void *context)
{
	struct top *top = context;

	while (!__atomic_load_n(&top->is_stopping, __ATOMIC_ACQUIRE)) {
		int key;

		count(top, clock_monotonic_ns());
		top_screen_draw(&top->model, &top->view);
		key = top_screen_key(KEY_TIMEOUT_MS);
		if (key != TOP_KEY_NONE)
			take_key(top, key);
	}
	return NULL;
}

int top_start(struct top *top)
{
	int error;

	top->start_ns = clock_monotonic_ns();
	top->view.cpu_count = top->options.cpu_count;
	top->model.history = top->history;
	top->model.lookup = top->options.lookup;
	top->model.samples_per_second = top->options.samples_per_second;
	keep_log(top);
	error = top_screen_open();
	if (error) {
		write_kept_log(top);
		return error;
	}
	error = pthread_create(&top->thread, NULL, run, top);
	if (error) {
		top_screen_close();
		write_kept_log(top);
		return fail_errno(-error, "cannot start the thread of -top");
	}
	pthread_setname_np(top->thread, "top");
	top->is_running = true;
	return 0;
}

void top_stop(struct top *top)
{
	if (!top || !top->is_running)
		return;
	__atomic_store_n(&top->is_stopping, true, __ATOMIC_RELEASE);
	pthread_join(top->thread, NULL);
	top->is_running = false;
	top_screen_close();
	write_kept_log(top);
}
