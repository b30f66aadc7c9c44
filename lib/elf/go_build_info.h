/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Build information that Go's linker writes into a program: the version of Go, and the modules. Stripped
 * programs and shared libraries have it too. From Go 1.13 on. Format: debug/buildinfo/buildinfo.go of Go 1.26
 * (the comment in readRawBuildInfo()).
 */
#ifndef LIB_ELF_GO_BUILD_INFO_H
#define LIB_ELF_GO_BUILD_INFO_H

#include "lib/elf/elf_pages.h"
#include "lib/elf/elf_relocations.h"

enum {
	GO_VERSION_MAX_BYTES = 128,
	GO_MODULES_MAX_BYTES = 1 << 20,
	/** Limit of the search through the writable segments of a file without .go.buildinfo. */
	GO_BUILD_INFO_SEARCH_MAX_BYTES = 64 << 20,
};

struct go_build_info {
	/** "go1.26.8", "devel go1.28-5f1ab2c Mon ...", ... */
	char version[GO_VERSION_MAX_BYTES + 1];
	/** 26 of "go1.26.8"; 0 if the version does not have it. */
	uint32_t minor;
	/** File offset and length of the module information: lines of text, 0 bytes if there are none. */
	uint64_t modules_offset;
	uint32_t modules_bytes;
};

/**
 * Fills *@info, which owns nothing. -ENOENT without build information, -EBADMSG if it is damaged, -EOPNOTSUPP
 * for another format.
 */
int go_build_info_read(struct go_build_info *info, struct elf_pages *pages,
		       struct elf_relocations *relocations);

/** Reads the section .go.buildinfo alone: a few reads, and no search. */
int go_build_info_read_section(struct go_build_info *info, struct elf_pages *pages,
			       struct elf_relocations *relocations);

#endif
