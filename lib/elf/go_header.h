/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The header of the table that Go's linker writes for functions, frame sizes and lines, known as .gopclntab,
 * its section, or runtime.pclntab, its Go symbol. The header has the offsets of the table's parts; the parts
 * are not read here.
 *
 * Formats: golang.org/s/go12symtab for Go 1.2 to 1.15; runtime/symtab.go (pcHeader) of Go 1.16, 1.18,
 * 1.20 and 1.26. The versions are named after the first Go that writes them.
 */
#ifndef LIB_ELF_GO_HEADER_H
#define LIB_ELF_GO_HEADER_H

#include <stdbool.h>

#include "lib/elf/elf_image.h"

enum {
	/** For comparison: kubelet has 90,000. */
	GO_MAX_FUNCTIONS = 1 << 23,
};

enum go_table_version {
	/** Addresses are absolute, all offsets are from the header. */
	GO_TABLE_1_2,
	/** Names, files and values are separate parts. */
	GO_TABLE_1_16,
	/** Addresses of functions are offsets from the start of Go's code. */
	GO_TABLE_1_18,
	/** Functions have their first line. */
	GO_TABLE_1_20,
};

/** A part of the table, within the file and within one segment. */
struct go_part {
	/** File offset. */
	uint64_t offset;
	uint64_t bytes;
};

struct go_header {
	enum go_table_version version;
	/** ELF virtual address of the header, and its file offset. */
	uint64_t address;
	uint64_t offset;
	/** Unit of address steps in pc-value tables: 1 on x86-64, 4 on arm64. */
	uint32_t quantum;
	uint32_t function_count;
	/** The parts. Before 1.16 each of them is the whole table. */
	struct go_part names;
	/** pc-value tables. */
	struct go_part values;
	/** 4-byte offsets of the files' names in file_names. */
	struct go_part files;
	struct go_part file_names;
	/** The part that offsets of functions are relative to. */
	struct go_part functions;
	/** The index of functions by address, within functions. */
	struct go_part index;
};

/** The upper half of the first 8 bytes of every header in a file for @machine (EM_...). */
uint32_t go_header_upper_half(uint16_t machine);

/** True if the 8 bytes @word may be the start of a header in a file for @machine (EM_...). */
bool go_header_is_magic(uint64_t word, uint16_t machine);

/**
 * Reads the header at @address of @image; its table has @bytes bytes at most. -ENOENT if there is none,
 * -EBADMSG if it makes no sense, -E2BIG over GO_MAX_FUNCTIONS.
 */
int go_header_read(struct go_header *header, const struct elf_image *image, uint64_t address,
		   uint64_t bytes);

#endif
