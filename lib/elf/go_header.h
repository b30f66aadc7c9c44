/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The header of the table that Go's linker writes for functions, frame sizes and lines, known by the
 * name of its section, .gopclntab, or of its Go symbol, runtime.pclntab. Where the parts of the table
 * are; nothing of them is read here.
 *
 * Formats: golang.org/s/go12symtab for Go 1.2 to 1.15; runtime/symtab.go (pcHeader) of Go 1.16, 1.18,
 * 1.20 and 1.26. The versions are named after the first Go that writes them.
 */
#ifndef LIB_ELF_GO_HEADER_H
#define LIB_ELF_GO_HEADER_H

#include <stdbool.h>

#include "lib/elf/elf_image.h"

enum {
	/** kubelet has 90,000. */
	GO_MAX_FUNCTIONS = 1 << 23,
};

enum go_table_version {
	/** Addresses are absolute, all offsets are from the header. */
	GO_TABLE_1_2,
	/** Parts of their own for names, files and values. */
	GO_TABLE_1_16,
	/** Addresses of functions are offsets from the start of Go's code. */
	GO_TABLE_1_18,
	/** Functions have the number of their first line. */
	GO_TABLE_1_20,
};

/** A part of the table, within the file and within one segment. */
struct go_part {
	/** In the file. */
	uint64_t offset;
	uint64_t bytes;
};

struct go_header {
	enum go_table_version version;
	/** ELF virtual address, and where that is in the file. */
	uint64_t address;
	uint64_t offset;
	/** What addresses in the table of values are counted in: 1 on x86-64, 4 on arm64. */
	uint32_t quantum;
	uint32_t function_count;
	/** From 1.16 on relative to their parts; before, each is the whole table. */
	struct go_part names;
	/** pc-value tables. */
	struct go_part values;
	/** Numbers of 4 bytes: where the names of files start in file_names. */
	struct go_part files;
	struct go_part file_names;
	/** What offsets of functions are relative to. */
	struct go_part functions;
	/** The index of functions by address, in functions. */
	struct go_part index;
};

/** True if the 8 bytes @word may be the start of a header in a file for @machine (EM_...). */
bool go_header_is_magic(uint64_t word, uint16_t machine);

/**
 * Reads the header at @address of @image, of a table that has @bytes bytes at most. -ENOENT if there is
 * none, -EBADMSG if it makes no sense, -E2BIG over GO_MAX_FUNCTIONS.
 */
int go_header_read(struct go_header *header, const struct elf_image *image, uint64_t address,
		   uint64_t bytes);

#endif
