/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pointers in an ELF file as the dynamic linker relocates them with a bias of 0. In position-independent files
 * the bytes at a pointer's address are often 0, and the value is in a relocation. Only R_X86_64_RELATIVE and
 * R_AARCH64_RELATIVE are looked at, which are for pointers into the file itself. They must be sorted by
 * address, as linkers sort them (-z combreloc). Go's own linker does not sort them, but its files have the
 * right value at the pointer's address too. Format: System V gABI, "Relocation" and "Dynamic Section".
 */
#ifndef LIB_ELF_ELF_RELOCATIONS_H
#define LIB_ELF_ELF_RELOCATIONS_H

#include "lib/elf/elf_pages.h"

enum {
	/** Number of entries that are read at once. */
	ELF_RELOCATIONS_CHUNK = 256,
};

/** Nothing to free. */
struct elf_relocations {
	/** File offset of the Elf64_Rela entries, of which the first @count are looked at. */
	uint64_t offset;
	uint64_t count;
	/** R_..._RELATIVE of the file's machine. */
	uint32_t relative_type;
	/** Index of the last entry that was found, to speed up searches for neighbouring words. */
	uint64_t hint;
};

/** Reads the dynamic section of @image; without one, or if it is damaged, there are no relocations. */
void elf_relocations_init(struct elf_relocations *relocations, const struct elf_image *image);

/** The pointer at ELF virtual address @address, relocated. -EBADMSG if no PT_LOAD has it. */
int elf_relocations_word(struct elf_relocations *relocations, struct elf_pages *pages,
			 uint64_t address, uint64_t *word);

/**
 * Finds the next pointer to @target from the entry *@cursor of the table on, and moves *@cursor behind it.
 * Start with 0. -ENOENT if there is no further one.
 */
int elf_relocations_find(const struct elf_relocations *relocations, struct elf_pages *pages,
			 uint64_t target, uint64_t *cursor, uint64_t *address);

/**
 * Reads the next entries of the table, from *@cursor on, and moves *@cursor behind them. Start with 0. @values has room
 * for ELF_RELOCATIONS_CHUNK pointers; *@count of them are set. -ENOENT at the end of the table.
 */
int elf_relocations_next(const struct elf_relocations *relocations, const struct elf_image *image,
			 uint64_t *cursor, uint64_t *values, size_t *count);

#endif
