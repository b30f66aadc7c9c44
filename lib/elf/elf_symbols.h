/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Function symbols of an ELF image: .symtab and .dynsym merged and sorted by address. 16 bytes a
 * symbol; the names stay in the file and are read for the few symbols that are looked up.
 *
 * Symbols of type STT_FUNC and STT_GNU_IFUNC in executable segments are used, and those of STT_NOTYPE in
 * executable sections at addresses that no function covers (assembler labels). Of several at one address one is
 * kept: a function before a label, global before weak before local, then the first in the file.
 */
#ifndef LIB_ELF_ELF_SYMBOLS_H
#define LIB_ELF_ELF_SYMBOLS_H

#include <stdbool.h>

#include "lib/elf/elf_image.h"

enum {
	/** 64 MiB of symbols; of files with more, the last ones are left out. */
	ELF_SYMBOLS_MAX = 1 << 22,
	/** Longer names are cut. */
	ELF_SYMBOL_NAME_MAX_BYTES = 4096,
};

struct elf_symbol {
	uint64_t address;
	/** Size; a symbol without one reaches to the next symbol, the next function by .eh_frame_hdr, or the end of its section. */
	uint32_t size : 29;
	/** Lower is better. */
	uint32_t rank : 3;
	/** Offset into the string table of .symtab or, if is_dynamic, .dynsym. */
	uint32_t name : 31;
	uint32_t is_dynamic : 1;
};

struct elf_string_table {
	uint64_t offset;
	uint64_t size;
	/** Its contents, owned. Without data names are read from the file one by one. */
	struct elf_bytes bytes;
};

/** Read-only after init. */
struct elf_symbols {
	/** Sorted by address; no two addresses are equal. Owned. */
	struct elf_symbol *symbols;
	uint32_t count;
	/** String tables of .symtab and .dynsym. */
	struct elf_string_table names[2];
};

/**
 * Reads the symbol tables of @image. A damaged table counts as absent unless both are:
 * -EBADMSG. -ENOENT without any function symbol; -ENOMEM.
 */
int elf_symbols_init(struct elf_symbols *symbols, const struct elf_image *image);
void elf_symbols_deinit(struct elf_symbols *symbols);

/**
 * Reads the string tables as a whole, for who wants most of the names; those of more than @limit bytes, and those that cannot be read,
 * stay in the file.
 */
void elf_symbols_load_names(struct elf_symbols *symbols, const struct elf_image *image,
			    uint64_t limit);

/**
 * Whether a function is entered at @symbol of @image. It is not at an assembler label, nor at a cold part
 * (foo.cold), which the compiler put elsewhere and to which its function jumps.
 */
bool elf_symbols_is_entry(const struct elf_symbols *symbols, const struct elf_image *image,
			  const struct elf_symbol *symbol);

/** The innermost symbol whose range holds ELF virtual address @address; NULL if there is none. */
const struct elf_symbol *elf_symbols_lookup(const struct elf_symbols *symbols, uint64_t address);

/**
 * Reads the name of @symbol from @image, which it was read from, into @name (NUL-terminated, cut to fit
 * @capacity). -EBADMSG if the string table is damaged, -ENOENT if the name is empty.
 */
int elf_symbols_name(const struct elf_symbols *symbols, const struct elf_image *image,
		     const struct elf_symbol *symbol, char *name, size_t capacity);

#endif
