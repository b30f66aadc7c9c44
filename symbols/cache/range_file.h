/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A range file: what is known of the code of one ELF file, to be looked up by address: functions with
 * what is inlined into them, source files and lines, symbols. symbols/cache/range_writer.h makes it once; the
 * reader works on the bytes as they lie in a mapping of the file (one of our own, for a foreign one
 * could be truncated), so that the file costs no memory that could not be had again, and a look-up waits
 * for what is not in a cache once: the lines of one block.
 *
 * Numbers are little endian. A header with the places of four parts, at multiples of 64, and a hash of each:
 *	strings		each with a NUL behind it; a string is meant by its offset, 0 is none
 *	blocks		(symbols/cache/range_block.h) functions with what is inlined into them, files and lines; and before
 *			them their index (symbols/cache/address_index.h). Where DWARF has no linkage name, symbols name
 *	scopes		(symbols/cache/scope_bytes.h) functions and calls around those that are inlined too deeply for a block
 *
 * The reader believes nothing: the hashes find damage, and whatever gets by them leads to wrong names,
 * never outside of the bytes or into a loop.
 */
#ifndef SYMBOLS_CACHE_RANGE_FILE_H
#define SYMBOLS_CACHE_RANGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash128.h"
#include "symbols/cache/range_block.h"

enum {
	RANGE_FILE_VERSION = 3,
	/** Deeper inlining than this is cut. */
	RANGE_FILE_MAX_DEPTH = 256,
};

#define RANGE_FILE_MAGIC "afranges"

/** What is collected. */
enum range_table {
	RANGE_SCOPES,
	RANGE_LINES,
	RANGE_SYMBOLS,
	RANGE_TABLE_COUNT,
};

enum range_part {
	RANGE_PART_STRINGS,
	RANGE_PART_INDEX,
	RANGE_PART_BLOCKS,
	RANGE_PART_SCOPES,
	RANGE_PART_COUNT,
};

struct range_file_part {
	uint64_t offset;
	uint64_t bytes;
	struct hash128 hash;
};

/** As it stands in the file. */
struct range_file_header {
	char magic[8];
	uint32_t version;
	uint32_t reserved;
	/** What the file was made from. */
	struct hash128 key;
	/** What addresses count from. */
	uint64_t base;
	/** As they were collected. */
	uint64_t row_counts[RANGE_TABLE_COUNT];
	struct range_file_part parts[RANGE_PART_COUNT];
	/** Of the header up to here. */
	struct hash128 hash;
};

/** Borrows the bytes; read-only after init. */
struct range_file {
	struct range_blocks blocks;
	const char *strings;
	size_t strings_bytes;
	const uint8_t *scopes;
	size_t scopes_bytes;
};

/** A function at an address. Strings are borrowed from the file. */
struct range_frame {
	/** As linkers see it; NULL if it has none. */
	const char *function;
	/** NULL and 0 where they are not known. */
	const char *file;
	uint32_t line;
	bool is_inlined;
};

/**
 * -EOPNOTSUPP for another version, -EBADMSG for damage: a pass over all @size bytes. Nothing to
 * free.
 */
int range_file_init(struct range_file *file, const void *bytes, size_t size);

/** As above without the hashes: for fuzzers, and for bytes that were just checked. */
int range_file_init_unchecked(struct range_file *file, const void *bytes, size_t size);

/**
 * Fills at most @capacity frames for ELF virtual address @address: the innermost inlined function
 * first, the one that has the code last, also if there is no room for all between. Returns their number,
 * 0 if nothing is known.
 */
uint32_t range_file_lookup(const struct range_file *file, uint64_t address,
			   struct range_frame *frames, uint32_t capacity);

#endif
