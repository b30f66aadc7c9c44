/* SPDX-License-Identifier: Apache-2.0 */
/**
 * runtime.moduledata, in which Go's linker tells the runtime where the parts of a program or of a
 * shared library are. Needed from Go 1.18 on: it has the address that those in the table are offsets
 * from, which the table's own header does not have in position-independent files, nor at all from 1.26
 * on; and the place of the inline trees. There is no symbol for it in stripped files: it is known by
 * its first word, the address of the table, and by the words behind, which must fit the header.
 *
 * Layout: runtime/symtab.go and cmd/link/internal/ld/symtab.go of Go 1.18 to 1.27. One that is not
 * known is refused.
 */
#ifndef LIB_ELF_GO_MODULE_H
#define LIB_ELF_GO_MODULE_H

#include "lib/elf/elf_pages.h"
#include "lib/elf/elf_relocations.h"
#include "lib/elf/go_header.h"

enum {
	/** As much of a file's writable segments is searched. */
	GO_MODULE_SEARCH_MAX_BYTES = 1 << 30,
};

/** ELF virtual addresses. */
struct go_module {
	/** Of the moduledata. */
	uint64_t address;
	/** runtime.text, which offsets of functions count from, and the end of Go's code. */
	uint64_t text;
	uint64_t text_end;
	/** Where offsets of funcdata count from (go:func.*). */
	uint64_t funcdata;
	/** Size of the part with the functions. */
	uint64_t functions_bytes;
};

/**
 * Finds the moduledata that is for @header, which is of Go 1.18 or later, in the image of @pages.
 * -ENOENT without one, -EOPNOTSUPP for an unknown layout.
 */
int go_module_find(struct go_module *module, struct elf_pages *pages,
		   struct elf_relocations *relocations, const struct go_header *header);

#endif
