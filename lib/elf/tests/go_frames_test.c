/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "lib/elf/go_frames.h"
#include "lib/elf/tests/go_table_example.h"

static struct made_go go;
static struct elf_image image;
static struct go_table table;
static struct go_frames frames;

enum { TEXT = MADE_GO_ADDRESS + MADE_GO_TEXT, OUTER = TEXT + 64, WRAPPER = OUTER + 1008 };

static void open_example(int index, bool is_relocated)
{
	made_go_example(&go, made_go_versions[index].version, made_go_versions[index].minor);
	go.is_relocated = is_relocated;
	made_go_make(&go);
	assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
	assert_int_equal(go_table_init(&table, &image), 0);
}

static void close_made(void)
{
	go_frames_deinit(&frames);
	go_table_deinit(&table);
	elf_image_deinit(&image);
}

/* Compares all frames as one text: "function file:line", innermost first; frames that are left out have a !. */
static void expect(uint64_t address, const char *expected)
{
	char text[512] = "";
	size_t used = 0;

	assert_int_equal(go_frames_find(&frames, &table, address), 0);
	for (size_t i = 0; i < frames.frames.count; i++) {
		const struct go_frame *frame = &frames.frames.items[i];

		used += snprintf(text + used, sizeof(text) - used, "%s%s%s %s:%d", i ? "; " : "",
				 frame->is_left_out ? "!" : "", go_frames_function(&frames, frame),
				 go_frames_file(&frames, frame), frame->line);
		assert_int_equal(frame->is_inlined, i + 1 < frames.frames.count);
	}
	if (strcmp(text, expected) != 0)
		fail_msg("Go 1.%u at %#lx: %s, not %s", go.minor, address, text, expected);
}

static void functions_have_names_files_and_lines(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS * 2; i++) {
		open_example(i / 2, i & 1);
		expect(TEXT, "main.leaf /src/main.go:10");
		expect(TEXT + 7, "main.leaf /src/main.go:10");
		expect(TEXT + 8, "main.leaf /src/main.go:12");
		expect(TEXT + 63, "main.leaf /src/main.go:9");
		/* In the gap behind a function, and in one without tables. */
		expect(OUTER + 1004, "main.outer ?:0");
		expect(WRAPPER + 64, "runtime.assembly ?:0");
		assert_int_equal(go_frames_find(&frames, &table, TEXT - 1), -ENOENT);
		assert_int_equal(frames.frames.count, 0);
		close_made();
	}
}

static void inlined_functions_come_with_those_around_them(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS * 2; i++) {
		const char *name, *outer = "main.outer /src/main.go:101";
		char expected[256];

		open_example(i / 2, i & 1);
		name = go.version < GO_TABLE_1_18 ? "main.inner[go.shape.int]" : "main.inner[...]";
		/* Without build information, 1.12 and later versions cannot be distinguished. */
		if (table.layout.inline_tree == GO_INLINE_TREE_NONE) {
			expect(OUTER + 300, "main.outer /src/inner.go:7");
			close_made();
			continue;
		}
		expect(OUTER + 99, "main.outer /src/main.go:100");
		snprintf(expected, sizeof(expected), "main.middle /src/main.go:50; %s", outer);
		expect(OUTER + 150, expected);
		snprintf(expected, sizeof(expected),
			 "%s /src/inner.go:7; main.middle /src/main.go:51; %s", name, outer);
		expect(OUTER + 300, expected);
		close_made();
	}
}

static void wrappers_around_something_are_left_out(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		open_example(i, false);
		expect(WRAPPER, "main.(*wrapped).run /src/main.go:10");
		if (table.minor)
			expect(WRAPPER + 20, "main.run /src/main.go:12; "
					     "!main.(*wrapped).run /src/main.go:10");
		close_made();
	}
}

static void lines_of_functions_are_known_from_1_20_on(void **state)
{
	(void)state;
	open_example(9, false);
	assert_int_equal(go_frames_find(&frames, &table, OUTER + 300), 0);
	assert_int_equal(frames.frames.count, 3);
	assert_int_equal(frames.frames.items[0].start_line, 6);
	assert_int_equal(frames.frames.items[1].start_line, 49);
	assert_int_equal(frames.frames.items[2].start_line, 99);
	close_made();
}

static void instances_of_generic_functions_have_one_name(void **state)
{
	static const struct {
		const char *in_table;
		const char *shown;
	} names[] = {
		{ "a.f[int]", "a.f[...]" },
		{ "a.f[]", "a.f[...]" },
		{ "a.f[x]", "a.f[...]" },
		{ "a.f[...]", "a.f[...]" },
		{ "a.(*t[b[c]]).f", "a.(*t[...]).f" },
		{ "a.f[int].func1[s]", "a.f[...]" },
		{ "a.f[", "a.f[" },
		{ "a.]f[", "a.]f[" },
		{ "a.f]", "a.f]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct made_function function = { .name = names[i].in_table, .bytes = 16 };
		char expected[64];

		made_go_example(&go, GO_TABLE_1_20, 26);
		go.functions = &function;
		go.function_count = 1;
		made_go_make(&go);
		assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
		assert_int_equal(go_table_init(&table, &image), 0);
		snprintf(expected, sizeof(expected), "%s ?:0", names[i].shown);
		expect(TEXT, expected);
		close_made();
	}
}

static void circles_in_a_tree_end(void **state)
{
	struct go_function function;
	uint64_t offset, bytes;
	uint32_t index;

	(void)state;
	open_example(9, false);
	assert_int_equal(go_function_read(&table, 1, &function), 0);
	assert_int_equal(go_function_funcdata(&table, &function, 3, &offset, &bytes), 0);
	/* The inner function's call is at its own position. */
	made_go_put(&go, offset + 16 + 8, 300, 4);
	elf_pages_release(&table.pages);
	assert_int_equal(go_frames_find(&frames, &table, OUTER + 300), -E2BIG);
	assert_int_equal(frames.frames.count, 0);
	/* A call outside of the function leads to the function itself. */
	made_go_put(&go, offset + 16 + 8, 1 << 30, 4);
	elf_pages_release(&table.pages);
	expect(OUTER + 300, "main.inner[...] /src/inner.go:7; main.outer ?:0");
	/* An entry that is not in the file. */
	index = function.offset + 44 + 12 + 12;
	made_go_put(&go, index, MADE_GO_DATA - go.funcdata - 8, 4);
	elf_pages_release(&table.pages);
	assert_int_equal(go_frames_find(&frames, &table, OUTER + 300), -EBADMSG);
	close_made();
}

static void damaged_names_are_refused(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		uint32_t name_at;

		open_example(i, false);
		name_at = go.function_at[0] + made_go_number_bytes(&go);
		made_go_put(&go, name_at, 1 << 20, 4);
		elf_pages_release(&table.pages);
		assert_int_equal(go_frames_find(&frames, &table, TEXT), -EBADMSG);
		made_go_put(&go, name_at, 0, 4);
		elf_pages_release(&table.pages);
		expect(TEXT, " /src/main.go:10");
		/* Without a table of files. */
		made_go_put(&go, name_at + 16, 0, 4);
		elf_pages_release(&table.pages);
		expect(TEXT, " ?:0");
		close_made();
	}
	/* A file that no function uses, one whose name is not there, one beyond the last one. */
	open_example(9, false);
	made_go_put(&go, go.units + 4, UINT32_MAX, 4);
	elf_pages_release(&table.pages);
	expect(TEXT, "main.leaf ?:10");
	made_go_put(&go, go.units + 4, 1 << 20, 4);
	elf_pages_release(&table.pages);
	assert_int_equal(go_frames_find(&frames, &table, TEXT), -EBADMSG);
	made_go_put(&go, go.function_at[0] + 32, UINT32_MAX - 1, 4);
	elf_pages_release(&table.pages);
	expect(TEXT, "main.leaf ?:10");
	close_made();
	go_frames_deinit(NULL);
}

/* The tree's own offset, or pointer, in the functions of the example that have one. */
static uint32_t tree_at(void)
{
	uint32_t start =
		go.function_at[1] + table.layout.bytes + (table.layout.inline_pcdata + 1) * 4;

	return go.version < GO_TABLE_1_18 ? (start + 7) / 8 * 8 + table.layout.inline_funcdata * 8 :
					    start + table.layout.inline_funcdata * 4;
}

static void without_a_tree_old_positions_are_not_told(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		open_example(i, false);
		if (go.version < GO_TABLE_1_18)
			made_go_put(&go, tree_at(), 0, 8);
		else
			made_go_put(&go, tree_at(), UINT32_MAX, 4);
		elf_pages_release(&table.pages);
		if (go.version >= GO_TABLE_1_18)
			expect(OUTER + 150, "main.outer /src/main.go:50");
		else if (table.layout.inline_tree != GO_INLINE_TREE_NONE)
			assert_int_equal(go_frames_find(&frames, &table, OUTER + 150), -EOPNOTSUPP);
		close_made();
	}
}

static void the_first_name_is_one_of_inlined_functions_up_to_1_20(void **state)
{
	(void)state;
	for (int i = 0; i < MADE_GO_VERSIONS; i++) {
		struct go_function function;
		uint64_t offset, bytes;

		open_example(i, false);
		/* In 1.2's table the first name is the header. */
		if (go.version == GO_TABLE_1_2) {
			close_made();
			continue;
		}
		assert_int_equal(go_function_read(&table, 1, &function), 0);
		assert_int_equal(go_function_funcdata(&table, &function, 3, &offset, &bytes), 0);
		made_go_put(&go, offset + (go.minor < 20 ? 12 : 4), 0, 4);
		elf_pages_release(&table.pages);
		expect(OUTER + 150, go.minor <= 20 ?
					    "first /src/main.go:50; main.outer /src/main.go:101" :
					    " /src/main.go:50; main.outer /src/main.go:101");
		close_made();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_names_files_and_lines),
		cmocka_unit_test(inlined_functions_come_with_those_around_them),
		cmocka_unit_test(wrappers_around_something_are_left_out),
		cmocka_unit_test(lines_of_functions_are_known_from_1_20_on),
		cmocka_unit_test(instances_of_generic_functions_have_one_name),
		cmocka_unit_test(without_a_tree_old_positions_are_not_told),
		cmocka_unit_test(the_first_name_is_one_of_inlined_functions_up_to_1_20),
		cmocka_unit_test(circles_in_a_tree_end),
		cmocka_unit_test(damaged_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
