/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows of Go's functions, from the sizes of frames in Go's own table (lib/elf/go_table.h): Go programs
 * have no other unwind tables, and compiled code keeps a frame pointer only in part. What the table
 * does not say is known by name: functions that end a stack, and those of the runtime that go from one
 * stack to another (ebpf/abi/go.h).
 *
 * The table is read while the rows are made, since it may have a hundred megabytes; so files with
 * such a table have no place in the disk cache, whose keys cover all that is parsed.
 */
#ifndef STACKDELTAS_GO_CODE_H
#define STACKDELTAS_GO_CODE_H

#include <stdint.h>

#include "lib/elf/go_table.h"
#include "stackdeltas/delta_builder.h"

/** Neighbouring functions of which the table knows the frames: ELF virtual addresses, indexes. */
struct go_span {
	uint64_t start;
	uint64_t end;
	uint32_t first;
	uint32_t count;
};

VECTOR_DEFINE(go_span_vector, struct go_span)

enum {
	/** Functions of C stand between those of Go at the ends of the code, if at all. */
	GO_MAX_SPANS = 1 << 12,
};

struct go_code {
	struct go_table table;
	/** Sorted, not touching. Code between them is not Go's, though the table may list it. */
	struct go_span_vector spans;
	/** The table tells assembly from what the compiler made around it, by flags: from 1.17 on. */
	bool has_flags;
};

/**
 * Opens the table of @image, which is borrowed until go_code_destroy(). As go_table_init(), whose word
 * on what that costs holds; -E2BIG over GO_MAX_SPANS.
 */
int go_code_create(const struct elf_image *image, struct go_code **code);
/** Takes NULL. */
void go_code_destroy(struct go_code *code);

/**
 * Adds the rows of [@start, @end), a part of @span, to @builder: as delta_builder_add(). What is damaged
 * costs the function that it is of.
 */
int go_code_add_rows(struct go_code *code, const struct go_span *span, uint64_t start, uint64_t end,
		     struct delta_builder *builder);

#endif
