/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A range file: what is known of the code of one ELF file, to be looked up by address: functions with
 * what is inlined into them, source files and lines, symbols. symbols/range_writer.h makes it once; the
 * reader works on the bytes as they lie in a mapping of the file (one of our own, for a foreign one
 * could be truncated), so that a look-up costs a few cache lines and the file no memory that could
 * not be had again.
 *
 * Numbers are little endian. A header with the places of seven parts and a hash of each:
 *	strings		each with a NUL behind it; a string is meant by its offset, 0 is none
 *	scopes		functions and inlined functions; a scope is meant by its offset, 0 is none.
 *			ULEB128: distance back to the scope around it * 2 (0: a function by itself), plus
 *			1 if the name is no linkage name; name; if it is inlined, file and line of the call
 *	three tables	(symbols/address_table.h) of scopes; of files and lines; of symbols' names
 *
 * The reader believes nothing: the hashes find damage, and whatever gets by them leads to wrong names,
 * never outside of the bytes or into a loop.
 */
#ifndef SYMBOLS_RANGE_FILE_H
#define SYMBOLS_RANGE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/hash128.h"
#include "symbols/address_table.h"

enum {
	RANGE_FILE_VERSION = 1,
	/** Deeper inlining than this is cut. */
	RANGE_FILE_MAX_DEPTH = 256,
};

#define RANGE_FILE_MAGIC "afranges"

enum range_table {
	RANGE_SCOPES,
	RANGE_LINES,
	RANGE_SYMBOLS,
	RANGE_TABLE_COUNT,
};

enum range_part {
	RANGE_PART_STRINGS,
	RANGE_PART_SCOPES,
	/** Of each table in turn: what of its index is in one part, and its rows. */
	RANGE_PART_TABLES,
	RANGE_PART_COUNT = RANGE_PART_TABLES + 2 * RANGE_TABLE_COUNT,
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
	/** Of each table. */
	uint64_t bases[RANGE_TABLE_COUNT];
	uint64_t row_counts[RANGE_TABLE_COUNT];
	struct range_file_part parts[RANGE_PART_COUNT];
	/** Of the header up to here. */
	struct hash128 hash;
};

/** Borrows the bytes; read-only after init. */
struct range_file {
	struct address_table tables[RANGE_TABLE_COUNT];
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
