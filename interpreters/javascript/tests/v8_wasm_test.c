/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_wasm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_wasm.h"

static struct made_heap made;
static struct made_wasm wasm;
static struct v8_wasm_function function;

static void make(enum v8_line line)
{
	made_heap_init(&made, line);
	made_wasm_init(&wasm, &made);
	function = (struct v8_wasm_function){ .index = 77 };
}

static int find(uint64_t pc)
{
	return v8_wasm_find(&made.heap, wasm.instance, pc, &function);
}

static void a_function_is_found_by_its_code(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		make(line);
		assert_int_equal(find(wasm.code[0]), 0);
		assert_int_equal(function.index, 2);
		assert_int_equal(function.script, wasm.script);
		assert_int_equal(function.module, wasm.module);
		assert_int_equal(function.module_bytes, sizeof(made_wasm_bytes) - 1);
		assert_int_equal(find(wasm.code[0] + MADE_WASM_CODE_SIZE - 1), 0);
		/* V8 has not put it into its map yet. */
		assert_int_equal(find(wasm.code[2] + 5), 0);
		assert_int_equal(function.index, 3);
	}
}

static void code_of_no_function_has_none(void **state)
{
	(void)state;
	make(V8_13_6);
	assert_int_equal(find(wasm.code[1]), -ENOENT);
	assert_int_equal(find(wasm.code[0] - 1), -ENOENT);
	assert_int_equal(find(wasm.code[2] + MADE_WASM_CODE_SIZE), -ENOENT);
	assert_int_equal(function.index, 77);
}

static void code_has_to_say_whose_it_is(void **state)
{
	const uint64_t other = 0x1234;
	uint64_t codes = 0;

	(void)state;
	make(V8_14_6);
	made_heap_read(&made.memory,
		       wasm.native + (uint64_t)made.layout.wasm_code + MADE_WASM_MAP_BYTES, &codes,
		       sizeof(codes));
	/* A chunk of code at an address that cannot be read, and one of no module. */
	made_put(&made, codes, &other, sizeof(other));
	assert_int_equal(find(wasm.code[2]), -EFAULT);
	made_put(&made, codes, &wasm.native, sizeof(other));
	assert_int_equal(find(wasm.code[2]), -ENOENT);
	made_put(&made, wasm.native + (uint64_t)made.layout.wasm_code + MADE_WASM_MAP_ROOT, &other,
		 sizeof(other));
	assert_int_equal(find(wasm.code[0]), -EFAULT);
	make(V8_14_6);
	wasm.instance = wasm.script;
	assert_true(find(wasm.code[0]) < 0);
	make(V8_9_4);
	made.layout.type_wasm_module++;
	assert_int_equal(find(wasm.code[0]), -EBADMSG);
}

static void a_module_without_bytes_has_its_functions(void **state)
{
	const uint64_t nowhere = 8;

	(void)state;
	make(V8_12_4);
	made_put(&made, wasm.native + (uint64_t)made.layout.wasm_bytes, &nowhere, sizeof(nowhere));
	assert_int_equal(find(wasm.code[0]), 0);
	assert_int_equal(function.index, 2);
	assert_int_equal(function.module_bytes, 0);
}

static void a_forged_list_of_new_code_comes_to_an_end(void **state)
{
	uint64_t range[2] = { wasm.native, UINT64_MAX };

	(void)state;
	make(V8_13_6);
	made_put(&made, wasm.native + (uint64_t)made.layout.wasm_code + MADE_WASM_MAP_BYTES, range,
		 sizeof(range));
	assert_true(find(wasm.code[2]) < 0);
	range[1] = range[0] - 8;
	made_put(&made, wasm.native + (uint64_t)made.layout.wasm_code + MADE_WASM_MAP_BYTES, range,
		 sizeof(range));
	assert_int_equal(find(wasm.code[2]), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_by_its_code),
		cmocka_unit_test(code_of_no_function_has_none),
		cmocka_unit_test(code_has_to_say_whose_it_is),
		cmocka_unit_test(a_module_without_bytes_has_its_functions),
		cmocka_unit_test(a_forged_list_of_new_code_comes_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
