/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ELF files whose DWARF is assembled byte by byte, unlike any compiler's.
 */
#ifndef SYMBOLS_TESTS_DWARF_FIXTURE_H
#define SYMBOLS_TESTS_DWARF_FIXTURE_H

#include <dwarf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/elf/tests/elf_builder.h"
#include "symbols/cache/varint.h"

enum {
	CODE = BUILT_ADDRESS + 0x100,
	CODE_BYTES = 0x10,
};

static inline void put(struct byte_vector *bytes, const void *data, size_t size)
{
	assert_int_equal(byte_vector_reserve(bytes, bytes->count + size), 0);
	memcpy(bytes->items + bytes->count, data, size);
	bytes->count += size;
}

static inline void put_number(struct byte_vector *bytes, uint64_t number, size_t size)
{
	put(bytes, &number, size);
}

/** Each number as ULEB128 of one byte. */
#define PUT(bytes, ...)                                                                            \
	put(bytes, (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

/** Header of a DWARF 4 unit and its first entry, of abbreviation 1: children, no attributes. */
static inline void begin_unit(struct byte_vector *info)
{
	put_number(info, 0, 4);
	put_number(info, 4, 2);
	put_number(info, 0, 4);
	put_number(info, 8, 1);
	PUT(info, 1);
}

static inline void end_unit(struct byte_vector *info)
{
	uint32_t length;

	PUT(info, 0);
	length = info->count - sizeof(length);
	memcpy(info->items, &length, sizeof(length));
}

static inline void put_unit_abbreviation(struct byte_vector *abbreviations)
{
	PUT(abbreviations, 1, DW_TAG_compile_unit, DW_CHILDREN_yes, 0, 0);
}

struct part {
	const char *name;
	const struct byte_vector *bytes;
	uint64_t flags;
};

/** A file with a symbol over CODE, and these sections. */
static inline int write_file(const struct part *parts, size_t count)
{
	static const char names[] = "\0of_symbols";
	const Elf64_Sym symbols[] = { { 0 },
				      { .st_name = 1,
					.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					.st_shndx = 1,
					.st_value = CODE,
					.st_size = CODE_BYTES } };
	static struct elf_builder builder;
	uint32_t sections[8], symbol_table, text;
	char path[] = "/tmp/made_dwarf_XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	uint64_t offset = BUILT_BYTES;

	assert_true(fd >= 0);
	assert_true(count <= sizeof(sections) / sizeof(sections[0]));
	unlink(path);
	elf_builder_init(&builder, 1);
	text = elf_builder_add(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "", 0);
	symbol_table =
		elf_builder_add(&builder, ".symtab", SHT_SYMTAB, 0, symbols, sizeof(symbols));
	elf_builder_add(&builder, ".strtab", SHT_STRTAB, 0, names, sizeof(names));
	for (size_t i = 0; i < count; i++)
		sections[i] = elf_builder_add(&builder, parts[i].name, SHT_PROGBITS, parts[i].flags,
					      "", 0);
	elf_builder_finish(&builder);
	built_header(&builder)->e_ident[EI_VERSION] = EV_CURRENT;
	built_header(&builder)->e_version = EV_CURRENT;
	built_header(&builder)->e_ehsize = sizeof(Elf64_Ehdr);
	built_section(&builder, text)->sh_addr = CODE;
	built_section(&builder, text)->sh_size = CODE_BYTES;
	built_section(&builder, symbol_table)->sh_link = symbol_table + 1;
	built_section(&builder, symbol_table)->sh_entsize = sizeof(Elf64_Sym);
	for (size_t i = 0; i < count; i++) {
		const struct byte_vector *bytes = parts[i].bytes;

		built_section(&builder, sections[i])->sh_addr = 0;
		built_section(&builder, sections[i])->sh_offset = offset;
		built_section(&builder, sections[i])->sh_size = bytes->count;
		assert_int_equal(pwrite(fd, bytes->items, bytes->count, offset), bytes->count);
		offset += bytes->count;
	}
	assert_int_equal(pwrite(fd, builder.bytes, BUILT_BYTES, 0), BUILT_BYTES);
	return fd;
}

static inline int write_dwarf(struct byte_vector *info, struct byte_vector *abbreviations)
{
	const struct part parts[] = { { .name = ".debug_info", .bytes = info },
				      { .name = ".debug_abbrev", .bytes = abbreviations } };
	int fd = write_file(parts, 2);

	byte_vector_deinit(info);
	byte_vector_deinit(abbreviations);
	return fd;
}

#endif
