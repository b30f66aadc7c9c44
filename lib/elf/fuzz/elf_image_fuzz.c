/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file, headers, contents and symbols: whatever the bytes are, nothing crashes, allocates
 * over the limits or takes long; symbols come out sorted, and a lookup's symbol holds the address.
 * The last byte chooses whether the image is read from memory or from a file.
 *
 * covers: elf_image.c elf_notes.c elf_symbols.c ../host/decompress.c
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/elf/elf_notes.h"
#include "lib/elf/elf_symbols.h"

enum {
	CONTENT_LIMIT = 1 << 20,
	SECTIONS_READ = 64,
	SYMBOLS_READ = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_contents(const struct elf_image *image)
{
	static const char *const names[] = { ".text", ".symtab", ".eh_frame", "" };
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	struct elf_bytes bytes = { 0 };
	uint32_t build_id_bytes;
	uint64_t address;
	char buffer[64];

	for (uint32_t i = 0; i < image->section_count && i < SECTIONS_READ; i++) {
		if (!elf_image_load_section(image, &image->sections[i], CONTENT_LIMIT, &bytes)) {
			if (bytes.size > CONTENT_LIMIT)
				abort();
			elf_bytes_deinit(&bytes);
		}
		elf_image_read_address(image, image->sections[i].address, buffer, sizeof(buffer));
	}
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t left = elf_image_bytes_at_address(image, segment->address + 1);

		if (left && left < sizeof(buffer) &&
		    !elf_image_read_address(image, segment->address + 1, buffer, left + 1))
			abort();
		elf_image_mapping_address(image, segment->offset, segment->file_bytes, &address);
		elf_image_mapping_address(image, i << 12, 4096, &address);
		elf_image_data_address(image, i << 12, 4096, &address);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		elf_image_find_section(image, names[i]);
	elf_image_find_segment(image, PT_GNU_EH_FRAME);
	if (!elf_image_build_id(image, build_id, &build_id_bytes) &&
	    (!build_id_bytes || build_id_bytes > sizeof(build_id)))
		abort();
}

static void check_symbol(const struct elf_symbols *symbols, const struct elf_image *image,
			 uint64_t address)
{
	const struct elf_symbol *found = elf_symbols_lookup(symbols, address);
	char name[ELF_SYMBOL_NAME_MAX_BYTES];

	if (!found)
		return;
	if (address - found->address >= found->size)
		abort();
	if (!elf_symbols_name(symbols, image, found, name, sizeof(name)) &&
	    (!name[0] || strlen(name) >= sizeof(name)))
		abort();
}

static void read_symbols(const struct elf_image *image)
{
	struct elf_symbols symbols;

	if (elf_symbols_init(&symbols, image))
		return;
	for (uint32_t i = 0; i < symbols.count; i++) {
		if (i && symbols.symbols[i - 1].address >= symbols.symbols[i].address)
			abort();
		if (i < SYMBOLS_READ) {
			check_symbol(&symbols, image, symbols.symbols[i].address);
			check_symbol(&symbols, image,
				     symbols.symbols[i].address + symbols.symbols[i].size);
		}
	}
	check_symbol(&symbols, image, 0);
	elf_symbols_deinit(&symbols);
}

/* One file is used for all runs, since making one for each would take most of the time. */
static int file_of(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("elf", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image image;
	int fd = -1, err;

	if (size && data[size - 1] & 1) {
		fd = file_of(data, size);
		err = elf_image_init_fd(&image, fd);
	} else {
		err = elf_image_init_memory(&image, data, size);
	}
	if (err)
		return 0;
	/* The file is truncated while it is read. */
	if (fd >= 0 && data[size - 1] & 2 && ftruncate(fd, size / 2))
		abort();
	read_contents(&image);
	read_symbols(&image);
	elf_image_deinit(&image);
	return 0;
}
