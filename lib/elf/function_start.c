/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is trusted for the search alone. The FDE that it leads to has the function's start and end, and its
 * start must equal the table's. So an unsorted table finds fewer functions, never wrong ones. Where there is no
 * table, as in static programs, all FDEs are scanned.
 */
#include "lib/elf/function_start.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>

#include "lib/base/byte_reader.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

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
	/* Limit of the scan of .eh_frame without a table: 30,000 functions, in half a millisecond. */
	SCANNED_MAX_BYTES = 1 << 20,
	LENGTH_64_BIT = 0xffffffff,
	/* DW_EH_PE_pcrel | DW_EH_PE_sdata4, as compilers write FDEs; and a value that no CIE has. */
	FDE_ENCODING = 0x1b,
	NO_ENCODING = 0xff,
	/* DW_EH_PE_absptr, udata2, udata8, sdata2, sdata8. */
	FORMAT_ABSOLUTE = 0x00,
	FORMAT_UDATA2 = 0x02,
	FORMAT_UDATA8 = 0x04,
	FORMAT_SDATA2 = 0x0a,
	FORMAT_SDATA8 = 0x0c,
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

/* An entry of the table; both fields are distances from the header. */
struct entry {
	int32_t start;
	int32_t fde;
};

/* An FDE whose address is relative to itself (DW_EH_PE_pcrel | DW_EH_PE_sdata4). */
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

static int read_table(const struct elf_image *image, const struct elf_segment *segment,
		      struct table *table)
{
	struct header header;
	uint8_t format;
	int err;

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

/* The last entry that begins at or before @address. */
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

static int find_in_table(const struct elf_image *image, const struct elf_segment *segment,
			 uint64_t address, uint64_t *start)
{
	uint64_t found, fde_address;
	struct entry entry = { 0 };
	struct table table = { 0 };
	struct fde fde;
	int err = read_table(image, segment, &table);

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

/* --- without a table --- */

static void skip_pointer(struct byte_reader *reader, uint8_t encoding)
{
	switch (encoding & FORMAT_MASK) {
	case FORMAT_UDATA2:
	case FORMAT_SDATA2:
		return byte_reader_skip(reader, 2);
	case FORMAT_UDATA4:
	case FORMAT_SDATA4:
		return byte_reader_skip(reader, 4);
	case FORMAT_ABSOLUTE:
	case FORMAT_UDATA8:
	case FORMAT_SDATA8:
		return byte_reader_skip(reader, 8);
	default:
		return byte_reader_fail(reader);
	}
}

/* Encoding of addresses in the FDEs of the CIE at @offset; NO_ENCODING if it is not known. */
static uint8_t fde_encoding(struct byte_reader reader, size_t offset)
{
	const char *augmentation;
	uint8_t version, found = NO_ENCODING;
	size_t length = 0;

	byte_reader_seek(&reader, offset + 2 * sizeof(uint32_t));
	version = byte_reader_u8(&reader);
	augmentation = byte_reader_bytes(&reader, 0);
	while (byte_reader_u8(&reader))
		length++;
	if (byte_reader_failed(&reader) || *augmentation != 'z')
		return NO_ENCODING;
	/* Alignments of code and data, the return address's register, the augmentation's bytes. */
	byte_reader_uleb128(&reader);
	byte_reader_sleb128(&reader);
	if (version == 1)
		byte_reader_u8(&reader);
	else
		byte_reader_uleb128(&reader);
	byte_reader_uleb128(&reader);
	for (size_t i = 1; i < length && found == NO_ENCODING; i++) {
		if (augmentation[i] == 'R')
			found = byte_reader_u8(&reader);
		else if (augmentation[i] == 'P')
			skip_pointer(&reader, byte_reader_u8(&reader));
		else if (augmentation[i] == 'L')
			byte_reader_u8(&reader);
	}
	return byte_reader_failed(&reader) ? NO_ENCODING : found;
}

/* @frames is at the start of the section, which is at @section_address. */
static int scan(struct byte_reader frames, uint64_t section_address, uint64_t address,
		uint64_t *start)
{
	const struct byte_reader whole = frames;
	uint8_t encoding = NO_ENCODING;
	size_t cie = SIZE_MAX;

	while (byte_reader_left(&frames) > 2 * sizeof(uint32_t)) {
		uint32_t length = byte_reader_u32(&frames), id, bytes;
		size_t at = byte_reader_offset(&frames), end = at + length;
		uint64_t begin;

		if (!length || length == LENGTH_64_BIT || length > byte_reader_left(&frames))
			break;
		id = byte_reader_u32(&frames);
		if (id && id <= at) {
			if (cie != at - id) {
				cie = at - id;
				encoding = fde_encoding(whole, cie);
			}
			begin = section_address + byte_reader_offset(&frames);
			begin = add(begin, (int32_t)byte_reader_u32(&frames));
			bytes = byte_reader_u32(&frames);
			if (encoding == FDE_ENCODING && !byte_reader_failed(&frames) &&
			    begin <= address && address - begin < bytes) {
				*start = begin;
				return 0;
			}
		}
		byte_reader_seek(&frames, end);
	}
	return fail(-ENOENT, "code without an FDE");
}

static int find_in_frames(const struct elf_image *image, uint64_t address, uint64_t *start)
{
	const struct elf_section *section = elf_image_find_section(image, ".eh_frame");
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	struct byte_reader reader;
	int err;

	if (!section)
		return fail(-ENOENT, "no .eh_frame");
	err = elf_image_load_raw_section(image, section, SCANNED_MAX_BYTES, &bytes);
	if (err)
		return err;
	byte_reader_init(&reader, bytes.data, bytes.size);
	return scan(reader, section->address, address, start);
}

int function_start(const struct elf_image *image, uint64_t address, uint64_t *start)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_GNU_EH_FRAME);

	return segment ? find_in_table(image, segment, address, start) :
			 find_in_frames(image, address, start);
}

int function_starts_init(struct function_starts *starts, const struct elf_image *image)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_GNU_EH_FRAME);
	struct table table = { 0 };
	int err;

	if (!segment)
		return fail(-ENOENT, "no .eh_frame_hdr");
	err = read_table(image, segment, &table);
	if (err)
		return err;
	*starts = (struct function_starts){
		.image = image,
		.address = table.address,
		.count = table.count,
	};
	return 0;
}

/* Reads the chunk that begins with the entry starts->next. */
static int read_chunk(struct function_starts *starts)
{
	struct entry entries[FUNCTION_STARTS_CHUNK];
	uint32_t count = starts->count - starts->next;
	uint64_t at = starts->address + sizeof(struct header) +
		      (uint64_t)starts->next * sizeof(entries[0]);
	int err;

	if (count > FUNCTION_STARTS_CHUNK)
		count = FUNCTION_STARTS_CHUNK;
	err = elf_image_read_address(starts->image, at, entries, count * sizeof(entries[0]));
	if (err)
		return err;
	starts->chunk_first = starts->next;
	starts->chunk_count = count;
	for (uint32_t i = 0; i < count; i++)
		starts->chunk[i] = (int32_t)le32toh((uint32_t)entries[i].start);
	return 0;
}

uint64_t function_starts_above(struct function_starts *starts, uint64_t address)
{
	for (; starts->next < starts->count; starts->next++) {
		uint64_t start;

		if (starts->next >= starts->chunk_first + starts->chunk_count && read_chunk(starts))
			break;
		start = add(starts->address, starts->chunk[starts->next - starts->chunk_first]);
		if (start > address)
			return start;
	}
	starts->count = starts->next;
	return UINT64_MAX;
}
