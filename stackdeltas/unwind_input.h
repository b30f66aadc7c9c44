/* SPDX-License-Identifier: Apache-2.0 */
/**
 * stackdeltas/ makes stack deltas (agent/base/stack_deltas.h) out of unwind tables. This is its
 * input: everything of an ELF file that decides what the rows are, and nothing else. The same input
 * gives the same rows on every host, so its hash is the key under which rows are shared and cached.
 *
 * The bytes come from files of the processes under profile: nothing in them is trusted.
 */
#ifndef STACKDELTAS_UNWIND_INPUT_H
#define STACKDELTAS_UNWIND_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/hash128.h"

struct elf_image;

enum {
	/** Part of every key: raise it whenever the same bytes would give other rows. */
	EXTRACTOR_VERSION = 2,
	UNWIND_INPUT_MAX_SEGMENTS = 16,
	UNWIND_INPUT_MAX_STUBS = 4,
	/** Some 16 million rows, more than are taken; the largest programs have a tenth. */
	UNWIND_INPUT_MAX_BYTES = 96 << 20,
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
	 * some of them (.iplt of static programs) without FDE. Only of x86-64 files.
	 */
	uint32_t stub_count;
	struct unwind_segment stubs[UNWIND_INPUT_MAX_STUBS];
	/** .eh_frame and its ELF virtual address. The bytes are owned. */
	uint64_t eh_frame_address;
	size_t eh_frame_bytes;
	uint8_t *eh_frame;
};

/**
 * Reads the input from @image: the section .eh_frame, or what PT_GNU_EH_FRAME leads to in a file
 * without section headers. -ENOENT: the file has no .eh_frame; -E2BIG: over a limit above; others
 * as elf_image.h says. The caller deinits.
 */
int unwind_input_read(const struct elf_image *image, struct unwind_input *input);
void unwind_input_deinit(struct unwind_input *input);

/** Covers the bytes, the addresses, the machine and EXTRACTOR_VERSION. */
struct hash128 unwind_input_key(const struct unwind_input *input);

#endif
