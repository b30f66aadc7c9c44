/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table stays in the file. A word costs a binary search, or one read if it follows the last one. A hostile
 * table can give wrong words, but cannot make the search longer.
 */
#include "lib/elf/elf_relocations.h"

#include <elf.h>
#include <errno.h>

#include "lib/base/error.h"

enum {
	DYNAMIC_MAX_ENTRIES = 4096,
};

static void set_table(struct elf_relocations *relocations, const struct elf_image *image,
		      uint64_t address, uint64_t bytes, uint64_t relative_count)
{
	uint64_t offset, available;

	if (!bytes || elf_image_address_offset(image, address, &offset, &available) ||
	    offset > image->size)
		return;
	if (available > image->size - offset)
		available = image->size - offset;
	relocations->offset = offset;
	relocations->count = (bytes < available ? bytes : available) / sizeof(Elf64_Rela);
	/* If the number of relative relocations is given, they come first. */
	if (relative_count && relative_count < relocations->count)
		relocations->count = relative_count;
}

void elf_relocations_init(struct elf_relocations *relocations, const struct elf_image *image)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_DYNAMIC);
	uint64_t address = 0, bytes = 0, relative_count = 0;

	*relocations = (struct elf_relocations){
		.relative_type = image->machine == EM_AARCH64 ? R_AARCH64_RELATIVE :
								R_X86_64_RELATIVE,
	};
	if (!segment)
		return;
	for (uint64_t i = 0; i < segment->file_bytes / sizeof(Elf64_Dyn) && i < DYNAMIC_MAX_ENTRIES;
	     i++) {
		Elf64_Dyn entry;

		if (elf_image_read(image, segment->offset + i * sizeof(entry), &entry,
				   sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_RELA)
			address = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			bytes = entry.d_un.d_val;
		else if (entry.d_tag == DT_RELACOUNT)
			relative_count = entry.d_un.d_val;
	}
	set_table(relocations, image, address, bytes, relative_count);
}

static int read_entry(const struct elf_relocations *relocations, struct elf_pages *pages,
		      uint64_t index, Elf64_Rela *entry)
{
	return elf_pages_read(pages, relocations->offset + index * sizeof(*entry), entry,
			      sizeof(*entry));
}

/* Index of the first entry that is not before @address; the count if there is none. */
static int lower_bound(const struct elf_relocations *relocations, struct elf_pages *pages,
		       uint64_t address, uint64_t *index)
{
	uint64_t low = 0, high = relocations->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		Elf64_Rela entry;
		int err = read_entry(relocations, pages, middle, &entry);

		if (err)
			return err;
		if (entry.r_offset < address)
			low = middle + 1;
		else
			high = middle;
	}
	*index = low;
	return 0;
}

/* The addend of the relocation at @address; -ENOENT if there is none. */
static int find_addend(struct elf_relocations *relocations, struct elf_pages *pages,
		       uint64_t address, uint64_t *addend)
{
	uint64_t index = relocations->hint + 1;
	Elf64_Rela entry = { 0 };
	int err = 0;

	if (index < relocations->count)
		err = read_entry(relocations, pages, index, &entry);
	if (!err && entry.r_offset != address) {
		err = lower_bound(relocations, pages, address, &index);
		if (!err && index == relocations->count)
			return -ENOENT;
		if (!err)
			err = read_entry(relocations, pages, index, &entry);
	}
	if (err)
		return err;
	if (entry.r_offset != address || ELF64_R_TYPE(entry.r_info) != relocations->relative_type)
		return -ENOENT;
	relocations->hint = index;
	*addend = entry.r_addend;
	return 0;
}

int elf_relocations_word(struct elf_relocations *relocations, struct elf_pages *pages,
			 uint64_t address, uint64_t *word)
{
	uint64_t found;
	int err = elf_pages_read_address(pages, address, &found, sizeof(found));

	if (err)
		return err;
	if (relocations->count) {
		err = find_addend(relocations, pages, address, &found);
		if (err && err != -ENOENT)
			return err;
	}
	*word = found;
	return 0;
}

int elf_relocations_find(const struct elf_relocations *relocations, struct elf_pages *pages,
			 uint64_t target, uint64_t *cursor, uint64_t *address)
{
	Elf64_Rela entries[ELF_RELOCATIONS_CHUNK];

	while (*cursor < relocations->count) {
		uint64_t left = relocations->count - *cursor;
		uint64_t count = left < ELF_RELOCATIONS_CHUNK ? left : ELF_RELOCATIONS_CHUNK;
		int err = elf_image_read(pages->image,
					 relocations->offset + *cursor * sizeof(entries[0]),
					 entries, count * sizeof(entries[0]));

		if (err)
			return err;
		for (uint64_t i = 0; i < count; i++) {
			if ((uint64_t)entries[i].r_addend == target &&
			    ELF64_R_TYPE(entries[i].r_info) == relocations->relative_type) {
				*cursor += i + 1;
				*address = entries[i].r_offset;
				return 0;
			}
		}
		*cursor += count;
	}
	return -ENOENT;
}

int elf_relocations_next(const struct elf_relocations *relocations, const struct elf_image *image,
			 uint64_t *cursor, uint64_t *values, size_t *count)
{
	Elf64_Rela entries[ELF_RELOCATIONS_CHUNK];
	uint64_t left = relocations->count - *cursor;
	size_t found = 0;
	int err;

	if (!left)
		return -ENOENT;
	if (left > ELF_RELOCATIONS_CHUNK)
		left = ELF_RELOCATIONS_CHUNK;
	err = elf_image_read(image, relocations->offset + *cursor * sizeof(entries[0]), entries,
			     left * sizeof(entries[0]));
	if (err)
		return err;
	for (uint64_t i = 0; i < left; i++)
		if (ELF64_R_TYPE(entries[i].r_info) == relocations->relative_type)
			values[found++] = entries[i].r_addend;
	*cursor += left;
	*count = found;
	return 0;
}
