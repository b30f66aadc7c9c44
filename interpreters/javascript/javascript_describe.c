/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/javascript_describe.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/error.h"

enum {
	/** Number of bytes of the interpreter that are searched. */
	INTERPRETER_BYTES = 512,
};

/* The value, or 0 if the version has none. */
static uint16_t number(int32_t value)
{
	return value == V8_ABSENT ? 0 : (uint16_t)value;
}

/* The kind of code, or a value that no code has if the version lacks the tier. */
static uint16_t kind(int32_t value)
{
	return value == V8_ABSENT ? UINT16_MAX : (uint16_t)value;
}

/* The word that a frame of @type has instead of a context; 0 if the version has no such type. */
static uint16_t marker(int32_t type)
{
	return type == V8_ABSENT ? 0 : (uint16_t)(type << 1);
}

/* Describes the builtins; neighbours of one class become one range. */
static int describe_builtins(const struct v8_builtins *builtins, struct javascript_process *process)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < JAVASCRIPT_BUILTIN_RANGES_MAX; i++)
		process->ranges[i].start = JAVASCRIPT_OFFSET_MASK;
	for (uint32_t i = 0; i < builtins->count; i++) {
		const struct v8_builtin *builtin = &builtins->items[i];

		if (count && process->ranges[count - 1].builtin_class == builtin->builtin_class)
			continue;
		if (count == JAVASCRIPT_BUILTIN_RANGES_MAX)
			return fail(-EOPNOTSUPP, "builtins in an order that is not known");
		process->ranges[count++] = (struct javascript_builtin_range){
			.start = builtin->start,
			.builtin_class = builtin->builtin_class,
		};
	}
	process->builtins_start = builtins->start;
	process->builtins_bytes = builtins->items[builtins->count - 1].end;
	return 0;
}

/* True if a field of @bytes bytes is within the words of a Code object that the kernel side reads. */
static bool fits_code(int32_t offset, int32_t bytes)
{
	return offset >= 0 && offset % bytes == 0 && offset <= JAVASCRIPT_CODE_BYTES - bytes;
}

static int check_code(const struct v8_layout *layout)
{
	const struct {
		int32_t offset;
		int32_t bytes;
	} fields[] = {
		{ layout->code_flags, 4 },
		{ layout->code_size, 4 },
		{ layout->code_data, 8 },
		{ layout->code_start == V8_ABSENT ? 0 : layout->code_start, 8 },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!fits_code(fields[i].offset, fields[i].bytes))
			return fail(-EOPNOTSUPP, "code with a field at %d", fields[i].offset);
	return 0;
}

/* Checks that the fields of functions are near enough to each other for the kernel side, which reads them at once. */
static int check_functions(const struct v8_layout *layout)
{
	int32_t bytes = layout->shared_unique_id == V8_ABSENT ? JAVASCRIPT_SHARED_SHORT_BYTES :
								JAVASCRIPT_SHARED_BYTES;
	int32_t literal = layout->shared_literal_id - layout->shared_script;
	int32_t unique = layout->shared_unique_id == V8_ABSENT ?
				 literal :
				 layout->shared_unique_id - layout->shared_script;

	if (literal < 8 || literal % 4 || literal > bytes - 4 || unique < 8 || unique % 4 ||
	    unique > bytes - 4)
		return fail(-EOPNOTSUPP, "functions with their numbers at %d and %d",
			    layout->shared_literal_id, layout->shared_unique_id);
	if (layout->function_shared < 8 || layout->function_shared % 8 ||
	    layout->function_shared > JAVASCRIPT_FUNCTION_BYTES - 8)
		return fail(-EOPNOTSUPP, "functions with what they share at %d",
			    layout->function_shared);
	return 0;
}

int javascript_find_dispatch_table(const struct elf_image *image,
				   const struct v8_builtins *builtins, uint32_t *offset)
{
	/* mov r15, [r13 + d32] */
	static const uint8_t load[] = { 0x4d, 0x8b, 0xbd };
	uint8_t code[INTERPRETER_BYTES];

	for (uint32_t i = 0; i < builtins->count; i++) {
		const struct v8_builtin *builtin = &builtins->items[i];

		const size_t size = builtin->end - builtin->start;
		const size_t bytes = size < sizeof(code) ? size : sizeof(code);

		if (strcmp(builtin->name, "InterpreterEntryTrampoline") ||
		    elf_image_read_address(image, builtins->start + builtin->start, code, bytes))
			continue;
		for (size_t at = 0; at + sizeof(load) + sizeof(*offset) <= bytes; at++) {
			if (memcmp(code + at, load, sizeof(load)))
				continue;
			memcpy(offset, code + at + sizeof(load), sizeof(*offset));
			return 0;
		}
	}
	return fail(-EOPNOTSUPP, "an interpreter whose table of handlers is not found");
}

int javascript_describe(const struct v8_layout *layout, const struct v8_builtins *builtins,
			struct javascript_process *process)
{
	int err = check_code(layout);

	if (!err)
		err = check_functions(layout);
	*process = (struct javascript_process){
		.jit_pages = layout->trusted_data ? layout->trusted_data + V8_TRUSTED_JIT_PAGES : 0,
		.page_registry = number(layout->page_registry),
		.jit_page_allocations = number(layout->jit_page_allocations),
		.code_header = number(layout->code_header),
		.code_object = number(layout->code_object),
		.code_start = number(layout->code_start),
		.code_flags = number(layout->code_flags),
		.code_size = number(layout->code_size),
		.code_data = number(layout->code_data),
		.kind_mask = number(layout->kind_mask),
		.kind_regexp = kind(layout->kind_regexp),
		.kind_baseline = kind(layout->kind_baseline),
		.kind_maglev = kind(layout->kind_maglev),
		.kind_turbofan = kind(layout->kind_turbofan),
		.deopt_optimization_id = number(layout->deopt_optimization_id),
		.deopt_shared = number(layout->deopt_shared),
		.wrapper_shared = number(layout->wrapper_shared),
		.function_shared = number(layout->function_shared),
		.shared_script = number(layout->shared_script),
		.shared_literal_id = number(layout->shared_literal_id),
		.shared_unique_id = number(layout->shared_unique_id),
		.script_id = number(layout->script_id),
		.script_source = number(layout->script_source),
		.string_length = number(layout->string_length),
		.bytecodes_before = (uint16_t)(layout->bytecodes_data - V8_TAG),
		.marker_entry = marker(layout->frame_entry),
		.marker_construct_entry = marker(layout->frame_construct_entry),
		.marker_construct = marker(layout->frame_construct),
		.marker_fast_construct = marker(layout->frame_fast_construct),
		.marker_continuation = marker(layout->frame_js_continuation),
		.marker_continuation_with_catch = marker(layout->frame_js_continuation_with_catch),
		.marker_wasm = marker(layout->frame_wasm),
		.marker_wasm_to_js = marker(layout->frame_wasm_to_js),
		.map_instance_type = number(layout->map_instance_type),
		.type_function = number(layout->type_function),
		.type_function_count = number(layout->type_function_count),
	};
	return err ? err : describe_builtins(builtins, process);
}
