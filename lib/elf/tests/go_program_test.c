/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/elf/go_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "lib/elf/tests/elf_builder.h"
#include "lib/elf/tests/go_table_example.h"

static struct elf_builder builder;
static struct go_program program;

static int read_bytes(const void *bytes, size_t size)
{
	struct elf_image image;
	int err;

	memset(&program, 0xee, sizeof(program));
	assert_int_equal(elf_image_init_memory(&image, bytes, size), 0);
	err = go_program_read(&image, &program);
	elf_image_deinit(&image);
	return err;
}

static size_t append_note(uint8_t *to, const char *name, uint32_t name_bytes, uint32_t type,
			  const char *text)
{
	uint32_t header[3] = { name_bytes, strlen(text), type };

	memcpy(to, header, sizeof(header));
	memcpy(to + 12, name, name_bytes);
	memcpy(to + 12 + (name_bytes + 3) / 4 * 4, text, header[1]);
	return 12 + (name_bytes + 3) / 4 * 4 + (header[1] + 3) / 4 * 4;
}

/* A note of GNU's and one of Go's, in a segment. */
static void make_notes(const char *build_id)
{
	uint8_t notes[2048] = { 0 };
	size_t bytes;

	elf_builder_init(&builder, 2);
	bytes = append_note(notes, "GNU", 4, 3, "abcdefgh");
	bytes += append_note(notes + bytes, "Go\0", 4, 4, build_id);
	memcpy(builder.bytes + 4096, notes, bytes);
	*built_segment(&builder, 1) = (Elf64_Phdr){
		.p_type = PT_NOTE,
		.p_offset = 4096,
		.p_filesz = bytes,
		.p_memsz = bytes,
	};
}

static void files_without_sections_are_told_by_the_note(void **state)
{
	(void)state;
	make_notes("ab/cd-_/ef");
	assert_int_equal(read_bytes(builder.bytes, BUILT_BYTES), 0);
	assert_string_equal(program.build_id, "ab/cd-_/ef");
	assert_string_equal(program.version, "");
	assert_string_equal(program.module_path, "");
	/* The note has another type. */
	builder.bytes[4096 + 24 + 8] = 5;
	assert_int_equal(read_bytes(builder.bytes, BUILT_BYTES), -ENOENT);
}

static void the_build_id_is_at_most_as_long_as_there_is_room(void **state)
{
	char longest[GO_BUILD_ID_MAX_BYTES + 2] = "";

	(void)state;
	memset(longest, 'x', GO_BUILD_ID_MAX_BYTES);
	make_notes(longest);
	assert_int_equal(read_bytes(builder.bytes, BUILT_BYTES), 0);
	assert_string_equal(program.build_id, longest);
	longest[GO_BUILD_ID_MAX_BYTES] = 'x';
	make_notes(longest);
	assert_int_equal(read_bytes(builder.bytes, BUILT_BYTES), -ENOENT);
}

static void a_file_with_sections_and_none_of_go_is_no_program_of_go(void **state)
{
	(void)state;
	elf_builder_init(&builder, 1);
	assert_int_equal(read_bytes(builder.bytes, BUILT_BYTES), -ENOENT);
	elf_builder_init(&builder, 1);
	elf_builder_add(&builder, ".text", SHT_PROGBITS, 0, "", 1);
	elf_builder_finish(&builder);
	assert_int_equal(read_bytes(builder.bytes, BUILT_BYTES), -ENOENT);
}

static void a_table_without_anything_else_makes_a_program_of_go(void **state)
{
	static struct made_go go;

	(void)state;
	made_go_example(&go, GO_TABLE_1_20, 26);
	made_go_make(&go);
	/* There is build information, but no section leads to it. */
	assert_int_equal(read_bytes(go.bytes, sizeof(go.bytes)), 0);
	assert_string_equal(program.build_id, "");
	assert_string_equal(program.version, "");
}

static void the_version_and_the_main_module_are_read_by_the_section(void **state)
{
	static struct made_go go;
	Elf64_Shdr *section;
	uint32_t at;

	(void)state;
	made_go_example(&go, GO_TABLE_1_20, 26);
	made_go_make(&go);
	for (at = MADE_GO_DATA; memcmp(go.bytes + at, "\xff Go buildinf:", 14) != 0; at += 16)
		assert_true(at < MADE_GO_BYTES - 32);
	section = (Elf64_Shdr *)(go.bytes + ((Elf64_Ehdr *)go.bytes)->e_shoff) + 1;
	section->sh_addr = MADE_GO_ADDRESS + at;
	section->sh_offset = at;
	section->sh_size = 64;
	memcpy(go.bytes + section[1].sh_offset + 1, ".go.buildinfo", 14);
	section[1].sh_size = 16;
	/* Replaces "path\tmain\n". */
	memcpy(go.bytes + at + 32 + 1 + 8 + 1 + 16, "mod\ta/b\tv\n", 10);
	assert_int_equal(read_bytes(go.bytes, sizeof(go.bytes)), 0);
	assert_string_equal(program.version, "go1.26.3");
	assert_string_equal(program.module_path, "a/b");
	assert_string_equal(program.module_version, "v");
	/* Damaged: it is a program of Go all the same. */
	go.bytes[at + 32] = 0xff;
	assert_int_equal(read_bytes(go.bytes, sizeof(go.bytes)), 0);
	assert_string_equal(program.version, "");
	assert_string_equal(program.module_path, "");
}

static void expect_module(const char *text, const char *path, const char *version)
{
	/* A copy of the exact size, so that a read behind the end is detected. */
	size_t bytes = strlen(text);
	char *copy = malloc(bytes ? bytes : 1);

	assert_non_null(copy);
	for (size_t i = 0; i < bytes; i++)
		copy[i] = text[i];
	memset(&program, 0, sizeof(program));
	go_program_parse_modules(&program, copy, bytes);
	assert_string_equal(program.module_path, path);
	assert_string_equal(program.module_version, version);
	free(copy);
}

static void the_main_module_is_the_line_that_says_mod(void **state)
{
	(void)state;
	expect_module("path\tcmd/x\nmod\texample.com/x\tv1.2.3\th1:abc=\ndep\ty\tv2\t\n",
		      "example.com/x", "v1.2.3");
	expect_module("mod\texample.com/x\t(devel)\t\n", "example.com/x", "(devel)");
	expect_module("mod\texample.com/x\n", "example.com/x", "");
	expect_module("mod\texample.com/x\tv1\n", "example.com/x", "v1");
	expect_module("path\tcommand-line-arguments\ndep\tmod\tv2\n", "", "");
	expect_module("modern\tx\ty\n", "", "");
	expect_module("mod\t\t\n", "", "");
	expect_module("\n\n", "", "");
	expect_module("", "", "");
}

static void what_is_cut_or_too_long_is_left_out(void **state)
{
	char text[1024], path[GO_MODULE_PATH_MAX_BYTES + 2] = "";

	(void)state;
	expect_module("path\tx\nmod\texample.com/x\tv1", "", "");
	expect_module("mod", "", "");
	memset(path, 'p', GO_MODULE_PATH_MAX_BYTES);
	snprintf(text, sizeof(text), "mod\t%s\tv1\n", path);
	expect_module(text, path, "v1");
	path[GO_MODULE_PATH_MAX_BYTES] = 'p';
	snprintf(text, sizeof(text), "mod\t%s\tv1\n", path);
	expect_module(text, "", "v1");
	snprintf(text, sizeof(text), "mod\tm\t%s\n", path);
	expect_module(text, "m", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_without_sections_are_told_by_the_note),
		cmocka_unit_test(the_build_id_is_at_most_as_long_as_there_is_room),
		cmocka_unit_test(a_file_with_sections_and_none_of_go_is_no_program_of_go),
		cmocka_unit_test(a_table_without_anything_else_makes_a_program_of_go),
		cmocka_unit_test(the_version_and_the_main_module_are_read_by_the_section),
		cmocka_unit_test(the_main_module_is_the_line_that_says_mod),
		cmocka_unit_test(what_is_cut_or_too_long_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
