/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files with packed debug data, as three tools pack it, with changes: whatever the sizes say, no file over the limit is
 * asked for, and the copy is an ELF file without packed sections. If nothing was changed, it has the data.
 *
 * covers: unpacked_elf.c
 */
#include "symbols/dwarf/unpacked_elf.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/fuzz/edit_bytes.h"
#include "lib/elf/tests/elf_builder.h"

enum {
	CONTENT_BYTES = 200,
	PACKED_BYTES = 300,
	/* A larger file is refused, as on a full disk. */
	ROOM_BYTES = 64 << 20,
	ZDEBUG_HEADER_BYTES = 12,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t content[CONTENT_BYTES];

/* A zlib stream that is stored, not compressed. Returns its size. */
static size_t store(const uint8_t *bytes, uint16_t count, uint8_t *packed)
{
	static const uint8_t header[] = { 0x78, 0x01, 0x01 };
	const uint16_t inverse = (uint16_t)~count;
	uint32_t low = 1, high = 0;
	size_t used = sizeof(header);

	memcpy(packed, header, sizeof(header));
	memcpy(packed + used, &count, sizeof(count));
	memcpy(packed + used + 2, &inverse, sizeof(inverse));
	used += 4;
	memcpy(packed + used, bytes, count);
	used += count;
	/* Adler-32, big endian. */
	for (uint16_t i = 0; i < count; i++) {
		low = (low + bytes[i]) % 65521;
		high = (high + low) % 65521;
	}
	for (int i = 0; i < 4; i++)
		packed[used++] = (uint8_t)((i < 2 ? high : low) >> (i % 2 ? 0 : 8));
	return used;
}

static void build(struct elf_builder *builder)
{
	static const uint8_t note[] = { 4, 0, 0,   0,	3,   0, 0, 0, 3, 0,
					0, 0, 'G', 'N', 'U', 0, 1, 2, 3 };
	uint8_t packed[PACKED_BYTES] = { 0 };
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB,
			      .ch_size = CONTENT_BYTES,
			      .ch_addralign = 1 };
	size_t bytes;

	elf_builder_init(builder, 1);
	elf_builder_add(builder, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note, sizeof(note));
	elf_builder_add(builder, ".debug_abbrev", SHT_PROGBITS, 0, content, sizeof(content));
	memcpy(packed, &header, sizeof(header));
	bytes = sizeof(header) + store(content, CONTENT_BYTES, packed + sizeof(header));
	elf_builder_add(builder, ".debug_info", SHT_PROGBITS, SHF_COMPRESSED, packed, bytes);
	elf_builder_add(builder, ".debug_loclists.dwo", SHT_PROGBITS, SHF_COMPRESSED, packed,
			bytes);
	/* The old way: "ZLIB" and the size, big endian. */
	memset(packed, 0, ZDEBUG_HEADER_BYTES);
	memcpy(packed, "ZLIB", 4);
	packed[ZDEBUG_HEADER_BYTES - 1] = CONTENT_BYTES;
	bytes = ZDEBUG_HEADER_BYTES + store(content, CONTENT_BYTES, packed + ZDEBUG_HEADER_BYTES);
	elf_builder_add(builder, ".zdebug_line", SHT_PROGBITS, 0, packed, bytes);
	elf_builder_finish(builder);
}

static int open_file(uint64_t bytes, int *fd)
{
	/* With the headers and names of all sections. */
	assert(bytes <= UNPACKED_MAX_BYTES + (1 << 24));
	if (bytes > ROOM_BYTES)
		return -ENOSPC;
	*fd = memfd_create("unpacked", MFD_CLOEXEC);
	assert(*fd >= 0 && !ftruncate(*fd, (off_t)bytes));
	return 0;
}

static void check_section(const struct elf_image *image, const char *name)
{
	const struct elf_section *section = elf_image_find_section(image, name);
	uint8_t bytes[CONTENT_BYTES];

	assert(section && section->size == sizeof(bytes));
	assert(!elf_image_read(image, section->offset, bytes, sizeof(bytes)));
	assert(!memcmp(bytes, content, sizeof(bytes)));
}

static void unpack(const struct elf_image *image, bool is_changed)
{
	struct elf_image copy;
	int fd = -1, err = unpacked_elf_make(image, open_file, &fd);

	assert(is_changed || (!err && fd >= 0));
	if (err || fd < 0) {
		assert(!err || fd < 0);
		return;
	}
	assert(!elf_image_init_fd(&copy, fd));
	for (uint32_t i = 0; i < copy.section_count; i++)
		assert(elf_section_encoding(&copy.sections[i]) == ELF_ENCODING_PLAIN);
	if (!is_changed) {
		check_section(&copy, ".debug_info");
		check_section(&copy, ".debug_abbrev");
		check_section(&copy, ".debug_line");
		assert(!elf_image_find_section(&copy, ".debug_loclists.dwo")->size);
	}
	elf_image_deinit(&copy);
	close(fd);
}

/* From a file, or from memory. */
static void unpack_file(const uint8_t *bytes, size_t size, bool is_file, bool is_changed)
{
	int fd = is_file ? memfd_create("packed", MFD_CLOEXEC) : -1;
	struct elf_image image;

	if (is_file)
		assert(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	if (!(is_file ? elf_image_init_fd(&image, fd) :
			elf_image_init_memory(&image, bytes, size))) {
		unpack(&image, is_changed);
		elf_image_deinit(&image);
	}
	if (is_file)
		close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct elf_builder builder;
	struct byte_reader reader;
	bool is_file;

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)i;
	byte_reader_init(&reader, data, size);
	is_file = byte_reader_u8(&reader) & 1;
	build(&builder);
	unpack_file(builder.bytes, sizeof(builder.bytes), is_file, false);
	if (edit_bytes(&reader, builder.bytes, builder.used))
		unpack_file(builder.bytes, sizeof(builder.bytes), is_file, true);
	unpack_file(data, size, false, true);
	return 0;
}
