/* SPDX-License-Identifier: Apache-2.0 */
/**
 * .eh_frame and .debug_frame as lists of entries: CIEs, with the common part of their FDEs, and FDEs,
 * one per function (LSB Core 5.0, 10.6.1 "The .eh_frame section"; call frame information: DWARF 5,
 * 6.4).
 *
 * They differ in how an FDE refers to its CIE. In .eh_frame it has the distance backwards, in a field
 * of 4 bytes even in entries with 64-bit lengths. In .debug_frame it has the CIE's offset, and a CIE
 * has all bits set in this field; addresses are absolute.
 *
 * Works on borrowed bytes and trusts nothing in them.
 */
#ifndef STACKDELTAS_EH_FRAME_H
#define STACKDELTAS_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eh_frame {
	const uint8_t *bytes;
	size_t size;
	/** ELF virtual address of the first byte; not used for .debug_frame. */
	uint64_t address;
	bool is_debug_frame;
};

/** One CIE or FDE, not parsed yet. Offsets count from the start of the section. */
struct eh_frame_entry {
	size_t offset;
	/** The bytes behind the CIE pointer: [content, end). */
	size_t content;
	size_t end;
	bool is_cie;
	/** For an FDE: the offset of its CIE according to the CIE pointer. */
	size_t cie_offset;
};

struct cie {
	/** 1 also where the file has 0, which is not meant on any machine. */
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t return_address_register;
	/** enum eh_pointer_encoding of the addresses in FDEs. */
	uint8_t pointer_encoding;
	/** Letter z: FDEs have augmentation data with a length. */
	bool has_augmentation_data;
	/** Letter S: the frames of these FDEs were pushed by the kernel for a signal handler. */
	bool is_signal_frame;
	/** The initial instructions: [instructions, instructions_end) of the section. */
	size_t instructions;
	size_t instructions_end;
};

struct fde {
	/** ELF virtual addresses [start, start + length). */
	uint64_t start;
	uint64_t length;
	size_t instructions;
	size_t instructions_end;
};

/**
 * Gets the entry at *@offset and moves *@offset behind it. Words of zero between entries (the
 * terminators of crtend.o) are skipped. Returns 1, 0 at the end, or -EBADMSG for an invalid length,
 * after which no entry can be found.
 */
int eh_frame_next(const struct eh_frame *frame, size_t *offset, struct eh_frame_entry *entry);

/** Gets the entry at exactly @offset. Returns 1, 0 for a terminator or the end, or -EBADMSG. */
int eh_frame_entry_at(const struct eh_frame *frame, size_t offset, struct eh_frame_entry *entry);

/**
 * Reads a CIE. -EBADMSG if it is damaged, -EOPNOTSUPP for a version, an augmentation letter or a
 * pointer encoding that is not known. Known letters: z R P L S, and for arm64 B and G for signed
 * return addresses and tagged memory, which change no rule. Letters without data may occur without z,
 * as assemblers write them in .debug_frame.
 */
int eh_frame_read_cie(const struct eh_frame *frame, const struct eh_frame_entry *entry,
		      struct cie *cie);

/** Reads an FDE of @cie. -EBADMSG if it is damaged or its addresses wrap around. */
int eh_frame_read_fde(const struct eh_frame *frame, const struct eh_frame_entry *entry,
		      const struct cie *cie, struct fde *fde);

#endif
