/* SPDX-License-Identifier: Apache-2.0 */
/* The process may write to the memory while it is read, and it is not trusted, so every number is checked. */
#include "interpreters/java/java_counters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/* 0xcafec0c0, and 1 for little endian. */
	PROLOGUE_MAGIC = 0xc0c0feca,
	LITTLE_ENDIAN_ORDER = 1,
	/* -XX:PerfDataMemorySize: 32 KiB by default. */
	MAX_BYTES = 256 << 10,
	TYPE_LONG = 'J',
	COUNTER_BYTES = 8,
};

struct prologue {
	uint32_t magic;
	uint8_t byte_order;
	uint8_t versions[2];
	uint8_t is_accessible;
	uint32_t used_bytes;
	uint32_t overflow;
	uint64_t modified;
	uint32_t entry_offset;
	uint32_t entry_count;
};

/* The offsets of the name and of the data start at the entry. */
struct entry {
	uint32_t bytes;
	uint32_t name_offset;
	uint32_t vector_length;
	uint8_t type;
	uint8_t flags;
	uint8_t unit;
	uint8_t variability;
	uint32_t data_offset;
};

_Static_assert(sizeof(struct prologue) == 32 && sizeof(struct entry) == 20, "as the JVM has them");

static bool is_counter(const uint8_t *bytes, const struct entry *entry, const char *name)
{
	size_t name_bytes = strlen(name) + 1;

	return entry->type == TYPE_LONG && !entry->vector_length &&
	       entry->data_offset % COUNTER_BYTES == 0 && entry->data_offset <= entry->bytes &&
	       COUNTER_BYTES <= entry->bytes - entry->data_offset &&
	       entry->name_offset <= entry->bytes &&
	       name_bytes <= entry->bytes - entry->name_offset &&
	       !memcmp(bytes + entry->name_offset, name, name_bytes);
}

/* The offset of the counter in @used bytes; 0: it is not there. */
static uint32_t find_in(const uint8_t *bytes, uint32_t used, uint32_t offset, const char *name)
{
	struct entry entry;

	while (offset <= used && sizeof(entry) <= used - offset) {
		memcpy(&entry, bytes + offset, sizeof(entry));
		if (entry.bytes < sizeof(entry) || entry.bytes > used - offset)
			break;
		if (is_counter(bytes + offset, &entry, name))
			return offset + entry.data_offset;
		offset += entry.bytes;
	}
	return 0;
}

/* -ENODATA: there is no such counter. */
static int find_counter(struct remote_memory *memory, uint64_t start, const char *name,
			uint64_t *address)
{
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	struct prologue prologue;
	uint32_t offset;
	int err = remote_memory_read(memory, start, &prologue, sizeof(prologue));

	if (err)
		return err;
	if (prologue.magic != PROLOGUE_MAGIC || prologue.byte_order != LITTLE_ENDIAN_ORDER ||
	    prologue.used_bytes > MAX_BYTES)
		return -ENODATA;
	bytes = malloc(prologue.used_bytes + 1);
	if (!bytes)
		return fail(-ENOMEM, "no memory for the JVM's counters");
	err = remote_memory_read(memory, start, bytes, prologue.used_bytes);
	if (err)
		return err;
	offset = find_in(bytes, prologue.used_bytes, prologue.entry_offset, name);
	if (!offset)
		return -ENODATA;
	*address = start + offset;
	return 0;
}

int java_counter_find(const struct java_layout *layout, struct remote_memory *memory,
		      const char *name, uint64_t *address)
{
	uint64_t start = 0, found = 0;
	int err = remote_memory_read(memory, layout->counters, &start, sizeof(start));

	if (!err && start)
		err = find_counter(memory, start, name, &found);
	if (err && err != -ENODATA && err != -EFAULT)
		return err;
	*address = found;
	return 0;
}
