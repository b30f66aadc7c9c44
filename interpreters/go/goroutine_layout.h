/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where struct g has a goroutine's labels and its number, by version: offsets from the debug information
 * of programs that each version made, equal on x86-64 and arm64.
 * Source: runtime/runtime2.go and runtime/pprof/label.go of Go 1.15 to 1.27.
 */
#ifndef INTERPRETERS_GO_GOROUTINE_LAYOUT_H
#define INTERPRETERS_GO_GOROUTINE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct goroutine_layout {
	/** Of the first Go that has it: 27 for 1.27. */
	uint32_t minor;
	uint16_t labels;
	uint16_t id;
	/** A slice; before, a map. */
	bool has_label_slice;
};

/** The function that sets labels, by its name in Go's table: programs that set none lack it. */
#define GOROUTINE_LABEL_FUNCTION "runtime/pprof.runtime_setProfLabel"

/** The layout of Go 1.@minor; NULL if it is not known. */
const struct goroutine_layout *goroutine_layout_find(uint32_t minor);

/**
 * Whether the function GOROUTINE_LABEL_FUNCTION, whose code is @code, stores where @layout says: the
 * table was made of programs as the Go project builds them.
 */
bool goroutine_layout_fits(const struct goroutine_layout *layout, uint16_t machine,
			   const uint8_t *code, size_t size);

#endif
