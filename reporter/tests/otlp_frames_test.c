/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/otlp_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/otlp_samples.h"

static void native_frames_are_file_and_address_for_the_backend_to_name(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;
	const Mapping *mapping;
	const Sample *sample;

	add(s, TRACE(native_frame(f->prog, 0x3000, 0), native_frame(f->prog, 0x1001, 1)), 1, 1, 1);
	requests = build(s);
	sample = only_sample(only(requests));
	tables = only(requests)->dictionary;
	location = location_at(tables, sample, 1);
	assert_int_equal(location->address, 0x1000);
	assert_int_equal(location->n_lines, 0);
	assert_string_equal(frame_type_of(tables, location), "native");
	assert_int_equal(location_at(tables, sample, 0)->address, 0x3000);
	mapping = tables->mapping_table[location->mapping_index];
	assert_int_equal(mapping->memory_start, 0x1000);
	assert_int_equal(mapping->memory_limit, 0x9000);
	assert_int_equal(mapping->file_offset, 0x400);
	assert_string_equal(string_at(tables, mapping->filename_strindex), "/opt/prog");
	assert_string_equal(value_text(value_of(tables, mapping->attribute_indices,
						mapping->n_attribute_indices,
						"process.executable.build_id.gnu")),
			    "ab0c");
	requests_free(requests);
}

static void file_ids_are_32_hexadecimal_digits(void **state)
{
	struct samples *s = *state;
	struct binary *binary = binary_create(&(struct binary){
		.executable_id = 0x10009,
		.fd = -1,
		.path = "/lib/x.so",
		.file_id.bytes = { 0x01, 0xff, 0x20 },
		.memory_limit = 0x9000,
	});
	const Dictionary *tables;
	struct requests *requests;
	const Mapping *mapping;

	add(s, TRACE(native_frame(binary, 0x3000, 0)), 1, 1, 1);
	binary_unref(binary);
	requests = build(s);
	tables = only(requests)->dictionary;
	assert_int_equal(tables->n_mapping_table, 2);
	mapping = tables->mapping_table[1];
	assert_int_equal(mapping->n_attribute_indices, 1);
	assert_string_equal(value_text(value_of(tables, mapping->attribute_indices, 1,
						"process.executable.build_id.htlhash")),
			    "01ff2000000000000000000000000000");
	requests_free(requests);
}

static void copies_of_a_file_are_one_mapping(void **state)
{
	struct samples *s = *state;
	struct binary values = { .fd = -1, .path = "/lib/x.so", .memory_limit = 0x9000 };
	const Dictionary *tables;
	struct requests *requests;

	for (uint64_t i = 0; i < 3; i++) {
		struct binary *binary;

		values.executable_id = 0x10000 + i;
		binary = binary_create(&values);
		add(s, TRACE(native_frame(binary, 0x3000, 0)), 1, 1, 2);
		binary_unref(binary);
	}
	requests = build(s);
	tables = only(requests)->dictionary;
	assert_int_equal(tables->n_mapping_table, 2);
	assert_int_equal(tables->n_location_table, 2);
	assert_int_equal(only_sample(only(requests))->n_timestamps_unix_nano, 6);
	requests_free(requests);
}

static void kernel_frames_have_names_and_the_module_as_mapping(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;
	const char *const names[] = { "do_call", "ext4_read", "bpf_prog_1" };
	const char *const files[] = { "vmlinux", "ext4", "bpf" };

	add(s,
	    TRACE(kernel_frame(f, 0x10, "do_call", "vmlinux"),
		  kernel_frame(f, 0x20, "ext4_read", "ext4"),
		  kernel_frame(f, 0x30, "bpf_prog_1", "bpf"), kernel_frame(f, 0x40, NULL, "ext4")),
	    1, 1, 1);
	requests = build(s);
	tables = only(requests)->dictionary;
	for (size_t i = 0; i < 3; i++) {
		location = location_at(tables, only_sample(only(requests)), i);
		assert_string_equal(frame_type_of(tables, location), "kernel");
		assert_int_equal(location->address, 0xffffffff81000010 + i * 16);
		assert_int_equal(location->n_lines, 1);
		assert_string_equal(
			string_at(tables, tables->function_table[location->lines[0]->function_index]
						  ->name_strindex),
			names[i]);
		assert_string_equal(string_at(tables, tables->mapping_table[location->mapping_index]
							      ->filename_strindex),
				    files[i]);
	}
	location = location_at(tables, only_sample(only(requests)), 3);
	assert_int_equal(location->n_lines, 0);
	requests_free(requests);
}

static void interpreted_frames_have_their_language_function_file_line_and_column(void **state)
{
	struct samples *s = *state;
	const struct frame frame = {
		.kind = FRAME_PYTHON,
		.function = "Server.handle",
		.file = "/srv/x.py",
		.line = 42,
		.column = 7,
	};
	struct frame elsewhere = frame, further = frame;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;
	const Opentelemetry__Proto__Profiles__V1development__Function *function;

	elsewhere.line = 43;
	further.column = 8;
	add(s, TRACE(frame, elsewhere, further), 1, 1, 1);
	requests = build(s);
	tables = only(requests)->dictionary;
	for (size_t i = 0; i < 3; i++) {
		location = location_at(tables, only_sample(only(requests)), i);
		assert_string_equal(frame_type_of(tables, location), "cpython");
		assert_int_equal(location->address, 0);
		assert_int_equal(location->mapping_index, 0);
		assert_int_equal(location->n_lines, 1);
		assert_int_equal(location->lines[0]->line, i == 1 ? 43 : 42);
		assert_int_equal(location->lines[0]->column, i == 2 ? 8 : 7);
		function = tables->function_table[location->lines[0]->function_index];
		assert_string_equal(string_at(tables, function->name_strindex), "Server.handle");
		assert_string_equal(string_at(tables, function->filename_strindex), "/srv/x.py");
	}
	requests_free(requests);
}

static void check_line(const Dictionary *tables, const Location *location, size_t index,
		       const char *function, const char *file, int64_t line)
{
	const Opentelemetry__Proto__Profiles__V1development__Function *found =
		tables->function_table[location->lines[index]->function_index];

	assert_string_equal(string_at(tables, found->name_strindex), function);
	assert_string_equal(string_at(tables, found->filename_strindex), file);
	assert_int_equal(location->lines[index]->line, line);
}

static struct frame java_frame(const char *function, uint32_t line, uint8_t flags)
{
	return (struct frame){
		.kind = FRAME_JAVA,
		.flags = flags,
		.function = function,
		.file = "A.java",
		.line = line,
	};
}

static void what_is_inlined_into_an_interpreted_function_is_lines_of_one_location(void **state)
{
	struct samples *s = *state;
	const uint8_t near = FRAME_APPROXIMATE;
	struct requests *requests;
	const Dictionary *tables;
	const Location *location;

	add(s,
	    TRACE(java_frame("A.inner", 3, FRAME_INLINED), java_frame("A.middle", 7, FRAME_INLINED),
		  java_frame("A.outer", 9, 0), java_frame("A.inner", 3, FRAME_INLINED | near),
		  java_frame("A.outer", 9, near), java_frame("A.outer", 9, 0)),
	    1, 1, 1);
	/* Other lines around the same innermost function. */
	add(s, TRACE(java_frame("A.inner", 3, FRAME_INLINED), java_frame("A.outer", 10, 0)), 1, 1,
	    1);
	requests = build(s);
	tables = only(requests)->dictionary;
	/* The zero location, and four others. */
	assert_int_equal(tables->n_location_table, 1 + 4);
	for (size_t i = 1; i < 5; i++) {
		location = tables->location_table[i];
		assert_string_equal(frame_type_of(tables, location), "jvm");
		assert_int_equal(location->mapping_index, 0);
		if (location->n_lines == 3) {
			check_line(tables, location, 0, "A.inner", "A.java", 3);
			check_line(tables, location, 1, "A.middle", "A.java", 7);
			check_line(tables, location, 2, "A.outer", "A.java", 9);
			assert_int_equal(location->n_attribute_indices, 1);
		} else if (location->n_attribute_indices == 2) {
			assert_int_equal(location->n_lines, 2);
			/* The name is unchanged. */
			check_line(tables, location, 0, "A.inner", "A.java", 3);
			assert_non_null(value_of(tables, location->attribute_indices, 2,
						 "allframes.frame.approximate"));
		}
	}
	requests_free(requests);
}

static void code_of_go_is_of_type_go_with_a_line_for_each_inlined_function(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;

	add(s,
	    TRACE(native_frame(f->prog, 0x8801, FRAME_RETURN_ADDRESS),
		  native_frame(f->prog, 0x1000, 0)),
	    1, 1, 1);
	s->options.lookup = &f->lookup;
	requests = build(s);
	tables = only(requests)->dictionary;
	location = location_at(tables, only_sample(only(requests)), 0);
	assert_string_equal(frame_type_of(tables, location), "go");
	assert_int_equal(location->address, 0x8800);
	assert_int_not_equal(location->mapping_index, 0);
	assert_int_equal(location->n_lines, 2);
	check_line(tables, location, 0, "main.inner[...]", "/src/inner.go", 7);
	check_line(tables, location, 1, "main.outer", "/src/main.go", 101);
	location = location_at(tables, only_sample(only(requests)), 1);
	assert_string_equal(frame_type_of(tables, location), "native");
	requests_free(requests);
}

static void files_of_go_are_told_by_their_build_id_too(void **state)
{
	/* Facts of the program do not belong to the binary. */
	static const struct program_facts go = {
		.count = 2,
		.items = { { "process.runtime.name", false, "go" },
			   { "process.executable.build_id.go", true, "ab/cd/ef-_" } },
	};
	static const struct program_facts nameless = {
		.count = 1, .items = { { "process.runtime.name", false, "go" } }
	};
	struct binary values = {
		.executable_id = 0x10009,
		.fd = -1,
		.path = "/bin/x",
		.build_id = { 1 },
		.build_id_bytes = 1,
		.file_id.bytes = { 2 },
		.facts = &go,
	};
	struct samples *s = *state;
	struct binary *binary = binary_create(&values), *other;
	const Dictionary *tables;
	struct requests *requests;
	const Mapping *mapping;

	values.facts = &nameless;
	other = binary_create(&values);
	add(s, TRACE(native_frame(binary, 0x3000, 0), native_frame(other, 0x3000, 0)), 1, 1, 1);
	binary_unref(binary);
	binary_unref(other);
	requests = build(s);
	tables = only(requests)->dictionary;
	mapping = tables->mapping_table[location_at(tables, only_sample(only(requests)), 0)
						->mapping_index];
	assert_int_equal(mapping->n_attribute_indices, 3);
	assert_string_equal(value_text(value_of(tables, mapping->attribute_indices, 3,
						"process.executable.build_id.go")),
			    "ab/cd/ef-_");
	mapping = tables->mapping_table[location_at(tables, only_sample(only(requests)), 1)
						->mapping_index];
	assert_int_equal(mapping->n_attribute_indices, 2);
	requests_free(requests);
}

/* When one BPF program is unloaded, another may get its address. */
static void names_in_a_pretended_module_are_not_those_of_the_address(void **state)
{
	static const char *const names[] = { "bpf_prog_1", "bpf_prog_2" };
	struct samples *s = *state;
	struct binary *bpf =
		binary_create(&(struct binary){ .fd = -1, .path = "bpf", .is_kernel = true });
	struct frame frames[] = {
		kernel_frame(&s->fixture, 0x30, names[0], "bpf"),
		kernel_frame(&s->fixture, 0x30, names[1], "bpf"),
	};
	const Dictionary *tables;
	struct requests *requests;

	frames[0].binary = frames[1].binary = bpf;
	add(s, trace_of(frames, 2), 1, 1, 1);
	binary_unref(bpf);
	requests = build(s);
	tables = only(requests)->dictionary;
	for (size_t i = 0; i < 2; i++) {
		const Location *location = location_at(tables, only_sample(only(requests)), i);

		assert_string_equal(
			string_at(tables, tables->function_table[location->lines[0]->function_index]
						  ->name_strindex),
			names[i]);
	}
	requests_free(requests);
}

static void guesses_are_seen_with_and_without_a_name(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;

	add(s,
	    TRACE(native_frame(f->prog, 0x1000, FRAME_GUESS), native_frame(f->prog, 0x1000, 0),
		  native_frame(f->stripped, 0x5000, FRAME_GUESS)),
	    1, 1, 1);
	s->options.lookup = &f->lookup;
	requests = build(s);
	tables = only(requests)->dictionary;
	location = location_at(tables, only_sample(only(requests)), 0);
	assert_string_equal(
		string_at(tables,
			  tables->function_table[location->lines[0]->function_index]->name_strindex),
		"main_[?]");
	location = location_at(tables, only_sample(only(requests)), 1);
	assert_string_equal(
		string_at(tables,
			  tables->function_table[location->lines[0]->function_index]->name_strindex),
		"main");
	location = location_at(tables, only_sample(only(requests)), 2);
	assert_int_equal(location->n_lines, 0);
	assert_int_equal(value_of(tables, location->attribute_indices,
				  location->n_attribute_indices, "allframes.frame.guess")
				 ->bool_value,
			 true);
	requests_free(requests);
}

static void errors_have_a_text_and_as_address_a_number(void **state)
{
	struct samples *s = *state;
	const Location *location;
	const Dictionary *tables;
	struct requests *requests;

	add(s, TRACE(native_frame(s->fixture.prog, 0x3000, 0), error_frame(UNWIND_TRUNCATED)), 1, 1,
	    1);
	requests = build(s);
	tables = only(requests)->dictionary;
	location = location_at(tables, only_sample(only(requests)), 1);
	assert_string_equal(frame_type_of(tables, location), "abort-marker");
	assert_int_equal(location->address, 2);
	assert_string_equal(
		string_at(tables,
			  tables->function_table[location->lines[0]->function_index]->name_strindex),
		"[truncated]");
	requests_free(requests);
}

static void long_names_are_cut_between_characters(void **state)
{
	struct samples *s = *state;
	char *name = malloc(40001);
	struct requests *requests;
	struct frame frame;

	/* Characters of two bytes after one of one byte: the limit is inside a character. */
	for (int i = 0; i < 40000; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[39998] = '\0';
	name[0] = name[1] = 'x';
	frame = kernel_frame(&s->fixture, 0x10, name + 1, "vmlinux");
	add(s, trace_of(&frame, 1), 1, 1, 1);
	requests = build(s);
	assert_in_range(strlen(only(requests)->dictionary->string_table[1]), 4, 16384);
	for (size_t i = 1; i < only(requests)->dictionary->n_string_table; i++)
		assert_true(strlen(only(requests)->dictionary->string_table[i]) <= 16384);
	requests_free(requests);
	free(name);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, samples_setup, samples_teardown)
	const struct CMUnitTest tests[] = {
		TEST(native_frames_are_file_and_address_for_the_backend_to_name),
		TEST(file_ids_are_32_hexadecimal_digits),
		TEST(copies_of_a_file_are_one_mapping),
		TEST(kernel_frames_have_names_and_the_module_as_mapping),
		TEST(interpreted_frames_have_their_language_function_file_line_and_column),
		TEST(what_is_inlined_into_an_interpreted_function_is_lines_of_one_location),
		TEST(code_of_go_is_of_type_go_with_a_line_for_each_inlined_function),
		TEST(files_of_go_are_told_by_their_build_id_too),
		TEST(names_in_a_pretended_module_are_not_those_of_the_address),
		TEST(guesses_are_seen_with_and_without_a_name),
		TEST(errors_have_a_text_and_as_address_a_number),
		TEST(long_names_are_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
