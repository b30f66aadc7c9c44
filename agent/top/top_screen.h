/* SPDX-License-Identifier: Apache-2.0 */
/** The screen of `-top`, by ncurses: the only file that knows it. Owner: the top thread. */
#ifndef AGENT_TOP_TOP_SCREEN_H
#define AGENT_TOP_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/top/top_model.h"

/** Keys that are no characters. */
enum top_key {
	TOP_KEY_NONE = -1,
	TOP_KEY_UP = 0x110000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_BACK,
	TOP_KEY_ESCAPE,
	TOP_KEY_TAB,
	TOP_KEY_SUSPEND,
	TOP_KEY_QUIT,
};

/** State of the screen beside the model's rows. */
struct top_view {
	uint64_t elapsed_ns;
	uint32_t cpu_count;
	/** The chosen row, and the first that is on the screen, which top_screen_draw() moves. */
	size_t cursor;
	size_t first;
	bool is_frozen;
	/** The filter is being typed. */
	bool is_typing;
	/** The last failure, or NULL. */
	const char *trouble;
};

/** Takes over the terminal. -ENOTTY with a text for users if it is not fit for that. */
int top_screen_open(void);
/** Gives it back as it was. */
void top_screen_close(void);

/** Draws everything, in the size that the terminal has now. */
void top_screen_draw(const struct top_model *model, struct top_view *view);

/** Rows of the list that fit on the screen. */
size_t top_screen_rows(void);

/** The next key, a character or an enum top_key; TOP_KEY_NONE if none comes in @timeout_ms. */
int top_screen_key(int timeout_ms);

/** Stops the process, as Ctrl-Z does, with the terminal as it was; returns when it goes on. */
void top_screen_suspend(void);

#endif
