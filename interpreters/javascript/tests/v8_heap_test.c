/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_heap.h"

static struct made_heap made;

static void a_smi_has_a_low_half_of_zeroes(void **state)
{
	int32_t value = 7;

	(void)state;
	assert_true(v8_smi(made_smi(-3), &value));
	assert_int_equal(value, -3);
	assert_true(v8_smi(0, &value));
	assert_int_equal(value, 0);
	assert_false(v8_smi(made_smi(5) | 2, &value));
	assert_false(v8_smi(made_smi(5) | V8_TAG, &value));
	assert_int_equal(value, 0);
}

static void an_element_must_be_in_its_array(void **state)
{
	const uint64_t words[] = { made_smi(1), made_smi(2) };
	uint64_t array, word = 0;

	(void)state;
	made_heap_init(&made, V8_11_3);
	array = made_array(&made, words, 2);
	assert_int_equal(v8_array_element(&made.heap, array, 1, &word), 0);
	assert_int_equal(word, made_smi(2));
	assert_int_equal(v8_array_element(&made.heap, array, 2, &word), -EBADMSG);
	made_word(&made, array, made.layout.array_length, made_smi(-1));
	assert_int_equal(v8_array_element(&made.heap, array, 0, &word), -EBADMSG);
	made_word(&made, array, made.layout.array_length, array);
	assert_int_equal(v8_array_element(&made.heap, array, 0, &word), -EBADMSG);
	assert_int_equal(word, made_smi(2));
}

static void bytes_are_copied_up_to_a_limit(void **state)
{
	struct elf_bytes bytes = { 0 };
	uint64_t array;

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		made_heap_init(&made, line);
		array = made_bytes(&made, "abcd", 4);
		assert_int_equal(v8_bytes_read(&made.heap, array, 4, &bytes), 0);
		assert_int_equal(bytes.size, 4);
		assert_memory_equal(bytes.data, "abcd", 4);
		elf_bytes_deinit(&bytes);
		assert_int_equal(v8_bytes_read(&made.heap, array, 3, &bytes), -E2BIG);
		made_word(&made, array, made.layout.array_length, made_smi(-1));
		assert_int_equal(v8_bytes_read(&made.heap, array, 4, &bytes), -EBADMSG);
		assert_int_equal(v8_bytes_read(&made.heap, made_text(&made, "abcd"), 4, &bytes),
				 -EBADMSG);
		assert_int_equal(v8_bytes_read(&made.heap, made_bytes(&made, "", 0), 4, &bytes), 0);
		assert_int_equal(bytes.size, 0);
		elf_bytes_deinit(&bytes);
	}
}

static void a_type_is_read_through_the_map(void **state)
{
	uint64_t script, text, followed;
	uint16_t type = 0;

	(void)state;
	made_heap_init(&made, V8_14_1);
	text = made_text(&made, "");
	script = made_script(&made, text, text);
	assert_int_equal(v8_check_type(&made.heap, &script, made.layout.type_script), 0);
	assert_int_equal(v8_check_type(&made.heap, &text, made.layout.type_script), -EBADMSG);
	/* The collector has moved the object. */
	followed = text;
	made_word(&made, text, 0, script - V8_TAG);
	assert_int_equal(v8_instance_type(&made.heap, &followed, &type), 0);
	assert_int_equal(followed, script);
	assert_int_equal(type, made.layout.type_script);
	/* The object has no map yet. */
	made_word(&made, text, 0, 0);
	assert_int_equal(v8_instance_type(&made.heap, &text, &type), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_smi_has_a_low_half_of_zeroes),
		cmocka_unit_test(an_element_must_be_in_its_array),
		cmocka_unit_test(bytes_are_copied_up_to_a_limit),
		cmocka_unit_test(a_type_is_read_through_the_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
