/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/javascript_describe.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_node.h"

enum { BUILTINS_MAX = JAVASCRIPT_BUILTIN_RANGES_MAX + 1, BUILTIN_BYTES = 32 };

static struct v8_builtin items[BUILTINS_MAX];
static struct javascript_process process;

/* Makes adjacent builtins with the classes in @classes. */
static struct v8_builtins make_builtins(const uint8_t *classes, uint32_t count)
{
	assert_true(count <= BUILTINS_MAX);
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct v8_builtin){
			.start = i * BUILTIN_BYTES,
			.end = (i + 1) * BUILTIN_BYTES - 8,
			.builtin_class = classes[i],
		};
	return (struct v8_builtins){ .start = 0x1234560, .items = items, .count = count };
}

/* Describes @layout with one builtin. */
static int describe(const struct v8_layout *layout)
{
	static const uint8_t classes[] = { JAVASCRIPT_BUILTIN_OTHER };
	const struct v8_builtins builtins = make_builtins(classes, 1);

	return javascript_describe(layout, &builtins, &process);
}

static void neighbouring_builtins_of_one_class_are_one_range(void **state)
{
	static const uint8_t classes[] = {
		JAVASCRIPT_BUILTIN_OTHER,	JAVASCRIPT_BUILTIN_OTHER,
		JAVASCRIPT_BUILTIN_INTERPRETER, JAVASCRIPT_BUILTIN_HANDLER,
		JAVASCRIPT_BUILTIN_HANDLER,	JAVASCRIPT_BUILTIN_OTHER,
	};
	static const struct javascript_builtin_range expected[] = {
		{ 0, JAVASCRIPT_BUILTIN_OTHER },
		{ 2 * BUILTIN_BYTES, JAVASCRIPT_BUILTIN_INTERPRETER },
		{ 3 * BUILTIN_BYTES, JAVASCRIPT_BUILTIN_HANDLER },
		{ 5 * BUILTIN_BYTES, JAVASCRIPT_BUILTIN_OTHER },
	};
	const struct v8_layout layout = made_layout(V8_12_4);
	const struct v8_builtins builtins = make_builtins(classes, 6);

	(void)state;
	assert_int_equal(javascript_describe(&layout, &builtins, &process), 0);
	assert_memory_equal(process.ranges, expected, sizeof(expected));
	for (uint32_t i = 4; i < JAVASCRIPT_BUILTIN_RANGES_MAX; i++)
		assert_int_equal(process.ranges[i].start, JAVASCRIPT_OFFSET_MASK);
	assert_int_equal(process.builtins_start, builtins.start);
	assert_int_equal(process.builtins_bytes, 6 * BUILTIN_BYTES - 8);
}

static void too_many_ranges_are_refused(void **state)
{
	const struct v8_layout layout = made_layout(V8_12_4);
	uint8_t classes[JAVASCRIPT_BUILTIN_RANGES_MAX + 1];
	struct v8_builtins builtins;

	(void)state;
	for (uint32_t i = 0; i < sizeof(classes); i++)
		classes[i] = i % 2 ? JAVASCRIPT_BUILTIN_HANDLER : JAVASCRIPT_BUILTIN_OTHER;
	builtins = make_builtins(classes, JAVASCRIPT_BUILTIN_RANGES_MAX);
	assert_int_equal(javascript_describe(&layout, &builtins, &process), 0);
	assert_int_equal(process.ranges[JAVASCRIPT_BUILTIN_RANGES_MAX - 1].start,
			 (JAVASCRIPT_BUILTIN_RANGES_MAX - 1) * BUILTIN_BYTES);
	builtins = make_builtins(classes, JAVASCRIPT_BUILTIN_RANGES_MAX + 1);
	assert_int_equal(javascript_describe(&layout, &builtins, &process), -EOPNOTSUPP);
}

static void every_version_is_described_by_its_own_numbers(void **state)
{
	static const struct {
		uint16_t unique_id;
		uint16_t code_header;
		uint16_t wrapper_shared;
		uint16_t optimization_id;
		uint16_t bytecodes_before;
	} expected[V8_LINE_COUNT] = {
		[V8_9_4] = { 0, 96, 0, 5, 53 },	  [V8_10_2] = { 0, 128, 0, 5, 55 },
		[V8_11_3] = { 0, 16, 0, 5, 53 },  [V8_12_4] = { 56, 32, 0, 5, 63 },
		[V8_13_6] = { 64, 32, 8, 6, 63 }, [V8_14_1] = { 64, 32, 8, 6, 63 },
		[V8_14_6] = { 64, 32, 8, 6, 63 },
	};

	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const struct v8_layout layout = made_layout(line);

		assert_int_equal(describe(&layout), 0);
		assert_int_equal(process.shared_unique_id, expected[line].unique_id);
		assert_int_equal(process.code_header, expected[line].code_header);
		assert_int_equal(process.wrapper_shared, expected[line].wrapper_shared);
		assert_int_equal(process.deopt_optimization_id, expected[line].optimization_id);
		assert_int_equal(process.bytecodes_before, expected[line].bytecodes_before);
		assert_int_equal(process.type_function, layout.type_function);
		assert_int_equal(process.kind_mask, layout.kind_mask);
		assert_in_range(process.function_shared, 8, 64);
	}
}

static void code_is_found_by_the_list_of_its_page_or_by_maps(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const struct v8_layout layout = made_layout(line);

		assert_int_equal(describe(&layout), 0);
		if (line < V8_12_4) {
			assert_int_equal(process.jit_pages, 0);
			assert_int_equal(process.page_registry, layout.page_registry);
			assert_int_equal(process.jit_page_allocations, 0);
		} else {
			assert_int_equal(process.jit_pages, layout.trusted_data + 24);
			assert_int_equal(process.page_registry, 0);
			assert_int_equal(process.jit_page_allocations, layout.jit_page_allocations);
		}
	}
}

static void fields_that_a_version_lacks_are_0(void **state)
{
	struct v8_layout layout = made_layout(V8_9_4);

	(void)state;
	assert_int_equal(describe(&layout), 0);
	assert_int_equal(process.code_object, 0);
	assert_int_equal(process.code_start, 0);
	assert_int_equal(process.shared_unique_id, 0);
	assert_int_equal(process.wrapper_shared, 0);
	assert_int_equal(process.jit_page_allocations, 0);
}

static void kinds_that_a_version_lacks_are_of_no_code(void **state)
{
	struct v8_layout layout = made_layout(V8_9_4);

	(void)state;
	assert_int_equal(layout.kind_maglev, V8_ABSENT);
	assert_int_equal(describe(&layout), 0);
	assert_int_not_equal(process.kind_maglev & process.kind_mask, process.kind_maglev);
	assert_int_equal(process.kind_baseline, layout.kind_baseline);
	/* 0 is a valid kind of code. */
	layout.kind_regexp = 0;
	assert_int_equal(describe(&layout), 0);
	assert_int_equal(process.kind_regexp, 0);
}

static void markers_are_twice_the_type_of_the_frame(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		const struct v8_layout layout = made_layout(line);

		assert_int_equal(describe(&layout), 0);
		assert_int_equal(process.marker_entry, 2 * layout.frame_entry);
		assert_int_equal(process.marker_construct_entry, 2 * layout.frame_construct_entry);
		assert_int_equal(process.marker_construct, 2 * layout.frame_construct);
		assert_int_equal(process.marker_continuation, 2 * layout.frame_js_continuation);
		assert_int_equal(process.marker_continuation_with_catch,
				 2 * layout.frame_js_continuation_with_catch);
		assert_int_equal(process.marker_wasm, 2 * layout.frame_wasm);
		assert_int_equal(process.marker_wasm_to_js, 2 * layout.frame_wasm_to_js);
		/* The type exists from 12.4 on. */
		assert_int_equal(process.marker_fast_construct,
				 line < V8_12_4 ? 0 : 2 * layout.frame_fast_construct);
	}
}

/* The kernel side reads, as words, the first bytes of Code objects and functions, and a part of SharedFunctionInfos. */
static void objects_whose_fields_are_not_read_at_once_are_refused(void **state)
{
	static const struct {
		size_t member;
		int32_t value;
	} refused[] = {
		{ offsetof(struct v8_layout, code_flags), V8_ABSENT },
		{ offsetof(struct v8_layout, code_flags), 46 },
		{ offsetof(struct v8_layout, code_size), JAVASCRIPT_CODE_BYTES },
		{ offsetof(struct v8_layout, code_data), JAVASCRIPT_CODE_BYTES },
		{ offsetof(struct v8_layout, code_data), 12 },
		{ offsetof(struct v8_layout, code_start), 44 },
		{ offsetof(struct v8_layout, code_start), JAVASCRIPT_CODE_BYTES },
		{ offsetof(struct v8_layout, function_shared), JAVASCRIPT_FUNCTION_BYTES },
		{ offsetof(struct v8_layout, function_shared), 28 },
		{ offsetof(struct v8_layout, shared_literal_id), V8_ABSENT },
		{ offsetof(struct v8_layout, shared_literal_id), 40 + JAVASCRIPT_SHARED_BYTES },
		{ offsetof(struct v8_layout, shared_unique_id), 40 + JAVASCRIPT_SHARED_BYTES },
		{ offsetof(struct v8_layout, shared_unique_id), 41 + 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct v8_layout layout = made_layout(V8_13_6);

		memcpy((uint8_t *)&layout + refused[i].member, &refused[i].value, sizeof(int32_t));
		assert_int_equal(describe(&layout), -EOPNOTSUPP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbouring_builtins_of_one_class_are_one_range),
		cmocka_unit_test(too_many_ranges_are_refused),
		cmocka_unit_test(every_version_is_described_by_its_own_numbers),
		cmocka_unit_test(code_is_found_by_the_list_of_its_page_or_by_maps),
		cmocka_unit_test(fields_that_a_version_lacks_are_0),
		cmocka_unit_test(kinds_that_a_version_lacks_are_of_no_code),
		cmocka_unit_test(markers_are_twice_the_type_of_the_frame),
		cmocka_unit_test(objects_whose_fields_are_not_read_at_once_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
