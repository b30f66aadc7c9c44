/* SPDX-License-Identifier: Apache-2.0 */
/* Notes are small and read whole; every length in them is compared with what is left. */
#include "lib/elf/elf_notes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	NOTES_MAX_BYTES = 1 << 20,
	NOTE_SEGMENTS_MAX = 16,
};

static const struct elf_note_kind gnu_build_id = {
	.section = ".note.gnu.build-id",
	.name = ELF_NOTE_GNU,
	.name_bytes = sizeof(ELF_NOTE_GNU),
	.type = NT_GNU_BUILD_ID,
};

static int parse_notes(const struct elf_note_kind *kind, const struct elf_bytes *notes,
		       uint32_t alignment, uint8_t *bytes, uint32_t capacity, uint32_t *count)
{
	struct byte_reader reader;

	byte_reader_init(&reader, notes->data, notes->size);
	while (byte_reader_left(&reader) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_bytes = byte_reader_u32(&reader);
		uint32_t content_bytes = byte_reader_u32(&reader);
		uint32_t type = byte_reader_u32(&reader);
		const uint8_t *name, *content;
		size_t padding;

		name = byte_reader_bytes(&reader, name_bytes);
		byte_reader_skip(&reader, -byte_reader_offset(&reader) & (alignment - 1));
		content = byte_reader_bytes(&reader, content_bytes);
		if (byte_reader_failed(&reader))
			return fail(-EBADMSG, "a note is longer than its section");
		if (type == kind->type && name_bytes == kind->name_bytes &&
		    !memcmp(name, kind->name, kind->name_bytes)) {
			if (!content_bytes || content_bytes > capacity)
				return fail(-EBADMSG, "a build id of %u bytes", content_bytes);
			memcpy(bytes, content, content_bytes);
			*count = content_bytes;
			return 0;
		}
		/* The last note may lack its padding. */
		padding = -byte_reader_offset(&reader) & (alignment - 1);
		if (padding > byte_reader_left(&reader))
			break;
		byte_reader_skip(&reader, padding);
	}
	return fail(-ENOENT, "no build id");
}

int elf_notes_build_id(const void *notes, size_t size, uint8_t build_id[BUILD_ID_MAX_BYTES],
		       uint32_t *build_id_bytes)
{
	const struct elf_bytes bytes = { .data = (uint8_t *)notes, .size = size };

	return parse_notes(&gnu_build_id, &bytes, 4, build_id, BUILD_ID_MAX_BYTES, build_id_bytes);
}

/* .note.gnu.property wants 8, and its segment may be followed by notes with 4. */
static int find_in_range(const struct elf_image *image, uint64_t offset, uint64_t size,
			 const struct elf_note_kind *kind, uint8_t *bytes, uint32_t capacity,
			 uint32_t *count)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes notes = { 0 };
	int err;

	err = elf_image_load_range(image, offset, size, NOTES_MAX_BYTES, &notes);
	if (err)
		return err;
	err = parse_notes(kind, &notes, 4, bytes, capacity, count);
	return err == -EBADMSG ? parse_notes(kind, &notes, 8, bytes, capacity, count) : err;
}

int elf_image_note(const struct elf_image *image, const struct elf_note_kind *kind, uint8_t *bytes,
		   uint32_t capacity, uint32_t *count)
{
	const struct elf_section *section = elf_image_find_section(image, kind->section);
	uint32_t note_segments = 0;
	int err = -ENOENT, damaged = 0;

	if (section && section->type == SHT_NOTE)
		err = find_in_range(image, section->offset, section->size, kind, bytes, capacity,
				    count);
	for (uint32_t i = 0; err && i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type != PT_NOTE || note_segments == NOTE_SEGMENTS_MAX)
			continue;
		note_segments++;
		err = find_in_range(image, segment->offset, segment->file_bytes, kind, bytes,
				    capacity, count);
		if (err == -EBADMSG)
			damaged = err;
	}
	if (!err)
		return 0;
	return damaged ? damaged : fail(-ENOENT, "no build id");
}

int elf_image_build_id(const struct elf_image *image, uint8_t build_id[BUILD_ID_MAX_BYTES],
		       uint32_t *build_id_bytes)
{
	return elf_image_note(image, &gnu_build_id, build_id, BUILD_ID_MAX_BYTES, build_id_bytes);
}
