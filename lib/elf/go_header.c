/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part ends where the next one starts, and the last part with the section or segment; nothing else is known
 * of their sizes. Every part that is returned lies within the file.
 */
#include "lib/elf/go_header.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>

#include "lib/base/error.h"

enum {
	MAGIC_1_2 = 0xfffffffb,
	MAGIC_1_16 = 0xfffffffa,
	MAGIC_1_18 = 0xfffffff0,
	MAGIC_1_20 = 0xfffffff1,
	/* The largest header: 8 bytes and 8 words. */
	HEADER_WORDS = 9,
	FIRST_WORD = 1,
	POINTER_BYTES = 8,
};

static uint32_t quantum_of(uint16_t machine)
{
	return machine == EM_AARCH64 ? 4 : 1;
}

uint32_t go_header_upper_half(uint16_t machine)
{
	/* Two bytes of 0, the quantum, the size of a pointer. */
	return quantum_of(machine) << 16 | POINTER_BYTES << 24;
}

static int version_of(uint64_t word, uint16_t machine, enum go_table_version *version)
{
	if (word >> 32 != go_header_upper_half(machine))
		return -ENOENT;
	switch ((uint32_t)word) {
	case MAGIC_1_2:
		*version = GO_TABLE_1_2;
		return 0;
	case MAGIC_1_16:
		*version = GO_TABLE_1_16;
		return 0;
	case MAGIC_1_18:
		*version = GO_TABLE_1_18;
		return 0;
	case MAGIC_1_20:
		*version = GO_TABLE_1_20;
		return 0;
	default:
		return -ENOENT;
	}
}

bool go_header_is_magic(uint64_t word, uint16_t machine)
{
	enum go_table_version version;

	return !version_of(word, machine, &version);
}

/* Sets the index, at @offset of the table: pairs of numbers, then the end address of the last function. */
static int set_index(struct go_header *header, uint64_t offset, const struct go_part *table)
{
	uint64_t number_bytes = header->version < GO_TABLE_1_18 ? 8 : 4;
	uint64_t bytes = (header->function_count * 2ULL + 1) * number_bytes;

	if (offset > table->bytes || bytes > table->bytes - offset)
		return fail(-EBADMSG, "%u functions of Go do not fit their table",
			    header->function_count);
	header->index = (struct go_part){ .offset = table->offset + offset, .bytes = bytes };
	return 0;
}

/* Sets the parts from @words, their offsets in ascending order. */
static int set_parts(struct go_header *header, const uint64_t *words, const struct go_part *table)
{
	struct go_part *const parts[] = { &header->names, &header->files, &header->file_names,
					  &header->values, &header->functions };
	uint64_t end = table->bytes;

	for (int i = sizeof(parts) / sizeof(parts[0]) - 1; i >= 0; i--) {
		if (words[i] > end)
			return fail(-EBADMSG, "part %d of Go's table starts at %#" PRIx64, i,
				    words[i]);
		*parts[i] = (struct go_part){ .offset = table->offset + words[i],
					      .bytes = end - words[i] };
		end = words[i];
	}
	return set_index(header, header->functions.offset - table->offset, table);
}

/* Go 1.2: everything is relative to the header. The offset of the files follows the index. */
static int set_parts_1_2(struct go_header *header, const struct elf_image *image,
			 const struct go_part *table)
{
	uint32_t files, file_count;
	int err = set_index(header, (FIRST_WORD + 1) * sizeof(uint64_t), table);

	header->names = header->values = header->functions = header->file_names = *table;
	if (!err)
		err = elf_image_read(image, header->index.offset + header->index.bytes, &files,
				     sizeof(files));
	if (err)
		return err;
	if (files > table->bytes || table->bytes - files < sizeof(file_count))
		return fail(-EBADMSG, "files of Go's table at %#x", files);
	err = elf_image_read(image, table->offset + files, &file_count, sizeof(file_count));
	if (err)
		return err;
	/* The count is in the entry of file 0. */
	if (file_count > (table->bytes - files) / sizeof(uint32_t))
		return fail(-EBADMSG, "%u files in Go's table", file_count);
	header->files = (struct go_part){ .offset = table->offset + files,
					  .bytes = file_count * sizeof(uint32_t) };
	return 0;
}

int go_header_read(struct go_header *header, const struct elf_image *image, uint64_t address,
		   uint64_t bytes)
{
	struct go_header found = { .address = address, .quantum = quantum_of(image->machine) };
	uint64_t words[HEADER_WORDS], available;
	struct go_part table;
	int err;

	err = elf_image_address_offset(image, address, &table.offset, &available);
	if (err)
		return err;
	found.offset = table.offset;
	table.bytes = bytes < available ? bytes : available;
	if (table.offset > image->size || table.bytes > image->size - table.offset)
		return fail(-EBADMSG, "Go's table reaches beyond the end of the file");
	if (table.bytes < sizeof(words))
		return fail(-ENOENT, "Go's table has %" PRIu64 " bytes", table.bytes);
	err = elf_image_read(image, table.offset, words, sizeof(words));
	if (err)
		return err;
	if (version_of(words[0], image->machine, &found.version))
		return fail(-ENOENT, "no table of Go at %#" PRIx64, address);
	if (words[FIRST_WORD] > GO_MAX_FUNCTIONS)
		return fail(-E2BIG, "%" PRIu64 " functions in Go's table", words[FIRST_WORD]);
	if (!words[FIRST_WORD])
		return fail(-EBADMSG, "no function in Go's table");
	found.function_count = words[FIRST_WORD];
	if (found.version == GO_TABLE_1_2)
		err = set_parts_1_2(&found, image, &table);
	else
		/* The offsets follow the number of files and, from 1.18 on, the start of the code. */
		err = set_parts(&found,
				words + FIRST_WORD + (found.version == GO_TABLE_1_16 ? 2 : 3),
				&table);
	if (err)
		return err;
	*header = found;
	return 0;
}
