/* SPDX-License-Identifier: Apache-2.0 */
/**
 * runtime.moduledata, in which Go's linker gives the runtime the addresses of the parts of a program or shared
 * library. It is needed from Go 1.18 on, for two addresses. One is the address that offsets in the table count
 * from; the table's own header lacks it in position-independent files, and in all files from 1.26 on. The other
 * is the address of the inline trees. Stripped files have no symbol for moduledata. It is recognized by its
 * first word, the address of the table, and by the next words, which must fit the header.
 *
 * Layout: runtime/symtab.go and cmd/link/internal/ld/symtab.go of Go 1.18 to 1.27. Unknown layouts are refused.
 */
#ifndef LIB_ELF_GO_MODULE_H
#define LIB_ELF_GO_MODULE_H

#include "lib/elf/elf_pages.h"
#include "lib/elf/elf_relocations.h"
#include "lib/elf/go_header.h"

enum {
	/** Limit of the search through a file's writable segments. */
	GO_MODULE_SEARCH_MAX_BYTES = 1 << 30,
};

/** ELF virtual addresses. */
struct go_module {
	/** The moduledata itself. */
	uint64_t address;
	/** runtime.text, the base of functions' offsets, and the end of Go's code. */
	uint64_t text;
	uint64_t text_end;
	/** Base of funcdata offsets (go:func.*). */
	uint64_t funcdata;
	/** Size of the part with the functions. */
	uint64_t functions_bytes;
};

/**
 * Finds the moduledata of @header, which is of Go 1.18 or later, in the image of @pages. -ENOENT without one,
 * -EOPNOTSUPP for an unknown layout.
 */
int go_module_find(struct go_module *module, struct elf_pages *pages,
		   struct elf_relocations *relocations, const struct go_header *header);

#endif
