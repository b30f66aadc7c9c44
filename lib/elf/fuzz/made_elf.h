/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A small ELF file with a dynamic section, symbols in both kinds of hash table, relocations of slots and some
 * contents, all in one PT_LOAD at MADE_START: a fuzzer's bytes alone would never have correct hashes. Changes
 * by the fuzzer afterwards are hostile.
 */
#ifndef LIB_ELF_FUZZ_MADE_ELF_H
#define LIB_ELF_FUZZ_MADE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"

#define MADE_START 0x10000

enum {
	MADE_SYMBOLS_MAX = 24,
	MADE_SLOTS_MAX = 8,
	MADE_BUCKETS_MAX = 8,
	MADE_STRINGS_BYTES = 1024,
	MADE_CONTENT_BYTES = 6144,
};

struct made_symbol {
	const char *name;
	uint64_t address;
	uint64_t size;
	bool is_undefined;
};

struct made_elf {
	Elf64_Ehdr header;
	/** Segments: everything, the dynamic section, and .eh_frame_hdr at the beginning of the content. */
	Elf64_Phdr segments[3];
	Elf64_Dyn dynamic[8];
	Elf64_Rela slots[MADE_SLOTS_MAX];
	/** The first symbol is empty. */
	Elf64_Sym symbols[MADE_SYMBOLS_MAX + 1];
	char strings[MADE_STRINGS_BYTES];
	struct {
		uint32_t bucket_count;
		uint32_t first_symbol;
		uint32_t bloom_words;
		uint32_t bloom_shift;
		uint64_t bloom;
		/** Buckets, then chains. */
		uint32_t words[MADE_BUCKETS_MAX + MADE_SYMBOLS_MAX + 1];
	} gnu_hash;
	struct {
		uint32_t bucket_count;
		uint32_t chain_count;
		uint32_t words[MADE_BUCKETS_MAX + MADE_SYMBOLS_MAX + 1];
	} hash;
	uint8_t content[MADE_CONTENT_BYTES];
	uint32_t symbol_count;
	uint32_t string_bytes;
};

/** Size of the file; the fields behind it are used for making it. */
#define MADE_ELF_BYTES offsetof(struct made_elf, symbol_count)
/** ELF virtual address of a field. */
#define MADE_ADDRESS(field) (MADE_START + offsetof(struct made_elf, field))

static inline void made_elf_init(struct made_elf *elf, uint16_t machine)
{
	memset(elf, 0, sizeof(*elf));
	memcpy(elf->header.e_ident, ELFMAG, SELFMAG);
	elf->header.e_ident[EI_CLASS] = ELFCLASS64;
	elf->header.e_ident[EI_DATA] = ELFDATA2LSB;
	elf->header.e_type = ET_DYN;
	elf->header.e_machine = machine;
	elf->header.e_phoff = offsetof(struct made_elf, segments);
	elf->header.e_phentsize = sizeof(Elf64_Phdr);
	elf->header.e_phnum = 3;
	elf->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_vaddr = MADE_START,
					 .p_filesz = MADE_ELF_BYTES,
					 .p_memsz = MADE_ELF_BYTES };
	elf->segments[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
					 .p_offset = offsetof(struct made_elf, dynamic),
					 .p_filesz = sizeof(elf->dynamic) };
	elf->segments[2] =
		(Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME, .p_vaddr = MADE_ADDRESS(content) };
	elf->string_bytes = 1;
}

static inline uint32_t made_gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* The hash function of the gABI. */
static inline uint32_t made_hash(const char *name)
{
	uint32_t hash = 0, high;

	for (; *name; name++) {
		hash = (hash << 4) + (uint8_t)*name;
		high = hash & 0xf0000000;
		if (high)
			hash ^= high >> 24;
		hash &= ~high;
	}
	return hash;
}

/* Sort key: undefined symbols first, then the symbols of each bucket in the order of buckets. */
static inline int made_symbol_rank(const struct made_symbol *symbol, uint32_t bucket_count)
{
	return symbol->is_undefined ? -1 : (int)(made_gnu_hash(symbol->name) % bucket_count);
}

static inline void made_elf_put_symbol(struct made_elf *elf, const struct made_symbol *symbol)
{
	size_t bytes = strlen(symbol->name) + 1;

	if (elf->symbol_count == MADE_SYMBOLS_MAX || elf->string_bytes + bytes > MADE_STRINGS_BYTES)
		abort();
	memcpy(elf->strings + elf->string_bytes, symbol->name, bytes);
	elf->symbols[++elf->symbol_count] = (Elf64_Sym){
		.st_name = elf->string_bytes,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = symbol->is_undefined ? SHN_UNDEF : 1,
		.st_value = symbol->address,
		.st_size = symbol->size,
	};
	elf->string_bytes += bytes;
}

/* Adds symbol @index to both tables. */
static inline void made_elf_put_hashes(struct made_elf *elf, uint32_t index, uint32_t bucket_count)
{
	const char *name = elf->strings + elf->symbols[index].st_name;
	uint32_t hash = made_gnu_hash(name), *buckets = elf->gnu_hash.words;
	uint32_t *chains = buckets + bucket_count, first = elf->gnu_hash.first_symbol;
	uint32_t *bucket = &elf->hash.words[made_hash(name) % bucket_count];

	elf->hash.words[bucket_count + index] = *bucket;
	*bucket = index;
	if (index < first)
		return;
	elf->gnu_hash.bloom |= 1ULL << hash % 64;
	elf->gnu_hash.bloom |= 1ULL << (hash >> elf->gnu_hash.bloom_shift) % 64;
	chains[index - first] = hash | 1;
	if (!buckets[hash % bucket_count])
		buckets[hash % bucket_count] = index;
	else
		chains[index - first - 1] &= ~1U;
}

/** Adds @count symbols, and tables of @bucket_count buckets; DT_GNU_HASH is present with @has_gnu_hash. */
static inline void made_elf_set_symbols(struct made_elf *elf, const struct made_symbol *symbols,
					uint32_t count, uint32_t bucket_count, bool has_gnu_hash)
{
	elf->gnu_hash.first_symbol = 1;
	for (int rank = -1; rank < (int)bucket_count; rank++) {
		for (uint32_t i = 0; i < count; i++) {
			if (made_symbol_rank(&symbols[i], bucket_count) == rank)
				made_elf_put_symbol(elf, &symbols[i]);
		}
		if (rank < 0)
			elf->gnu_hash.first_symbol = elf->symbol_count + 1;
	}
	elf->gnu_hash.bucket_count = elf->hash.bucket_count = bucket_count;
	elf->gnu_hash.bloom_words = 1;
	elf->gnu_hash.bloom_shift = 5;
	elf->hash.chain_count = elf->symbol_count + 1;
	for (uint32_t i = 1; i <= elf->symbol_count; i++)
		made_elf_put_hashes(elf, i, bucket_count);
	elf->dynamic[0] = (Elf64_Dyn){ DT_SYMTAB, { MADE_ADDRESS(symbols) } };
	elf->dynamic[1] = (Elf64_Dyn){ DT_STRTAB, { MADE_ADDRESS(strings) } };
	elf->dynamic[2] = (Elf64_Dyn){ DT_STRSZ, { elf->string_bytes } };
	elf->dynamic[3] = (Elf64_Dyn){ DT_HASH, { MADE_ADDRESS(hash) } };
	elf->dynamic[4] = (Elf64_Dyn){ DT_JMPREL, { MADE_ADDRESS(slots) } };
	elf->dynamic[5] = (Elf64_Dyn){ DT_PLTRELSZ, { sizeof(elf->slots) } };
	if (has_gnu_hash)
		elf->dynamic[6] = (Elf64_Dyn){ DT_GNU_HASH, { MADE_ADDRESS(gnu_hash) } };
}

/** Overwrites words of the file by the rest of @reader; false if nothing was overwritten. */
static inline bool made_elf_damage(struct made_elf *elf, struct byte_reader *reader)
{
	bool is_damaged = false;

	while (byte_reader_left(reader) >= 4) {
		uint16_t choice = byte_reader_u16(reader);
		size_t bytes = (size_t)1 << (choice & 3);
		size_t at = (choice >> 2) % (MADE_ELF_BYTES - sizeof(uint64_t));
		uint64_t value = (uint64_t)(int16_t)byte_reader_u16(reader);

		/* The offset chooses the field; values of more than one byte are aligned to 4. */
		memcpy((uint8_t *)elf + (bytes == 1 ? at : at & ~(size_t)3), &value, bytes);
		is_damaged = true;
	}
	return is_damaged;
}

#endif
