/* SPDX-License-Identifier: Apache-2.0 */
/**
 * All tables that libdw finds for a file: its own, those in its .gnu_debugdata and in its separate
 * debug file.
 */
#ifndef STACKDELTAS_TESTS_ORACLE_TABLES_H
#define STACKDELTAS_TESTS_ORACLE_TABLES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/elf/debug_file.h"
#include "lib/elf/elf_image.h"
#include "lib/host/decompress.h"
#include "stackdeltas/unwind_source.h"

enum {
	/* .eh_frame and .debug_frame of each file. */
	TABLES_MAX = 6,
	FILES_MAX = 3,
};

/* libdw's tables of a file, the most reliable first. */
struct tables {
	Dwarf_CFI *cfis[TABLES_MAX];
	int count;
	/* .eh_frame is the user's to end, .debug_frame the Dwarf's. */
	Dwarf_CFI *owned_cfis[FILES_MAX];
	Dwarf *dwarfs[FILES_MAX];
	/* The files other than the file itself. */
	Elf *elfs[FILES_MAX];
	void *memory;
	int fd;
	int file_count;
	/* .debug_frame of the file. */
	struct elf_bytes debug_frame;
};

/* True if the last call found no match. It does not clear the error: -1 gets the last message, 0 would clear it. */
static bool is_no_match(void)
{
	return !strcmp(dwarf_errmsg(-1), "no matching address range");
}

/* Finds the row of the first table that has one; false if none has, and then the first table's error is set. */
static bool find_row(const struct tables *tables, uint64_t address, Dwarf_Frame **row)
{
	for (int i = 0; i < tables->count; i++) {
		if (!dwarf_cfi_addrframe(tables->cfis[i], address, row))
			return true;
		if (!is_no_match())
			return false;
	}
	return false;
}

/* True if an FDE behind a word of zero in .debug_frame contains @address, which is read here independently. */
static bool is_behind_terminator(const struct elf_bytes *bytes, uint64_t address)
{
	bool is_behind = false;
	uint32_t length, id;
	uint64_t fde[2];

	for (size_t at = 0; bytes->size - at >= sizeof(length); at += sizeof(length) + length) {
		memcpy(&length, bytes->data + at, sizeof(length));
		is_behind |= !length;
		if (length > bytes->size - at - sizeof(length))
			break;
		if (length < sizeof(id) + sizeof(fde))
			continue;
		memcpy(&id, bytes->data + at + sizeof(length), sizeof(id));
		memcpy(fde, bytes->data + at + sizeof(length) + sizeof(id), sizeof(fde));
		if (is_behind && id != UINT32_MAX && address - fde[0] < fde[1])
			return true;
	}
	return false;
}

/* Adds the tables of @elf; the tables own @elf if it is not the file itself. */
static void add_tables(struct tables *tables, Elf *elf, bool with_eh_frame)
{
	int i = tables->file_count++;
	Dwarf_CFI *cfi = NULL;

	tables->dwarfs[i] = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (with_eh_frame)
		tables->owned_cfis[i] = cfi = dwarf_getcfi_elf(elf);
	if (cfi)
		tables->cfis[tables->count++] = cfi;
	cfi = tables->dwarfs[i] ? dwarf_getcfi(tables->dwarfs[i]) : NULL;
	if (cfi)
		tables->cfis[tables->count++] = cfi;
}

static void add_mini_debug(struct tables *tables, const struct elf_image *image)
{
	const struct elf_section *section = elf_image_find_section(image, ".gnu_debugdata");
	_cleanup_(elf_bytes_deinit) struct elf_bytes packed = { 0 };
	size_t size;

	if (!section || elf_image_load_section(image, section, UNWIND_SOURCE_MAX_BYTES, &packed) ||
	    decompress_xz(packed.data, packed.size, UNWIND_SOURCE_MAX_BYTES, &tables->memory,
			  &size))
		return;
	tables->elfs[tables->file_count] = elf_memory(tables->memory, size);
	add_tables(tables, tables->elfs[tables->file_count], true);
}

static void add_debug_file(struct tables *tables, const struct elf_image *image,
			   const struct debug_file_search *search)
{
	if (debug_file_open(search, image, &tables->fd))
		return;
	tables->elfs[tables->file_count] = elf_begin(tables->fd, ELF_C_READ_MMAP, NULL);
	add_tables(tables, tables->elfs[tables->file_count], false);
}

static void tables_deinit(struct tables *tables)
{
	for (int i = 0; i < tables->file_count; i++) {
		if (tables->owned_cfis[i])
			dwarf_cfi_end(tables->owned_cfis[i]);
		if (tables->dwarfs[i])
			dwarf_end(tables->dwarfs[i]);
		if (tables->elfs[i])
			elf_end(tables->elfs[i]);
	}
	free(tables->memory);
	elf_bytes_deinit(&tables->debug_frame);
	close_fd(&tables->fd);
}

#endif
