/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Notes of an ELF file: what linkers say of it, such as its build id.
 * Format: System V gABI, chapter "Note Section"; <elf.h>.
 */
#ifndef LIB_ELF_ELF_NOTES_H
#define LIB_ELF_ELF_NOTES_H

#include "lib/elf/elf_image.h"

/** Which of a file's notes is meant. */
struct elf_note_kind {
	/** Where it usually stands. */
	const char *section;
	/** With the NUL bytes that are counted in name_bytes. */
	const char *name;
	uint32_t name_bytes;
	uint32_t type;
};

/**
 * What the first note of @kind says: at most @capacity bytes. -ENOENT without one, -EBADMSG if it says
 * nothing or too much, or if the notes are damaged.
 */
int elf_image_note(const struct elf_image *image, const struct elf_note_kind *kind, uint8_t *bytes,
		   uint32_t capacity, uint32_t *count);

/** The GNU build id from notes; -ENOENT without one, -EBADMSG if the notes are damaged. */
int elf_image_build_id(const struct elf_image *image, uint8_t build_id[BUILD_ID_MAX_BYTES],
		       uint32_t *build_id_bytes);

/** The GNU build id in @size bytes of notes (alignment 4), as in /sys/kernel/notes; as above. */
int elf_notes_build_id(const void *notes, size_t size, uint8_t build_id[BUILD_ID_MAX_BYTES],
		       uint32_t *build_id_bytes);

#endif
