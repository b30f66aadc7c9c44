/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The file of a Node.js, as far as V8's layout needs it: a small ELF file with those exports of Node.js 16.20.2,
 * 18.20.8, 20.20.2, 22.23.3, 24.21.0, 25.9.0 and 26.10.0 that the layout uses.
 */
#ifndef INTERPRETERS_JAVASCRIPT_TESTS_MADE_NODE_H
#define INTERPRETERS_JAVASCRIPT_TESTS_MADE_NODE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/javascript/v8_layout.h"

enum {
	MADE_NODE_SYMBOLS = 96,
	MADE_NODE_STRINGS_BYTES = 8192,
	MADE_NODE_START = 0x400000,
	/** Size of the zeroed memory after the file's bytes. */
	MADE_NODE_ZERO_BYTES = 64,
	MADE_NODE_VERSION_PARTS = 4,
};

struct made_export {
	const char *name;
	/** Indexed by enum v8_line; V8_ABSENT: not exported. */
	int32_t values[V8_LINE_COUNT];
};

static const struct made_export made_exports[] = {
	{ "v8dbg_frametype_EntryFrame", { 1, 1, 1, 1, 1, 1, 1 } },
	{ "v8dbg_frametype_ConstructEntryFrame", { 2, 2, 2, 2, 2, 2, 2 } },
	{ "v8dbg_frametype_ExitFrame", { 3, 3, 3, 3, 3, 3, 3 } },
	{ "v8dbg_frametype_BuiltinExitFrame", { 21, 22, 25, 26, 27, 27, 17 } },
	{ "v8dbg_frametype_ApiCallbackExitFrame",
	  { V8_ABSENT, V8_ABSENT, V8_ABSENT, 27, 28, 28, 18 } },
	{ "v8dbg_frametype_ConstructFrame", { 19, 20, 23, 23, 24, 24, 14 } },
	{ "v8dbg_frametype_FastConstructFrame",
	  { V8_ABSENT, V8_ABSENT, V8_ABSENT, 24, 25, 25, 15 } },
	{ "v8dbg_frametype_JavaScriptBuiltinContinuationFrame", { 16, 17, 20, 20, 21, 21, 11 } },
	{ "v8dbg_frametype_JavaScriptBuiltinContinuationWithCatchFrame",
	  { 17, 18, 21, 21, 22, 22, 12 } },
	{ "v8dbg_frametype_WasmFrame", { 4, 4, 4, 4, 4, 4, 24 } },
	{ "v8dbg_frametype_WasmToJsFrame", { 5, 5, 5, 5, 5, 5, 25 } },
	{ "v8dbg_FirstNonstringType", { 64, 128, 128, 128, 128, 128, 128 } },
	{ "v8dbg_type_BaselineData__BASELINE_DATA_TYPE",
	  { 94, V8_ABSENT, V8_ABSENT, V8_ABSENT, V8_ABSENT, V8_ABSENT, V8_ABSENT } },
	{ "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", { 132, 194, 190, 186, 217, 218, 218 } },
	{ "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", { 133, 195, 191, 205, 186, 184, 185 } },
	{ "v8dbg_type_Code__CODE_TYPE", { 162, 240, 245, 206, 187, 185, 186 } },
	{ "v8dbg_type_DebugInfo__DEBUG_INFO_TYPE", { 100, 156, 153, 154, 154, 153, 153 } },
	{ "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", { 119, 179, 175, 174, 205, 205, 205 } },
	{ "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE",
	  { V8_ABSENT, V8_ABSENT, 252, 210, 192, 191, 192 } },
	{ "v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE",
	  { 105, 162, 159, 207, 188, 186, 187 } },
	{ "v8dbg_type_JSFunction__JS_FUNCTION_TYPE", { 1059, 2065, 2066, 2066, 2065, 2065, 2066 } },
	{ "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", { 178, 256, 261, 272, 280, 284, 286 } },
	{ "v8dbg_type_Script__SCRIPT_TYPE", { 112, 170, 167, 167, 167, 165, 166 } },
	{ "v8dbg_type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE",
	  { V8_ABSENT, V8_ABSENT, V8_ABSENT, V8_ABSENT, 195, 194, 195 } },
	{ "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
	  { 179, 257, 262, 274, 282, 286, 288 } },
	{ "v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE",
	  { V8_ABSENT, V8_ABSENT, V8_ABSENT, 212, 196, 195, 196 } },
	{ "v8dbg_type_WasmModuleObject__WASM_MODULE_OBJECT_TYPE",
	  { 1114, 2144, 2156, 2158, 2163, 2154, 2163 } },
	{ "v8dbg_type_UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA_TYPE",
	  { 157, 217, 220, 200, 175, 173, 174 } },
	{ "v8dbg_type_UncompiledDataWithoutPreparseDataWithJob__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB_TYPE",
	  { V8_ABSENT, 220, 223, 203, 178, 176, 177 } },
	{ "v8dbg_type_UncompiledDataWithoutPreparseData__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_TYPE",
	  { 158, 219, 222, 202, 177, 175, 176 } },
	{ "v8dbg_class_Code__instruction_start__uintptr_t",
	  { 96, 128, V8_ABSENT, V8_ABSENT, V8_ABSENT, V8_ABSENT, V8_ABSENT } },
	{ "v8dbg_class_InstructionStream__instruction_start__uintptr_t",
	  { V8_ABSENT, V8_ABSENT, 16, 32, 32, 32, 32 } },
	{ "v8dbg_class_Code__flags__uint32_t", { V8_ABSENT, 48, V8_ABSENT, 48, 52, 52, 52 } },
	{ "v8dbg_DeoptimizationDataOptimizationIdIndex", { V8_ABSENT, V8_ABSENT, 5, 5, 6, 6, 6 } },
	{ "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
	  { 32, 32, 32, V8_ABSENT, V8_ABSENT, V8_ABSENT, V8_ABSENT } },
	{ "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_",
	  { V8_ABSENT, V8_ABSENT, V8_ABSENT, 32, 40, 40, 40 } },
	{ "v8dbg_SmiShiftSize", { 31, 31, 31, 31, 31, 31, 31 } },
	{ "v8dbg_off_fp_context", { -8, -8, -8, -8, -8, -8, -8 } },
	{ "v8dbg_TaggedSize", { 8, 8, 8, 8, 8, 8, 8 } },
	{ "v8dbg_StringEncodingMask", { 8, 8, 8, 8, 8, 8, 8 } },
	{ "v8dbg_class_HeapObject__map__Map", { 0, 0, 0, 0, 0, 0, 0 } },
};

struct made_node {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Dyn dynamic[5];
	/** The first symbol is empty. */
	Elf64_Sym symbols[MADE_NODE_SYMBOLS + 1];
	char strings[MADE_NODE_STRINGS_BYTES];
	/** DT_HASH of one bucket: counts, the bucket, a chain through all. */
	uint32_t hash[3 + MADE_NODE_SYMBOLS + 1];
	int32_t values[MADE_NODE_SYMBOLS + 1];
	/** These fields are not part of the file. */
	uint32_t symbol_count;
	uint32_t string_bytes;
};

#define MADE_NODE_BYTES offsetof(struct made_node, symbol_count)
#define MADE_NODE_ADDRESS(field) (MADE_NODE_START + offsetof(struct made_node, field))

static inline void made_node_export(struct made_node *node, const char *name, int32_t value)
{
	const size_t bytes = strlen(name) + 1;
	const uint32_t index = ++node->symbol_count;

	if (index > MADE_NODE_SYMBOLS || node->string_bytes + bytes > MADE_NODE_STRINGS_BYTES)
		abort();
	memcpy(node->strings + node->string_bytes, name, bytes);
	node->symbols[index] = (Elf64_Sym){
		.st_name = node->string_bytes,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		.st_shndx = 1,
		/* Compilers put zeroes into memory without bytes in the file. */
		.st_value = value ? MADE_NODE_ADDRESS(values) + index * sizeof(int32_t) :
				    MADE_NODE_START + MADE_NODE_BYTES,
		.st_size = sizeof(int32_t),
	};
	node->values[index] = value;
	node->string_bytes += bytes;
	node->hash[1] = node->symbol_count + 1;
	node->hash[3 + index] = node->hash[2];
	node->hash[2] = index;
}

/** The symbol named @name; NULL if there is none. */
static inline Elf64_Sym *made_node_symbol(struct made_node *node, const char *name)
{
	for (uint32_t i = 1; i <= node->symbol_count; i++)
		if (!strcmp(node->strings + node->symbols[i].st_name, name))
			return &node->symbols[i];
	return NULL;
}

/** Sets the export @name to a value other than 0. */
static inline void made_node_set(struct made_node *node, const char *name, int32_t value)
{
	Elf64_Sym *symbol = made_node_symbol(node, name);
	const uint32_t index = (uint32_t)(symbol - node->symbols);

	symbol->st_value = MADE_NODE_ADDRESS(values) + index * sizeof(int32_t);
	node->values[index] = value;
}

static inline void made_node_init(struct made_node *node, enum v8_line line)
{
	static const int32_t versions[V8_LINE_COUNT][MADE_NODE_VERSION_PARTS] = {
		{ 9, 4, 146, 26 },  { 10, 2, 154, 26 }, { 11, 3, 244, 8 },  { 12, 4, 254, 21 },
		{ 13, 6, 233, 17 }, { 14, 1, 146, 11 }, { 14, 6, 202, 34 },
	};
	static const char *const parts[MADE_NODE_VERSION_PARTS] = {
		"_ZN2v88internal7Version6major_E",
		"_ZN2v88internal7Version6minor_E",
		"_ZN2v88internal7Version6build_E",
		"_ZN2v88internal7Version6patch_E",
	};

	memset(node, 0, sizeof(*node));
	memcpy(node->header.e_ident, ELFMAG, SELFMAG);
	node->header.e_ident[EI_CLASS] = ELFCLASS64;
	node->header.e_ident[EI_DATA] = ELFDATA2LSB;
	node->header.e_type = ET_EXEC;
	node->header.e_machine = EM_X86_64;
	node->header.e_phoff = offsetof(struct made_node, segments);
	node->header.e_phentsize = sizeof(Elf64_Phdr);
	node->header.e_phnum = 2;
	node->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = PF_R | PF_W,
					  .p_vaddr = MADE_NODE_START,
					  .p_filesz = MADE_NODE_BYTES,
					  .p_memsz = MADE_NODE_BYTES + MADE_NODE_ZERO_BYTES };
	node->segments[1] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
					  .p_offset = offsetof(struct made_node, dynamic),
					  .p_filesz = sizeof(node->dynamic) };
	node->dynamic[0] = (Elf64_Dyn){ DT_SYMTAB, { MADE_NODE_ADDRESS(symbols) } };
	node->dynamic[1] = (Elf64_Dyn){ DT_STRTAB, { MADE_NODE_ADDRESS(strings) } };
	node->dynamic[2] = (Elf64_Dyn){ DT_STRSZ, { MADE_NODE_STRINGS_BYTES } };
	node->dynamic[3] = (Elf64_Dyn){ DT_HASH, { MADE_NODE_ADDRESS(hash) } };
	node->string_bytes = 1;
	node->hash[0] = 1;
	for (int i = 0; i < MADE_NODE_VERSION_PARTS; i++)
		made_node_export(node, parts[i], versions[line][i]);
	for (size_t i = 0; i < sizeof(made_exports) / sizeof(made_exports[0]); i++)
		if (made_exports[i].values[line] != V8_ABSENT)
			made_node_export(node, made_exports[i].name, made_exports[i].values[line]);
	if (line >= V8_12_4)
		made_node_export(node, "_ZN2v88internal15ThreadIsolation13trusted_data_E", 1);
}

/** Calls v8_layout_read() for the made file. */
static inline int made_node_read(const struct made_node *node, struct v8_layout *layout)
{
	struct elf_image image;
	int err = elf_image_init_memory(&image, node, MADE_NODE_BYTES);

	if (err)
		return err;
	err = v8_layout_read(&image, layout);
	elf_image_deinit(&image);
	return err;
}

/** The layout of @line. */
static inline struct v8_layout made_layout(enum v8_line line)
{
	static struct made_node node;
	struct v8_layout layout;

	made_node_init(&node, line);
	if (made_node_read(&node, &layout))
		abort();
	return layout;
}

#endif
