/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ELF files with a table of Go of any version, in memory, for tests and fuzzers: code (zeroes), the
 * table, and data with the runtime's moduledata and the build information. Tests describe functions,
 * and damage the bytes as they like.
 */
#ifndef LIB_ELF_TESTS_GO_TABLE_BUILDER_H
#define LIB_ELF_TESTS_GO_TABLE_BUILDER_H

#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/elf/go_header.h"

enum {
	MADE_GO_BYTES = 32 << 10,
	MADE_GO_ADDRESS = 0x400000,
	/** Offsets in the file, to which MADE_GO_ADDRESS is added for addresses. */
	MADE_GO_TEXT = 0x1000,
	MADE_GO_TABLE = 0x2000,
	MADE_GO_DATA = 0x6000,
	MADE_GO_TEXT_BYTES = MADE_GO_TABLE - MADE_GO_TEXT,
	MADE_GO_SEGMENTS = 4,
	MADE_GO_SECTIONS = 4,
	MADE_GO_RELOCATIONS_MAX = 128,
	MADE_GO_FUNCTIONS_MAX = 16,
	MADE_GO_FILES_MAX = 8,
	MADE_GO_MODULE_WORDS = 64,
};

/** A value up to the offset end from the function's start; a list ends with an end of 0. */
struct made_value {
	int32_t value;
	uint32_t end;
};

struct made_call {
	const char *name;
	/** From Go 1.12 on. */
	int32_t parent_offset;
	uint8_t id;
	int32_t start_line;
	/** Up to 1.11. */
	int32_t parent;
	int32_t file;
	int32_t line;
};

struct made_function {
	const char *name;
	uint32_t bytes;
	const struct made_value *sizes;
	const struct made_value *files;
	const struct made_value *lines;
	/** Indexes in the tree, and the tree. */
	const struct made_value *calls;
	const struct made_call *tree;
	uint32_t tree_count;
	uint32_t unit;
	int32_t start_line;
	uint8_t id;
	uint8_t flags;
};

struct made_go {
	/** Input: the table to make. */
	enum go_table_version version;
	/** Minor version of Go; below 13 there is no build information. */
	uint32_t minor;
	uint16_t machine;
	/** Pointers are in relocations, and 0 at their addresses. */
	bool is_relocated;
	/** NULL leaves the section headers out. */
	const char *section_name;
	const struct made_function *functions;
	uint32_t function_count;
	/** In the order of their numbers, from 0 on; up to 1.15 from 1 on. */
	const char *files[MADE_GO_FILES_MAX];

	/** Output: the file that was made. */
	_Alignas(16) uint8_t bytes[MADE_GO_BYTES];
	uint32_t used;
	uint64_t module;
	uint64_t funcdata;
	/** Offsets in the file. */
	uint32_t names, units, file_names, values, functions_at;
	uint32_t function_at[MADE_GO_FUNCTIONS_MAX];
	Elf64_Rela relocations[MADE_GO_RELOCATIONS_MAX];
	uint32_t relocation_count;
};

static inline void made_go_put(struct made_go *go, uint32_t at, uint64_t value, uint32_t bytes)
{
	assert(at + bytes <= MADE_GO_BYTES);
	memcpy(go->bytes + at, &value, bytes);
}

/** A pointer to file offset @to. */
static inline void made_go_put_pointer(struct made_go *go, uint32_t at, uint64_t address)
{
	made_go_put(go, at, go->is_relocated ? 0 : address, 8);
	if (!go->is_relocated)
		return;
	assert(go->relocation_count < MADE_GO_RELOCATIONS_MAX);
	go->relocations[go->relocation_count++] = (Elf64_Rela){
		.r_offset = MADE_GO_ADDRESS + at,
		.r_info = ELF64_R_INFO(0, go->machine == EM_AARCH64 ? R_AARCH64_RELATIVE :
								      R_X86_64_RELATIVE),
		.r_addend = address,
	};
}

static inline uint32_t made_go_align(struct made_go *go, uint32_t alignment)
{
	go->used = (go->used + alignment - 1) / alignment * alignment;
	return go->used;
}

static inline uint32_t made_go_append(struct made_go *go, const void *bytes, uint32_t count)
{
	uint32_t at = go->used;

	assert(at + count <= MADE_GO_BYTES);
	memcpy(go->bytes + at, bytes, count);
	go->used += count;
	return at;
}

static inline uint32_t made_go_quantum(const struct made_go *go)
{
	return go->machine == EM_AARCH64 ? 4 : 1;
}

static inline void made_go_append_varint(struct made_go *go, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		made_go_append(go, &(uint8_t){ value | 0x80 }, 1);
	made_go_append(go, &(uint8_t){ value }, 1);
}

/** Returns the offset in the part of values; 0 for NULL. */
static inline uint32_t made_go_append_values(struct made_go *go, const struct made_value *values)
{
	uint32_t start = go->used, last_end = 0;
	int32_t last = -1;

	if (!values)
		return 0;
	for (; values->end; values++) {
		uint32_t change = (uint32_t)values->value - (uint32_t)last;

		made_go_append_varint(go, change << 1 ^ -(change >> 31));
		made_go_append_varint(go, (values->end - last_end) / made_go_quantum(go));
		last = values->value;
		last_end = values->end;
	}
	made_go_append(go, "", 1);
	return start - go->values;
}

static inline uint32_t made_go_magic(enum go_table_version version)
{
	static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };

	return magics[version];
}

static inline uint32_t made_go_number_bytes(const struct made_go *go)
{
	return go->version < GO_TABLE_1_18 ? 8 : 4;
}

/* Tables of a function, as made so far. */
struct made_parts {
	uint32_t name, sizes, files, lines, calls;
	uint32_t call_names[8];
};

static inline void made_go_append_parts(struct made_go *go, struct made_parts *parts)
{
	/* The first name is unused, so that no name has offset 0. */
	made_go_append(go, "first", 6);
	for (uint32_t i = 0; i < go->function_count; i++) {
		const struct made_function *function = &go->functions[i];

		parts[i].name = go->used - go->names;
		made_go_append(go, function->name, strlen(function->name) + 1);
		for (uint32_t k = 0; k < function->tree_count; k++) {
			parts[i].call_names[k] = go->used - go->names;
			made_go_append(go, function->tree[k].name,
				       strlen(function->tree[k].name) + 1);
		}
	}
}

static inline void made_go_append_all_values(struct made_go *go, struct made_parts *parts)
{
	made_go_append(go, "", 1);
	for (uint32_t i = 0; i < go->function_count; i++) {
		const struct made_function *function = &go->functions[i];

		parts[i].sizes = made_go_append_values(go, function->sizes);
		parts[i].files = made_go_append_values(go, function->files);
		parts[i].lines = made_go_append_values(go, function->lines);
		parts[i].calls = made_go_append_values(go, function->calls);
	}
}

static inline void made_go_append_files(struct made_go *go)
{
	uint32_t count = 0, at;
	bool is_old = go->version == GO_TABLE_1_2;

	while (count < MADE_GO_FILES_MAX && go->files[count])
		count++;
	go->units = made_go_align(go, 4);
	go->used += (count + is_old) * 4;
	if (is_old)
		made_go_put(go, go->units, count + 1, 4);
	go->file_names = is_old ? MADE_GO_TABLE : go->used;
	for (uint32_t i = 0; i < count; i++) {
		at = made_go_append(go, go->files[i], strlen(go->files[i]) + 1);
		made_go_put(go, go->units + (i + is_old) * 4, at - go->file_names, 4);
	}
}

static inline uint32_t made_go_append_tree(struct made_go *go, const struct made_function *function,
					   const struct made_parts *parts)
{
	uint32_t at = made_go_align(go, 8);
	bool is_oldest = go->version == GO_TABLE_1_2 && go->minor < 12;

	for (uint32_t i = 0; i < function->tree_count; i++) {
		const struct made_call *call = &function->tree[i];
		int32_t name = parts->call_names[i];
		int32_t oldest[] = { call->parent, call->file, call->line, name };
		int32_t old[] = { call->id << 16, 0, 0, name, call->parent_offset };
		int32_t now[] = { call->id, name, call->parent_offset, call->start_line };

		if (is_oldest)
			made_go_append(go, oldest, sizeof(oldest));
		else if (go->version < GO_TABLE_1_20)
			made_go_append(go, old, sizeof(old));
		else
			made_go_append(go, now, sizeof(now));
	}
	return at;
}

/* The struct _func, with one inline tree among the last of its funcdata, at @tree of the file. */
static inline void made_go_append_function(struct made_go *go, uint32_t index, uint64_t address,
					   const struct made_parts *parts, uint32_t tree)
{
	const struct made_function *function = &go->functions[index];
	bool has_count = go->version == GO_TABLE_1_2 && go->minor < 12;
	uint32_t pcdata_count = go->version == GO_TABLE_1_2 && go->minor < 13 ? 2 : 3;
	uint32_t funcdata_count = go->version > GO_TABLE_1_2 ? 4 : go->minor < 13 ? 3 : 5;
	uint32_t fields[] = { parts->name,  0x80000000,	  5,	       parts->sizes,
			      parts->files, parts->lines, pcdata_count };
	uint32_t at = made_go_align(go, 8);

	go->function_at[index] = at;
	if (go->version < GO_TABLE_1_18)
		made_go_put_pointer(go, at, MADE_GO_ADDRESS + address);
	else
		made_go_put(go, at, address - MADE_GO_TEXT, 4);
	go->used += made_go_number_bytes(go);
	made_go_append(go, fields, sizeof(fields));
	if (go->version > GO_TABLE_1_2)
		made_go_append(go, &function->unit, 4);
	if (go->version == GO_TABLE_1_20)
		made_go_append(go, &function->start_line, 4);
	if (has_count)
		made_go_append(go, &funcdata_count, 4);
	else
		made_go_append(go, (uint8_t[]){ function->id, function->flags, 0, funcdata_count },
			       4);
	for (uint32_t i = 0; i < pcdata_count; i++)
		made_go_append(go, i + 1 == pcdata_count ? &parts->calls : &(uint32_t){ 0 }, 4);
	if (go->version < GO_TABLE_1_18)
		made_go_align(go, 8);
	for (uint32_t i = 0; i < funcdata_count; i++) {
		bool is_tree = i + 1 == funcdata_count && function->tree_count;

		if (go->version >= GO_TABLE_1_18) {
			made_go_put(go, go->used, is_tree ? tree - go->funcdata : UINT32_MAX, 4);
			go->used += 4;
			continue;
		}
		if (is_tree)
			made_go_put_pointer(go, go->used, MADE_GO_ADDRESS + tree);
		go->used += 8;
	}
}

/* Appends the index, followed by the functions. */
static inline void made_go_append_functions(struct made_go *go, uint32_t index,
					    const struct made_parts *parts, const uint32_t *trees)
{
	uint32_t number_bytes = made_go_number_bytes(go), address = MADE_GO_TEXT;

	for (uint32_t i = 0; i < go->function_count; i++) {
		uint32_t entry = index + i * 2 * number_bytes;

		made_go_append_function(go, i, address, &parts[i], trees[i]);
		if (number_bytes == 8)
			made_go_put_pointer(go, entry, MADE_GO_ADDRESS + address);
		else
			made_go_put(go, entry, address - MADE_GO_TEXT, 4);
		made_go_put(go, entry + number_bytes, go->function_at[i] - go->functions_at,
			    number_bytes);
		address += go->functions[i].bytes;
	}
	index += go->function_count * 2 * number_bytes;
	if (number_bytes == 8)
		made_go_put_pointer(go, index, MADE_GO_ADDRESS + address);
	else
		made_go_put(go, index, address - MADE_GO_TEXT, 4);
}

static inline void made_go_append_trees(struct made_go *go, const struct made_parts *parts,
					uint32_t *trees)
{
	for (uint32_t i = 0; i < go->function_count; i++)
		trees[i] = made_go_append_tree(go, &go->functions[i], &parts[i]);
}

static inline void made_go_make_table_1_2(struct made_go *go)
{
	struct made_parts parts[MADE_GO_FUNCTIONS_MAX] = { 0 };
	uint32_t trees[MADE_GO_FUNCTIONS_MAX];
	uint32_t index = MADE_GO_TABLE + 16;
	uint32_t index_end = index + go->function_count * 16 + 8;

	go->names = go->values = go->functions_at = MADE_GO_TABLE;
	go->used = index_end + 4;
	made_go_append_parts(go, parts);
	made_go_append_all_values(go, parts);
	made_go_append_files(go);
	made_go_put(go, index_end, go->units - MADE_GO_TABLE, 4);
	made_go_append_trees(go, parts, trees);
	made_go_append_functions(go, index, parts, trees);
}

static inline void made_go_make_table_1_16(struct made_go *go)
{
	struct made_parts parts[MADE_GO_FUNCTIONS_MAX] = { 0 };
	uint32_t trees[MADE_GO_FUNCTIONS_MAX] = { 0 }, functions_end;
	uint32_t word = MADE_GO_TABLE + (go->version == GO_TABLE_1_16 ? 24 : 32);
	bool is_in_table = go->minor >= 26;

	if (go->version >= GO_TABLE_1_18 && !is_in_table)
		made_go_put_pointer(go, MADE_GO_TABLE + 24, MADE_GO_ADDRESS + MADE_GO_TEXT);
	go->used = word + 5 * 8;
	go->names = go->used;
	made_go_append_parts(go, parts);
	made_go_append_files(go);
	go->values = go->used;
	made_go_append_all_values(go, parts);
	/* Trees before the functions are as far as any other from the end of the table. */
	go->funcdata = made_go_align(go, 8);
	if (!is_in_table)
		made_go_append_trees(go, parts, trees);
	go->functions_at = made_go_align(go, 8);
	go->used += (go->function_count * 2 + 1) * made_go_number_bytes(go);
	if (is_in_table) {
		uint32_t start = go->used;

		/* The trees' offset is known only after the functions were made, so these are made twice. */
		made_go_append_functions(go, go->functions_at, parts, trees);
		functions_end = made_go_align(go, 8);
		go->funcdata = functions_end;
		made_go_append_trees(go, parts, trees);
		functions_end = go->used;
		go->used = start;
		made_go_append_functions(go, go->functions_at, parts, trees);
		go->used = functions_end;
	} else {
		made_go_append_functions(go, go->functions_at, parts, trees);
		made_go_align(go, 8);
	}
	made_go_put(go, word, go->names - MADE_GO_TABLE, 8);
	made_go_put(go, word + 8, go->units - MADE_GO_TABLE, 8);
	made_go_put(go, word + 16, go->file_names - MADE_GO_TABLE, 8);
	made_go_put(go, word + 24, go->values - MADE_GO_TABLE, 8);
	made_go_put(go, word + 32, go->functions_at - MADE_GO_TABLE, 8);
}

static inline void made_go_put_slice(struct made_go *go, uint32_t word, uint32_t to, uint64_t count)
{
	uint32_t at = go->module + word * 8;

	made_go_put_pointer(go, at, MADE_GO_ADDRESS + to);
	made_go_put(go, at + 8, count, 8);
	made_go_put(go, at + 16, count, 8);
}

static inline void made_go_make_module(struct made_go *go, uint64_t functions_bytes)
{
	uint32_t text_end = MADE_GO_TEXT;
	bool is_in_table = go->minor >= 26;
	uint32_t funcdata = go->version == GO_TABLE_1_18 ? 38 : go->minor >= 27 ? 43 : 40;

	for (uint32_t i = 0; i < go->function_count; i++)
		text_end += go->functions[i].bytes;
	go->module = go->used = MADE_GO_DATA + 64;
	go->used += MADE_GO_MODULE_WORDS * 8;
	made_go_put_pointer(go, go->module, MADE_GO_ADDRESS + MADE_GO_TABLE);
	made_go_put_slice(go, 1, go->names, 1);
	made_go_put_slice(go, 4, go->units, 1);
	made_go_put_slice(go, 7, go->file_names, 1);
	made_go_put_slice(go, 10, go->values, 1);
	made_go_put_slice(go, 13, go->functions_at, functions_bytes);
	made_go_put_slice(go, 16, go->functions_at, go->function_count + 1);
	made_go_put_pointer(go, go->module + 20 * 8, MADE_GO_ADDRESS + MADE_GO_TEXT);
	made_go_put_pointer(go, go->module + 21 * 8, MADE_GO_ADDRESS + text_end);
	made_go_put_pointer(go, go->module + 22 * 8, MADE_GO_ADDRESS + MADE_GO_TEXT);
	made_go_put_pointer(go, go->module + 23 * 8, MADE_GO_ADDRESS + text_end);
	made_go_put_pointer(go, go->module + funcdata * 8, MADE_GO_ADDRESS + go->funcdata);
	if (is_in_table)
		made_go_put_pointer(go, go->module + (funcdata + 1) * 8,
				    MADE_GO_ADDRESS + MADE_GO_DATA);
	made_go_put_slice(go, funcdata + 1 + is_in_table, MADE_GO_DATA, 1);
}

static inline void made_go_make_build_info(struct made_go *go)
{
	static const char mark[16] = "0123456789abcde", modules[] = "path\tmain\n";
	uint32_t at = made_go_align(go, 16), length;
	char version[32];

	length = snprintf(version, sizeof(version), "go1.%u.3", go->minor);
	made_go_append(go, "\xff Go buildinf:", 14);
	made_go_put(go, at + 14, 8 | (go->minor >= 18 ? 2 : 0) << 8, 2);
	go->used = at + 32;
	if (go->minor >= 18) {
		made_go_append_varint(go, length);
		made_go_append(go, version, length);
		made_go_append_varint(go, sizeof(modules) - 1 + 2 * sizeof(mark));
		made_go_append(go, mark, sizeof(mark));
		made_go_append(go, modules, sizeof(modules) - 1);
		made_go_append(go, mark, sizeof(mark));
		return;
	}
	made_go_put_pointer(go, at + 16, MADE_GO_ADDRESS + go->used);
	made_go_put_pointer(go, go->used, MADE_GO_ADDRESS + go->used + 16);
	made_go_put(go, go->used + 8, length, 8);
	go->used += 16;
	made_go_append(go, version, length);
}

static inline int made_go_compare(const void *a, const void *b)
{
	const Elf64_Rela *left = a, *right = b;

	return left->r_offset < right->r_offset ? -1 : left->r_offset > right->r_offset;
}

/* The dynamic section and, if there are any, the relocations. */
static inline void made_go_make_dynamic(struct made_go *go, Elf64_Phdr *segment)
{
	uint32_t bytes = go->relocation_count * sizeof(go->relocations[0]), at;
	Elf64_Dyn dynamic[4] = { 0 };

	/* Sorted, so that making them twice gives the same. */
	qsort(go->relocations, go->relocation_count, sizeof(go->relocations[0]), made_go_compare);
	made_go_align(go, 8);
	at = made_go_append(go, go->relocations, bytes);
	dynamic[0] = (Elf64_Dyn){ DT_RELA, { MADE_GO_ADDRESS + at } };
	dynamic[1] = (Elf64_Dyn){ DT_RELASZ, { bytes } };
	dynamic[2] = (Elf64_Dyn){ DT_RELACOUNT, { go->relocation_count } };
	at = made_go_append(go, dynamic, sizeof(dynamic));
	*segment = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				 .p_offset = at,
				 .p_vaddr = MADE_GO_ADDRESS + at,
				 .p_filesz = sizeof(dynamic),
				 .p_memsz = sizeof(dynamic) };
}

static inline void made_go_make_sections(struct made_go *go, uint32_t table_end)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)go->bytes;
	uint32_t name_bytes = strlen(go->section_name) + 1, names;
	Elf64_Shdr sections[3] = { 0 };

	names = made_go_append(go, "", 1);
	made_go_append(go, go->section_name, name_bytes);
	made_go_align(go, 8);
	sections[1] = (Elf64_Shdr){ .sh_name = 1,
				    .sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC,
				    .sh_addr = MADE_GO_ADDRESS + MADE_GO_TABLE,
				    .sh_offset = MADE_GO_TABLE,
				    .sh_size = table_end - MADE_GO_TABLE };
	sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				    .sh_offset = names,
				    .sh_size = name_bytes + 1 };
	header->e_shoff = made_go_append(go, sections, sizeof(sections));
	header->e_shnum = 3;
	header->e_shentsize = sizeof(sections[0]);
	header->e_shstrndx = 2;
}

static inline void made_go_put_segment(struct made_go *go, uint32_t index, uint32_t flags,
				       uint32_t start, uint32_t end)
{
	((Elf64_Phdr *)(go->bytes + sizeof(Elf64_Ehdr)))[index] =
		(Elf64_Phdr){ .p_type = PT_LOAD,
			      .p_flags = flags,
			      .p_offset = start,
			      .p_vaddr = MADE_GO_ADDRESS + start,
			      .p_filesz = end - start,
			      .p_memsz = end - start };
}

/** Makes the file that @go describes, whose other fields are 0. */
static inline void made_go_make(struct made_go *go)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)go->bytes;
	uint32_t table_end, functions_end;

	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_type = ET_DYN;
	header->e_machine = go->machine;
	header->e_phoff = sizeof(*header);
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = MADE_GO_SEGMENTS;
	made_go_put(go, MADE_GO_TABLE, made_go_magic(go->version), 4);
	made_go_put(go, MADE_GO_TABLE + 6, made_go_quantum(go) | 8 << 8, 2);
	made_go_put(go, MADE_GO_TABLE + 8, go->function_count, 8);
	if (go->version == GO_TABLE_1_2)
		made_go_make_table_1_2(go);
	else
		made_go_make_table_1_16(go);
	table_end = go->used;
	assert(table_end <= MADE_GO_DATA);
	functions_end = go->minor >= 26 ? go->funcdata : table_end;
	go->used = MADE_GO_DATA + 64;
	if (go->version >= GO_TABLE_1_18)
		made_go_make_module(go, functions_end - go->functions_at);
	if (go->minor >= 13)
		made_go_make_build_info(go);
	made_go_put_segment(go, 0, PF_R | PF_X, MADE_GO_TEXT, MADE_GO_TABLE);
	made_go_put_segment(go, 1, PF_R, MADE_GO_TABLE, MADE_GO_DATA);
	made_go_put_segment(go, 2, PF_R | PF_W, MADE_GO_DATA, MADE_GO_BYTES);
	made_go_make_dynamic(go, (Elf64_Phdr *)(go->bytes + sizeof(*header)) + 3);
	if (go->section_name)
		made_go_make_sections(go, table_end);
}

#endif
