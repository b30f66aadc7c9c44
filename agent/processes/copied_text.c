/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process can make the compared pages equal and the others not. It gets wrong stacks of its own
 * for it, and nothing else.
 */
#include "agent/processes/copied_text.h"

#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/host/binary_file.h"
#include "agent/host/remote_memory.h"
#include "agent/processes/executable_cache.h"
#include "ebpf/abi/frame.h"

enum {
	PAGE_BYTES = 4096,
	PAGES_COMPARED = 16,
};

bool copied_text_find(const struct process_mapping *known, uint32_t count, uint64_t start,
		      uint64_t end, struct copied_text *text)
{
	struct copied_text found = { 0 };

	for (uint32_t i = 0; i < count && known[i].start < end; i++) {
		const struct process_mapping *mapping = &known[i];

		if (mapping->end <= start || !mapping->executable ||
		    mapping->executable->is_remote || mapping->executable->id < EXECUTABLE_ID_FIRST)
			continue;
		if (!found.executable) {
			found.executable = mapping->executable;
			found.bias = mapping->bias;
			found.start = mapping->start < start ? start : mapping->start;
		} else if (found.executable != mapping->executable || found.bias != mapping->bias) {
			return false;
		}
		found.end = mapping->end < end ? mapping->end : end;
	}
	if (!found.executable)
		return false;
	*text = found;
	return true;
}

static bool page_is_equal(const struct elf_image *image, struct remote_memory *memory,
			  uint64_t bias, uint64_t address, uint64_t bytes)
{
	unsigned char in_file[PAGE_BYTES], in_memory[PAGE_BYTES];

	return !elf_image_read_address(image, address - bias, in_file, bytes) &&
	       !remote_memory_read(memory, address, in_memory, bytes) &&
	       !memcmp(in_file, in_memory, bytes);
}

bool copied_text_is_equal(const struct copied_text *text, const char *proc_root, uint32_t pid)
{
	struct elf_image image = text->executable->segments;
	uint64_t pages = (text->end - text->start) / PAGE_BYTES;
	uint32_t count = pages < PAGES_COMPARED ? pages : PAGES_COMPARED;
	struct process_memory memory;
	uint32_t compared = 0;
	_cleanup_(binary_file_return) struct borrowed_file file = { .fd = -1 };
	bool is_equal = true;

	/* Its headers say nothing of addresses if they are damaged. */
	if (!image.segment_count)
		return false;
	file = binary_file_borrow(text->executable->binary);
	if (file.fd < 0 || process_memory_init(&memory, proc_root, pid))
		return false;
	image.fd = file.fd;
	for (uint32_t i = 0; is_equal && i < count; i++) {
		/* From the first page to the last one. */
		uint64_t page = count > 1 ? (pages - 1) * i / (count - 1) : 0;
		uint64_t address = text->start + page * PAGE_BYTES;
		uint64_t bytes = elf_image_bytes_at_address(&image, address - text->bias);

		/* A segment need not fill its last page, nor one the gap to the next. */
		if (!bytes)
			continue;
		is_equal = page_is_equal(&image, &memory.memory, text->bias, address,
					 bytes < PAGE_BYTES ? bytes : PAGE_BYTES);
		compared++;
	}
	process_memory_deinit(&memory);
	return is_equal && compared;
}
