/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/otlp_dictionary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static int setup(void **state)
{
	static struct otlp_dictionary dictionary;

	otlp_dictionary_init(&dictionary);
	assert_int_equal(dictionary.err, 0);
	*state = &dictionary;
	return 0;
}

static int teardown(void **state)
{
	otlp_dictionary_deinit(*state);
	return 0;
}

/* A native location of @address in /lib/a.so. */
static uint32_t add_location(struct otlp_dictionary *d, uint64_t address)
{
	uint32_t attributes[] = { otlp_add_text_attribute(d, "type", "native") };
	struct otlp_mapping_entry mapping = {
		.memory_limit = 0x100000,
		.filename = otlp_add_string(d, "/lib/a.so"),
	};
	struct otlp_location_entry location = {
		.address = address,
		.mapping = otlp_add_mapping(d, &mapping),
		.attributes = attributes,
		.attribute_count = 1,
	};

	return otlp_add_location(d, &location);
}

static uint32_t add_stack(struct otlp_dictionary *d, uint32_t first, uint32_t second)
{
	uint32_t ids[] = { first, second };
	struct number_vector locations = { .items = ids, .count = 2, .capacity = 2 };

	return otlp_add_stack(d, &locations);
}

static uint32_t add_number(struct otlp_dictionary *d, int64_t number)
{
	struct otlp_attribute_entry attribute = {
		.key = otlp_add_string(d, "n"),
		.kind = OTLP_VALUE_NUMBER,
		.value = number,
	};

	return otlp_add_attribute(d, &attribute);
}

static void equal_entries_have_one_id_and_empty_ones_have_0(void **state)
{
	struct otlp_dictionary *d = *state;
	uint32_t text = otlp_add_string(d, "text");

	assert_int_not_equal(text, 0);
	assert_int_equal(otlp_add_string(d, "text"), text);
	assert_int_not_equal(otlp_add_string(d, "text2"), text);
	assert_int_equal(otlp_add_string(d, ""), 0);
	assert_int_equal(add_location(d, 1), add_location(d, 1));
	assert_int_not_equal(add_location(d, 1), add_location(d, 1ULL << 32 | 1));
	assert_int_equal(otlp_add_location(d, &(struct otlp_location_entry){ 0 }), 0);
	assert_int_equal(add_number(d, 7), add_number(d, 7));
	assert_int_not_equal(add_number(d, text), otlp_add_text_attribute(d, "n", "text"));
	assert_int_equal(d->err, 0);
}

static void entries_come_back_as_they_went_in(void **state)
{
	struct otlp_dictionary *d = *state;
	uint32_t attributes[] = { add_number(d, -7) };
	uint32_t lines[] = { otlp_add_function(d,
					       &(struct otlp_function_entry){
						       .name = otlp_add_string(d, "f"),
						       .filename = otlp_add_string(d, "f.c"),
						       .start_line = 70,
					       }),
			     70000,
			     12,
			     3,
			     4,
			     0 };
	struct otlp_location_entry location = {
		.address = 0xffffffff81000010,
		.mapping = 5,
		.attributes = attributes,
		.attribute_count = 1,
		.lines = lines,
		.line_count = 2,
	};
	struct otlp_location_entry back = otlp_location(d, otlp_add_location(d, &location));

	assert_int_equal(back.address, location.address);
	assert_int_equal(back.mapping, 5);
	assert_int_equal(back.attribute_count, 1);
	assert_int_equal(back.attributes[0], attributes[0]);
	assert_int_equal(back.line_count, 2);
	assert_memory_equal(back.lines, lines, sizeof(lines));
	assert_int_equal(otlp_attribute(d, attributes[0]).value, -7);
	assert_int_equal(otlp_attribute(d, attributes[0]).kind, OTLP_VALUE_NUMBER);
	assert_string_equal(otlp_string(d, otlp_function(d, lines[0]).filename)->bytes, "f.c");
	assert_int_equal(otlp_function(d, lines[0]).start_line, 70);
}

static void an_attribute_may_have_several_texts(void **state)
{
	struct otlp_dictionary *d = *state;
	uint32_t texts[] = { otlp_add_string(d, "host: box"), otlp_add_string(d, "") };
	struct otlp_attribute_entry attribute = {
		.key = otlp_add_string(d, "list"),
		.kind = OTLP_VALUE_TEXTS,
		.texts = texts,
		.text_count = 2,
	};
	struct otlp_attribute_entry back = otlp_attribute(d, otlp_add_attribute(d, &attribute));

	assert_int_equal(back.kind, OTLP_VALUE_TEXTS);
	assert_int_equal(back.text_count, 2);
	assert_memory_equal(back.texts, texts, sizeof(texts));
	/* AnyValue { ArrayValue { AnyValue { "host: box" }, AnyValue { "" } } }, a tag and a length each. */
	assert_int_equal(otlp_value_field_bytes(d, &back), 2 + 2 + (2 + 2 + 9) + (2 + 2));
	attribute.text_count = 1;
	assert_int_equal(otlp_attribute(d, otlp_add_attribute(d, &attribute)).text_count, 1);
}

static void what_is_taken_back_leaves_no_trace(void **state)
{
	struct otlp_dictionary *d = *state;
	uint32_t hot = add_location(d, 1), cold = add_location(d, 2);
	size_t empty = otlp_dictionary_bytes(d), bytes;

	otlp_dictionary_use(d, OTLP_STACKS, add_stack(d, hot, hot));
	bytes = otlp_dictionary_bytes(d);
	assert_true(bytes > empty);
	otlp_dictionary_mark(d);
	otlp_dictionary_use(d, OTLP_STACKS, add_stack(d, hot, cold));
	otlp_dictionary_use(d, OTLP_STACKS, add_stack(d, hot, cold));
	assert_true(otlp_dictionary_bytes(d) > bytes);
	otlp_dictionary_take_back(d);
	assert_int_equal(otlp_dictionary_bytes(d), bytes);
	assert_int_equal(d->tables[OTLP_STACKS].used.count, 1);
	assert_int_equal(d->tables[OTLP_LOCATIONS].used.count, 1);
	assert_int_equal(d->tables[OTLP_LOCATIONS].uses.items[hot].count, 2);
	assert_int_equal(d->tables[OTLP_LOCATIONS].uses.items[cold].count, 0);
	/* The entry can be used again. */
	otlp_dictionary_use(d, OTLP_LOCATIONS, cold);
	otlp_dictionary_set_indexes(d);
	assert_int_equal(otlp_index(d, OTLP_LOCATIONS, cold), 2);
}

static void the_hottest_entry_has_index_1_in_each_request(void **state)
{
	struct otlp_dictionary *d = *state;
	uint32_t a = otlp_add_string(d, "a"), b = otlp_add_string(d, "b"),
		 c = otlp_add_string(d, "c");

	otlp_dictionary_use(d, OTLP_STRINGS, a);
	otlp_dictionary_use(d, OTLP_STRINGS, b);
	otlp_dictionary_use(d, OTLP_STRINGS, b);
	otlp_dictionary_set_indexes(d);
	assert_int_equal(otlp_index(d, OTLP_STRINGS, b), 1);
	assert_int_equal(otlp_index(d, OTLP_STRINGS, a), 2);
	otlp_dictionary_forget_uses(d);
	otlp_dictionary_use(d, OTLP_STRINGS, c);
	otlp_dictionary_use(d, OTLP_STRINGS, a);
	otlp_dictionary_use(d, OTLP_STRINGS, a);
	otlp_dictionary_set_indexes(d);
	assert_int_equal(d->tables[OTLP_STRINGS].used.count, 2);
	assert_int_equal(otlp_index(d, OTLP_STRINGS, a), 1);
	assert_int_equal(otlp_index(d, OTLP_STRINGS, c), 2);
	assert_int_equal(otlp_index(d, OTLP_STRINGS, 0), 0);
}

static void sizes_are_those_of_varints(void **state)
{
	(void)state;
	assert_int_equal(otlp_varint_bytes(0), 1);
	assert_int_equal(otlp_varint_bytes(127), 1);
	assert_int_equal(otlp_varint_bytes(128), 2);
	assert_int_equal(otlp_varint_bytes(16383), 2);
	assert_int_equal(otlp_varint_bytes(16384), 3);
	assert_int_equal(otlp_varint_bytes(UINT64_MAX >> 1), 9);
	assert_int_equal(otlp_varint_bytes(UINT64_MAX), 10);
	assert_int_equal(otlp_field_bytes(127), 129);
	assert_int_equal(otlp_field_bytes(128), 131);
	assert_int_equal(otlp_packed_header_bytes(0), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_entries_have_one_id_and_empty_ones_have_0),
		TEST(entries_come_back_as_they_went_in),
		TEST(an_attribute_may_have_several_texts),
		TEST(what_is_taken_back_leaves_no_trace),
		TEST(the_hottest_entry_has_index_1_in_each_request),
		TEST(sizes_are_those_of_varints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
