/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of 16 sets with four pages each, replaced in turn. A reader of several streams that advance through a
 * table together keeps the page of each stream.
 */
#include "lib/elf/elf_pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

enum { STRING_STEP_BYTES = 256 };

void elf_pages_init(struct elf_pages *pages, const struct elf_image *image)
{
	memset(pages, 0, sizeof(*pages));
	pages->image = image;
}

void elf_pages_release(struct elf_pages *pages)
{
	for (int set = 0; set < ELF_PAGE_SETS; set++) {
		for (int way = 0; way < ELF_PAGE_WAYS; way++) {
			free(pages->pages[set][way].data);
			pages->pages[set][way] = (struct elf_page){ 0 };
		}
	}
}

void elf_pages_deinit(struct elf_pages *pages)
{
	if (!pages)
		return;
	elf_pages_release(pages);
	pages->image = NULL;
}

static int load_page(struct elf_pages *pages, uint64_t number, struct elf_page *page)
{
	uint64_t left = pages->image->size - number * ELF_PAGE_BYTES;
	uint32_t bytes = left < ELF_PAGE_BYTES ? left : ELF_PAGE_BYTES;
	int err;

	if (!page->data)
		page->data = malloc(ELF_PAGE_BYTES);
	if (!page->data)
		return fail(-ENOMEM, "no memory for a page of an ELF file");
	page->bytes = 0;
	err = elf_image_read(pages->image, number * ELF_PAGE_BYTES, page->data, bytes);
	if (err)
		return err;
	page->number = number;
	page->bytes = bytes;
	return 0;
}

/* Finds or reads page @number, which starts within the file. */
static int find_page(struct elf_pages *pages, uint64_t number, const struct elf_page **found)
{
	/* Neighbouring pages are in different sets, and so are streams at round distances. */
	uint32_t set = (number ^ number >> 4 ^ number >> 8) % ELF_PAGE_SETS;
	struct elf_page *ways = pages->pages[set];
	struct elf_page *victim;
	int err;

	for (int way = 0; way < ELF_PAGE_WAYS; way++) {
		if (ways[way].number == number && ways[way].bytes) {
			*found = &ways[way];
			return 0;
		}
	}
	victim = &ways[pages->victims[set]];
	pages->victims[set] = (pages->victims[set] + 1) % ELF_PAGE_WAYS;
	err = load_page(pages, number, victim);
	if (err)
		return err;
	*found = victim;
	return 0;
}

int elf_pages_read(struct elf_pages *pages, uint64_t offset, void *buffer, size_t bytes)
{
	uint8_t *to = buffer;

	if (offset > pages->image->size || bytes > pages->image->size - offset)
		return fail(-EBADMSG, "%zu bytes at %#" PRIx64 " lie outside of the file", bytes,
			    offset);
	while (bytes) {
		uint32_t start = offset % ELF_PAGE_BYTES;
		const struct elf_page *page;
		size_t count;
		int err = find_page(pages, offset / ELF_PAGE_BYTES, &page);

		if (err)
			return err;
		count = page->bytes - start;
		count = bytes < count ? bytes : count;
		memcpy(to, page->data + start, count);
		to += count;
		offset += count;
		bytes -= count;
	}
	return 0;
}

int elf_pages_read_address(struct elf_pages *pages, uint64_t address, void *buffer, size_t bytes)
{
	uint64_t offset, available;
	int err = elf_image_address_offset(pages->image, address, &offset, &available);

	if (err)
		return err;
	if (bytes > available)
		return fail(-EBADMSG, "%zu bytes at address %#" PRIx64 " lie in no segment", bytes,
			    address);
	return elf_pages_read(pages, offset, buffer, bytes);
}

int elf_pages_read_string(struct elf_pages *pages, uint64_t offset, uint64_t end, size_t max_bytes,
			  struct text_builder *text)
{
	char chunk[STRING_STEP_BYTES];

	end = end < pages->image->size ? end : pages->image->size;
	while (offset < end) {
		size_t bytes = end - offset < sizeof(chunk) ? end - offset : sizeof(chunk);
		size_t length;
		int err = elf_pages_read(pages, offset, chunk, bytes);

		if (err)
			return err;
		length = strnlen(chunk, bytes);
		if (length > max_bytes)
			return fail(-E2BIG, "a string of more than the limit at %#" PRIx64, offset);
		text_builder_append_bytes(text, chunk, length);
		if (length < bytes)
			return text->failed ? fail(-ENOMEM, "no memory for a string") : 0;
		max_bytes -= length;
		offset += bytes;
	}
	return fail(-EBADMSG, "a string has no end before %#" PRIx64, end);
}
