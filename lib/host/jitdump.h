/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names, files and lines of code that a process makes while it runs, as runtimes write them for
 * perf(1) into a file jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt of the
 * kernel): a header, and a record for each function when its code is made or moved. The record
 * before that of a function may have its lines. Nothing says when code is gone: code_names.h has
 * the latest.
 *
 * Time stamps, of which the file does not surely say the clock, are not looked at: records are
 * taken in the order in which they stand, and say what the memory holds when they are read. The
 * code itself and its unwind tables are skipped. Numbers have the byte order of this machine
 * (little endian).
 *
 * The file is written by the process: records that make no sense are left out, and one whose length
 * makes none is the end of all names.
 */
#ifndef LIB_HOST_JITDUMP_H
#define LIB_HOST_JITDUMP_H

#include "lib/host/code_lines.h"
#include "lib/host/code_names.h"

enum {
	/** What jitdump_add() must be given of a file that has so much. */
	JITDUMP_READ_BYTES = 64 << 10,
};

/** All bytes zero is an empty file. One thread at a time. */
struct jitdump {
	struct code_names names;
	/** Of the next function, if that is the one at @lines_start. */
	struct code_lines lines;
	uint64_t lines_start;
	/** Their one file's name has so many bytes, of which only some are left; else 0. */
	uint32_t freed_name_bytes;
	bool has_lines;
	bool has_header;
	/** What follows cannot be read. */
	bool is_broken;
	/** See LINE_SHIFT in jitdump.c. */
	bool has_plain_lines;
};

struct code_place {
	const char *function;
	/** NULL without lines. */
	const char *file;
	uint32_t line;
};

void jitdump_deinit(struct jitdump *dump);

/**
 * Takes in the whole records at the start of @bytes, which are the next of the file, of which
 * @left_bytes are left in all. *@used_bytes is where the next record begins, which may be behind
 * @size, but not behind @left_bytes. -EBADMSG, -EOPNOTSUPP (of another machine or version): there
 * is nothing more to be read of this file, and what is there stays. -ENOMEM: the names lack some,
 * and are of no use any more.
 */
int jitdump_add(struct jitdump *dump, const void *bytes, size_t size, uint64_t left_bytes,
		uint64_t *used_bytes);

/** Memory that is held. */
size_t jitdump_bytes(const struct jitdump *dump);

/** False if there is no function at @address. The texts are borrowed until the names change. */
bool jitdump_find(const struct jitdump *dump, uint64_t address, struct code_place *place);

#endif
