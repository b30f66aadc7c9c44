/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Build information has 32 bytes, starts with a magic and is aligned to 16 bytes. The strings follow it; before
 * Go 1.18 it has pointers to the strings' headers instead.
 */
#include "lib/elf/go_build_info.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/elf/word_search.h"

enum {
	HEADER_BYTES = 32,
	ALIGNMENT = 16,
	MAGIC_BYTES = 14,
	POINTER_BYTES_AT = 14,
	FLAGS_AT = 15,
	VERSION_POINTER_AT = 16,
	MODULES_POINTER_AT = 24,
	FLAG_BIG_ENDIAN = 1,
	FLAG_INLINE = 2,
	/* Meaningless bytes before and after the lines, 16 on each side (cmd/go, modload/build.go). */
	MODULES_MARK_BYTES = 16,
	/* The section has the header and, from Go 1.18 on, the strings. */
	SECTION_MAX_BYTES = 2 << 20,
	VARINT_MAX_BYTES = 5,
};

static const char magic[MAGIC_BYTES] = "\xff Go buildinf:";

/* A string in the file. */
struct file_string {
	uint64_t offset;
	uint64_t bytes;
};

static bool is_magic(const struct elf_image *image, uint64_t address)
{
	char text[MAGIC_BYTES];

	return !elf_image_read_address(image, address, text, sizeof(text)) &&
	       !memcmp(text, magic, sizeof(magic));
}

static int search_words(struct word_search *words, uint64_t *found)
{
	uint64_t first, word;

	memcpy(&first, magic, sizeof(first));
	while (word_search_next_masked(words, UINT64_MAX, first, found, &word) > 0) {
		if (*found % ALIGNMENT == 0 && is_magic(words->image, *found))
			return 0;
	}
	return fail(-ENOENT, "no build information of Go");
}

static int find_in_section(const struct elf_image *image, uint64_t max_bytes, uint64_t *address)
{
	const struct elf_section *section = elf_image_find_section(image, ".go.buildinfo");
	struct elf_segment segment;
	struct word_search words;
	int err;

	if (!section || section->size > max_bytes)
		return fail(-ENOENT, "no build information of Go");
	word_search_init_section(&words, image, section, &segment);
	err = search_words(&words, address);
	word_search_deinit(&words);
	return err;
}

static int find_header(const struct elf_image *image, uint64_t *address)
{
	struct word_search words;
	int err;

	if (!find_in_section(image, GO_BUILD_INFO_SEARCH_MAX_BYTES, address))
		return 0;
	word_search_init(&words, image, PF_W, GO_BUILD_INFO_SEARCH_MAX_BYTES);
	err = search_words(&words, address);
	word_search_deinit(&words);
	return err;
}

/* Reads a string that follows its length at *@offset, and moves *@offset behind it. */
static int read_inline_string(struct elf_pages *pages, uint64_t *offset, struct file_string *string)
{
	uint64_t length = 0;
	uint8_t byte = 0x80;

	for (uint32_t i = 0; byte & 0x80; i++) {
		int err = i < VARINT_MAX_BYTES ?
				  elf_pages_read(pages, (*offset)++, &byte, sizeof(byte)) :
				  fail(-EBADMSG, "the length of a string has no end");

		if (err)
			return err;
		length |= (uint64_t)(byte & 0x7f) << (7 * i);
	}
	*string = (struct file_string){ .offset = *offset, .bytes = length };
	*offset += length;
	return 0;
}

/*
 * Reads a string whose header, a pointer and a length, the pointer at @address points to. The pointer may be
 * NULL.
 */
static int read_string_header(struct elf_pages *pages, struct elf_relocations *relocations,
			      uint64_t address, struct file_string *string)
{
	uint64_t header, text, length, offset, available;
	int err = elf_relocations_word(relocations, pages, address, &header);

	if (err)
		return err;
	*string = (struct file_string){ 0 };
	if (!header)
		return 0;
	err = elf_relocations_word(relocations, pages, header, &text);
	if (!err)
		err = elf_pages_read_address(pages, header + sizeof(text), &length, sizeof(length));
	if (err || !length)
		return err;
	err = elf_image_address_offset(pages->image, text, &offset, &available);
	if (err)
		return err;
	*string = (struct file_string){ .offset = offset, .bytes = length };
	return 0;
}

static int find_strings(struct elf_pages *pages, struct elf_relocations *relocations,
			uint64_t address, struct file_string *version, struct file_string *modules)
{
	uint8_t header[HEADER_BYTES];
	uint64_t offset, available;
	int err = elf_image_address_offset(pages->image, address, &offset, &available);

	if (!err)
		err = elf_pages_read(pages, offset, header, sizeof(header));
	if (err)
		return err;
	if (header[FLAGS_AT] & FLAG_INLINE) {
		offset += HEADER_BYTES;
		err = read_inline_string(pages, &offset, version);
		return err ? err : read_inline_string(pages, &offset, modules);
	}
	if (header[FLAGS_AT] & FLAG_BIG_ENDIAN || header[POINTER_BYTES_AT] != sizeof(uint64_t))
		return fail(-EOPNOTSUPP, "build information with flags %#x", header[FLAGS_AT]);
	err = read_string_header(pages, relocations, address + VERSION_POINTER_AT, version);
	if (err)
		return err;
	return read_string_header(pages, relocations, address + MODULES_POINTER_AT, modules);
}

/* Releases have the form go1.26.8; builds from the repository have it behind "devel". */
static uint32_t parse_minor(const char *version)
{
	const char *number = strstr(version, "go1.");
	uint32_t minor = 0;

	if (!number)
		return 0;
	for (number += strlen("go1."); *number >= '0' && *number <= '9' && minor < 1000; number++)
		minor = minor * 10 + (*number - '0');
	return minor;
}

/* Reads the header at @address. */
static int read_info(struct go_build_info *info, struct elf_pages *pages,
		     struct elf_relocations *relocations, uint64_t address)
{
	struct file_string version = { 0 }, modules = { 0 };
	struct go_build_info found = { 0 };
	int err = find_strings(pages, relocations, address, &version, &modules);

	if (err)
		return err;
	if (!version.bytes || version.bytes > GO_VERSION_MAX_BYTES)
		return fail(-EBADMSG, "a version of Go of %" PRIu64 " bytes", version.bytes);
	err = elf_pages_read(pages, version.offset, found.version, version.bytes);
	if (err)
		return err;
	found.minor = parse_minor(found.version);
	if (modules.bytes > 2 * MODULES_MARK_BYTES && modules.bytes <= GO_MODULES_MAX_BYTES) {
		found.modules_offset = modules.offset + MODULES_MARK_BYTES;
		found.modules_bytes = modules.bytes - 2 * MODULES_MARK_BYTES;
	}
	*info = found;
	return 0;
}

int go_build_info_read(struct go_build_info *info, struct elf_pages *pages,
		       struct elf_relocations *relocations)
{
	uint64_t address;
	int err = find_header(pages->image, &address);

	return err ? err : read_info(info, pages, relocations, address);
}

int go_build_info_read_section(struct go_build_info *info, struct elf_pages *pages,
			       struct elf_relocations *relocations)
{
	uint64_t address;
	int err = find_in_section(pages->image, SECTION_MAX_BYTES, &address);

	return err ? err : read_info(info, pages, relocations, address);
}
