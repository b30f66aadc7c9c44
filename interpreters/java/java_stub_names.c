/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each entry of a list is checked by itself: it must have two printable texts, and an address range within one
 * block of code that belongs to no method. Of several lists the longest is used, because a variable may point into
 * the middle of a list.
 */
#include "interpreters/java/java_stub_names.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/read_windows.h"
#include "lib/base/cleanup.h"

enum {
	WINDOW_BYTES = 1 << 16,
	/* Limits of variables that are checked and of entries of all lists; 7,000 variables may point to an entry. */
	MAX_LOOKS = 1 << 15,
	MAX_ENTRIES = 4 * JAVA_STUB_NAMES_MAX,
	/* malloc() returns addresses with this alignment, and none in the first page. */
	ENTRY_ALIGNMENT = 16,
	FIRST_ADDRESS = 4096,
	/*
	 * Words of an entry: address of the next one, names of the group and of the entry, and then the addresses of
	 * the code. Up to Java 8 a number precedes those.
	 */
	NEXT = 0,
	GROUP = 1,
	NAME = 2,
	START = 3,
	START_OF_8 = 4,
	ENTRY_WORDS = 6,
	MAX_ROUTINE_BYTES = 1 << 19,
};

struct entry {
	uint64_t next;
	uint64_t group;
	uint64_t name;
	uint64_t start;
	uint64_t end;
};

struct search {
	const struct java_layout *layout;
	const struct java_heaps *heaps;
	/* Address range of libjvm.so. */
	uint64_t library_start;
	uint64_t library_end;
	struct read_windows windows;
	uint32_t looks_left;
	uint32_t entries_left;
	/* The block that was looked up last; neighbours are in the same block. */
	struct java_blob block;
	struct java_stub_names found;
};

void java_library_find(const struct elf_image *image, struct java_library *library)
{
	struct java_library found = { .start = UINT64_MAX };

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type != PT_LOAD ||
		    segment->memory_bytes > UINT64_MAX - segment->address)
			continue;
		if (segment->address < found.start)
			found.start = segment->address;
		if (segment->address + segment->memory_bytes > found.end)
			found.end = segment->address + segment->memory_bytes;
	}
	java_data_ranges_find(image, &found.data);
	*library = found;
}

void java_stub_names_deinit(struct java_stub_names *names)
{
	java_stub_name_vector_deinit(&names->names);
	text_builder_deinit(&names->texts);
}

static bool is_in_heap(const struct search *search, uint64_t address)
{
	for (uint32_t i = 0; i < search->heaps->count; i++)
		if (address >= search->heaps->heaps[i].low &&
		    address < search->heaps->heaps[i].high)
			return true;
	return false;
}

/* Reads the entry at @address; false if it is invalid. entry->next can be followed in either case. */
static bool read_entry(struct search *search, uint64_t address, struct entry *entry)
{
	uint64_t words[ENTRY_WORDS];
	int start;

	if (remote_memory_read(&search->windows.memory, address, words, sizeof(words)))
		return false;
	start = is_in_heap(search, words[START]) ? START : START_OF_8;
	*entry = (struct entry){
		.next = words[NEXT],
		.group = words[GROUP],
		.name = words[NAME],
		.start = words[start],
		.end = words[start + 1],
	};
	return is_in_heap(search, entry->start) && entry->end > entry->start &&
	       entry->end - entry->start <= MAX_ROUTINE_BYTES && entry->group && entry->name &&
	       entry->next % ENTRY_ALIGNMENT == 0;
}

/* True if the whole routine is in one block that belongs to no method. */
static bool is_routine(struct search *search, const struct entry *entry)
{
	struct java_blob *block = &search->block;

	if ((entry->start < block->code_start || entry->start >= block->code_end) &&
	    java_blob_find(search->layout, search->heaps, &search->windows.memory, entry->start,
			   block)) {
		*block = (struct java_blob){ 0 };
		return false;
	}
	return !block->is_nmethod && entry->end <= block->code_end;
}

/* Reads a text of printable ASCII, with its NUL. */
static bool read_text(struct search *search, uint64_t address, char text[JAVA_STUB_NAME_BYTES])
{
	size_t length = 0;

	while (length < JAVA_STUB_NAME_BYTES) {
		size_t part = READ_WINDOW_BYTES - address % READ_WINDOW_BYTES;

		if (part > JAVA_STUB_NAME_BYTES - length)
			part = JAVA_STUB_NAME_BYTES - length;
		if (remote_memory_read(&search->windows.memory, address, text + length, part))
			return false;
		for (size_t end = length + part; length < end; length++) {
			if (!text[length])
				return length > 0;
			if (text[length] < ' ' || text[length] > '~')
				return false;
		}
		address += part;
	}
	return false;
}

static int add_name(struct search *search, const struct entry *entry, struct java_stub_names *names)
{
	char group[JAVA_STUB_NAME_BYTES], name[JAVA_STUB_NAME_BYTES];

	if (!is_routine(search, entry) || !read_text(search, entry->group, group) ||
	    !read_text(search, entry->name, name))
		return 0;
	if (java_stub_name_vector_push(&names->names, (struct java_stub_name){
							      .start = entry->start,
							      .end = entry->end,
							      .text = names->texts.length,
						      }))
		return -ENOMEM;
	text_builder_format(&names->texts, "[stub: %s::%s]", group, name);
	text_builder_append_bytes(&names->texts, "", 1);
	return names->texts.failed ? -ENOMEM : 0;
}

/* Reads the list that begins at @address, and keeps it if it is longer than the best one so far. */
static int read_list(struct search *search, uint64_t address)
{
	_cleanup_(java_stub_names_deinit) struct java_stub_names names = { 0 };
	struct java_stub_names shorter = search->found;
	int err = 0;

	for (uint32_t i = 0; address && i < JAVA_STUB_NAMES_MAX && search->entries_left; i++) {
		struct entry entry = { 0 };
		bool is_entry = read_entry(search, address, &entry);

		/* Most variables do not point to a list. */
		if (!is_entry && !i)
			return 0;
		search->entries_left--;
		if (is_entry)
			err = add_name(search, &entry, &names);
		if (err || !names.names.count)
			return err;
		address = entry.next % ENTRY_ALIGNMENT ? 0 : entry.next;
	}
	if (err || names.names.count <= shorter.names.count)
		return err;
	search->found = names;
	names = shorter;
	return 0;
}

static bool may_be_entry(const struct search *search, uint64_t address)
{
	return address >= FIRST_ADDRESS && address % ENTRY_ALIGNMENT == 0 &&
	       (address < search->library_start || address >= search->library_end) &&
	       address < UINT64_MAX / 2 && !is_in_heap(search, address);
}

static int search_variables(struct search *search, struct remote_memory *memory, uint64_t address,
			    uint64_t bytes)
{
	_cleanup_(free_pointer) uint64_t *window = malloc(WINDOW_BYTES);
	int err = window ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < bytes && !err; at += WINDOW_BYTES) {
		uint64_t part = bytes - at < WINDOW_BYTES ? bytes - at : WINDOW_BYTES;

		if (remote_memory_read(memory, address + at, window, part))
			continue;
		for (size_t i = 0; i < part / sizeof(window[0]) && !err; i++) {
			if (!may_be_entry(search, window[i]) || !search->looks_left)
				continue;
			search->looks_left--;
			err = read_list(search, window[i]);
		}
	}
	return err;
}

static int compare_names(const void *a, const void *b)
{
	const struct java_stub_name *first = a, *second = b;

	return (first->start > second->start) - (first->start < second->start);
}

/* Sorts the names and drops those that overlap, since an address in them is ambiguous. */
static void tidy(struct java_stub_name_vector *names)
{
	struct java_stub_name *items = names->items;
	size_t count = 0;
	uint64_t end = 0;

	if (names->count)
		qsort(items, names->count, sizeof(items[0]), compare_names);
	for (size_t i = 0; i < names->count; i++) {
		bool overlaps = items[i].start < end ||
				(i + 1 < names->count && items[i + 1].start < items[i].end);

		if (items[i].end > end)
			end = items[i].end;
		if (!overlaps)
			items[count++] = items[i];
	}
	names->count = count;
}

int java_stub_names_read(const struct java_layout *layout, const struct java_heaps *heaps,
			 const struct java_library *library, uint64_t bias,
			 struct remote_memory *memory, struct java_stub_names *names)
{
	struct search search = {
		.layout = layout,
		.heaps = heaps,
		.library_start = bias + library->start,
		.library_end = bias + library->end,
		.looks_left = MAX_LOOKS,
		.entries_left = MAX_ENTRIES,
	};
	int err = 0;

	read_windows_init(&search.windows, memory);
	for (uint32_t i = 0; i < library->data.count && !err; i++)
		err = search_variables(&search, memory, bias + library->data.ranges[i].address,
				       library->data.ranges[i].bytes);
	if (err) {
		java_stub_names_deinit(&search.found);
		return err;
	}
	tidy(&search.found.names);
	*names = search.found;
	return 0;
}

const char *java_stub_names_find(const struct java_stub_names *names, uint64_t address)
{
	size_t low = 0, high = names->names.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (names->names.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= names->names.items[low - 1].end)
		return NULL;
	return names->texts.text + names->names.items[low - 1].text;
}
