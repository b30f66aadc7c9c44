/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Notes of an ELF file, such as its build id. Format: System V gABI, chapter "Note Section"; <elf.h>.
 */
#ifndef LIB_ELF_ELF_NOTES_H
#define LIB_ELF_ELF_NOTES_H

#include "lib/elf/elf_image.h"

/** Identifies one of a file's notes. */
struct elf_note_kind {
	/** The section that usually has the note. */
	const char *section;
	/** Name, with the NUL bytes that name_bytes counts. */
	const char *name;
	uint32_t name_bytes;
	uint32_t type;
};

/**
 * Copies the content of the first note of @kind, at most @capacity bytes. -ENOENT without one, -EBADMSG if the
 * content is empty or too long, or if the notes are damaged.
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
