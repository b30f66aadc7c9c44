/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpreters/javascript/tests/made_code.h"

static struct made_heap made;
static struct made_code_page page;

static int find_error(uint64_t pc)
{
	struct v8_code code;

	return v8_code_find(&made.heap, page.bias, pc, &code);
}

static void assert_found(uint64_t pc, uint64_t start, enum v8_tier tier)
{
	struct v8_code code;

	assert_int_equal(v8_code_find(&made.heap, page.bias, pc, &code), 0);
	assert_int_equal(code.start, start);
	assert_int_equal(code.tier, tier);
}

static void an_address_leads_to_its_code_in_all_versions(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct made_table safepoints = { .size = 16 };
		struct v8_code found;
		uint64_t first, second, third, data;

		made_heap_init(&made, line);
		made_code_page_init(&page, &made);
		data = made_text(&made, "data");
		first = made_code_add(&page, &(struct made_code){ .kind = made.layout.kind_baseline,
								  .size = 40,
								  .data = data });
		second =
			made_code_add(&page, &(struct made_code){ .kind = made.layout.kind_turbofan,
								  .size = 100,
								  .safepoints = &safepoints,
								  .positions = data });
		third = made_code_add(&page, &(struct made_code){ .kind = made.layout.kind_regexp,
								  .size = 8 });
		assert_found(first, first, V8_TIER_BASELINE);
		assert_found(first + 39, first, V8_TIER_BASELINE);
		assert_found(second + 99, second, V8_TIER_TURBOFAN);
		/* A call may be the last instruction. */
		assert_found(second + 100, second, V8_TIER_TURBOFAN);
		assert_found(third + 1, third, V8_TIER_REGEXP);
		assert_int_equal(find_error(second + 101), -ENOENT);
		assert_int_equal(find_error(first - 1), -ENOENT);
		assert_int_equal(find_error(made_code_page_start() + 8), -ENOENT);
		assert_int_equal(v8_code_find(&made.heap, page.bias, second + 5, &found), 0);
		assert_int_equal(found.size, 100);
		assert_int_equal(found.metadata_size, 16);
		assert_int_equal(found.positions, data);
	}
}

static void kinds_of_other_code_are_no_tiers(void **state)
{
	const struct v8_layout layout = made_layout(V8_13_6);
	const struct {
		int32_t kind;
		enum v8_tier tier;
	} cases[] = { { layout.kind_maglev, V8_TIER_MAGLEV },
		      { layout.kind_wasm, V8_TIER_WASM },
		      { 0, V8_TIER_OTHER } };

	(void)state;
	made_heap_init(&made, V8_13_6);
	made_code_page_init(&page, &made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct made_code code = { .kind = cases[i].kind, .size = 8 };
		uint64_t start = made_code_add(&page, &code);

		assert_found(start, start, cases[i].tier);
	}
}

/* Returns the error or the id. */
static int optimization_id(uint64_t pc)
{
	struct v8_code code;
	int32_t id;
	int err = v8_code_find(&made.heap, page.bias, pc, &code);

	if (!err)
		err = v8_code_optimization_id(&made.heap, &code, &id);
	return err ? err : id;
}

static void optimized_code_has_the_number_of_its_compilation(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct made_table safepoints = { .size = 16 };
		struct made_code code = { .size = 40, .safepoints = &safepoints };
		uint64_t words[8] = { 0 }, optimized, baseline;
		int32_t index;

		made_heap_init(&made, line);
		made_code_page_init(&page, &made);
		index = made.layout.deopt_optimization_id;
		words[index] = made_smi(12);
		code.data = made_array(&made, words, 8);
		code.kind = made.layout.kind_turbofan;
		optimized = made_code_add(&page, &code);
		code.kind = made.layout.kind_baseline;
		baseline = made_code_add(&page, &code);
		assert_int_equal(optimization_id(optimized), 12);
		assert_int_equal(optimization_id(baseline), -ENOENT);
		made_word(&made, code.data, made.layout.array_data + index * V8_TAGGED_BYTES,
			  code.data);
		assert_int_equal(optimization_id(optimized), -EBADMSG);
	}
}

static void a_list_that_is_not_sorted_is_searched_as_well(void **state)
{
	uint64_t first, second, swapped[2];

	(void)state;
	made_heap_init(&made, V8_10_2);
	made_code_page_init(&page, &made);
	first = made_code_add(&page, &(struct made_code){ .kind = 11, .size = 40 });
	second = made_code_add(&page, &(struct made_code){ .kind = 13, .size = 40 });
	swapped[0] = second - made.layout.code_header;
	swapped[1] = first - made.layout.code_header;
	made_put(&made, page.list, swapped, sizeof(swapped));
	assert_found(first + 3, first, V8_TIER_BASELINE);
	assert_found(second + 3, second, V8_TIER_TURBOFAN);
}

static void forged_lists_are_refused(void **state)
{
	uint64_t start, list[2];

	(void)state;
	made_heap_init(&made, V8_11_3);
	made_code_page_init(&page, &made);
	start = made_code_add(&page, &(struct made_code){ .kind = 11, .size = 40 });
	list[0] = page.list;
	list[1] = page.list - 8;
	made_put(&made, page.registry, list, sizeof(list));
	assert_int_equal(find_error(start), -EBADMSG);
	list[1] = page.list + (1 << 20);
	made_put(&made, page.registry, list, sizeof(list));
	assert_int_equal(find_error(start), -EBADMSG);
	list[1] = page.list + 12;
	made_put(&made, page.registry, list, sizeof(list));
	assert_int_equal(find_error(start), -EBADMSG);
	/* An object in another page. */
	list[0] = list[1] = page.list + 8;
	made_put(&made, page.registry, list, sizeof(list));
	assert_int_equal(find_error(start), -ENOENT);
}

static void maps_without_an_end_are_refused(void **state)
{
	uint64_t start, root;

	(void)state;
	made_heap_init(&made, V8_12_4);
	made_code_page_init(&page, &made);
	start = made_code_add(&page, &(struct made_code){ .kind = 11, .size = 40 });
	root = page.list;
	made_put(&made, root + MADE_NODE_RIGHT, &root, sizeof(root));
	assert_int_equal(find_error(start), -E2BIG);
}

static void what_is_found_must_be_code_itself(void **state)
{
	(void)state;
	for (enum v8_line line = V8_10_2; line <= V8_11_3; line++) {
		uint64_t start, stream, object;

		made_heap_init(&made, line);
		made_code_page_init(&page, &made);
		start = made_code_add(&page, &(struct made_code){ .kind = 11, .size = 40 });
		stream = start - made.layout.code_header + V8_TAG;
		assert_int_equal(find_error(start), 0);
		/* Sizes that the code cannot have. */
		memcpy(&object, made.bytes + (stream - V8_TAG + 8 - MADE_HEAP_BASE),
		       sizeof(object));
		if (line == V8_10_2)
			object = stream;
		made_int(&made, object, made.layout.code_size, 0);
		assert_int_equal(find_error(start), -EBADMSG);
		made_int(&made, object, made.layout.code_size, 40);
		made_int(&made, object, made.layout.code_metadata_size, -1);
		assert_int_equal(find_error(start), -EBADMSG);
		made_int(&made, object, made.layout.code_metadata_size, 0);
		/* Code whose start is another address. */
		if (line == V8_11_3) {
			made_word(&made, object, made.layout.code_start, start + 8);
			assert_int_equal(find_error(start), -EBADMSG);
			made_word(&made, object, made.layout.code_start, start);
		}
		assert_int_equal(find_error(start), 0);
		/* An object of another type. */
		made_word(&made, stream, 0, made_map(&made, made.layout.type_script));
		assert_int_equal(find_error(start), -EBADMSG);
	}
}

static void a_code_object_leads_to_its_instructions(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct made_table safepoints = { .size = 16 };
		struct v8_code found, code;
		uint64_t start;

		made_heap_init(&made, line);
		made_code_page_init(&page, &made);
		made_code_add(&page, &(struct made_code){ .kind = 0, .size = 24 });
		start = made_code_add(&page, &(struct made_code){ .kind = made.layout.kind_turbofan,
								  .size = 40,
								  .safepoints = &safepoints,
								  .data = 5 });
		assert_int_equal(v8_code_find(&made.heap, page.bias, start, &found), 0);
		memset(&code, 0xee, sizeof(code));
		assert_int_equal(v8_code_read(&made.heap, found.object, &code), 0);
		assert_int_equal(code.object, found.object);
		assert_int_equal(code.start, start);
		assert_int_equal(code.size, 40);
		assert_int_equal(code.metadata_size, 16);
		assert_int_equal(code.data, 5);
		assert_int_equal(code.tier, V8_TIER_TURBOFAN);
		/* An object of another type, and a word that is no object. */
		assert_int_equal(v8_code_read(&made.heap, made_text(&made, "code"), &code),
				 -EBADMSG);
		assert_int_equal(v8_code_read(&made.heap, made_smi(7), &code), -EBADMSG);
		assert_int_equal(v8_code_read(&made.heap, 0x1001, &code), -EFAULT);
		assert_int_equal(code.start, start);
	}
}

/* From 11.3 on code and instructions are separate objects, which must refer to each other. */
static void instructions_of_other_code_are_refused(void **state)
{
	(void)state;
	for (enum v8_line line = V8_11_3; line < V8_LINE_COUNT; line++) {
		const struct made_code made_code = { .kind = 0, .size = 24 };
		uint64_t first, second;
		struct v8_code codes[2], code;

		made_heap_init(&made, line);
		made_code_page_init(&page, &made);
		first = made_code_add(&page, &made_code);
		second = made_code_add(&page, &made_code);
		assert_int_equal(v8_code_find(&made.heap, page.bias, first, &codes[0]), 0);
		assert_int_equal(v8_code_find(&made.heap, page.bias, second, &codes[1]), 0);
		made_word(&made, codes[0].object, made.layout.code_start, second);
		assert_int_equal(v8_code_read(&made.heap, codes[0].object, &code), -EBADMSG);
		assert_int_equal(v8_code_read(&made.heap, codes[1].object, &code), 0);
		/* Instructions at an address that cannot be read. */
		made_word(&made, codes[0].object, made.layout.code_start, 0x1000);
		assert_int_equal(v8_code_read(&made.heap, codes[0].object, &code), -EFAULT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_leads_to_its_code_in_all_versions),
		cmocka_unit_test(kinds_of_other_code_are_no_tiers),
		cmocka_unit_test(optimized_code_has_the_number_of_its_compilation),
		cmocka_unit_test(a_list_that_is_not_sorted_is_searched_as_well),
		cmocka_unit_test(forged_lists_are_refused),
		cmocka_unit_test(maps_without_an_end_are_refused),
		cmocka_unit_test(what_is_found_must_be_code_itself),
		cmocka_unit_test(a_code_object_leads_to_its_instructions),
		cmocka_unit_test(instructions_of_other_code_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
