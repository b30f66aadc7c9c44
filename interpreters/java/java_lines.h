/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The source position of a Method of HotSpot: its file, and the line of a bytecode, from the compressed table that
 * follows the bytecodes.
 *
 * Source: share/oops/method.cpp (Method::line_number_from_bci, CompressedLineNumberReadStream) and
 * constMethod.hpp of OpenJDK 8 to 27.
 */
#ifndef INTERPRETERS_JAVA_JAVA_LINES_H
#define INTERPRETERS_JAVA_JAVA_LINES_H

#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "interpreters/java/java_names.h"
#include "lib/host/remote_memory.h"

enum {
	/** Limit of a table's size; the largest methods have 64 KiB of bytecodes. */
	JAVA_LINES_MAX_BYTES = 1 << 17,
};

struct java_lines {
	uint32_t line;
	/** The line of the method's first bytecode, which is where debuggers say that it is (com.sun.jdi.Method.location()); 0: unknown. */
	uint32_t start_line;
};

/**
 * Finds the lines of the bytecode at @bci of the Method at @method; -ENOENT: the Method has no lines; -EBADMSG,
 * -E2BIG, -EFAULT, -ESRCH, -ENOMEM.
 */
int java_lines_of(const struct java_layout *layout, struct remote_memory *memory, uint64_t method,
		  uint32_t bci, struct java_lines *lines);

/** Reads the name of the Method's source file; -ENOENT: it has none; -EBADMSG, -EFAULT, -ESRCH. */
int java_source_file(const struct java_layout *layout, struct remote_memory *memory,
		     uint64_t method, java_text text);

#endif
