/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of the table were read in the sources of V8 9.4.146.16, 10.2.154.26 (of Node.js 18.20.4), 11.3.244.8
 * (of 20.19.2), 12.4.254.12, 13.6.233.2, 14.0 and 14.2 (for 14.1), 14.6.202.24, and checked in processes of Node.js
 * 16.20.2, 18.20.8, 20.20.2, 22.23.3, 24.0.0, 24.21.0, 25.9.0 and 26.10.0. Source files are below V8's src/.
 */
#include "interpreters/javascript/v8_layout.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"

enum {
	NAME_BYTES = 160,
	/** In a column of the table: the value comes only from the export. */
	EXPORTED = -2,
	NONE = V8_ABSENT,
	/** Limit of offsets and types. */
	VALUE_MAX = UINT16_MAX,
	/** Member of a row that belongs to no field; its export is only checked. */
	CHECKED = UINT16_MAX,
};

struct fact {
	/** Names of exports without "v8dbg_", separated by |; the first one that exists is used. NULL: none. */
	const char *exports;
	/** Indexed by enum v8_line. */
	int32_t values[V8_LINE_COUNT];
	/** Offset of the member in struct v8_layout. */
	uint16_t member;
};

#define FACT(member, exports, ...)                                                                 \
	{                                                                                          \
		exports, { __VA_ARGS__ }, offsetof(struct v8_layout, member)                       \
	}
#define SAME(value) value, value, value, value, value, value, value
#define CHECK(export, value)                                                                       \
	{                                                                                          \
		export, { SAME(value) }, CHECKED                                                   \
	}

static const struct fact facts[] = {
	/* include/v8-internal.h, objects/tagged-impl.h, objects/string.h, objects/instance-type.h */
	CHECK("TaggedSize", V8_TAGGED_BYTES),
	CHECK("SmiTag", 0),
	CHECK("SmiShiftSize", V8_SMI_SHIFT - 1),
	CHECK("SmiValueShift", 1),
	CHECK("HeapObjectTag", V8_TAG),
	CHECK("HeapObjectTagMask", V8_TAG_MASK),
	CHECK("StringRepresentationMask", V8_STRING_REPRESENTATION),
	CHECK("SeqStringTag", V8_STRING_SEQUENTIAL),
	CHECK("ConsStringTag", V8_STRING_CONS),
	CHECK("ExternalStringTag", V8_STRING_EXTERNAL),
	CHECK("SlicedStringTag", V8_STRING_SLICED),
	CHECK("ThinStringTag", V8_STRING_THIN),
	CHECK("StringEncodingMask", V8_STRING_ONE_BYTE),
	CHECK("OneByteStringTag", V8_STRING_ONE_BYTE),
	/* objects/heap-object.h; execution/frame-constants.h */
	CHECK("class_HeapObject__map__Map", 0),
	CHECK("off_fp_context", V8_FRAME_CONTEXT),
	CHECK("off_fp_function", V8_FRAME_FUNCTION),

	/* objects/map.tq, objects/fixed-array.tq, objects/fixed-array.h */
	FACT(map_instance_type, "class_Map__instance_type__uint16_t", SAME(12)),
	FACT(array_length, "class_FixedArrayBase__length__SMI", SAME(8)),
	FACT(array_data, "class_FixedArray__data__uintptr_t", SAME(16)),

	/* objects/string.tq; external_data: objects/string.h, ExternalString::kResourceDataOffset */
	FACT(string_length, "class_String__length__int32_t", SAME(12)),
	FACT(string_characters, "class_SeqOneByteString__chars__char", SAME(16)),
	CHECK("class_SeqTwoByteString__chars__char", 16),
	FACT(cons_first, "class_ConsString__first__String", SAME(16)),
	FACT(cons_second, "class_ConsString__second__String", SAME(24)),
	FACT(sliced_parent, "class_SlicedString__parent__String", SAME(16)),
	FACT(sliced_offset, "class_SlicedString__offset__SMI", SAME(24)),
	FACT(thin_actual, "class_ThinString__actual__String", SAME(16)),
	FACT(external_data, NULL, SAME(24)),

	/* objects/js-function.tq */
	FACT(function_shared, "class_JSFunction__shared__SharedFunctionInfo", 24, 24, 24, 32, 32,
	     32, 32),
	/* objects/shared-function-info.tq; debug_info_script: objects/debug-objects.tq */
	FACT(shared_data, "class_SharedFunctionInfo__function_data__Object", SAME(8)),
	FACT(shared_name,
	     "class_SharedFunctionInfo__name_or_scope_info__Object|"
	     "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_|"
	     "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
	     16, 16, 16, 16, 24, 24, 24),
	FACT(shared_script,
	     "class_SharedFunctionInfo__script_or_debug_info__HeapObject|"
	     "class_SharedFunctionInfo__script__Tagged_HeapObject_",
	     32, 32, 32, 32, 40, 40, 40),
	FACT(debug_info_script, NULL, 24, 24, 24, NONE, NONE, NONE, NONE),
	FACT(shared_literal_id, NULL, 52, 52, 52, 52, 60, 60, 60),
	FACT(shared_unique_id, NULL, NONE, NONE, NONE, 56, 64, 64, 64),
	FACT(wrapper_shared,
	     "class_SharedFunctionInfoWrapper__shared_info__Tagged_SharedFunctionInfo_", NONE, NONE,
	     NONE, NONE, 8, 8, 8),
	FACT(interpreter_data_bytecodes, NULL, SAME(8)),
	FACT(baseline_data_code, NULL, 8, NONE, NONE, NONE, NONE, NONE, NONE),
	FACT(baseline_data_bytecodes, NULL, 16, NONE, NONE, NONE, NONE, NONE, NONE),
	FACT(uncompiled_inferred_name, "class_UncompiledData__inferred_name__String", SAME(8)),

	/* objects/script.tq */
	FACT(script_source, "class_Script__source__Object", SAME(8)),
	FACT(script_name, "class_Script__name__Object", SAME(16)),
	FACT(script_line_offset, NULL, SAME(24)),
	FACT(script_column_offset, NULL, SAME(32)),
	FACT(script_line_ends, "class_Script__line_ends__Object", SAME(56)),
	FACT(script_id, NULL, SAME(64)),
	FACT(script_source_url, NULL, 104, 104, 112, 112, 112, 112, 112),

	/* objects/scope-info.tq; the number of scopes: common/globals.h (enum ScopeType) */
	FACT(scope_local_count, "scopeinfo_idx_ncontextlocals", SAME(2)),
	FACT(scope_variable_part, "scopeinfo_idx_first_vars", 3, 3, 3, 3, 5, 5, 5),
	FACT(scope_module_type, NULL, NONE, NONE, NONE, 3, 5, 5, 5),
	FACT(scope_table_locals, NULL, NONE, 75, 75, 75, 75, 75, 75),
	FACT(scope_has_receiver_word, NULL, 1, 0, 0, 0, 0, 0, 0),

	/* objects/code.tq up to 11.3, objects/bytecode-array.tq; positions: objects/code.h, bytecode-array.h */
	FACT(bytecodes_length, "class_BytecodeArray__length__SMI", SAME(8)),
	FACT(bytecodes_positions, NULL, 32, 32, 32, 24, 24, 24, 24),
	FACT(bytecodes_data, "class_BytecodeArray__data__uintptr_t", 54, 56, 54, 64, 64, 64, 64),

	/* objects/code.h, objects/instruction-stream.h */
	FACT(code_header,
	     "class_InstructionStream__instruction_start__uintptr_t|class_Code__instruction_start__uintptr_t",
	     96, 128, 16, 32, 32, 32, 32),
	FACT(code_object, NULL, NONE, NONE, 8, 8, 8, 8, 8),
	FACT(code_data, "class_Code__deoptimization_data__FixedArray", 16, 16, 16, 8, 8, 8, 8),
	FACT(code_positions, "class_Code__source_position_table__ByteArray", 24, 24, 24, 16, 16, 16,
	     16),
	FACT(code_start, "class_Code__instruction_start__Address", NONE, NONE, 40, 40, 40, 40, 40),
	FACT(code_flags, "class_Code__flags__uint32_t", 48, 48, 48, 48, 52, 52, 52),
	FACT(code_size, "class_Code__instruction_size__int", 40, 40, 56, 52, 56, 56, 56),
	FACT(code_metadata_size, NULL, 44, 44, 60, 56, 60, 60, 60),

	/* objects/code-kind.h, objects/code.h (KindField) */
	FACT(kind_mask, "CodeKindFieldMask", SAME(15)),
	FACT(kind_regexp, NULL, 3, 3, 3, 3, 3, 3, 4),
	FACT(kind_wasm, NULL, 4, 4, 4, 4, 4, 4, 5),
	FACT(kind_baseline, "CodeKindBaseline", 11, 11, 11, 10, 10, 10, 11),
	FACT(kind_maglev, NULL, NONE, 12, 12, 11, 11, 11, 12),
	FACT(kind_turbofan, NULL, 13, 13, 13, 12, 12, 12, 13),

	/* objects/code.h (DEOPTIMIZATION_DATA_INDEX_LIST), from 12.4 on objects/deoptimization-data.h */
	FACT(deopt_translations, NULL, SAME(0)),
	FACT(deopt_protected_literals, NULL, NONE, NONE, NONE, NONE, 2, 2, 2),
	FACT(deopt_literals, "DeoptimizationDataLiteralArrayIndex", 2, 2, 2, 2, 3, 3, 3),
	FACT(deopt_optimization_id, "DeoptimizationDataOptimizationIdIndex", 5, 5, 5, 5, 6, 6, 6),
	FACT(deopt_shared,
	     "DeoptimizationDataSharedFunctionInfoIndex|DeoptimizationDataWrappedSharedFunctionInfoIndex",
	     6, 6, 6, 6, 7, 7, 7),
	FACT(deopt_inlining, "DeoptimizationDataInliningPositionsIndex", 7, 7, 7, 7, 8, 8, 8),
	FACT(deopt_entries, NULL, 11, 11, 11, 11, 12, 12, 12),

	/* heap/memory-chunk-layout.h (CODE_OBJECT_REGISTRY); common/code-memory-access.h (class JitPage) */
	FACT(page_registry, NULL, 256, 272, 288, NONE, NONE, NONE, NONE),
	FACT(jit_page_allocations, NULL, NONE, NONE, NONE, 40, 8, 8, 8),

	/*
	 * wasm/wasm-objects.tq; wasm/wasm-code-manager.h (class NativeModule, class WasmCode): classes of C++, read out of processes
	 * with the versions of scripts/fetch_nodes.py. A WasmCode is checked before it is used.
	 */
	FACT(wasm_trusted_instance, NULL, NONE, NONE, NONE, 160, 152, 152, 104),
	FACT(wasm_instance_module, NULL, 208, 208, 208, 32, 32, 32, 32),
	FACT(wasm_module_native, NULL, SAME(24)),
	FACT(wasm_module_script, NULL, 40, 40, 32, 32, 32, 32, 32),
	FACT(wasm_bytes, NULL, 312, 312, 200, 200, 240, 240, 232),
	FACT(wasm_code, NULL, 416, 416, 304, 392, 312, 312, 304),
	FACT(wasm_code_size, NULL, 32, 32, 24, 24, 32, 32, 32),
	FACT(wasm_code_index, NULL, 48, 48, 44, 44, 56, 56, 56),

	/* execution/frames.h (STACK_FRAME_TYPE_LIST) */
	FACT(frame_entry, "frametype_EntryFrame", SAME(EXPORTED)),
	FACT(frame_construct_entry, "frametype_ConstructEntryFrame", SAME(EXPORTED)),
	FACT(frame_exit, "frametype_ExitFrame", SAME(EXPORTED)),
	FACT(frame_builtin_exit, "frametype_BuiltinExitFrame", SAME(EXPORTED)),
	FACT(frame_api_callback_exit, "frametype_ApiCallbackExitFrame", NONE, NONE, NONE, EXPORTED,
	     EXPORTED, EXPORTED, EXPORTED),
	FACT(frame_construct, "frametype_ConstructFrame", SAME(EXPORTED)),
	FACT(frame_fast_construct, "frametype_FastConstructFrame", NONE, NONE, NONE, EXPORTED,
	     EXPORTED, EXPORTED, EXPORTED),
	FACT(frame_js_continuation, "frametype_JavaScriptBuiltinContinuationFrame", SAME(EXPORTED)),
	FACT(frame_js_continuation_with_catch,
	     "frametype_JavaScriptBuiltinContinuationWithCatchFrame", SAME(EXPORTED)),
	FACT(frame_wasm, "frametype_WasmFrame", SAME(EXPORTED)),
	FACT(frame_wasm_to_js, "frametype_WasmToJsFrame", SAME(EXPORTED)),

	/* objects/instance-type.h; the number of functions' types: objects/js-function.tq, objects/objects-definitions.h */
	FACT(type_first_nonstring, "FirstNonstringType", SAME(EXPORTED)),
	FACT(type_function, "type_JSFunction__JS_FUNCTION_TYPE", SAME(EXPORTED)),
	FACT(type_function_count, NULL, 15, 16, 16, 17, 17, 17, 17),
	FACT(type_shared, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", SAME(EXPORTED)),
	FACT(type_wrapper, "type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE",
	     NONE, NONE, NONE, NONE, EXPORTED, EXPORTED, EXPORTED),
	FACT(type_script, "type_Script__SCRIPT_TYPE", SAME(EXPORTED)),
	FACT(type_wasm_module, "type_WasmModuleObject__WASM_MODULE_OBJECT_TYPE", SAME(EXPORTED)),
	FACT(type_scope_info, "type_ScopeInfo__SCOPE_INFO_TYPE", SAME(EXPORTED)),
	FACT(type_debug_info, "type_DebugInfo__DEBUG_INFO_TYPE", SAME(EXPORTED)),
	FACT(type_uncompiled_first,
	     "type_UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA_TYPE",
	     SAME(EXPORTED)),
	FACT(type_uncompiled_last,
	     "type_UncompiledDataWithoutPreparseDataWithJob__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB_TYPE|"
	     "type_UncompiledDataWithoutPreparseData__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_TYPE",
	     SAME(EXPORTED)),
	FACT(type_bytecodes, "type_BytecodeArray__BYTECODE_ARRAY_TYPE", SAME(EXPORTED)),
	FACT(type_runtime_data, "type_InterpreterData__INTERPRETER_DATA_TYPE", SAME(EXPORTED)),
	FACT(type_baseline_data, "type_BaselineData__BASELINE_DATA_TYPE", EXPORTED, NONE, NONE,
	     NONE, NONE, NONE, NONE),
	FACT(type_code, "type_Code__CODE_TYPE", SAME(EXPORTED)),
	FACT(type_stream, "type_InstructionStream__INSTRUCTION_STREAM_TYPE|type_Code__CODE_TYPE",
	     SAME(EXPORTED)),
	FACT(type_byte_array, "type_ByteArray__BYTE_ARRAY_TYPE", SAME(EXPORTED)),
	FACT(type_trusted_byte_array, "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", NONE, NONE,
	     NONE, EXPORTED, EXPORTED, EXPORTED, EXPORTED),
	FACT(type_fixed_array, "type_FixedArray__FIXED_ARRAY_TYPE", SAME(EXPORTED)),
};

static const struct {
	uint32_t major;
	uint32_t minor;
} versions[V8_LINE_COUNT] = {
	[V8_9_4] = { 9, 4 },   [V8_10_2] = { 10, 2 }, [V8_11_3] = { 11, 3 }, [V8_12_4] = { 12, 4 },
	[V8_13_6] = { 13, 6 }, [V8_14_1] = { 14, 1 }, [V8_14_6] = { 14, 6 },
};

/* Reads an int of the file's data; it is 0 in memory without bytes in the file. */
static int read_int(const struct elf_image *image, uint64_t address, int32_t *value)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_LOAD && address >= segment->address &&
		    address - segment->address >= segment->file_bytes &&
		    address - segment->address < segment->memory_bytes) {
			*value = 0;
			return 0;
		}
	}
	return elf_image_read_address(image, address, value, sizeof(*value));
}

static int read_symbol(const struct elf_dynamic *dynamic, const struct elf_image *image,
		       const char *name, int32_t *value)
{
	struct elf_dynamic_symbol symbol;
	int err = elf_dynamic_find(dynamic, image, name, &symbol);

	return err ? err : read_int(image, symbol.address, value);
}

/* Reads the first of @exports that the file has; -ENOENT if there is none. */
static int read_export(const struct elf_dynamic *dynamic, const struct elf_image *image,
		       const char *exports, int32_t *value)
{
	int err = -ENOENT;

	while (err == -ENOENT && *exports) {
		size_t length = strcspn(exports, "|");
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "v8dbg_%.*s", (int)length, exports);
		err = read_symbol(dynamic, image, name, value);
		exports += length + (exports[length] == '|');
	}
	return err;
}

static int read_fact(const struct fact *fact, const struct elf_dynamic *dynamic,
		     const struct elf_image *image, struct v8_layout *layout)
{
	int32_t known = fact->values[layout->line], exported = 0;
	int err = -ENOENT;

	if (fact->exports && known != NONE)
		err = read_export(dynamic, image, fact->exports, &exported);
	if (err && err != -ENOENT)
		return err;
	if (err && known == EXPORTED)
		return fail(-EOPNOTSUPP, "V8 %u.%u without v8dbg_%s", layout->major, layout->minor,
			    fact->exports);
	if (!err && known != EXPORTED && exported != known)
		return fail(-EOPNOTSUPP, "V8 %u.%u has %d, not %d, as v8dbg_%s", layout->major,
			    layout->minor, exported, known, fact->exports);
	if (!err && known == EXPORTED) {
		if (exported < 0 || exported > VALUE_MAX)
			return fail(-EOPNOTSUPP, "V8 %u.%u has %d as v8dbg_%s", layout->major,
				    layout->minor, exported, fact->exports);
		known = exported;
	}
	if (fact->member != CHECKED)
		memcpy((uint8_t *)layout + fact->member, &known, sizeof(known));
	return 0;
}

static int read_version(const struct elf_dynamic *dynamic, const struct elf_image *image,
			struct v8_layout *layout)
{
	static const struct {
		const char *name;
		uint16_t member;
	} parts[] = {
		{ "_ZN2v88internal7Version6major_E", offsetof(struct v8_layout, major) },
		{ "_ZN2v88internal7Version6minor_E", offsetof(struct v8_layout, minor) },
		{ "_ZN2v88internal7Version6build_E", offsetof(struct v8_layout, build) },
		{ "_ZN2v88internal7Version6patch_E", offsetof(struct v8_layout, patch) },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int32_t value = 0;
		int err = read_symbol(dynamic, image, parts[i].name, &value);

		if (err)
			return err;
		memcpy((uint8_t *)layout + parts[i].member, &value, sizeof(value));
	}
	for (layout->line = 0; layout->line < V8_LINE_COUNT; layout->line++)
		if (versions[layout->line].major == layout->major &&
		    versions[layout->line].minor == layout->minor)
			return 0;
	return fail(-EOPNOTSUPP, "V8 %u.%u.%u is not known", layout->major, layout->minor,
		    layout->build);
}

int v8_layout_read(const struct elf_image *image, struct v8_layout *layout)
{
	struct v8_layout found = { .machine = image->machine };
	struct elf_dynamic_symbol symbol;
	struct elf_dynamic dynamic;
	int32_t tagged_bytes = 0;
	int err = elf_dynamic_init(&dynamic, image);

	/* Not every program with a V8 exports this. */
	if (!err)
		err = read_symbol(&dynamic, image, "v8dbg_TaggedSize", &tagged_bytes);
	if (!err)
		err = read_version(&dynamic, image, &found);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]) && !err; i++)
		err = read_fact(&facts[i], &dynamic, image, &found);
	if (!err && found.jit_page_allocations != V8_ABSENT) {
		err = elf_dynamic_find(&dynamic, image,
				       "_ZN2v88internal15ThreadIsolation13trusted_data_E", &symbol);
		if (err == -ENOENT)
			err = fail(-EOPNOTSUPP, "V8 %u.%u does not export where its code is",
				   found.major, found.minor);
		if (!err)
			found.trusted_data = symbol.address;
	}
	if (!err)
		*layout = found;
	return err;
}
