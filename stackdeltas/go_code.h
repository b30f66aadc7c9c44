/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows of Go's functions, from the sizes of frames in Go's own table (lib/elf/go_table.h). Go programs
 * have no other unwind tables, and compiled code keeps a frame pointer only in part. Functions that end a
 * stack, and functions of the runtime that switch stacks (ebpf/abi/go.h), are recognised by name.
 *
 * The table is read while the rows are made, since it may have a hundred megabytes. So files with such
 * a table are not in the disk cache, whose keys cover all bytes that are parsed.
 */
#ifndef STACKDELTAS_GO_CODE_H
#define STACKDELTAS_GO_CODE_H

#include <stdint.h>

#include "lib/elf/go_table.h"
#include "stackdeltas/delta_builder.h"

/** Adjacent functions whose frames are in the table: ELF virtual addresses; first index and number. */
struct go_span {
	uint64_t start;
	uint64_t end;
	uint32_t first;
	uint32_t count;
};

VECTOR_DEFINE(go_span_vector, struct go_span)

enum {
	/** Limit of the spans. C functions are between Go functions only at the ends of the code, if at all. */
	GO_MAX_SPANS = 1 << 12,
};

struct go_code {
	struct go_table table;
	/** Sorted, not adjacent. Code between them is not Go's, though the table may list it. */
	struct go_span_vector spans;
	/** The table has flags that distinguish assembly functions from the compiler's wrappers: from 1.17 on. */
	bool has_flags;
};

/**
 * Opens the table of @image, which is borrowed until go_code_destroy(). Cost and errors as go_table_init();
 * -E2BIG over GO_MAX_SPANS.
 */
int go_code_create(const struct elf_image *image, struct go_code **code);
/** Takes NULL. */
void go_code_destroy(struct go_code *code);

/**
 * Adds the rows of [@start, @end), a part of @span, to @builder. Errors as delta_builder_add(). A function whose
 * data is damaged gets no rule.
 */
int go_code_add_rows(struct go_code *code, const struct go_span *span, uint64_t start, uint64_t end,
		     struct delta_builder *builder);

#endif
