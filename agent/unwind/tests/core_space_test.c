// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/unwind/core_space.h"
#include "lib/base/log.h"
#include "lib/host/tests/core_builder.h"

enum { PAGE = 4096 };

#define STACK 0x7ffc00000000ULL

/* A core file with the mappings of this program. */
struct fixture {
	struct core_builder builder;
	struct core_file core;
	struct core_space space;
	int fd;
	struct proc_mapping text;
	char path[4096];
	/** Address at which the file's beginning is mapped. */
	const uint8_t *header;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct proc_maps maps;

	log_set_level(LOG_ERROR);
	assert_int_equal(proc_maps_read(&maps, "/proc", getpid(), PROC_MAPS_ALL), 0);
	for (uint32_t i = 0; i < maps.count; i++) {
		const struct proc_mapping *row = &maps.rows[i];

		if ((uintptr_t)set_up < row->start || (uintptr_t)set_up >= row->end)
			continue;
		fixture->text = *row;
		snprintf(fixture->path, sizeof(fixture->path), "%s", row->path);
		fixture->header = (const uint8_t *)(uintptr_t)(row->start - row->offset);
	}
	proc_maps_deinit(&maps);
	core_builder_init(&fixture->builder, EM_X86_64);
	fixture->fd = memfd_create("core", MFD_CLOEXEC);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	core_space_deinit(&fixture->space);
	core_file_deinit(&fixture->core);
	close(fixture->fd);
	free(fixture);
	return 0;
}

/* NT_FILE with the program's first page and its text. */
static void put_files(struct fixture *fixture)
{
	const uint64_t numbers[] = {
		2,
		PAGE,
		(uintptr_t)fixture->header,
		(uintptr_t)fixture->header + PAGE,
		0,
		fixture->text.start,
		fixture->text.end,
		fixture->text.offset / PAGE,
	};
	uint8_t note[sizeof(numbers) + 2 * sizeof(fixture->path)];
	size_t path_bytes = strlen(fixture->path) + 1;

	memcpy(note, numbers, sizeof(numbers));
	memcpy(note + sizeof(numbers), fixture->path, path_bytes);
	memcpy(note + sizeof(numbers) + path_bytes, fixture->path, path_bytes);
	core_builder_note(&fixture->builder, NT_FILE, note, sizeof(numbers) + 2 * path_bytes);
}

static void put_header(struct fixture *fixture, const void *header)
{
	core_builder_memory(&fixture->builder, (uintptr_t)fixture->header, PF_R, PAGE, header,
			    PAGE);
}

static void put_text(struct fixture *fixture)
{
	core_builder_memory(&fixture->builder, fixture->text.start, PF_R | PF_X,
			    fixture->text.end - fixture->text.start, NULL, 0);
}

static void open_core(struct fixture *fixture, const char *root)
{
	const struct core_builder *builder = &fixture->builder;

	assert_int_equal(pwrite(fixture->fd, builder->bytes, builder->size, 0), builder->size);
	assert_int_equal(core_file_init(&fixture->core, fixture->fd), 0);
	assert_int_equal(core_space_init(&fixture->space, &fixture->core, NULL, root, 0), 0);
}

static void text_is_read_from_the_file_and_the_rest_from_the_dump(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[16];

	put_files(fixture);
	put_header(fixture, fixture->header);
	put_text(fixture);
	core_builder_memory(&fixture->builder, STACK, PF_R | PF_W, PAGE, "stack", 6);
	open_core(fixture, "");
	assert_int_equal(fixture->space.space.rows.count, 1);
	assert_int_equal(fixture->space.space.rows.items[0].start, fixture->text.start);
	assert_int_equal(core_space_read(&fixture->space, (uintptr_t)set_up, bytes, 16), 0);
	assert_memory_equal(bytes, (const void *)(uintptr_t)set_up, 16);
	assert_int_equal(core_space_read(&fixture->space, STACK, bytes, 6), 0);
	assert_string_equal((const char *)bytes, "stack");
	assert_int_not_equal(core_space_read(&fixture->space, STACK + 6, bytes, 1), 0);
}

static void constants_are_read_from_the_file_and_variables_are_not(void **state)
{
	static const char constant[] = "constant";
	static char variable[] = "variable";
	struct fixture *fixture = *state;
	char bytes[sizeof(constant)];

	put_files(fixture);
	put_header(fixture, fixture->header);
	put_text(fixture);
	open_core(fixture, "");
	assert_int_equal(remote_memory_read(&fixture->space.memory, (uintptr_t)constant, bytes,
					    sizeof(constant)),
			 0);
	assert_string_equal(bytes, constant);
	assert_int_not_equal(remote_memory_read(&fixture->space.memory, (uintptr_t)variable, bytes,
						sizeof(variable)),
			     0);
}

static void a_file_that_is_not_the_mapped_one_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	uint8_t header[PAGE];

	memcpy(header, fixture->header, PAGE);
	header[PAGE - 1] ^= 1;
	put_files(fixture);
	put_header(fixture, header);
	put_text(fixture);
	open_core(fixture, "");
	assert_int_equal(fixture->space.space.rows.count, 0);
}

static void text_without_a_segment_is_there_all_the_same(void **state)
{
	struct fixture *fixture = *state;

	put_files(fixture);
	put_header(fixture, fixture->header);
	open_core(fixture, "");
	assert_int_equal(fixture->space.space.rows.count, 1);
	assert_true(fixture->space.space.rows.items[0].executable_id >= EXECUTABLE_ID_FIRST);
}

static void files_are_looked_for_below_the_root(void **state)
{
	struct fixture *fixture = *state;

	put_files(fixture);
	put_header(fixture, fixture->header);
	put_text(fixture);
	open_core(fixture, "/nonexistent");
	assert_int_equal(fixture->space.space.rows.count, 0);
}

static void executable_memory_without_a_file_is_anonymous(void **state)
{
	struct fixture *fixture = *state;

	core_builder_memory(&fixture->builder, STACK, PF_R | PF_X, PAGE, NULL, 0);
	core_builder_memory(&fixture->builder, STACK + PAGE, PF_R | PF_W, PAGE, NULL, 0);
	open_core(fixture, "");
	assert_int_equal(fixture->space.space.rows.count, 1);
	assert_int_equal(fixture->space.space.rows.items[0].executable_id, EXECUTABLE_ID_ANONYMOUS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(text_is_read_from_the_file_and_the_rest_from_the_dump),
		TEST(constants_are_read_from_the_file_and_variables_are_not),
		TEST(a_file_that_is_not_the_mapped_one_is_left_out),
		TEST(text_without_a_segment_is_there_all_the_same),
		TEST(files_are_looked_for_below_the_root),
		TEST(executable_memory_without_a_file_is_anonymous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
