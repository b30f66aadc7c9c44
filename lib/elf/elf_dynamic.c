/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All tables are hostile. Hash tables are read from the file a word at a time, and chains have a limit.
 */
#include "lib/elf/elf_dynamic.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	NAME_MAX_BYTES = 256,
	BLOOM_WORD_BITS = 64,
	/* Libraries have some 30. */
	ENTRIES_AT_ONCE = 32,
};

static void take_entry(const Elf64_Dyn *entry, struct elf_dynamic *found)
{
	uint64_t value = entry->d_un.d_val;

	switch (entry->d_tag) {
	case DT_SYMTAB:
		found->symbols = value;
		break;
	case DT_STRTAB:
		found->strings = value;
		break;
	case DT_STRSZ:
		found->strings_bytes = value;
		break;
	case DT_GNU_HASH:
		found->gnu_hash = value;
		break;
	case DT_HASH:
		found->hash = value;
		break;
	case DT_JMPREL:
		found->slots = value;
		break;
	case DT_PLTRELSZ:
		found->slots_bytes = value;
		break;
	case DT_RELA:
		found->relocations = value;
		break;
	case DT_RELASZ:
		found->relocations_bytes = value;
		break;
	}
}

/* Reads some entries from entry @first on. *@is_last: the end of the section is among them. */
static int take_entries(const struct elf_image *image, const struct elf_segment *segment,
			uint64_t first, uint64_t count, struct elf_dynamic *found, bool *is_last)
{
	Elf64_Dyn entries[ENTRIES_AT_ONCE];
	int err = elf_image_read(image, segment->offset + first * sizeof(entries[0]), entries,
				 count * sizeof(entries[0]));

	for (uint64_t i = 0; !err && i < count && !*is_last; i++) {
		*is_last = entries[i].d_tag == DT_NULL;
		take_entry(&entries[i], found);
	}
	return err;
}

int elf_dynamic_init(struct elf_dynamic *dynamic, const struct elf_image *image)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_DYNAMIC);
	struct elf_dynamic found = { 0 };
	bool is_last = false;
	uint64_t count;

	if (!segment)
		return -ENOENT;
	count = segment->file_bytes / sizeof(Elf64_Dyn);
	if (count > ELF_DYNAMIC_MAX_ENTRIES)
		count = ELF_DYNAMIC_MAX_ENTRIES;
	for (uint64_t i = 0; i < count && !is_last; i += ENTRIES_AT_ONCE) {
		uint64_t left = count - i;
		int err = take_entries(image, segment, i,
				       left < ENTRIES_AT_ONCE ? left : ENTRIES_AT_ONCE, &found,
				       &is_last);

		if (err)
			return err;
	}
	if (!found.symbols || !found.strings || (!found.gnu_hash && !found.hash))
		return -ENOENT;
	*dynamic = found;
	return 0;
}

/* True and sets *@symbol if symbol @index is called @name. */
static int try_symbol(const struct elf_dynamic *dynamic, const struct elf_image *image,
		      uint64_t index, const char *name, struct elf_dynamic_symbol *symbol)
{
	size_t bytes = strlen(name) + 1;
	char found[NAME_MAX_BYTES];
	Elf64_Sym entry;
	int err;

	err = elf_image_read_address(image, dynamic->symbols + index * sizeof(entry), &entry,
				     sizeof(entry));
	if (err)
		return err;
	if (entry.st_shndx == SHN_UNDEF || entry.st_name > dynamic->strings_bytes ||
	    bytes > dynamic->strings_bytes - entry.st_name)
		return -ENOENT;
	err = elf_image_read_address(image, dynamic->strings + entry.st_name, found, bytes);
	if (err)
		return err;
	if (memcmp(found, name, bytes) != 0)
		return -ENOENT;
	*symbol = (struct elf_dynamic_symbol){ .address = entry.st_value,
					       .size = entry.st_size,
					       .index = (uint32_t)index,
					       .type = ELF64_ST_TYPE(entry.st_info) };
	return 0;
}

static int find_by_gnu_hash(const struct elf_dynamic *dynamic, const struct elf_image *image,
			    const char *name, struct elf_dynamic_symbol *symbol)
{
	struct {
		uint32_t bucket_count;
		uint32_t first_symbol;
		uint32_t bloom_words;
		uint32_t bloom_shift;
	} header;
	uint64_t buckets, chains, word;
	uint32_t hash = 5381, index, link;
	int err;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	err = elf_image_read_address(image, dynamic->gnu_hash, &header, sizeof(header));
	if (err)
		return err;
	if (!header.bucket_count || !header.bloom_words)
		return -ENOENT;
	err = elf_image_read_address(image,
				     dynamic->gnu_hash + sizeof(header) +
					     hash / BLOOM_WORD_BITS % header.bloom_words * 8ULL,
				     &word, sizeof(word));
	if (err)
		return err;
	if (!(word >> hash % BLOOM_WORD_BITS & 1) ||
	    !(word >> (hash >> (header.bloom_shift & 31)) % BLOOM_WORD_BITS & 1))
		return -ENOENT;
	buckets = dynamic->gnu_hash + sizeof(header) + header.bloom_words * 8ULL;
	chains = buckets + header.bucket_count * 4ULL;
	err = elf_image_read_address(image, buckets + hash % header.bucket_count * 4ULL, &index,
				     sizeof(index));
	if (err)
		return err;
	if (index < header.first_symbol)
		return -ENOENT;
	for (uint32_t i = 0; i < ELF_DYNAMIC_MAX_CHAIN; i++, index++) {
		err = elf_image_read_address(image, chains + (index - header.first_symbol) * 4ULL,
					     &link, sizeof(link));
		if (err)
			return err;
		if ((link | 1) == (hash | 1)) {
			err = try_symbol(dynamic, image, index, name, symbol);
			if (err != -ENOENT)
				return err;
		}
		if (link & 1)
			break;
	}
	return -ENOENT;
}

static int find_by_hash(const struct elf_dynamic *dynamic, const struct elf_image *image,
			const char *name, struct elf_dynamic_symbol *symbol)
{
	uint32_t counts[2], hash = 0, index;
	uint64_t table = dynamic->hash;
	int err;

	for (const char *c = name; *c; c++) {
		hash = (hash << 4) + (uint8_t)*c;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0xfffffff;
	}
	err = elf_image_read_address(image, table, counts, sizeof(counts));
	if (err)
		return err;
	if (!counts[0])
		return -ENOENT;
	table += sizeof(counts);
	err = elf_image_read_address(image, table + hash % counts[0] * 4ULL, &index, sizeof(index));
	for (uint32_t i = 0; !err && index && i < ELF_DYNAMIC_MAX_CHAIN; i++) {
		err = try_symbol(dynamic, image, index, name, symbol);
		if (err != -ENOENT)
			return err;
		err = elf_image_read_address(image, table + (counts[0] + (uint64_t)index) * 4,
					     &index, sizeof(index));
	}
	return err ? err : -ENOENT;
}

int elf_dynamic_find(const struct elf_dynamic *dynamic, const struct elf_image *image,
		     const char *name, struct elf_dynamic_symbol *symbol)
{
	if (strlen(name) >= NAME_MAX_BYTES)
		return -ENOENT;
	return dynamic->gnu_hash ? find_by_gnu_hash(dynamic, image, name, symbol) :
				   find_by_hash(dynamic, image, name, symbol);
}
