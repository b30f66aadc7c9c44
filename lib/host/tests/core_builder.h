/* SPDX-License-Identifier: Apache-2.0 */
/** Core files for tests and the fuzzer: header, program headers, notes, memory. */
#ifndef LIB_HOST_TESTS_CORE_BUILDER_H
#define LIB_HOST_TESTS_CORE_BUILDER_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum {
	CORE_BUILDER_MAX_BYTES = 1 << 16,
	CORE_BUILDER_MAX_SEGMENTS = 16,
	/** Offsets in a thread's status, and its sizes. */
	STATUS_BYTES_X86 = 336,
	STATUS_BYTES_ARM64 = 392,
	STATUS_TID = 32,
	STATUS_REGISTERS = 112,
};

struct core_builder {
	uint8_t bytes[CORE_BUILDER_MAX_BYTES];
	size_t size;
	uint32_t segment_count;
	/** Size of the note segment, which is the first segment. */
	size_t note_bytes;
};

static inline Elf64_Ehdr *core_builder_header(struct core_builder *core)
{
	return (Elf64_Ehdr *)core->bytes;
}

static inline Elf64_Phdr *core_builder_segments(struct core_builder *core)
{
	return (Elf64_Phdr *)(core->bytes + sizeof(Elf64_Ehdr));
}

static inline void core_builder_init(struct core_builder *core, uint16_t machine)
{
	Elf64_Ehdr *header = core_builder_header(core);

	memset(core, 0, sizeof(*core));
	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_type = ET_CORE;
	header->e_machine = machine;
	header->e_phoff = sizeof(*header);
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = core->segment_count = 1;
	core->size = sizeof(*header) + CORE_BUILDER_MAX_SEGMENTS * sizeof(Elf64_Phdr);
	*core_builder_segments(core) = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = core->size };
}

/** Appends @size bytes if there is room for them; returns their offset. */
static inline size_t core_builder_put(struct core_builder *core, const void *bytes, size_t size)
{
	size_t offset = core->size;

	if (size > sizeof(core->bytes) - offset)
		return offset;
	if (size)
		memcpy(core->bytes + offset, bytes, size);
	core->size += size;
	return offset;
}

/** Adds a note with a name of 4 to 7 bytes. All notes must be added before the first memory. */
static inline void core_builder_named_note(struct core_builder *core, const char *name,
					   uint32_t type, const void *content, uint32_t size)
{
	const Elf64_Nhdr note = { .n_namesz = (uint32_t)strlen(name) + 1,
				  .n_descsz = size,
				  .n_type = type };
	static const uint8_t padding[3];
	size_t start = core->size;
	char padded[8] = "";

	memcpy(padded, name, strlen(name));
	core_builder_put(core, &note, sizeof(note));
	core_builder_put(core, padded, sizeof(padded));
	core_builder_put(core, content, size);
	core_builder_put(core, padding, -size % 4);
	core_builder_segments(core)->p_filesz += core->size - start;
}

static inline void core_builder_note(struct core_builder *core, uint32_t type, const void *content,
				     uint32_t size)
{
	core_builder_named_note(core, "CORE", type, content, size);
}

/** Adds a PT_LOAD of @memory_bytes, of which the first @size bytes, at @content, are dumped. */
static inline void core_builder_memory(struct core_builder *core, uint64_t address, uint32_t flags,
				       uint64_t memory_bytes, const void *content, size_t size)
{
	Elf64_Phdr *segment = &core_builder_segments(core)[core->segment_count];

	if (core->segment_count == CORE_BUILDER_MAX_SEGMENTS)
		return;
	*segment = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_vaddr = address,
		.p_memsz = memory_bytes,
		.p_offset = core_builder_put(core, content, size),
		.p_filesz = size,
	};
	core_builder_header(core)->e_phnum = ++core->segment_count;
}

/** Adds a thread whose register words are @first, @first + 1, ... */
static inline void core_builder_thread(struct core_builder *core, uint32_t tid, uint64_t first)
{
	uint8_t status[STATUS_BYTES_ARM64] = { 0 };
	size_t size = core_builder_header(core)->e_machine == EM_AARCH64 ? STATUS_BYTES_ARM64 :
									   STATUS_BYTES_X86;

	memcpy(status + STATUS_TID, &tid, sizeof(tid));
	for (size_t at = STATUS_REGISTERS; at + 16 <= size; at += 8, first++)
		memcpy(status + at, &first, sizeof(first));
	core_builder_note(core, NT_PRSTATUS, status, size);
}

#endif
