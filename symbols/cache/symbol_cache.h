/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A symbol cache has the names of the code in one ELF file. Look-ups by address give functions with the
 * functions inlined into them, source files and lines, and symbols. symbols/cache/symbol_cache_writer.h
 * makes it once. The reader works directly on a mapping of the file. The file must be our own,
 * because a foreign one could be truncated. So it needs only memory that can be reclaimed, and a
 * look-up waits for uncached memory once: for the lines of one block.
 *
 * Numbers are little endian. A header has the offsets of the parts, which are multiples of 64, and
 * a hash of each part:
 *	strings		each with a NUL; a string's id is its offset, 0 is none
 *	index		the index of the blocks (symbols/cache/address_index.h)
 *	blocks		functions, inlined calls, files and lines (symbols/cache/symbol_block.h); functions
 *			without a linkage name in DWARF are named by symbols
 *	scopes		functions and calls that enclose calls which are inlined too deeply for a block
 *			(symbols/cache/scope_bytes.h)
 *
 * The reader trusts nothing: the hashes detect damage, and undetected damage leads to wrong names,
 * but never outside of the bytes or into an endless loop.
 */
#ifndef SYMBOLS_CACHE_SYMBOL_CACHE_H
#define SYMBOLS_CACHE_SYMBOL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash128.h"
#include "symbols/cache/symbol_block.h"

enum {
	SYMBOL_CACHE_VERSION = 4,
	/** Deeper inlining is cut. */
	SYMBOL_CACHE_MAX_DEPTH = 256,
};

#define SYMBOL_CACHE_MAGIC "afranges"

/** Kinds of collected data. */
enum symbol_data {
	SYMBOL_DATA_SCOPES,
	SYMBOL_DATA_LINES,
	SYMBOL_DATA_SYMBOLS,
	SYMBOL_DATA_COUNT,
};

enum symbol_cache_part_id {
	SYMBOL_CACHE_PART_STRINGS,
	SYMBOL_CACHE_PART_INDEX,
	SYMBOL_CACHE_PART_BLOCKS,
	SYMBOL_CACHE_PART_SCOPES,
	SYMBOL_CACHE_PART_COUNT,
};

struct symbol_cache_part {
	uint64_t offset;
	uint64_t bytes;
	struct hash128 hash;
};

/** The header in the file. */
struct symbol_cache_header {
	char magic[8];
	uint32_t version;
	uint32_t reserved;
	/** Identifies the data that the file was made from. */
	struct hash128 key;
	/** Addresses are relative to this. */
	uint64_t base;
	/** Numbers of rows as collected. */
	uint64_t row_counts[SYMBOL_DATA_COUNT];
	struct symbol_cache_part parts[SYMBOL_CACHE_PART_COUNT];
	/** Hash of the header before this field. */
	struct hash128 hash;
};

/** Borrows the bytes; read-only after init. */
struct symbol_cache {
	struct symbol_blocks blocks;
	const char *strings;
	size_t strings_bytes;
	const uint8_t *scopes;
	size_t scopes_bytes;
};

/** A function at an address. Strings are borrowed from the file. */
struct symbol_frame {
	/** The linkage name; NULL if it has none. */
	const char *function;
	/** NULL and 0 if unknown. */
	const char *file;
	uint32_t line;
	/** First line of the function; 0 if unknown. */
	uint32_t start_line;
	bool is_inlined;
};

/**
 * Checks all @size bytes. -EOPNOTSUPP for another version, -EBADMSG for damage. Needs no deinit.
 */
int symbol_cache_init(struct symbol_cache *file, const void *bytes, size_t size);

/**
 * Like symbol_cache_init() without checking the hashes: for fuzzers, and for bytes that were just
 * checked.
 */
int symbol_cache_init_unchecked(struct symbol_cache *file, const void *bytes, size_t size);

/**
 * Fills at most @capacity frames for ELF virtual address @address. The innermost inlined function
 * is first and the physical function last, even if there is no room for all between. Returns the
 * number of frames, 0 if nothing is known.
 */
uint32_t symbol_cache_lookup(const struct symbol_cache *file, uint64_t address,
			     struct symbol_frame *frames, uint32_t capacity);

#endif
