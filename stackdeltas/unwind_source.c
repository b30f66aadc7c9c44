/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources beside .eh_frame. The size of their unpacked content is limited, and a file within a file is
 * read by the same bounded reader as any other.
 */
#include "stackdeltas/unwind_source.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_symbols.h"
#include "lib/host/decompress.h"

static int read_section(const struct elf_image *image, const char *name, uint8_t kind,
			struct unwind_source *source)
{
	const struct elf_section *section = elf_image_find_section(image, name);
	struct unwind_source result = { .kind = kind };
	int error;

	if (!section || !section->size)
		return fail(-ENOENT, "no %s", name);
	result.encoding = elf_section_encoding(section);
	error = elf_image_load_raw_section(image, section, UNWIND_SOURCE_MAX_BYTES, &result.raw);
	if (!error)
		*source = result;
	return error;
}

int unwind_source_read_debug_frame(const struct elf_image *image, struct unwind_source *source)
{
	int error = read_section(image, ".debug_frame", UNWIND_SOURCE_DEBUG_FRAME, source);

	if (error != -ENOENT)
		return error;
	return read_section(image, ".zdebug_frame", UNWIND_SOURCE_DEBUG_FRAME, source);
}

int unwind_source_read_mini_debug(const struct elf_image *image, struct unwind_source *source)
{
	return read_section(image, ".gnu_debugdata", UNWIND_SOURCE_MINI_DEBUG, source);
}

void unwind_source_deinit(struct unwind_source *source)
{
	if (source)
		elf_bytes_deinit(&source->raw);
}

static void add_section(struct unwind_source_content *content, const struct elf_bytes *bytes,
			uint64_t address, bool is_debug_frame)
{
	content->sections[content->section_count++] = (struct eh_frame){
		.bytes = bytes->data,
		.size = bytes->size,
		.address = address,
		.is_debug_frame = is_debug_frame,
	};
}

static int unpack_debug_frame(const struct unwind_source *source,
			      struct unwind_source_content *content)
{
	const struct elf_bytes *bytes = &source->raw;
	int error;

	if (source->encoding != ELF_ENCODING_PLAIN) {
		error = elf_decode(source->encoding, &source->raw, UNWIND_SOURCE_MAX_BYTES,
				   &content->owned[0]);
		if (error)
			return error;
		bytes = &content->owned[0];
	}
	add_section(content, bytes, 0, true);
	return 0;
}

/* Copies a section of a file in memory that is freed soon. */
static void keep_section(const struct elf_image *image, const char *name, bool is_debug_frame,
			 struct unwind_source_content *content)
{
	const struct elf_section *section = elf_image_find_section(image, name);
	struct elf_bytes *owned = &content->owned[content->section_count];

	if (section && section->size &&
	    !elf_image_load_section(image, section, UNWIND_SOURCE_MAX_BYTES, owned))
		add_section(content, owned, section->address, is_debug_frame);
}

static int keep_starts(const struct elf_image *image, struct unwind_source_content *content)
{
	struct elf_symbols symbols;
	int error = elf_symbols_init(&symbols, image);

	/* Tables without symbols are used as well. */
	if (error)
		return error == -ENOMEM ? error : 0;
	for (uint32_t i = 0; !error && i < symbols.count; i++)
		if (elf_symbols_is_entry(&symbols, image, &symbols.symbols[i]))
			error = address_vector_push(&content->starts, symbols.symbols[i].address);
	elf_symbols_deinit(&symbols);
	return error;
}

static int unpack_mini_debug(const struct unwind_source *source, uint16_t machine,
			     struct unwind_source_content *content)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	_cleanup_(free_pointer) void *bytes = NULL;
	size_t size;
	int error;

	error = decompress_xz(source->raw.data, source->raw.size, UNWIND_SOURCE_MAX_BYTES, &bytes,
			      &size);
	if (!error)
		error = elf_image_init_memory(&image, bytes, size);
	if (error)
		return error;
	if (image.machine != machine)
		return fail(-EOPNOTSUPP, ".gnu_debugdata for machine %u", image.machine);
	keep_section(&image, ".debug_frame", true, content);
	keep_section(&image, ".eh_frame", false, content);
	return keep_starts(&image, content);
}

int unwind_source_unpack(const struct unwind_source *source, uint16_t machine,
			 struct unwind_source_content *content)
{
	memset(content, 0, sizeof(*content));
	return source->kind == UNWIND_SOURCE_DEBUG_FRAME ?
		       unpack_debug_frame(source, content) :
		       unpack_mini_debug(source, machine, content);
}

void unwind_source_content_deinit(struct unwind_source_content *content)
{
	for (uint32_t i = 0; i < UNWIND_SOURCE_MAX_SECTIONS; i++)
		elf_bytes_deinit(&content->owned[i]);
	address_vector_deinit(&content->starts);
	memset(content, 0, sizeof(*content));
}
