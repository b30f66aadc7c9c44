/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Detects whether an ELF file has code of Go, and reads its Go build id (a note), the version of Go and the
 * main module. This is done for every new executable, so it takes a few small reads, and none for a file with
 * sections but none of Go's.
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

/** Facts about a file made by Go's tools; "" for those that the file does not have. */
struct go_program {
	/** Build id as `go tool buildid` prints it. */
	char build_id[GO_BUILD_ID_MAX_BYTES + 1];
	/** "go1.26.8" */
	char version[GO_VERSION_MAX_BYTES + 1];
	/** The main module, and its version: "v1.2.3", "(devel)". */
	char module_path[GO_MODULE_PATH_MAX_BYTES + 1];
	char module_version[GO_MODULE_VERSION_MAX_BYTES + 1];
};

enum {
	/** Bytes of module information that are read. The main module comes before all others. */
	GO_PROGRAM_MODULE_TEXT_BYTES = 4 << 10,
};

/**
 * Fills *@program; facts that are missing or damaged are "". Code of Go is detected as by go_program_is_one().
 * -ENOENT for a file without code of Go, -ENOMEM.
 */
int go_program_read(const struct elf_image *image, struct go_program *program);

/** Whether the file may have code of Go, by the names of its sections or, without a section table, by the note. */
bool go_program_is_one(const struct elf_image *image);

/**
 * Parses the main module in @bytes bytes of module information, lines of fields separated by tabs: `mod PATH
 * VERSION SUM`. Fields that are cut or too long are left out. Format: (*debug.BuildInfo).String() in
 * runtime/debug/mod.go of Go 1.26.
 */
void go_program_parse_modules(struct go_program *program, const char *text, size_t bytes);

#endif
