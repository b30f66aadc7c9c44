/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/read_windows.h"

#include <string.h>

static struct read_window *find_window(struct read_windows *windows, uint64_t number)
{
	for (uint32_t i = 0; i < READ_WINDOW_COUNT; i++)
		if (windows->windows[i].number == number)
			return &windows->windows[i];
	return NULL;
}

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct read_windows *windows = (struct read_windows *)memory;
	uint64_t number = address / READ_WINDOW_BYTES + 1, offset = address % READ_WINDOW_BYTES;
	struct read_window *window;
	int err;

	if (bytes > READ_WINDOW_BYTES - offset)
		return remote_memory_read(windows->source, address, buffer, bytes);
	window = find_window(windows, number);
	if (!window) {
		window = &windows->windows[windows->filled % READ_WINDOW_COUNT];
		window->number = 0;
		err = remote_memory_read(windows->source, address - offset, window->bytes,
					 READ_WINDOW_BYTES);
		if (err)
			return err;
		window->number = number;
		windows->filled++;
	}
	memcpy(buffer, window->bytes + offset, bytes);
	return 0;
}

void read_windows_init(struct read_windows *windows, struct remote_memory *source)
{
	static const struct remote_memory_ops ops = { .read = read_memory };

	windows->memory.ops = &ops;
	windows->source = source;
	windows->filled = 0;
	for (uint32_t i = 0; i < READ_WINDOW_COUNT; i++)
		windows->windows[i].number = 0;
}
