/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Small ELF files in memory for tests: one executable PT_LOAD over the whole file at BUILT_ADDRESS,
 * and whatever sections are added. Tests then damage the bytes as they like.
 */
#ifndef LIB_ELF_TESTS_ELF_BUILDER_H
#define LIB_ELF_TESTS_ELF_BUILDER_H

#include <assert.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>

enum {
	BUILT_BYTES = 16384,
	BUILT_SECTIONS_MAX = 16,
	BUILT_ADDRESS = 0x400000,
};

struct elf_builder {
	_Alignas(16) uint8_t bytes[BUILT_BYTES];
	size_t used;
	char names[512];
	size_t name_bytes;
	Elf64_Shdr sections[BUILT_SECTIONS_MAX];
	uint32_t section_count;
};

static inline Elf64_Ehdr *built_header(struct elf_builder *builder)
{
	return (Elf64_Ehdr *)builder->bytes;
}

static inline Elf64_Phdr *built_segment(struct elf_builder *builder, uint32_t index)
{
	return (Elf64_Phdr *)(builder->bytes + sizeof(Elf64_Ehdr)) + index;
}

/** With @segment_count program headers, of which the first is filled. */
static inline void elf_builder_init(struct elf_builder *builder, uint32_t segment_count)
{
	Elf64_Ehdr *header = built_header(builder);

	memset(builder, 0, sizeof(*builder));
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_type = ET_DYN;
	header->e_machine = EM_X86_64;
	header->e_phoff = sizeof(*header);
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = segment_count;
	header->e_shentsize = sizeof(Elf64_Shdr);
	*built_segment(builder, 0) = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = BUILT_ADDRESS,
		.p_filesz = BUILT_BYTES,
		.p_memsz = BUILT_BYTES,
	};
	builder->used = sizeof(*header) + segment_count * sizeof(Elf64_Phdr);
	builder->section_count = 1;
	builder->name_bytes = 1;
}

/** Adds a section with a copy of @content; its address is that of the bytes. Returns its index. */
static inline uint32_t elf_builder_add(struct elf_builder *builder, const char *name, uint32_t type,
				       uint64_t flags, const void *content, size_t size)
{
	Elf64_Shdr *section = &builder->sections[builder->section_count];
	size_t offset = (builder->used + 15) / 16 * 16;

	assert(builder->section_count < BUILT_SECTIONS_MAX && offset + size <= BUILT_BYTES);
	memcpy(builder->bytes + offset, content, size);
	*section = (Elf64_Shdr){
		.sh_name = builder->name_bytes,
		.sh_type = type,
		.sh_flags = flags,
		.sh_addr = BUILT_ADDRESS + offset,
		.sh_offset = offset,
		.sh_size = size,
	};
	strcpy(builder->names + builder->name_bytes, name);
	builder->name_bytes += strlen(name) + 1;
	builder->used = offset + size;
	return builder->section_count++;
}

/** Writes the section headers; afterwards built_section() gives them. */
static inline void elf_builder_finish(struct elf_builder *builder)
{
	Elf64_Ehdr *header = built_header(builder);
	uint32_t names;
	size_t offset;

	builder->name_bytes += sizeof(".shstrtab");
	names = elf_builder_add(builder, ".shstrtab", SHT_STRTAB, 0, builder->names,
				sizeof(builder->names));
	memcpy(builder->bytes + builder->sections[names].sh_offset, builder->names,
	       sizeof(builder->names));
	offset = (builder->used + 15) / 16 * 16;
	assert(offset + builder->section_count * sizeof(Elf64_Shdr) <= BUILT_BYTES);
	memcpy(builder->bytes + offset, builder->sections,
	       builder->section_count * sizeof(Elf64_Shdr));
	builder->used = offset + builder->section_count * sizeof(Elf64_Shdr);
	header->e_shoff = offset;
	header->e_shnum = builder->section_count;
	header->e_shstrndx = names;
}

static inline Elf64_Shdr *built_section(struct elf_builder *builder, uint32_t index)
{
	return (Elf64_Shdr *)(builder->bytes + built_header(builder)->e_shoff) + index;
}

#endif
