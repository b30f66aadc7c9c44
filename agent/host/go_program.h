/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Whether an ELF file has code of Go, and what the file says of itself: its build id (a note), and of
 * its build information the Go that made it and the main module. Asked of every executable when it is
 * met, so it is a few small reads, and none for a file that has sections and none of Go's.
 */
#ifndef AGENT_HOST_GO_PROGRAM_H
#define AGENT_HOST_GO_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/host/elf_image.h"

enum {
	/** Of the module information so much is read: the main module stands before all others. */
	GO_PROGRAM_MODULE_TEXT_BYTES = 4 << 10,
};

/**
 * Told by the names of sections, or without a section table by the note. What is missing or damaged
 * is "". -ENOENT for a file without code of Go, -ENOMEM.
 */
int go_program_read(const struct elf_image *image, struct go_program *program);

/** Whether the file may have code of Go: by its sections or, without a section table, by the note. */
bool go_program_is_one(const struct elf_image *image);

/**
 * The main module out of @bytes bytes of module information, lines of fields with tabs between them:
 * `mod PATH VERSION SUM`. Of what is cut or too long nothing is taken.
 * Format: (*debug.BuildInfo).String() in runtime/debug/mod.go of Go 1.26.
 */
void go_program_parse_modules(struct go_program *program, const char *text, size_t bytes);

#endif
