/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_function.h"

#include <errno.h>
#include <inttypes.h>

#include "interpreters/javascript/v8_string.h"
#include "lib/base/error.h"

enum {
	/** Bits of a ScopeInfo's flags. */
	SCOPE_TYPE_MASK = 15,
	SCOPE_RECEIVER_SHIFT = 7,
	SCOPE_HAS_SAVED_CLASS_VARIABLE = 1 << 10,
	SCOPE_FUNCTION_VARIABLE_SHIFT = 12,
	SCOPE_HAS_INFERRED_NAME = 1 << 14,
	/** Mask of the allocation of the receiver and of the function's variable: on the stack, or a context local. */
	VARIABLE_MASK = 3,
	VARIABLE_UNUSED = 3,
	/** Limit of locals; a larger number is forged. */
	SCOPE_MAX_LOCALS = 1 << 20,
};

int v8_function_shared(const struct v8_heap *heap, uint64_t function, uint64_t *shared)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t found = 0;
	uint16_t type = 0;
	int err = v8_instance_type(heap, &function, &type);

	if (!err && (type < layout->type_function ||
		     type - layout->type_function >= layout->type_function_count))
		err = fail(-EBADMSG, "an object of type %u where a function is", type);
	if (!err)
		err = v8_field(heap, function, layout->function_shared, &found);
	if (!err)
		err = v8_check_type(heap, &found, layout->type_shared);
	if (!err)
		*shared = found;
	return err;
}

/* Reads the string at @word; "" if it is no string. */
static int read_name(const struct v8_heap *heap, uint64_t word, v8_text name)
{
	bool is_string = false;
	size_t length = 0;
	int err;

	name[0] = '\0';
	if (!v8_is_object(word))
		return 0;
	err = v8_is_string(heap, word, &is_string);
	if (err || !is_string)
		return err;
	return v8_string_read(heap, word, name, V8_NAME_BYTES, &length);
}

/** Offsets of words in a ScopeInfo, from its start; 0: there is none. */
struct scope_words {
	/* Names. */
	int32_t function;
	int32_t inferred;
	/* The start of a function or a script, before its end. */
	int32_t position;
};

/* objects/scope-info.tq: flags decide which words a ScopeInfo has, in the order of the flags. */
static int find_scope_words(const struct v8_heap *heap, uint64_t scope, struct scope_words *words)
{
	const struct v8_layout *layout = heap->layout;
	/* Up to 12.4 the flags are a Smi, in the high half of the word; later they are 32 bits in the low half. */
	const bool has_smi_flags = layout->line <= V8_12_4;
	const int32_t flags_at = V8_TAGGED_BYTES + (has_smi_flags ? 4 : 0);
	int32_t flags = 0, locals = 0, at, receiver;
	int err = v8_field_int(heap, scope, flags_at, &flags);

	if (!err)
		err = v8_field_smi(heap, scope, V8_TAGGED_BYTES * (1 + layout->scope_local_count),
				   &locals);
	if (!err && (locals < 0 || locals > SCOPE_MAX_LOCALS))
		err = fail(-EBADMSG, "a scope of %d variables", locals);
	if (err)
		return err;
	at = V8_TAGGED_BYTES * (1 + layout->scope_variable_part);
	if ((flags & SCOPE_TYPE_MASK) == layout->scope_module_type)
		at += V8_TAGGED_BYTES;
	at += layout->scope_table_locals != V8_ABSENT && locals >= layout->scope_table_locals ?
		      V8_TAGGED_BYTES :
		      V8_TAGGED_BYTES * locals;
	at += V8_TAGGED_BYTES * locals;
	if (flags & SCOPE_HAS_SAVED_CLASS_VARIABLE)
		at += V8_TAGGED_BYTES;
	receiver = flags >> SCOPE_RECEIVER_SHIFT & VARIABLE_MASK;
	if (layout->scope_has_receiver_word && receiver && receiver != VARIABLE_UNUSED)
		at += V8_TAGGED_BYTES;
	*words = (struct scope_words){ 0 };
	if (flags >> SCOPE_FUNCTION_VARIABLE_SHIFT & VARIABLE_MASK) {
		words->function = at;
		at += 2 * V8_TAGGED_BYTES;
	}
	if (flags & SCOPE_HAS_INFERRED_NAME) {
		words->inferred = at;
		at += V8_TAGGED_BYTES;
	}
	/* In newer versions it is in the fixed part, behind the number of locals. */
	words->position = layout->scope_variable_part > layout->scope_local_count + 1 ?
				  V8_TAGGED_BYTES * (2 + layout->scope_local_count) :
				  at;
	return 0;
}

static int read_scope_name(const struct v8_heap *heap, uint64_t scope, v8_text name)
{
	struct scope_words words;
	uint64_t word = 0;
	int err = find_scope_words(heap, scope, &words);

	name[0] = '\0';
	if (!err && words.function) {
		err = v8_field(heap, scope, words.function, &word);
		if (!err)
			err = read_name(heap, word, name);
	}
	if (!err && !name[0] && words.inferred) {
		err = v8_field(heap, scope, words.inferred, &word);
		if (!err)
			err = read_name(heap, word, name);
	}
	return err;
}

/* Reads the inferred name of a function that is not compiled (any more). */
static int read_uncompiled_name(const struct v8_heap *heap, uint64_t shared, v8_text name)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t data = 0, word = 0;
	uint16_t type = 0;
	int err = v8_field(heap, shared, layout->shared_data, &data);

	if (err || !v8_is_object(data))
		return err;
	err = v8_instance_type(heap, &data, &type);
	if (err || type < layout->type_uncompiled_first || type > layout->type_uncompiled_last)
		return err;
	err = v8_field(heap, data, layout->uncompiled_inferred_name, &word);
	return err ? err : read_name(heap, word, name);
}

int v8_shared_name(const struct v8_heap *heap, uint64_t shared, v8_text name)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t word = 0;
	uint16_t type = 0;
	int err = v8_check_type(heap, &shared, layout->type_shared);

	name[0] = '\0';
	if (!err)
		err = v8_field(heap, shared, layout->shared_name, &word);
	/* A Smi means that there is no shared name. */
	if (!err && v8_is_object(word)) {
		err = v8_instance_type(heap, &word, &type);
		if (!err)
			err = type == layout->type_scope_info ? read_scope_name(heap, word, name) :
								read_name(heap, word, name);
	}
	if (!err && !name[0])
		err = read_uncompiled_name(heap, shared, name);
	return err;
}

int v8_shared_start(const struct v8_heap *heap, uint64_t shared, uint32_t *offset)
{
	const struct v8_layout *layout = heap->layout;
	struct scope_words words = { 0 };
	int32_t start = 0, end = 0;
	uint64_t scope = 0;
	uint16_t type = 0;
	int err = v8_field(heap, shared, layout->shared_name, &scope);

	if (!err && v8_is_object(scope))
		err = v8_instance_type(heap, &scope, &type);
	if (!err && type != layout->type_scope_info)
		err = fail(-ENOENT, "a function that is not compiled");
	if (!err)
		err = find_scope_words(heap, scope, &words);
	if (!err)
		err = v8_field_smi(heap, scope, words.position, &start);
	if (!err)
		err = v8_field_smi(heap, scope, words.position + V8_TAGGED_BYTES, &end);
	if (!err && (start < 0 || end < start))
		err = fail(-EBADMSG, "a function from %d to %d", start, end);
	if (!err)
		*offset = (uint32_t)start;
	return err;
}

int v8_shared_script(const struct v8_heap *heap, uint64_t shared, uint64_t *script)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t found = 0;
	uint16_t type = 0;
	int err = v8_field(heap, shared, layout->shared_script, &found);

	if (!err)
		err = v8_instance_type(heap, &found, &type);
	/* The inspector has replaced the Script by a DebugInfo. */
	if (!err && layout->debug_info_script != V8_ABSENT && type == layout->type_debug_info) {
		err = v8_field(heap, found, layout->debug_info_script, &found);
		if (!err)
			err = v8_instance_type(heap, &found, &type);
	}
	if (!err && type != layout->type_script)
		err = fail(-ENOENT, "a function without a script");
	if (!err)
		*script = found;
	return err;
}

int v8_shared_ids(const struct v8_heap *heap, uint64_t shared, struct v8_function_ids *ids)
{
	const struct v8_layout *layout = heap->layout;
	struct v8_function_ids found = { 0 };
	uint64_t script = 0;
	int32_t unique = 0;
	int err = v8_check_type(heap, &shared, layout->type_shared);

	if (!err)
		err = v8_field_int(heap, shared, layout->shared_literal_id, &found.literal);
	if (!err && layout->shared_unique_id != V8_ABSENT)
		err = v8_field_int(heap, shared, layout->shared_unique_id, &unique);
	found.unique = (uint32_t)unique;
	if (!err) {
		err = v8_shared_script(heap, shared, &script);
		if (!err)
			err = v8_field_smi(heap, script, layout->script_id, &found.script);
		else if (err == -ENOENT)
			err = 0;
	}
	if (!err)
		*ids = found;
	return err;
}

int v8_shared_bytecodes(const struct v8_heap *heap, uint64_t shared, uint64_t *bytecodes)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t data = 0;
	uint16_t type = 0;
	int err = v8_field(heap, shared, layout->shared_data, &data);

	/* Sparkplug's code may have an InterpreterData instead of bytecodes. */
	for (int step = 0; !err && step < 3; step++) {
		if (!v8_is_object(data))
			break;
		err = v8_instance_type(heap, &data, &type);
		if (!err && type == layout->type_bytecodes) {
			*bytecodes = data;
			return 0;
		}
		if (!err && type == layout->type_runtime_data)
			err = v8_field(heap, data, layout->interpreter_data_bytecodes, &data);
		else if (!err && type == layout->type_baseline_data)
			err = v8_field(heap, data, layout->baseline_data_bytecodes, &data);
		else if (!err && type == layout->type_code)
			err = v8_field(heap, data, layout->code_data, &data);
		else
			break;
	}
	return err ? err : fail(-ENOENT, "a function without bytecodes");
}

int v8_script_name(const struct v8_heap *heap, uint64_t script, v8_text name)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t word = 0;
	int err = v8_check_type(heap, &script, layout->type_script);

	if (!err)
		err = v8_field(heap, script, layout->script_name, &word);
	if (!err)
		err = read_name(heap, word, name);
	if (!err && !name[0]) {
		err = v8_field(heap, script, layout->script_source_url, &word);
		if (!err)
			err = read_name(heap, word, name);
	}
	return err;
}

int v8_shared_baseline(const struct v8_heap *heap, uint64_t shared, uint64_t *code)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t data = 0;
	uint16_t type = 0;
	int err = v8_field(heap, shared, layout->shared_data, &data);

	if (!err && !v8_is_object(data))
		err = fail(-ENOENT, "a function that is not compiled");
	if (!err)
		err = v8_instance_type(heap, &data, &type);
	if (!err && type == layout->type_baseline_data) {
		err = v8_field(heap, data, layout->baseline_data_code, &data);
		if (!err)
			err = v8_instance_type(heap, &data, &type);
	}
	if (!err && type != layout->type_code)
		err = fail(-ENOENT, "a function without code of its own");
	if (!err)
		*code = data;
	return err;
}
