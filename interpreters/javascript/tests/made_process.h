/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The memory of a process whose stack has interpreted functions, Sparkplug's code and optimized code with an inlined
 * function, with calls from a builtin and across C++.
 */
#ifndef INTERPRETERS_JAVASCRIPT_TESTS_MADE_PROCESS_H
#define INTERPRETERS_JAVASCRIPT_TESTS_MADE_PROCESS_H

#include "interpreters/javascript/tests/made_code.h"
#include "interpreters/javascript/tests/made_wasm.h"
#include "interpreters/javascript/v8_unwind.h"

enum {
	MADE_STACK_WORDS = 64,
	MADE_CODE_SIZE = 40,
	MADE_RETURN_OFFSET = 20,
	MADE_DEOPT_WORDS = 16,
};

/** The addresses of builtins are outside of the made memory. */
#define MADE_INTERPRETER 0x100001ULL
#define MADE_ARRAY_MAP 0x100002ULL
#define MADE_STUB 0x100003ULL

struct made_process {
	struct made_heap made;
	struct made_code_page page;
	uint64_t stack;
	struct made_wasm wasm;
};

static inline const struct v8_builtin *made_find_builtin(void *context, uint64_t pc)
{
	static const struct v8_builtin builtins[] = {
		{ .name = "InterpreterEntryTrampoline",
		  .builtin_class = JAVASCRIPT_BUILTIN_INTERPRETER },
		{ .name = "ArrayMap" },
		{ .name = "CEntry" },
	};

	(void)context;
	return pc < MADE_INTERPRETER || pc > MADE_STUB ? NULL : &builtins[pc - MADE_INTERPRETER];
}

static inline void made_stack_word(struct made_process *process, uint32_t index, uint64_t word)
{
	made_put(&process->made, process->stack + index * sizeof(uint64_t), &word, sizeof(word));
}

/** Writes a frame whose frame pointer points to word @index. */
static inline void made_frame(struct made_process *process, uint32_t index,
			      uint64_t context_or_type, uint64_t function, uint32_t caller,
			      uint64_t caller_pc)
{
	made_stack_word(process, index - 2, function);
	made_stack_word(process, index - 1, context_or_type);
	made_stack_word(process, index, caller ? process->stack + caller * sizeof(uint64_t) : 0);
	made_stack_word(process, index + 1, caller_pc);
}

/** Makes deoptimization data: positions and a translation of 13.6 have @inner inlined into @outer at character 60. */
static inline uint64_t made_deopt_data(struct made_heap *made, uint64_t outer, uint64_t inner,
				       uint64_t bytecodes)
{
	/* BEGIN of three frames, not based on another translation; two functions at bytecode 1, and `new` between. */
	static const uint8_t translation[] = { 14, 0, 6, 4, 1, 2, 2, 0, 0, 4, 0, 1, 1, 2, 0, 0, 0 };
	const struct v8_layout *layout = &made->layout;
	const uint64_t literals[] = { inner, (outer & ~(uint64_t)V8_TAG_MASK) | V8_WEAK_TAG };
	const uint64_t protected_literals[] = { bytecodes };
	const uint64_t call = made_packed(1, -1);
	uint64_t words[MADE_DEOPT_WORDS] = { 0 };
	uint8_t inlining[16] = { 0 };

	memcpy(inlining, &call, sizeof(call));
	words[layout->deopt_translations] = made_bytes(made, translation, sizeof(translation));
	words[layout->deopt_literals] = made_array(made, literals, 2);
	if (layout->deopt_protected_literals != V8_ABSENT)
		words[layout->deopt_protected_literals] = made_array(made, protected_literals, 1);
	words[layout->deopt_shared] = outer;
	if (layout->type_wrapper != V8_ABSENT) {
		words[layout->deopt_shared] = made_object(made, layout->type_wrapper, 16);
		made_word(made, words[layout->deopt_shared], layout->wrapper_shared, outer);
	}
	words[layout->deopt_inlining] = made_bytes(made, inlining, sizeof(inlining));
	words[layout->deopt_entries + 1] = made_smi(0);
	return made_array(made, words, MADE_DEOPT_WORDS);
}

/** Makes a name: with @is_scope a scope that has it, else a string of parts. */
static inline uint64_t made_name(struct made_heap *made, bool is_scope)
{
	const struct v8_layout *layout = &made->layout;
	uint64_t parts = made_cons(made, made_text(made, "na"), made_text(made, "me"), 4), slice;
	/* A function's scope with its own name and an inferred one. */
	const int32_t flags = 1 << 12 | 1 << 14;

	if (!is_scope) {
		slice = made_object(made, V8_STRING_SLICED | V8_STRING_ONE_BYTE, 32);
		made_int(made, slice, layout->string_length, 3);
		made_word(made, slice, layout->sliced_parent, parts);
		made_word(made, slice, layout->sliced_offset, made_smi(1));
		return slice;
	}
	slice = made_object(made, layout->type_scope_info, 96);
	made_word(made, slice, V8_TAGGED_BYTES,
		  layout->line >= V8_13_6 ? (uint64_t)flags : made_smi(flags));
	made_word(made, slice, V8_TAGGED_BYTES * (1 + layout->scope_variable_part), made_smi(0));
	made_word(made, slice, V8_TAGGED_BYTES * (3 + layout->scope_variable_part), parts);
	return slice;
}

static inline void made_process_init(struct made_process *process, enum v8_line line)
{
	static const uint8_t code[] = { 4, 4, 4 };
	struct made_heap *made = &process->made;
	const struct v8_layout *layout = &made->layout;
	struct made_table positions = { 0 }, baseline = { 0 }, optimized = { 0 },
			  safepoints = { 0 };
	uint64_t script, outer, inner, bytecodes, functions[2], context, starts[2];

	made_heap_init(made, line);
	made_code_page_init(&process->page, made);
	script = made_script(made, made_text(made, "one\ntwo\r\nthree"), made_smi(0));
	made_word(made, script, layout->script_source_url, made_text(made, "a.js"));
	outer = made_shared(made, made_name(made, true), script);
	inner = made_shared(made, made_name(made, false), script);
	made_position(&positions, line, 0, 5, -1, true);
	made_position(&positions, line, 1, 9, -1, true);
	bytecodes = made_bytecodes(made, code, sizeof(code),
				   made_bytes(made, positions.bytes, positions.size));
	made_word(made, outer, layout->shared_data, bytecodes);
	made_word(made, inner, layout->shared_data, bytecodes);
	functions[0] = made_function(made, outer);
	functions[1] = made_function(made, inner);
	context = made_object(made, layout->type_fixed_array, 16);
	for (int i = 0; i < 4; i++)
		made_number(&baseline, 10);
	starts[0] = made_code_add(&process->page,
				  &(struct made_code){ .kind = layout->kind_baseline,
						       .size = MADE_CODE_SIZE,
						       .positions = made_bytes(made, baseline.bytes,
									       baseline.size) });
	if (line >= V8_13_6)
		made_fixed(&safepoints, 0, 4);
	made_fixed(&safepoints, 1, 4);
	made_fixed(&safepoints, line == V8_9_4 ? 0 : 1 | 1 << 4 | 1 << 7, 4);
	made_fixed(&safepoints, MADE_RETURN_OFFSET, line == V8_9_4 ? 4 : 1);
	made_fixed(&safepoints, line == V8_9_4 ? 0 : 1, line == V8_9_4 ? 4 : 1);
	made_fixed(&safepoints, 0, line == V8_9_4 ? 4 : 1);
	made_position(&optimized, line, 0, 5, 0, true);
	starts[1] = made_code_add(
		&process->page,
		&(struct made_code){ .kind = layout->kind_turbofan,
				     .size = MADE_CODE_SIZE,
				     .safepoints = &safepoints,
				     .data = made_deopt_data(made, outer, inner, bytecodes),
				     .positions =
					     made_bytes(made, optimized.bytes, optimized.size) });
	process->stack = made_room(made, MADE_STACK_WORDS * sizeof(uint64_t));
	made_frame(process, 4, (uint64_t)layout->frame_builtin_exit << 1, 0, 12, MADE_INTERPRETER);
	made_frame(process, 12, context, functions[0], 20, starts[0] + MADE_RETURN_OFFSET);
	made_stack_word(process, 8, bytecodes);
	made_stack_word(process, 7, made_smi(layout->bytecodes_data - V8_TAG + 1));
	made_frame(process, 20, context, functions[1], 28, starts[1] + MADE_RETURN_OFFSET);
	made_stack_word(process, 16, bytecodes);
	made_frame(process, 28, context, functions[0], 40, MADE_STUB);
	made_frame(process, 40, (uint64_t)layout->frame_entry << 1, 0, 0, 0);
	/* The previous exit, which has called the C++ that calls JavaScript. */
	made_stack_word(process, 32, process->stack + 46 * sizeof(uint64_t));
	made_frame(process, 46, (uint64_t)layout->frame_exit << 1, 0, 52, MADE_ARRAY_MAP);
	made_frame(process, 52, context, functions[1], 62, MADE_STUB);
	made_frame(process, 62, (uint64_t)layout->frame_entry << 1, 0, 0, 0);
	made_wasm_init(&process->wasm, made);
}

#endif
