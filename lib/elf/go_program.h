/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Whether an ELF file has code of Go, and what the file says of itself: its build id (a note), and of
 * its build information the Go that made it and the main module. Asked of every executable when it is
 * met, so it is a few small reads, and none for a file that has sections and none of Go's.
 */
#ifndef LIB_ELF_GO_PROGRAM_H
#define LIB_ELF_GO_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/elf/elf_image.h"
#include "lib/elf/go_build_info.h"

enum {
	GO_BUILD_ID_MAX_BYTES = 255,
	/** Longer paths are left out. */
	GO_MODULE_PATH_MAX_BYTES = 255,
	GO_MODULE_VERSION_MAX_BYTES = 127,
};

/** What a file made by Go's tools says of itself: texts, "" for what it does not say. */
struct go_program {
	/** As `go tool buildid` prints it. */
	char build_id[GO_BUILD_ID_MAX_BYTES + 1];
	/** "go1.26.8" */
	char version[GO_VERSION_MAX_BYTES + 1];
	/** The main module, and its version: "v1.2.3", "(devel)". */
	char module_path[GO_MODULE_PATH_MAX_BYTES + 1];
	char module_version[GO_MODULE_VERSION_MAX_BYTES + 1];
};

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
