// SPDX-License-Identifier: Apache-2.0
#include "agent/top/top_screen.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

enum {
	/* Lines above and below the list. */
	HEAD_LINES = 3,
	FOOT_LINES = 1,
	LINE_BYTES = 1024,
	KEY_INTERRUPT = 3,
	KEY_BELL = 7,
	KEY_TABULATOR = 9,
	KEY_REDRAW = 12,
	KEY_STOP = 26,
	KEY_ESCAPE = 27,
	KEY_DELETE = 127,
	ESCAPE_DELAY_MS = 50,
	FILE_FRACTION = 4,
	/* Columns up to which files stand at the right; on wider screens they would be far from the names. */
	WIDE_COLUMNS = 120,
};

enum colour {
	COLOUR_OF_KERNEL = 1,
	COLOUR_OF_LANGUAGES,
	COLOUR_OF_ERRORS,
};

static SCREEN *screen;

/* Names are UTF-8, and so is nearly every terminal, whatever the locale. */
static void choose_characters(void)
{
	if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
}

static void choose_colours(void)
{
	const char *off = getenv("NO_COLOR");

	if (!has_colors() || (off && *off))
		return;
	start_color();
	use_default_colors();
	init_pair(COLOUR_OF_KERNEL, COLOR_CYAN, -1);
	init_pair(COLOUR_OF_LANGUAGES, COLOR_GREEN, -1);
	init_pair(COLOUR_OF_ERRORS, COLOR_RED, -1);
}

int top_screen_open(void)
{
	choose_characters();
	/* Ctrl-Z comes as a key, and nobody else's stop is to be ncurses' in a thread of its choice. */
	signal(SIGTSTP, SIG_IGN);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return fail(-ENOTTY, "-top: this kind of terminal is not known: TERM=%s",
			    getenv("TERM") ? getenv("TERM") : "");
	set_term(screen);
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	curs_set(0);
	choose_colours();
	return 0;
}

void top_screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

static void follow_size(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col &&
	    (size.ws_row != LINES || size.ws_col != COLS)) {
		resizeterm(size.ws_row, size.ws_col);
		clearok(curscr, TRUE);
	}
}

size_t top_screen_rows(void)
{
	return LINES > HEAD_LINES + FOOT_LINES ? (size_t)(LINES - HEAD_LINES - FOOT_LINES) : 1;
}

/* Puts as much of @text as fits into @columns columns. */
static void put(const char *text, size_t columns)
{
	addnstr(text, (int)text_length_in_columns(text, columns));
}

/* Puts a whole line, filled up with blanks. */
static void put_line(int line, int attributes, const char *text)
{
	move(line, 0);
	attrset(attributes);
	put(text, (size_t)COLS);
	for (size_t used = text_columns(text); used < (size_t)COLS; used++)
		addch(' ');
	attrset(A_NORMAL);
}

static const char *list_name(enum top_list list)
{
	static const char *const names[] = {
		[TOP_PROCESSES] = "processes",
		[TOP_FUNCTIONS] = "functions",
		[TOP_CALLS] = "calls",
	};

	return names[list];
}

static const char *sort_name(enum top_sort sort)
{
	static const char *const names[] = {
		[TOP_BY_SELF] = "self",
		[TOP_BY_TOTAL] = "total",
		[TOP_BY_NAME] = "name",
	};

	return names[sort];
}

static void draw_head(const struct top_model *model, const struct top_view *view)
{
	char line[LINE_BYTES], process[64] = "";

	snprintf(line, sizeof(line),
		 "%.2f of %u CPUs busy in the last %.0f s, %u Hz, %.0f s since the start%s",
		 top_model_cpus(model, model->counts.total), view->cpu_count,
		 (double)(model->to_ns - model->from_ns) / NS_PER_SECOND, model->samples_per_second,
		 (double)view->elapsed_ns / NS_PER_SECOND, view->is_frozen ? "  [frozen]" : "");
	put_line(0, A_NORMAL, line);
	if (model->has_process && model->list != TOP_PROCESSES)
		snprintf(process, sizeof(process), " of process %u", model->pid);
	snprintf(line, sizeof(line), "%s%s by %s%s%s%s%s%s", list_name(model->list), process,
		 model->list == TOP_CALLS ? "total" : sort_name(model->sort),
		 *model->filter || view->is_typing ? ", filter: " : "", model->filter,
		 view->is_typing ? "_" : "", view->trouble ? "  " : "",
		 view->trouble ? view->trouble : "");
	put_line(1, A_NORMAL, line);
	put_line(2, A_REVERSE,
		 model->list == TOP_PROCESSES ? "  CPUs   share     pid  process" :
		 model->list == TOP_FUNCTIONS ? "  self   total   CPUs  function" :
						" total    self   CPUs  calls");
}

static int attributes_of(uint8_t kind)
{
	if (!has_colors())
		return A_NORMAL;
	switch (kind) {
	case TEXT_PROCESS:
		return A_BOLD;
	case TEXT_NATIVE:
		return A_NORMAL;
	case TEXT_KERNEL:
		return COLOR_PAIR(COLOUR_OF_KERNEL);
	case TEXT_ERROR:
		return COLOR_PAIR(COLOUR_OF_ERRORS);
	default:
		return COLOR_PAIR(COLOUR_OF_LANGUAGES);
	}
}

/* The numbers before the name; their columns. */
static size_t format_numbers(const struct top_model *model, const struct top_row *row, char *line)
{
	double whole = model->counts.total ? (double)model->counts.total : 1.0;
	double self = 100.0 * (double)row->self / whole, total = 100.0 * (double)row->total / whole;
	int length;

	if (model->list == TOP_PROCESSES)
		length = snprintf(line, LINE_BYTES, "%6.2f  %5.1f%% %7d  ",
				  top_model_cpus(model, row->self), self, (int)row->pid);
	else if (model->list == TOP_FUNCTIONS)
		length = snprintf(line, LINE_BYTES, "%5.1f%%  %5.1f%% %6.2f  ", self, total,
				  top_model_cpus(model, row->self));
	else if (row->self)
		length = snprintf(line, LINE_BYTES, "%5.1f%%  %5.1f%% %6.2f  ", total, self,
				  top_model_cpus(model, row->total));
	else
		length = snprintf(line, LINE_BYTES, "%5.1f%%         %6.2f  ", total,
				  top_model_cpus(model, row->total));
	return (size_t)length;
}

static void draw_row(const struct top_model *model, const struct top_row *row, int line,
		     bool is_chosen)
{
	char numbers[LINE_BYTES];
	size_t columns = (size_t)COLS, used = format_numbers(model, row, numbers);
	size_t indent = 2 * (size_t)row->level, file = text_columns(row->file);
	size_t needed = text_columns(row->name), name, most;
	int chosen = is_chosen ? A_REVERSE : 0;

	if (file > columns / FILE_FRACTION)
		file = columns / FILE_FRACTION;
	move(line, 0);
	attrset(A_NORMAL | chosen);
	put(numbers, columns);
	if (used >= columns)
		return;
	if (indent > columns / FILE_FRACTION)
		indent = columns / FILE_FRACTION;
	for (size_t i = 0; i < indent && used < columns; i++, used++)
		addch(' ');
	most = columns - used;
	if (file && most > file + 2)
		most -= file + 2;
	else
		file = 0;
	/* As wide as on a screen of WIDE_COLUMNS, or more if the name needs it. */
	name = most + WIDE_COLUMNS > columns ? most + WIDE_COLUMNS - columns : 0;
	if (name < needed)
		name = needed;
	if (name > most)
		name = most;
	attrset(attributes_of(row->kind) | chosen);
	put(row->name, name);
	attrset(A_NORMAL | chosen);
	for (size_t i = needed; i < name; i++)
		addch(' ');
	if (file) {
		put("  ", 2);
		put(row->file, file);
	}
	attrset(A_NORMAL);
}

void top_screen_draw(const struct top_model *model, struct top_view *view)
{
	size_t rows;

	follow_size();
	rows = top_screen_rows();
	erase();
	draw_head(model, view);
	if (view->cursor >= model->rows.count)
		view->cursor = model->rows.count ? model->rows.count - 1 : 0;
	if (view->cursor < view->first)
		view->first = view->cursor;
	if (view->cursor >= view->first + rows)
		view->first = view->cursor - rows + 1;
	for (size_t i = 0; i < rows && view->first + i < model->rows.count; i++)
		draw_row(model, &model->rows.items[view->first + i], HEAD_LINES + (int)i,
			 view->first + i == view->cursor);
	put_line(
		LINES - 1, A_REVERSE,
		view->is_typing ?
			"type a part of a name; Enter keeps it, Esc removes it" :
			"Tab list  Enter process  s sort  / filter  Space freeze  Esc back  q quit");
	refresh();
}

static int translate(int key)
{
	switch (key) {
	case ERR:
		return TOP_KEY_NONE;
	case KEY_INTERRUPT:
		return TOP_KEY_QUIT;
	case KEY_STOP:
		return TOP_KEY_SUSPEND;
	case KEY_ESCAPE:
	case KEY_BELL:
		return TOP_KEY_ESCAPE;
	case KEY_TABULATOR:
	case KEY_RIGHT:
		return TOP_KEY_TAB;
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case '\r':
	case '\n':
	case KEY_ENTER:
		return TOP_KEY_ENTER;
	case KEY_BACKSPACE:
	case KEY_DELETE:
	case '\b':
		return TOP_KEY_BACK;
	case KEY_REDRAW:
		clearok(curscr, TRUE);
		return TOP_KEY_NONE;
	default:
		return key >= ' ' && key < KEY_DELETE ? key : TOP_KEY_NONE;
	}
}

int top_screen_key(int timeout_ms)
{
	timeout(timeout_ms);
	return translate(getch());
}

void top_screen_suspend(void)
{
	endwin();
	/* To this thread, which stops before it goes on and takes the terminal again; all others stop with it. */
	raise(SIGSTOP);
	clearok(curscr, TRUE);
	refresh();
}
