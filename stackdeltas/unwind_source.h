/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Unwind tables beside .eh_frame, as the bytes of the file, compressed or not: .debug_frame, and
 * .gnu_debugdata, an ELF file compressed by xz with the symbols and perhaps the tables that were
 * stripped ("MiniDebugInfo", GDB manual). They are read if a file's .eh_frame does not cover all code,
 * and unpacked only when rows have to be made.
 */
#ifndef STACKDELTAS_UNWIND_SOURCE_H
#define STACKDELTAS_UNWIND_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "stackdeltas/address_vector.h"
#include "stackdeltas/eh_frame.h"

enum {
	/** Limit of a source, both in the file and unpacked. */
	UNWIND_SOURCE_MAX_BYTES = 48 << 20,
	/** .debug_frame and .eh_frame of a file in .gnu_debugdata. */
	UNWIND_SOURCE_MAX_SECTIONS = 2,
};

enum unwind_source_kind {
	UNWIND_SOURCE_DEBUG_FRAME,
	UNWIND_SOURCE_MINI_DEBUG,
};

struct unwind_source {
	uint8_t kind;
	/** enum elf_encoding */
	uint8_t encoding;
	struct elf_bytes raw;
};

/** The unpacked content of a source. The bytes of sections are owned, or the source's. */
struct unwind_source_content {
	uint32_t section_count;
	struct eh_frame sections[UNWIND_SOURCE_MAX_SECTIONS];
	/** Function starts of its symbol table, not sorted. */
	struct address_vector starts;
	/** Owners of the sections' bytes. */
	struct elf_bytes owned[UNWIND_SOURCE_MAX_SECTIONS];
};

/** Reads the .debug_frame or .zdebug_frame of @image; -ENOENT, or an error as in elf_image.h. */
int unwind_source_read_debug_frame(const struct elf_image *image, struct unwind_source *source);

/** Reads .gnu_debugdata; -ENOENT, or an error as in elf_image.h. The caller deinits both kinds. */
int unwind_source_read_mini_debug(const struct elf_image *image, struct unwind_source *source);
void unwind_source_deinit(struct unwind_source *source);

/**
 * Unpacks @source, which must not change or move while @content is used. @machine: EM_..., the machine
 * that a file in the source must have. The caller deinits in any case. -E2BIG over a limit above,
 * -EBADMSG, -EOPNOTSUPP, -ENOMEM.
 */
int unwind_source_unpack(const struct unwind_source *source, uint16_t machine,
			 struct unwind_source_content *content);
void unwind_source_content_deinit(struct unwind_source_content *content);

#endif
