/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pointers in an ELF file as they are after the dynamic linker's work on a file that is loaded without
 * bias: what stands in position-independent files in their place is often 0, and the pointer is in a
 * relocation. Only R_X86_64_RELATIVE and R_AARCH64_RELATIVE are looked at, the ones for pointers into
 * the file itself. Linkers sort them by address (-z combreloc), which is relied upon: where they are
 * not sorted, as Go's own linker leaves them, what stands in the file is right.
 * Format: System V gABI, "Relocation" and "Dynamic Section".
 */
#ifndef LIB_ELF_ELF_RELOCATIONS_H
#define LIB_ELF_ELF_RELOCATIONS_H

#include "lib/elf/elf_pages.h"

/** Nothing to free. */
struct elf_relocations {
	/** File offset of Elf64_Rela entries of which the first @count are looked at. */
	uint64_t offset;
	uint64_t count;
	/** R_..._RELATIVE of the file's machine. */
	uint32_t relative_type;
	/** Where the last one was found, for words side by side. */
	uint64_t hint;
};

/** Reads the dynamic section of @image; without one, or if it is damaged, there are no relocations. */
void elf_relocations_init(struct elf_relocations *relocations, const struct elf_image *image);

/** The pointer at ELF virtual address @address, relocated. -EBADMSG if no PT_LOAD has it. */
int elf_relocations_word(struct elf_relocations *relocations, struct elf_pages *pages,
			 uint64_t address, uint64_t *word);

/**
 * The next pointer to @target in the table, from its entry *@cursor on, which is moved behind it:
 * start with 0. -ENOENT if there is none any more.
 */
int elf_relocations_find(const struct elf_relocations *relocations, struct elf_pages *pages,
			 uint64_t target, uint64_t *cursor, uint64_t *address);

#endif
