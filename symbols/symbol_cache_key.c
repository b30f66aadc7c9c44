/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/symbol_cache_key.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "symbols/build/go_functions.h"
#include "symbols/cache/symbol_cache.h"

enum {
	/* Increment this whenever the same bytes would give different symbol caches. */
	MAKER_VERSION = 6,
	CHUNK_BYTES = 256 << 10,
	/* Limit of a section's name for the key, since many sections may share one long name. */
	SECTION_NAME_MAX_BYTES = 256,
	ABBREVIATIONS_MAX_BYTES = 64 << 20,
};

/* A chained hash over chunks: of the previous hash and the next chunk. */
struct chain {
	struct hash128 hash;
	uint64_t left_bytes;
	uint8_t *chunk;
};

/* The head of each chunk, so that different sequences of chunks have different bytes. */
struct chunk_head {
	struct hash128 before;
	uint64_t bytes;
};

/* Adds @bytes bytes of chain->chunk, which follow the head. */
static void add_chunk(struct chain *chain, size_t bytes)
{
	const struct chunk_head head = { chain->hash, bytes };

	memcpy(chain->chunk, &head, sizeof(head));
	chain->hash = hash128_content(chain->chunk, sizeof(head) + bytes);
}

static void add_bytes(struct chain *chain, const void *bytes, size_t count)
{
	memcpy(chain->chunk + sizeof(struct chunk_head), bytes, count);
	add_chunk(chain, count);
}

static int add_contents(struct chain *chain, const struct elf_image *image,
			const struct elf_section *section)
{
	if (section->size > chain->left_bytes)
		return fail(-E2BIG, "%zu bytes in a section", (size_t)section->size);
	chain->left_bytes -= section->size;
	for (uint64_t done = 0; done < section->size;) {
		size_t bytes = section->size - done < CHUNK_BYTES ? section->size - done :
								    CHUNK_BYTES;
		int err = elf_image_read(image, section->offset + done,
					 chain->chunk + sizeof(struct chunk_head), bytes);

		if (err)
			return err;
		add_chunk(chain, bytes);
		done += bytes;
	}
	return 0;
}

static bool is_read(const struct elf_image *image, const struct elf_section *section,
		    enum symbol_depth depth)
{
	if (section->type == SHT_NOBITS)
		return false;
	if (section->type == SHT_SYMTAB || section->type == SHT_DYNSYM)
		return true;
	/* Symbol names, but not section names. */
	for (uint32_t i = 0; section->type == SHT_STRTAB && i < image->section_count; i++) {
		const struct elf_section *user = &image->sections[i];

		if ((user->type == SHT_SYMTAB || user->type == SHT_DYNSYM) &&
		    user->link < image->section_count && &image->sections[user->link] == section)
			return true;
	}
	if (!strcmp(section->name, ".gnu_debugdata") || section == go_functions_section(image))
		return true;
	return depth == SYMBOL_DEPTH_FULL && elf_section_is_debug_data(section);
}

static void add_segment(struct chain *chain, const struct elf_segment *segment)
{
	const uint64_t numbers[] = { segment->type,    segment->flags,	    segment->offset,
				     segment->address, segment->file_bytes, segment->memory_bytes };

	add_bytes(chain, numbers, sizeof(numbers));
}

/* Sizes and addresses of all sections decide which symbols are code, and where they end. */
static void add_section_header(struct chain *chain, const struct elf_section *section)
{
	const uint64_t numbers[] = { section->type, section->flags, section->address,
				     section->size, section->link,  section->entry_bytes };
	size_t name_bytes = strnlen(section->name, SECTION_NAME_MAX_BYTES);

	add_bytes(chain, numbers, sizeof(numbers));
	add_bytes(chain, section->name, name_bytes);
}

static int add_image(struct chain *chain, const struct elf_image *image, enum symbol_depth depth)
{
	const uint64_t numbers[] = { image->machine, image->segment_count, image->section_count };
	int err = 0;

	add_bytes(chain, numbers, sizeof(numbers));
	for (uint32_t i = 0; i < image->segment_count; i++)
		add_segment(chain, &image->segments[i]);
	for (uint32_t i = 0; i < image->section_count; i++)
		add_section_header(chain, &image->sections[i]);
	for (uint32_t i = 0; i < image->section_count && !err; i++) {
		if (is_read(image, &image->sections[i], depth))
			err = add_contents(chain, image, &image->sections[i]);
	}
	return err;
}

/*
 * True if an abbreviation has DW_AT_dwo_name or DW_AT_GNU_dwo_name. Only bytes are compared; a
 * false match merely keeps the file out of the cache.
 */
static bool names_dwo(const struct elf_bytes *abbreviations)
{
	static const uint8_t string_forms[] = { 0x08, 0x0e, 0x1a, 0x1f, 0x25, 0x26, 0x27, 0x28 };

	for (size_t i = 0; i + 1 < abbreviations->size; i++) {
		uint8_t first = abbreviations->data[i], second = abbreviations->data[i + 1];

		if (first == 0xb0 && second == 0x42)
			return true;
		if (first == 0x76 && memchr(string_forms, second, sizeof(string_forms)))
			return true;
	}
	return false;
}

static bool has_more_files(const struct elf_image *image)
{
	const struct elf_section *section = elf_image_find_section(image, ".debug_abbrev");
	_cleanup_(elf_bytes_deinit) struct elf_bytes abbreviations = { 0 };

	if (elf_image_find_section(image, ".gnu_debugaltlink") ||
	    elf_image_find_section(image, ".debug_sup"))
		return true;
	if (!section)
		section = elf_image_find_section(image, ".zdebug_abbrev");
	if (!section || section->type == SHT_NOBITS)
		return false;
	return elf_image_load_section(image, section, ABBREVIATIONS_MAX_BYTES, &abbreviations) ||
	       names_dwo(&abbreviations);
}

int symbol_cache_key_make(const struct elf_image *image, const struct elf_image *debug,
			  enum symbol_depth depth, struct symbol_cache_key *key)
{
	const uint64_t numbers[] = { SYMBOL_CACHE_VERSION, MAKER_VERSION, depth, !!debug };
	_cleanup_(free_pointer) uint8_t *chunk = malloc(sizeof(struct chunk_head) + CHUNK_BYTES);
	struct chain chain = { .left_bytes = SYMBOL_CACHE_KEY_MAX_BYTES, .chunk = chunk };
	int err;

	if (!chunk)
		return fail(-ENOMEM, "no memory for the key of a symbol cache");
	add_bytes(&chain, numbers, sizeof(numbers));
	err = add_image(&chain, image, depth);
	if (!err && debug)
		err = add_image(&chain, debug, depth);
	if (err)
		return err;
	*key = (struct symbol_cache_key){
		.hash = chain.hash,
		.is_partial = depth == SYMBOL_DEPTH_FULL &&
			      (has_more_files(image) || (debug && has_more_files(debug))),
	};
	return 0;
}
