/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process can make the compared pages equal and others different. The only effect is wrong stacks of its own.
 */
#include "agent/processes/copied_text.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/processes/executable_cache.h"
#include "ebpf/abi/frame.h"
#include "lib/base/cleanup.h"
#include "lib/host/binary_file.h"
#include "lib/host/proc_info.h"
#include "lib/host/remote_memory.h"

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

/* The part of [@start, @end) that a segment overlaps; false if there is none. */
static bool cut_to_segment(const struct elf_segment *segment, uint64_t bias, uint64_t start,
			   uint64_t end, struct copied_text *text)
{
	uint64_t first = segment->address + bias, last = first + segment->file_bytes;

	text->start = start > first ? start : first;
	text->end = end < last ? end : last;
	return first < last && text->start < text->end;
}

bool copied_text_find_beside(struct executable *executable, const struct proc_mapping *part,
			     uint64_t start, uint64_t end, struct copied_text *text)
{
	const struct elf_image *image = &executable->segments;
	struct copied_text found = { 0 }, cut;
	uint64_t address;
	int err;

	if (executable->is_remote || executable->id < EXECUTABLE_ID_FIRST)
		return false;
	err = (part->protection & PROT_EXEC ? elf_image_mapping_address : elf_image_data_address)(
		image, part->offset, part->end - part->start, &address);
	for (uint32_t i = 0; !err && i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_LOAD && segment->flags & PF_X &&
		    cut_to_segment(segment, part->start - address, start, end, &cut) &&
		    cut.end - cut.start > found.end - found.start)
			found = cut;
	}
	if (found.start == found.end)
		return false;
	found.executable = executable;
	found.bias = part->start - address;
	*text = found;
	return true;
}

/* Chooses the pages to compare, from the first to the last one. */
static uint32_t choose_pages(const struct copied_text *text, const struct elf_image *image,
			     struct memory_part parts[HOME_READ_PARTS])
{
	uint64_t pages = (text->end - text->start + HOME_READ_BYTES - 1) / HOME_READ_BYTES;
	uint32_t wanted = pages < HOME_READ_PARTS ? pages : HOME_READ_PARTS, count = 0;

	for (uint32_t i = 0; i < wanted; i++) {
		uint64_t page = wanted > 1 ? (pages - 1) * i / (wanted - 1) : 0;
		uint64_t address = text->start + page * HOME_READ_BYTES;
		uint64_t bytes = elf_image_bytes_at_address(image, address - text->bias);

		if (bytes > text->end - address)
			bytes = text->end - address;
		/* A segment may end within a page, and may leave a gap to the next one. */
		if (bytes)
			parts[count++] = (struct memory_part){
				.address = address,
				.bytes = bytes < HOME_READ_BYTES ? (uint32_t)bytes :
								   HOME_READ_BYTES,
			};
	}
	return count;
}

static int read_memory(struct runtime_home *home, const char *proc_root, uint32_t pid,
		       const struct memory_part *parts, uint32_t count, void *bytes)
{
	_cleanup_(close_fd) int memory = -1;
	uid_t uid;
	int err = proc_user(proc_root, (pid_t)pid, &uid);

	if (!err)
		err = process_memory_open(proc_root, (pid_t)pid, &memory);
	return err ? err : home->ops->read(home, uid, pid, memory, parts, count, bytes);
}

int copied_text_is_equal(const struct copied_text *text, struct runtime_home *home,
			 const char *proc_root, uint32_t pid, bool *is_equal)
{
	char in_memory[HOME_READ_PARTS * HOME_READ_BYTES], in_file[HOME_READ_BYTES];
	_cleanup_(binary_file_return) struct borrowed_file file = { .fd = -1 };
	struct elf_image image = text->executable->segments;
	struct memory_part parts[HOME_READ_PARTS];
	const char *bytes = in_memory;
	uint32_t count;
	int err;

	*is_equal = false;
	/* Damaged headers have no addresses. */
	count = image.segment_count ? choose_pages(text, &image, parts) : 0;
	if (!count || !home)
		return 0;
	file = binary_file_borrow(text->executable->binary);
	err = file.fd < 0 ? -ENOENT : read_memory(home, proc_root, pid, parts, count, in_memory);
	if (err)
		return err == -EAGAIN ? err : 0;
	image.fd = file.fd;
	for (uint32_t i = 0; i < count; i++) {
		if (elf_image_read_address(&image, parts[i].address - text->bias, in_file,
					   parts[i].bytes) ||
		    memcmp(in_file, bytes, parts[i].bytes) != 0)
			return 0;
		bytes += parts[i].bytes;
	}
	*is_equal = true;
	return 0;
}
