/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names, files and lines of run-time generated code, as runtimes write them for perf(1) into a file
 * jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt of the kernel): a header, and a record for
 * each function when its code is made or moved. The record before a function's may have its lines. The file
 * does not record when code is freed; code_names.h keeps the latest code at each address.
 *
 * Time stamps are ignored, since the file does not state their clock reliably. Records are read in their order
 * in the file, and describe the memory at the time of reading. The code itself and its unwind tables are
 * skipped. Numbers have the byte order of this machine (little endian).
 *
 * The process writes the file, so it is hostile. Malformed records are skipped. A record with a malformed
 * length ends the reading of the file and drops all names.
 */
#ifndef LIB_HOST_JITDUMP_H
#define LIB_HOST_JITDUMP_H

#include "lib/host/code_lines.h"
#include "lib/host/code_names.h"

enum {
	/** Bytes that jitdump_add() must get at least, if the file has so many left. */
	JITDUMP_READ_BYTES = 64 << 10,
};

/** All bytes zero is an empty file. One thread at a time. */
struct jitdump {
	struct code_names names;
	/** Lines of the next function, if it is the one at lines_start. */
	struct code_lines lines;
	uint64_t lines_start;
	/**
	 * Length of the lines' one file name if it was partly overwritten (FREED_BYTES in jitdump.c); otherwise
	 * 0.
	 */
	uint32_t freed_name_bytes;
	bool has_lines;
	bool has_header;
	/** The rest of the file cannot be read. */
	bool is_broken;
	/** See LINE_SHIFT in jitdump.c. */
	bool has_plain_lines;
};

struct code_location {
	const char *function;
	/** NULL if there are no lines. */
	const char *file;
	uint32_t line;
};

void jitdump_deinit(struct jitdump *dump);

/**
 * Reads the whole records at the start of @bytes, the next bytes of a file that has @left_bytes left.
 * *@used_bytes is the offset of the next record, which may be above @size but not above @left_bytes. -EBADMSG,
 * -EOPNOTSUPP (another machine or version): no more of this file can be read; names read so far stay. -ENOMEM:
 * the names are incomplete and must not be used any more.
 */
int jitdump_add(struct jitdump *dump, const void *bytes, size_t size, uint64_t left_bytes,
		uint64_t *used_bytes);

/** Bytes of memory that @dump holds. */
size_t jitdump_bytes(const struct jitdump *dump);

/** False if there is no function at @address. The texts are borrowed until the names change. */
bool jitdump_find(const struct jitdump *dump, uint64_t address, struct code_location *location);

#endif
