/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Symbols that an ELF file exports, found by name through its hash table (DT_GNU_HASH, or DT_HASH) as the
 * dynamic linker finds them: by a few small reads, where elf_symbols.h would read all symbols. Format: System V
 * gABI, "Dynamic Section" and "Hash Table"; for DT_GNU_HASH glibc's elf/dl-lookup.c (2.36).
 */
#ifndef LIB_ELF_ELF_DYNAMIC_H
#define LIB_ELF_ELF_DYNAMIC_H

#include "lib/elf/elf_image.h"

enum {
	/** Longer chains of a hash table are not followed. */
	ELF_DYNAMIC_MAX_CHAIN = 4096,
	ELF_DYNAMIC_MAX_ENTRIES = 4096,
};

/** ELF virtual addresses of the tables; 0: there is none. */
struct elf_dynamic {
	uint64_t symbols;
	uint64_t strings;
	uint64_t strings_bytes;
	uint64_t gnu_hash;
	uint64_t hash;
	/** DT_JMPREL: Elf64_Rela entries of the slots that functions are called through. */
	uint64_t slots;
	uint64_t slots_bytes;
	/** DT_RELA: the other Elf64_Rela entries. */
	uint64_t relocations;
	uint64_t relocations_bytes;
};

struct elf_dynamic_symbol {
	uint64_t address;
	uint64_t size;
	/** Index in the table of symbols. */
	uint32_t index;
	/** STT_... of <elf.h> */
	uint8_t type;
};

/** -ENOENT without a dynamic section or tables in it, -EBADMSG. Nothing to free. */
int elf_dynamic_init(struct elf_dynamic *dynamic, const struct elf_image *image);

/** Finds the symbol @name that @image defines; @dynamic was made from @image. -ENOENT, -EBADMSG. */
int elf_dynamic_find(const struct elf_dynamic *dynamic, const struct elf_image *image,
		     const char *name, struct elf_dynamic_symbol *symbol);

#endif
