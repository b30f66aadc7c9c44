/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All tables are hostile. They are read from the file a word at a time, and chains have a limit.
 */
#include "lib/elf/elf_dynamic.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/error.h"

enum { NAME_MAX_BYTES = 256, BLOOM_WORD_BITS = 64 };

int elf_dynamic_init(struct elf_dynamic *dynamic, const struct elf_image *image)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_DYNAMIC);
	struct elf_dynamic found = { 0 };

	if (!segment)
		return -ENOENT;
	for (uint64_t i = 0;
	     i < segment->file_bytes / sizeof(Elf64_Dyn) && i < ELF_DYNAMIC_MAX_ENTRIES; i++) {
		Elf64_Dyn entry;
		int err = elf_image_read(image, segment->offset + i * sizeof(entry), &entry,
					 sizeof(entry));

		if (err)
			return err;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			found.symbols = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			found.strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			found.strings_bytes = entry.d_un.d_val;
		else if (entry.d_tag == DT_GNU_HASH)
			found.gnu_hash = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_HASH)
			found.hash = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_JMPREL)
			found.slots = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_PLTRELSZ)
			found.slots_bytes = entry.d_un.d_val;
		else if (entry.d_tag == DT_RELA)
			found.relocations = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			found.relocations_bytes = entry.d_un.d_val;
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
