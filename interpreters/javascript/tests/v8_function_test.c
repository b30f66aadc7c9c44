/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_function.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_heap.h"

enum {
	/** Bits of a ScopeInfo's flags. */
	FUNCTION_SCOPE = 2,
	FUNCTION_SCOPE_FROM_13_6 = 4,
	MODULE_SCOPE = 3,
	MODULE_SCOPE_FROM_13_6 = 5,
	RECEIVER_ON_STACK = 1 << 7,
	SAVED_CLASS_VARIABLE = 1 << 10,
	FUNCTION_VARIABLE = 1 << 12,
	INFERRED_NAME = 1 << 14,
	SCOPE_WORDS = 200,
};

static struct made_heap made;

/** A scope that is written word by word. */
struct scope {
	uint64_t object;
	int32_t next;
};

static void add_word(struct scope *scope, uint64_t word)
{
	made_word(&made, scope->object, scope->next, word);
	scope->next += V8_TAGGED_BYTES;
}

/* Writes the words up to the names of @local_count variables, then the names and their properties. */
static struct scope begin_scope(int32_t flags, int32_t local_count)
{
	const bool is_new = made.layout.line >= V8_13_6;
	struct scope scope = { .object = made_object(&made, made.layout.type_scope_info,
						     V8_TAGGED_BYTES * SCOPE_WORDS),
			       .next = V8_TAGGED_BYTES };
	const bool is_module = (flags & 15) == (is_new ? MODULE_SCOPE_FROM_13_6 : MODULE_SCOPE);
	const bool has_table = local_count >= 75 && made.layout.line >= V8_10_2;

	add_word(&scope, is_new ? (uint64_t)(uint32_t)flags : made_smi(flags));
	add_word(&scope, made_smi(0));
	add_word(&scope, made_smi(local_count));
	if (is_new) {
		add_word(&scope, made_smi(10));
		add_word(&scope, made_smi(20));
	}
	if (is_module && made.layout.line >= V8_12_4)
		add_word(&scope, made_smi(0));
	for (int32_t i = 0; i < (has_table ? 1 : local_count); i++)
		add_word(&scope, made_text(&made, "local"));
	for (int32_t i = 0; i < local_count; i++)
		add_word(&scope, made_smi(0));
	return scope;
}

/* Checks the name of a function with the name or scope @name_or_scope. */
static void assert_name(uint64_t name_or_scope, const char *expected)
{
	uint64_t shared = made_shared(&made, name_or_scope, made_smi(0));
	v8_text name;

	assert_int_equal(v8_shared_name(&made.heap, shared, name), 0);
	assert_string_equal(name, expected);
}

static void a_function_has_its_own_name_or_the_inferred_one(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const int32_t type = line >= V8_13_6 ? FUNCTION_SCOPE_FROM_13_6 : FUNCTION_SCOPE;
		struct scope scope;

		made_heap_init(&made, line);
		scope = begin_scope(type | FUNCTION_VARIABLE | INFERRED_NAME, 3);
		add_word(&scope, made_text(&made, "own"));
		add_word(&scope, made_smi(1));
		add_word(&scope, made_text(&made, "inferred"));
		assert_name(scope.object, "own");

		scope = begin_scope(type | FUNCTION_VARIABLE | INFERRED_NAME, 0);
		add_word(&scope, made_smi(0));
		add_word(&scope, made_smi(1));
		add_word(&scope, made_text(&made, "inferred"));
		assert_name(scope.object, "inferred");

		scope = begin_scope(type | INFERRED_NAME | SAVED_CLASS_VARIABLE, 2);
		add_word(&scope, made_smi(7));
		add_word(&scope, made_text(&made, "inferred"));
		assert_name(scope.object, "inferred");

		scope = begin_scope(type, 2);
		assert_name(scope.object, "");
		/* Functions without a scope. */
		assert_name(made_text(&made, "shared"), "shared");
		assert_name(made_smi(0), "");
	}
}

static void words_that_only_some_scopes_have_are_skipped(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const int32_t module = line >= V8_13_6 ? MODULE_SCOPE_FROM_13_6 : MODULE_SCOPE;
		struct scope scope;

		made_heap_init(&made, line);
		/* From 10.2 on so many names are in a hash table. */
		scope = begin_scope(FUNCTION_SCOPE | INFERRED_NAME, 80);
		add_word(&scope, made_text(&made, "many"));
		assert_name(scope.object, "many");

		scope = begin_scope(module | INFERRED_NAME, 1);
		add_word(&scope, made_text(&made, "module"));
		assert_name(scope.object, "module");

		scope = begin_scope(FUNCTION_SCOPE | RECEIVER_ON_STACK | INFERRED_NAME, 1);
		if (line == V8_9_4)
			add_word(&scope, made_smi(3));
		add_word(&scope, made_text(&made, "method"));
		assert_name(scope.object, "method");
	}
}

static void what_is_not_compiled_keeps_its_inferred_name(void **state)
{
	uint64_t shared, data;
	v8_text name;

	(void)state;
	made_heap_init(&made, V8_11_3);
	shared = made_shared(&made, made_text(&made, ""), made_smi(0));
	data = made_object(&made, made.layout.type_uncompiled_first + 1, 24);
	made_word(&made, data, made.layout.uncompiled_inferred_name, made_text(&made, "lazy"));
	made_word(&made, shared, made.layout.shared_data, data);
	assert_int_equal(v8_shared_name(&made.heap, shared, name), 0);
	assert_string_equal(name, "lazy");
}

static void hostile_scopes_are_refused(void **state)
{
	struct scope scope;
	v8_text name;

	(void)state;
	made_heap_init(&made, V8_14_6);
	scope = begin_scope(FUNCTION_SCOPE | INFERRED_NAME, 0);
	made_word(&made, scope.object, 24, made_smi(-1));
	assert_int_equal(v8_shared_name(&made.heap, made_shared(&made, scope.object, made_smi(0)),
					name),
			 -EBADMSG);
	made_word(&made, scope.object, 24, made_smi(1 << 20));
	assert_int_equal(v8_shared_name(&made.heap, made_shared(&made, scope.object, made_smi(0)),
					name),
			 -EFAULT);
	made_word(&made, scope.object, 24, made_smi(INT32_MAX));
	assert_int_equal(v8_shared_name(&made.heap, made_shared(&made, scope.object, made_smi(0)),
					name),
			 -EBADMSG);
}

static void a_function_knows_where_it_begins(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const int32_t type = line >= V8_13_6 ? FUNCTION_SCOPE_FROM_13_6 : FUNCTION_SCOPE;
		uint32_t offset = 0;
		struct scope scope;
		uint64_t shared;

		made_heap_init(&made, line);
		scope = begin_scope(type | FUNCTION_VARIABLE | INFERRED_NAME, 3);
		add_word(&scope, made_text(&made, "own"));
		add_word(&scope, made_smi(1));
		add_word(&scope, made_text(&made, "inferred"));
		if (line < V8_13_6) {
			add_word(&scope, made_smi(10));
			add_word(&scope, made_smi(20));
		}
		shared = made_shared(&made, scope.object, made_smi(0));
		assert_int_equal(v8_shared_start(&made.heap, shared, &offset), 0);
		assert_int_equal(offset, 10);

		scope = begin_scope(type, 0);
		if (line >= V8_13_6)
			scope.next -= 2 * V8_TAGGED_BYTES;
		add_word(&scope, made_smi(21));
		add_word(&scope, made_smi(20));
		shared = made_shared(&made, scope.object, made_smi(0));
		assert_int_equal(v8_shared_start(&made.heap, shared, &offset), -EBADMSG);
		shared = made_shared(&made, made_text(&made, "shared"), made_smi(0));
		assert_int_equal(v8_shared_start(&made.heap, shared, &offset), -ENOENT);
		assert_int_equal(offset, 10);
	}
}

static void a_function_leads_to_its_script(void **state)
{
	uint64_t script, shared, found = 0;
	v8_text name;

	(void)state;
	made_heap_init(&made, V8_11_3);
	script = made_script(&made, made_text(&made, ""), made_text(&made, "/a/b.js"));
	shared = made_shared(&made, made_text(&made, "f"), script);
	assert_int_equal(v8_function_shared(&made.heap, made_function(&made, shared), &found), 0);
	assert_int_equal(found, shared);
	assert_int_equal(v8_shared_script(&made.heap, shared, &found), 0);
	assert_int_equal(found, script);
	assert_int_equal(v8_script_name(&made.heap, script, name), 0);
	assert_string_equal(name, "/a/b.js");
	/* An object that is no function. */
	assert_int_equal(v8_function_shared(&made.heap, shared, &found), -EBADMSG);
	/* One of V8's own functions. */
	made_word(&made, shared, made.layout.shared_script, made_text(&made, ""));
	assert_int_equal(v8_shared_script(&made.heap, shared, &found), -ENOENT);
}

static void all_types_of_functions_are_functions(void **state)
{
	uint64_t script, shared, found = 0;

	(void)state;
	made_heap_init(&made, V8_12_4);
	script = made_script(&made, made_text(&made, ""), made_text(&made, ""));
	shared = made_shared(&made, made_text(&made, ""), script);
	for (int32_t i = -1; i <= made.layout.type_function_count; i++) {
		uint64_t function = made_object(&made, made.layout.type_function + i, 64);

		made_word(&made, function, made.layout.function_shared, shared);
		assert_int_equal(v8_function_shared(&made.heap, function, &found),
				 i >= 0 && i < made.layout.type_function_count ? 0 : -EBADMSG);
	}
}

static void a_debugger_puts_its_own_in_front_of_the_script(void **state)
{
	uint64_t script, debug_info, shared, found = 0;

	(void)state;
	made_heap_init(&made, V8_10_2);
	script = made_script(&made, made_text(&made, ""), made_text(&made, ""));
	debug_info = made_object(&made, made.layout.type_debug_info, 64);
	made_word(&made, debug_info, made.layout.debug_info_script, script);
	shared = made_shared(&made, made_text(&made, "f"), debug_info);
	assert_int_equal(v8_shared_script(&made.heap, shared, &found), 0);
	assert_int_equal(found, script);
}

static void functions_have_the_ids_of_script_source_and_isolate(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct v8_function_ids ids = { 0 };
		uint64_t script, shared;

		made_heap_init(&made, line);
		script = made_script(&made, made_text(&made, ""), made_text(&made, ""));
		shared = made_shared(&made, made_text(&made, "f"), script);
		made_word(&made, script, made.layout.script_id, made_smi(77));
		made_int(&made, shared, made.layout.shared_literal_id, 5);
		if (made.layout.shared_unique_id != V8_ABSENT)
			made_int(&made, shared, made.layout.shared_unique_id, 1234);
		assert_int_equal(v8_shared_ids(&made.heap, shared, &ids), 0);
		assert_int_equal(ids.script, 77);
		assert_int_equal(ids.literal, 5);
		assert_int_equal(ids.unique, line >= V8_12_4 ? 1234 : 0);
		/* An id that is no Smi. */
		made_word(&made, script, made.layout.script_id, script);
		assert_int_equal(v8_shared_ids(&made.heap, shared, &ids), -EBADMSG);
		made_word(&made, shared, made.layout.shared_script, made_text(&made, "none"));
		assert_int_equal(v8_shared_ids(&made.heap, shared, &ids), 0);
		assert_int_equal(ids.script, 0);
		assert_int_equal(ids.literal, 5);
		assert_int_equal(v8_shared_ids(&made.heap, script, &ids), -EBADMSG);
	}
}

static void a_script_without_a_name_may_name_itself(void **state)
{
	uint64_t script;
	v8_text name;

	(void)state;
	made_heap_init(&made, V8_12_4);
	script = made_script(&made, made_text(&made, ""), made_smi(0));
	assert_int_equal(v8_script_name(&made.heap, script, name), 0);
	assert_string_equal(name, "");
	made_word(&made, script, made.layout.script_source_url, made_text(&made, "my-eval.js"));
	assert_int_equal(v8_script_name(&made.heap, script, name), 0);
	assert_string_equal(name, "my-eval.js");
}

static void bytecodes_are_found_behind_what_replaces_them(void **state)
{
	static const uint8_t code[] = { 1, 2, 3 };
	uint64_t bytecodes, shared, data, baseline, found = 0;

	(void)state;
	made_heap_init(&made, V8_13_6);
	bytecodes = made_bytecodes(&made, code, sizeof(code), made_smi(0));
	shared = made_shared(&made, made_text(&made, ""), made_smi(0));
	made_word(&made, shared, made.layout.shared_data, bytecodes);
	assert_int_equal(v8_shared_bytecodes(&made.heap, shared, &found), 0);
	assert_int_equal(found, bytecodes);

	data = made_object(&made, made.layout.type_runtime_data, 24);
	made_word(&made, data, made.layout.interpreter_data_bytecodes, bytecodes);
	baseline = made_object(&made, made.layout.type_code, 96);
	made_word(&made, baseline, made.layout.code_data, data);
	made_word(&made, shared, made.layout.shared_data, baseline);
	found = 0;
	assert_int_equal(v8_shared_bytecodes(&made.heap, shared, &found), 0);
	assert_int_equal(found, bytecodes);

	/* Code that refers to itself, and a builtin's number. */
	made_word(&made, baseline, made.layout.code_data, baseline);
	assert_int_equal(v8_shared_bytecodes(&made.heap, shared, &found), -ENOENT);
	made_word(&made, shared, made.layout.shared_data, made_smi(700));
	assert_int_equal(v8_shared_bytecodes(&made.heap, shared, &found), -ENOENT);
}

static void only_a_function_with_sparkplug_s_code_has_code_of_its_own(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		uint64_t shared, code, found = 0;

		made_heap_init(&made, line);
		shared = made_shared(&made, made_smi(0), made_smi(0));
		code = made_object(&made, made.layout.type_code, 96);
		made_word(&made, shared, made.layout.shared_data, code);
		assert_int_equal(v8_shared_baseline(&made.heap, shared, &found), 0);
		assert_int_equal(found, code);
		/* Bytecodes, a builtin's number, and an address that cannot be read. */
		made_word(&made, shared, made.layout.shared_data,
			  made_object(&made, made.layout.type_bytecodes, 96));
		assert_int_equal(v8_shared_baseline(&made.heap, shared, &found), -ENOENT);
		made_word(&made, shared, made.layout.shared_data, made_smi(700));
		assert_int_equal(v8_shared_baseline(&made.heap, shared, &found), -ENOENT);
		made_word(&made, shared, made.layout.shared_data, 0x1001);
		assert_int_equal(v8_shared_baseline(&made.heap, shared, &found), -EFAULT);
		assert_int_equal(v8_shared_baseline(&made.heap, 0x1001, &found), -EFAULT);
		assert_int_equal(found, code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_has_its_own_name_or_the_inferred_one),
		cmocka_unit_test(words_that_only_some_scopes_have_are_skipped),
		cmocka_unit_test(what_is_not_compiled_keeps_its_inferred_name),
		cmocka_unit_test(hostile_scopes_are_refused),
		cmocka_unit_test(a_function_knows_where_it_begins),
		cmocka_unit_test(a_function_leads_to_its_script),
		cmocka_unit_test(all_types_of_functions_are_functions),
		cmocka_unit_test(a_debugger_puts_its_own_in_front_of_the_script),
		cmocka_unit_test(functions_have_the_ids_of_script_source_and_isolate),
		cmocka_unit_test(a_script_without_a_name_may_name_itself),
		cmocka_unit_test(bytecodes_are_found_behind_what_replaces_them),
		cmocka_unit_test(only_a_function_with_sparkplug_s_code_has_code_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
