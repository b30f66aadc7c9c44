/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is believed for the search alone: the FDE that it leads to says where the function begins and
 * ends, and must begin where the table says. So unsorted tables find less, never something wrong.
 */
#include "agent/host/function_start.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>

#include "agent/base/error.h"

enum {
	VERSION = 1,
	/* DW_EH_PE_udata4; DW_EH_PE_datarel | DW_EH_PE_sdata4. */
	COUNT_ENCODING = 0x03,
	TABLE_ENCODING = 0x3b,
	/* The format of .eh_frame's address: the lower half of a DW_EH_PE, of four bytes. */
	FORMAT_MASK = 0x0f,
	FORMAT_UDATA4 = 0x03,
	FORMAT_SDATA4 = 0x0b,
	/* More than the code of any file. */
	COUNT_MAX = 1 << 26,
};

struct header {
	uint8_t version;
	uint8_t frame_encoding;
	uint8_t count_encoding;
	uint8_t table_encoding;
	uint32_t frame;
	uint32_t count;
};

_Static_assert(sizeof(struct header) == 12, "as in the file");

/* Both as distances from the header. */
struct entry {
	int32_t start;
	int32_t fde;
};

/* With an address relative to itself (DW_EH_PE_pcrel | DW_EH_PE_sdata4). */
struct fde {
	uint32_t length;
	uint32_t cie;
	int32_t start;
	uint32_t bytes;
};

struct table {
	const struct elf_image *image;
	uint64_t address;
	uint32_t count;
};

static int read_table(const struct elf_image *image, struct table *table)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_GNU_EH_FRAME);
	struct header header;
	uint8_t format;
	int err;

	if (!segment)
		return fail(-ENOENT, "no .eh_frame_hdr");
	err = elf_image_read_address(image, segment->address, &header, sizeof(header));
	if (err)
		return err;
	format = header.frame_encoding & FORMAT_MASK;
	if (header.version != VERSION || header.count_encoding != COUNT_ENCODING ||
	    header.table_encoding != TABLE_ENCODING ||
	    (format != FORMAT_UDATA4 && format != FORMAT_SDATA4))
		return fail(-EOPNOTSUPP, ".eh_frame_hdr with another kind of table");
	*table = (struct table){ image, segment->address, le32toh(header.count) };
	return table->count <= COUNT_MAX ?
		       0 :
		       fail(-EBADMSG, ".eh_frame_hdr with %u rows", table->count);
}

static int read_entry(const struct table *table, uint32_t index, struct entry *entry)
{
	uint64_t at = table->address + sizeof(struct header) + (uint64_t)index * sizeof(*entry);
	int err = elf_image_read_address(table->image, at, entry, sizeof(*entry));

	if (err)
		return err;
	entry->start = (int32_t)le32toh((uint32_t)entry->start);
	entry->fde = (int32_t)le32toh((uint32_t)entry->fde);
	return 0;
}

static uint64_t add(uint64_t address, int32_t distance)
{
	return address + (uint64_t)(int64_t)distance;
}

/* The last row that begins at @address or before. */
static int find_entry(const struct table *table, uint64_t address, struct entry *entry)
{
	uint32_t low = 0, high = table->count;
	int err;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		err = read_entry(table, middle, entry);
		if (err)
			return err;
		if (add(table->address, entry->start) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? read_entry(table, low - 1, entry) : fail(-ENOENT, "no function before");
}

int function_start(const struct elf_image *image, uint64_t address, uint64_t *start)
{
	uint64_t found, fde_address;
	struct entry entry = { 0 };
	struct table table = { 0 };
	struct fde fde;
	int err = read_table(image, &table);

	if (!err)
		err = find_entry(&table, address, &entry);
	if (err)
		return err;
	found = add(table.address, entry.start);
	fde_address = add(table.address, entry.fde);
	err = elf_image_read_address(image, fde_address, &fde, sizeof(fde));
	if (err)
		return err;
	if (add(fde_address + offsetof(struct fde, start), (int32_t)le32toh((uint32_t)fde.start)) !=
		    found ||
	    le32toh(fde.bytes) > INT32_MAX)
		return fail(-EOPNOTSUPP, "an FDE with another kind of address");
	if (address - found >= le32toh(fde.bytes))
		return fail(-ENOENT, "code without an FDE");
	*start = found;
	return 0;
}
