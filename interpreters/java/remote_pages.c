/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/remote_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

int remote_pages_init(struct remote_pages *pages, struct remote_memory *memory, uint64_t max_bytes)
{
	pages->pages = calloc(REMOTE_PAGE_COUNT, sizeof(*pages->pages));
	if (!pages->pages)
		return -ENOMEM;
	pages->memory = memory;
	pages->bytes_left = max_bytes;
	return 0;
}

void remote_pages_deinit(struct remote_pages *pages)
{
	free(pages->pages);
	pages->pages = NULL;
}

static int find_page(struct remote_pages *pages, uint64_t index, const uint8_t **bytes)
{
	struct remote_page *page = &pages->pages[index % REMOTE_PAGE_COUNT];
	int err;

	if (page->number != index + 1) {
		if (pages->bytes_left < REMOTE_PAGE_BYTES)
			return fail(-E2BIG, "too much of the process's memory to read");
		page->number = 0;
		/* A failed read costs as much as one that succeeds. */
		pages->bytes_left -= REMOTE_PAGE_BYTES;
		err = remote_memory_read(pages->memory, index * REMOTE_PAGE_BYTES, page->bytes,
					 REMOTE_PAGE_BYTES);
		if (err)
			return err;
		page->number = index + 1;
	}
	*bytes = page->bytes;
	return 0;
}

int remote_pages_read(struct remote_pages *pages, uint64_t address, void *buffer, size_t bytes)
{
	uint8_t *to = buffer;

	while (bytes) {
		size_t offset = address % REMOTE_PAGE_BYTES, part = REMOTE_PAGE_BYTES - offset;
		const uint8_t *from = NULL;
		int err = find_page(pages, address / REMOTE_PAGE_BYTES, &from);

		if (err)
			return err;
		if (part > bytes)
			part = bytes;
		memcpy(to, from + offset, part);
		to += part;
		address += part;
		bytes -= part;
	}
	return 0;
}

int remote_pages_read_string(struct remote_pages *pages, uint64_t address, char *text, size_t size)
{
	size_t length = 0;

	while (length < size) {
		size_t offset = address % REMOTE_PAGE_BYTES, part = REMOTE_PAGE_BYTES - offset;
		const uint8_t *from = NULL;
		int err = find_page(pages, address / REMOTE_PAGE_BYTES, &from);
		const uint8_t *end;

		if (err)
			return err;
		if (part > size - length)
			part = size - length;
		end = memchr(from + offset, 0, part);
		if (end)
			part = (size_t)(end - from) - offset + 1;
		memcpy(text + length, from + offset, part);
		if (end)
			return 0;
		length += part;
		address += part;
	}
	return fail(-E2BIG, "no string of %zu bytes", size);
}
