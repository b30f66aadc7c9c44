/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A package has one string table for all units, which may be large: an extracted unit gets only the
 * strings in its own table of offsets. Each look-up and each copy is limited by the bytes of the
 * file, or by SPLIT_UNIT_MAX_BYTES.
 */
#include "symbols/dwarf/split_package.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/error.h"

enum {
	COLUMNS_MAX = 16,
	SECTION_ALIGNMENT = 8,
	/* Header of a table of offsets in DWARF 5: length, version, padding. */
	OFFSETS_HEADER_BYTES = 8,
	/* DW_SECT_... of the specification. */
	COLUMN_STRING_OFFSETS = 6,
};

/* The parts of a unit in a package, by columns of the index; the strings follow them. */
static const struct {
	const char *name;
	uint32_t column;
	uint32_t first_version;
} parts[] = {
	{ ".debug_info.dwo", 1, 2 },
	{ ".debug_abbrev.dwo", 3, 2 },
	{ ".debug_line.dwo", 4, 2 },
	{ ".debug_rnglists.dwo", 8, 5 },
	{ ".debug_str_offsets.dwo", COLUMN_STRING_OFFSETS, 2 },
};
static const char strings_name[] = ".debug_str.dwo";

enum {
	PART_COUNT = sizeof(parts) / sizeof(parts[0]),
	/* The null section, the parts, their strings, and the section names. */
	SECTION_COUNT = 1 + PART_COUNT + 2,
	NAMES_BYTES = 256,
};

struct bytes {
	const uint8_t *data;
	size_t size;
};

static uint32_t read_u32(const uint8_t *bytes, size_t i)
{
	uint32_t value;

	memcpy(&value, bytes + i * sizeof(value), sizeof(value));
	return le32toh(value);
}

static uint64_t read_u64(const uint8_t *bytes, size_t i)
{
	uint64_t value;

	memcpy(&value, bytes + i * sizeof(value), sizeof(value));
	return le64toh(value);
}

/* The contents of a section, uncompressed in the file. */
static int find_section(const struct elf_image *image, const char *name, struct bytes *found)
{
	const struct elf_section *section = elf_image_find_section(image, name);

	if (!section || section->type == SHT_NOBITS)
		return fail(-ENOENT, "no section %s", name);
	if (elf_section_encoding(section) != ELF_ENCODING_PLAIN)
		return fail(-EOPNOTSUPP, "section %s of a package is compressed", name);
	if (section->offset > image->size || section->size > image->size - section->offset)
		return fail(-EBADMSG, "section %s lies outside of the file", name);
	*found = (struct bytes){ image->memory + section->offset, section->size };
	return 0;
}

/* --- the index --- */

static int read_index(struct split_package *package, struct bytes index)
{
	struct byte_reader reader;
	uint32_t version;

	byte_reader_init(&reader, index.data, index.size);
	version = byte_reader_u32(&reader);
	/* DWARF 5 has two bytes for the version, and padding. */
	package->version = version == 2 ? 2 : version & 0xffff;
	package->column_count = byte_reader_u32(&reader);
	package->unit_count = byte_reader_u32(&reader);
	package->slot_count = byte_reader_u32(&reader);
	if (package->version != 2 && package->version != 5)
		return fail(-EOPNOTSUPP, "version %u of a package's index", package->version);
	if (package->column_count > COLUMNS_MAX ||
	    package->slot_count & (package->slot_count - 1) || package->unit_count > index.size ||
	    package->slot_count > index.size)
		return fail(-EBADMSG, "a package's index with %u columns and %u slots",
			    package->column_count, package->slot_count);
	package->hashes = byte_reader_bytes(&reader, (size_t)package->slot_count * 8);
	package->rows = byte_reader_bytes(&reader, (size_t)package->slot_count * 4);
	package->columns = byte_reader_bytes(&reader, (size_t)package->column_count * 4);
	package->offsets =
		byte_reader_bytes(&reader, (size_t)package->unit_count * package->column_count * 4);
	package->sizes =
		byte_reader_bytes(&reader, (size_t)package->unit_count * package->column_count * 4);
	return byte_reader_failed(&reader) ? fail(-EBADMSG, "a package's index is cut") : 0;
}

int split_package_init(struct split_package *package, const void *bytes, size_t size)
{
	struct split_package result = { 0 };
	struct bytes index;
	int err = elf_image_init_memory(&result.image, bytes, size);

	if (err)
		return err;
	err = find_section(&result.image, ".debug_cu_index", &index);
	if (!err)
		err = read_index(&result, index);
	if (err) {
		split_package_deinit(&result);
		return err;
	}
	*package = result;
	return 0;
}

void split_package_deinit(struct split_package *package)
{
	elf_image_deinit(&package->image);
}

/* Finds the row of a unit, from 0, in the hash table (open addressing). */
static bool find_row(const struct split_package *package, uint64_t id, uint32_t *row)
{
	uint32_t mask = package->slot_count - 1;
	uint32_t i = id & mask, step = ((id >> 32) & mask) | 1;

	for (uint32_t tries = 0; tries < package->slot_count; tries++, i = (i + step) & mask) {
		uint32_t number = read_u32(package->rows, i);

		if (!number)
			return false;
		if (read_u64(package->hashes, i) == id) {
			*row = number - 1;
			return *row < package->unit_count;
		}
	}
	return false;
}

/* The unit's bytes in column @column; none without such a column. */
static int find_part(const struct split_package *package, uint32_t row, const char *name,
		     uint32_t column, struct bytes *part)
{
	struct bytes section;
	size_t cell;
	uint32_t i = 0, offset, size;
	int err;

	*part = (struct bytes){ 0 };
	while (i < package->column_count && read_u32(package->columns, i) != column)
		i++;
	if (i == package->column_count)
		return 0;
	cell = (size_t)row * package->column_count + i;
	offset = read_u32(package->offsets, cell);
	size = read_u32(package->sizes, cell);
	if (!size)
		return 0;
	err = find_section(&package->image, name, &section);
	if (err)
		return err;
	if (offset > section.size || size > section.size - offset)
		return fail(-EBADMSG, "a unit's part lies outside of %s", name);
	*part = (struct bytes){ section.data + offset, size };
	return 0;
}

/* --- the output file --- */

/* A file that is being made: section headers and their names. */
struct output {
	struct byte_vector *file;
	Elf64_Shdr sections[SECTION_COUNT];
	uint32_t section_count;
	char names[NAMES_BYTES];
	size_t names_bytes;
};

static int append(struct output *output, const void *bytes, size_t size)
{
	struct byte_vector *file = output->file;

	if (size > SPLIT_UNIT_MAX_BYTES - file->count)
		return fail(-E2BIG, "a unit of more than %d bytes", SPLIT_UNIT_MAX_BYTES);
	if (byte_vector_reserve(file, file->count + size))
		return fail(-ENOMEM, "no memory for a unit of a package");
	if (size)
		memcpy(file->items + file->count, bytes, size);
	file->count += size;
	return 0;
}

static int align(struct output *output)
{
	static const uint8_t zeroes[SECTION_ALIGNMENT];

	return append(output, zeroes, -output->file->count & (SECTION_ALIGNMENT - 1));
}

/* Begins a section, which for now extends to the end of the file. */
static int begin_section(struct output *output, const char *name, uint32_t type)
{
	int err = align(output);

	if (err)
		return err;
	output->sections[output->section_count++] = (Elf64_Shdr){
		.sh_name = output->names_bytes,
		.sh_type = type,
		.sh_offset = output->file->count,
		.sh_addralign = 1,
	};
	strcpy(output->names + output->names_bytes, name);
	output->names_bytes += strlen(name) + 1;
	return 0;
}

static void end_section(struct output *output)
{
	Elf64_Shdr *section = &output->sections[output->section_count - 1];

	section->sh_size = output->file->count - section->sh_offset;
}

static int put_part(struct output *output, const char *name, struct bytes part)
{
	int err = begin_section(output, name, SHT_PROGBITS);

	if (!err)
		err = append(output, part.data, part.size);
	end_section(output);
	return err;
}

/* Copies the strings in the table of offsets at @table in the file, and updates the offsets. */
static int put_strings(struct output *output, size_t table, size_t table_end, struct bytes strings)
{
	int err = begin_section(output, strings_name, SHT_PROGBITS);
	size_t start = output->file->count;

	for (; !err && table + 4 <= table_end; table += 4) {
		uint32_t offset = read_u32(output->file->items + table, 0);
		uint32_t moved = htole32(output->file->count - start);
		const uint8_t *end = offset < strings.size ? memchr(strings.data + offset, 0,
								    strings.size - offset) :
							     NULL;

		if (!end)
			return fail(-EBADMSG, "a unit's string lies outside of %s", strings_name);
		memcpy(output->file->items + table, &moved, sizeof(moved));
		err = append(output, strings.data + offset, end + 1 - (strings.data + offset));
	}
	end_section(output);
	return err;
}

/* Writes the parts, of which the table of offsets is the last, and then the strings. */
static int put_parts(struct output *output, const struct split_package *package, uint32_t row)
{
	const Elf64_Shdr *offsets;
	struct bytes strings = { 0 };
	size_t table;
	int err = 0;

	for (int i = 0; i < PART_COUNT && !err; i++) {
		struct bytes part;

		if (package->version < parts[i].first_version)
			continue;
		err = find_part(package, row, parts[i].name, parts[i].column, &part);
		if (!err)
			err = put_part(output, parts[i].name, part);
	}
	if (err)
		return err;
	offsets = &output->sections[output->section_count - 1];
	if (offsets->sh_size)
		err = find_section(&package->image, strings_name, &strings);
	if (err)
		return err;
	table = offsets->sh_offset + (package->version == 2 ? 0 : OFFSETS_HEADER_BYTES);
	return put_strings(output, table, offsets->sh_offset + offsets->sh_size, strings);
}

static int put_headers(struct output *output, uint16_t machine)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	int err = begin_section(output, ".shstrtab", SHT_STRTAB);

	if (!err)
		err = append(output, output->names, output->names_bytes);
	end_section(output);
	if (!err)
		err = align(output);
	header.e_shoff = output->file->count;
	header.e_shnum = output->section_count;
	header.e_shstrndx = output->section_count - 1;
	if (!err)
		err = append(output, output->sections,
			     output->section_count * sizeof(output->sections[0]));
	if (!err)
		memcpy(output->file->items, &header, sizeof(header));
	return err;
}

int split_package_unit(const struct split_package *package, uint64_t id, struct byte_vector *file)
{
	static const Elf64_Ehdr room;
	struct output output = { .file = file, .section_count = 1, .names_bytes = 1 };
	uint32_t row;
	int err;

	if (!find_row(package, id, &row))
		return fail(-ENOENT, "no such unit in a package");
	err = append(&output, &room, sizeof(room));
	if (!err)
		err = put_parts(&output, package, row);
	return err ? err : put_headers(&output, package->image.machine);
}
