/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stackdeltas/ makes stack deltas (lib/model/stack_deltas.h) out of unwind tables. This is its
 * input: everything of an ELF file that decides what the rows are, and nothing else. The same input
 * gives the same rows on every host, so its hash is the key under which rows are shared and cached.
 * But for Go's table: that stays in the file (go_code.h), and an input with one has no key.
 *
 * The bytes come from files of the processes under profile: nothing in them is trusted.
 */
#ifndef STACKDELTAS_UNWIND_INPUT_H
#define STACKDELTAS_UNWIND_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/hash128.h"
#include "stackdeltas/bare_code.h"
#include "stackdeltas/delta_problem.h"
#include "stackdeltas/known_places.h"
#include "stackdeltas/unwind_source.h"

struct debug_file_search;
struct elf_image;
struct fde_table;
struct go_code;

enum {
	/** Part of every key: raise it whenever the same bytes would give other rows. */
	EXTRACTOR_VERSION = 10,
	UNWIND_INPUT_MAX_SEGMENTS = 16,
	UNWIND_INPUT_MAX_STUBS = 4,
	/** Some 16 million rows, more than are taken; the largest programs have a tenth. */
	UNWIND_INPUT_MAX_BYTES = 96 << 20,
	/** .debug_frame, .gnu_debugdata, .debug_frame of a separate debug file. */
	UNWIND_INPUT_MAX_SOURCES = 3,
	/**
	 * More code than this without .eh_frame is worth a look into other sources. Start files and
	 * assembly of the C library have less.
	 */
	UNWIND_INPUT_BARE_BYTES = 1024,
	/**
	 * With more than this, files that name no table of Go are searched for one; but not large files with sections,
	 * which Go's linker would have left some of its own in.
	 */
	UNWIND_INPUT_GO_BARE_BYTES = 256 << 10,
};

/** The bytes of an executable segment that are in the file: ELF virtual addresses. */
struct unwind_segment {
	uint64_t start;
	uint64_t end;
};

struct unwind_input {
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	/** ELF virtual address of the entry point; 0 if there is none. */
	uint64_t entry;
	uint32_t segment_count;
	/** Sorted by start, not overlapping, below 2^48. */
	struct unwind_segment segments[UNWIND_INPUT_MAX_SEGMENTS];
	/**
	 * Sections of PLT stubs, sorted by start, each within a segment: linkers leave
	 * some of them (.iplt of static programs; all on arm64) without FDE.
	 */
	uint32_t stub_count;
	struct unwind_segment stubs[UNWIND_INPUT_MAX_STUBS];
	/** Why there is no .eh_frame: -ENOENT, -EBADMSG, -EOPNOTSUPP. Not part of the key. */
	int eh_frame_error;
	/** .eh_frame and its ELF virtual address; no bytes: there is none. Owned. */
	uint64_t eh_frame_address;
	size_t eh_frame_bytes;
	uint8_t *eh_frame;
	/** Sources for what .eh_frame leaves out, in the order of trust. Owned. */
	uint32_t source_count;
	struct unwind_source sources[UNWIND_INPUT_MAX_SOURCES];
	/** Go's own table, which goes before code and sources; NULL: there is none. Owned. */
	struct go_code *go;
	/** What .eh_frame and Go's table leave out; nothing if Go's table is damaged. Owned. */
	struct bare_code code;
	/** Sorted, not touching: their rules hold whatever tables say. */
	uint32_t place_count;
	struct known_place places[KNOWN_PLACES_MAX];
	/**
	 * The FDEs of .eh_frame and what was counted in them: they follow from what stands above,
	 * and are kept since extract_deltas() needs them again. NULL: they have not been read yet.
	 * Owned. Not part of the key.
	 */
	struct fde_table *fdes;
	struct delta_statistics fde_statistics;
	/** .eh_frame leaves out so much that other sources are of use. Not part of the key. */
	bool is_bare;
};

/**
 * Reads the input from @image: the section .eh_frame, or what PT_GNU_EH_FRAME leads to in a file
 * without section headers; and for code that it leaves out, the other sources and that code itself.
 * A damaged source counts as missing. With Go's table, @image is borrowed until the input is
 * deinited. -ENOENT: the file has neither tables nor code; -E2BIG: over a
 * limit above; others as elf_image.h says. The caller deinits.
 */
int unwind_input_read(const struct elf_image *image, struct unwind_input *input);
void unwind_input_deinit(struct unwind_input *input);

/**
 * If the input is bare: adds the .debug_frame of the separate debug file of @image, which the input
 * was read from, if there is one. Opens files, so call it where that may take long.
 */
void unwind_input_add_debug_file(struct unwind_input *input, const struct elf_image *image,
				 const struct debug_file_search *search);

/** Forgets the code that no table describes, whose rows cost most: there the frame pointer is left. */
void unwind_input_leave_code(struct unwind_input *input);

/** How many bytes of .eh_frame take as long to be made into rows, roughly. */
uint64_t unwind_input_work(const struct unwind_input *input);

/** Covers the bytes, the addresses, the machine and EXTRACTOR_VERSION. Of inputs without Go's table. */
struct hash128 unwind_input_key(const struct unwind_input *input);

#endif
