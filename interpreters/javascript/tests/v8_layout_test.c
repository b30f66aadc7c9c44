/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_layout.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "interpreters/javascript/tests/made_node.h"

static struct made_node node;

/* Reads the layout of the made file after it was changed. */
static int read_changed(void)
{
	struct v8_layout layout;

	return made_node_read(&node, &layout);
}

static void each_version_of_the_table_is_read(void **state)
{
	(void)state;
	for (enum v8_line line = 0; line < V8_LINE_COUNT; line++) {
		struct v8_layout layout;

		made_node_init(&node, line);
		assert_int_equal(made_node_read(&node, &layout), 0);
		assert_int_equal(layout.line, line);
		assert_int_equal(layout.machine, EM_X86_64);
		assert_int_equal(layout.map_instance_type, 12);
		/* Either pages have lists, or the process has a map. */
		assert_true((layout.page_registry == V8_ABSENT) ==
			    (layout.jit_page_allocations != V8_ABSENT));
		assert_true((layout.trusted_data != 0) == (line >= V8_12_4));
	}
}

static void exports_and_the_table_come_together(void **state)
{
	struct v8_layout layout = made_layout(V8_11_3);

	(void)state;
	/* Values from an export alone, from the table alone, and from both. */
	assert_int_equal(layout.type_shared, 262);
	assert_int_equal(layout.code_flags, 48);
	assert_int_equal(layout.code_header, 16);
	/* Values from exports that have another name in another version. */
	layout = made_layout(V8_10_2);
	assert_int_equal(layout.code_header, 128);
	assert_int_equal(layout.type_stream, layout.type_code);
	assert_int_equal(layout.type_uncompiled_last, 220);
	layout = made_layout(V8_9_4);
	assert_int_equal(layout.type_uncompiled_last, 158);
	assert_int_equal(layout.kind_maglev, V8_ABSENT);
	layout = made_layout(V8_14_6);
	assert_int_equal(layout.frame_construct, 14);
	assert_int_equal(layout.frame_entry, 1);
}

static void a_file_without_the_exports_is_not_v8(void **state)
{
	(void)state;
	made_node_init(&node, V8_11_3);
	made_node_symbol(&node, "v8dbg_TaggedSize")->st_shndx = SHN_UNDEF;
	assert_int_equal(read_changed(), -ENOENT);
}

static void a_version_without_a_column_is_refused(void **state)
{
	(void)state;
	made_node_init(&node, V8_11_3);
	made_node_set(&node, "_ZN2v88internal7Version6minor_E", 4);
	assert_int_equal(read_changed(), -EOPNOTSUPP);
	assert_string_equal(error_text(), "V8 11.4.244 is not known");
}

static void an_export_that_contradicts_the_table_is_refused(void **state)
{
	(void)state;
	made_node_init(&node, V8_12_4);
	made_node_set(&node, "v8dbg_class_Code__flags__uint32_t", 52);
	assert_int_equal(read_changed(), -EOPNOTSUPP);
	/* The value of a build with pointer compression. */
	made_node_init(&node, V8_12_4);
	made_node_set(&node, "v8dbg_TaggedSize", 4);
	assert_int_equal(read_changed(), -EOPNOTSUPP);
	/* A value that must be 0. */
	made_node_init(&node, V8_12_4);
	made_node_set(&node, "v8dbg_class_HeapObject__map__Map", 8);
	assert_int_equal(read_changed(), -EOPNOTSUPP);
}

static void an_export_that_the_table_does_not_replace_is_needed(void **state)
{
	(void)state;
	made_node_init(&node, V8_13_6);
	made_node_symbol(&node, "v8dbg_type_Script__SCRIPT_TYPE")->st_shndx = SHN_UNDEF;
	assert_int_equal(read_changed(), -EOPNOTSUPP);
	/* The table replaces this export. */
	made_node_init(&node, V8_13_6);
	made_node_symbol(&node, "v8dbg_class_Code__flags__uint32_t")->st_shndx = SHN_UNDEF;
	assert_int_equal(read_changed(), 0);
	/* Without this export code cannot be found. */
	made_node_init(&node, V8_13_6);
	made_node_symbol(&node, "_ZN2v88internal15ThreadIsolation13trusted_data_E")->st_shndx =
		SHN_UNDEF;
	assert_int_equal(read_changed(), -EOPNOTSUPP);
}

static void numbers_that_cannot_be_types_are_refused(void **state)
{
	(void)state;
	made_node_init(&node, V8_13_6);
	made_node_set(&node, "v8dbg_type_Script__SCRIPT_TYPE", 1 << 20);
	assert_int_equal(read_changed(), -EOPNOTSUPP);
	made_node_set(&node, "v8dbg_type_Script__SCRIPT_TYPE", -5);
	assert_int_equal(read_changed(), -EOPNOTSUPP);
	made_node_set(&node, "v8dbg_type_Script__SCRIPT_TYPE", 167);
	assert_int_equal(read_changed(), 0);
}

static void an_export_outside_of_the_file_is_damage(void **state)
{
	(void)state;
	made_node_init(&node, V8_13_6);
	made_node_symbol(&node, "v8dbg_type_Script__SCRIPT_TYPE")->st_value = 0x1234;
	assert_int_equal(read_changed(), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_version_of_the_table_is_read),
		cmocka_unit_test(exports_and_the_table_come_together),
		cmocka_unit_test(a_file_without_the_exports_is_not_v8),
		cmocka_unit_test(a_version_without_a_column_is_refused),
		cmocka_unit_test(an_export_that_contradicts_the_table_is_refused),
		cmocka_unit_test(an_export_that_the_table_does_not_replace_is_needed),
		cmocka_unit_test(numbers_that_cannot_be_types_are_refused),
		cmocka_unit_test(an_export_outside_of_the_file_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
