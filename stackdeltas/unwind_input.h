/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stackdeltas/ makes stack deltas (lib/model/stack_deltas.h) from unwind tables. This is its input:
 * all parts of an ELF file on which the rows depend, and nothing else. The same input results in the
 * same rows on every host, so its hash is the key under which rows are shared and cached. An input
 * with Go's table, which is not copied from the file (go_code.h), has no key.
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
#include "stackdeltas/known_ranges.h"
#include "stackdeltas/unwind_source.h"

struct debug_file_search;
struct elf_image;
struct fde_table;
struct go_code;

enum {
	/** A part of every key: increment it whenever the same bytes would result in other rows. */
	EXTRACTOR_VERSION = 12,
	UNWIND_INPUT_MAX_SEGMENTS = 16,
	UNWIND_INPUT_MAX_STUBS = 4,
	/** Limit of .eh_frame: some 16 million rows; the largest programs have a tenth. */
	UNWIND_INPUT_MAX_BYTES = 96 << 20,
	/** .debug_frame, .gnu_debugdata, .debug_frame of a separate debug file. */
	UNWIND_INPUT_MAX_SOURCES = 3,
	/**
	 * With more code than this without .eh_frame, other sources are read. Start files and assembly of
	 * the C library have less.
	 */
	UNWIND_INPUT_BARE_BYTES = 1024,
	/**
	 * With more than this, a file whose sections do not name Go's table is searched for one. Large files with sections
	 * are not searched, since Go's linker would have left sections of its own in them.
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
	/** Sources for code that .eh_frame does not cover, the most reliable first. Owned. */
	uint32_t source_count;
	struct unwind_source sources[UNWIND_INPUT_MAX_SOURCES];
	/** Go's own table, which has precedence over code and sources; NULL: there is none. Owned. */
	struct go_code *go;
	/** Code that .eh_frame and Go's table do not cover; empty if Go's table is damaged. Owned. */
	struct bare_code code;
	/** Sorted, not adjacent: their rules have precedence over all tables. */
	uint32_t known_range_count;
	struct known_range known_ranges[KNOWN_RANGES_MAX];
	/**
	 * The FDEs of .eh_frame and their statistics. They are derived from the fields above, and cached
	 * since extract_deltas() needs them again. NULL: they have not been read yet. Owned. Not part of
	 * the key.
	 */
	struct fde_table *fdes;
	struct delta_statistics fde_statistics;
	/** .eh_frame leaves out so much code that other sources are used. Not part of the key. */
	bool is_bare;
};

/**
 * Reads the input from @image: the section .eh_frame, or in a file without section headers the table to
 * which PT_GNU_EH_FRAME points; and for code that this does not cover, the other sources and the code
 * itself. A damaged source counts as missing. With Go's table, @image is borrowed until the input is
 * deinited. -ENOENT: the file has neither tables nor code; -E2BIG: over a limit above; other errors as in
 * elf_image.h. The caller deinits.
 */
int unwind_input_read(const struct elf_image *image, struct unwind_input *input);
void unwind_input_deinit(struct unwind_input *input);

/**
 * If the input is bare: adds the .debug_frame of the separate debug file of @image, from which the input
 * was read, if there is one. It opens files, so call it where that may take long.
 */
void unwind_input_add_debug_file(struct unwind_input *input, const struct elf_image *image,
				 const struct debug_file_search *search);

/** Drops the code that no table describes, whose rows cost most: it is then unwound by the frame pointer. */
void unwind_input_leave_code(struct unwind_input *input);

/** Estimates the work of extracting the rows, as the number of bytes of .eh_frame that take as long. */
uint64_t unwind_input_work(const struct unwind_input *input);

/** Returns the hash of the bytes, addresses, machine and EXTRACTOR_VERSION. Only for inputs without Go's table. */
struct hash128 unwind_input_key(const struct unwind_input *input);

#endif
