/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of this program whose debug data objcopy has compressed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* cmocka has a macro `fail`, which is also a function in lib/base/error.h. */
#undef fail
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/elf/elf_notes.h"
#include "lib/elf/tests/elf_builder.h"
#include "symbols/build/tests/symbol_cache_maker_fixture.h"
#include "symbols/cache/scratch_file.h"
#include "symbols/dwarf/unpacked_elf.h"

static const char *const ways[] = { "zlib", "zlib-gnu", "zstd" };
enum { WAY_COUNT = sizeof(ways) / sizeof(ways[0]) };

/* This program with its debug data compressed, as an unnamed file. */
static int open_packed(const char *way)
{
	char path[] = "/tmp/unpacked_elf_test.XXXXXX", command[256];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "objcopy --compress-debug-sections=%s /proc/%d/exe %s",
		 way, getpid(), path);
	assert_int_equal(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

static uint32_t count_packed(const struct elf_image *image)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->section_count; i++)
		count += elf_section_encoding(&image->sections[i]) != ELF_ENCODING_PLAIN;
	return count;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Asserts that each debug section of @wanted is in @got, byte by byte; sections that nobody reads
 * are empty.
 */
static void expect_debug_data(const struct elf_image *wanted, const struct elf_image *got)
{
	static const char *const unread[] = {
		".debug_aranges", ".debug_frame",    ".debug_loc",	    ".debug_loclists",
		".debug_macro",	  ".debug_pubnames", ".debug_gnu_pubtypes",
	};
	uint32_t read_count = 0, unread_count = 0;

	for (uint32_t i = 0; i < wanted->section_count; i++) {
		const struct elf_section *section = &wanted->sections[i];
		const struct elf_section *found = elf_image_find_section(got, section->name);
		_cleanup_(elf_bytes_deinit) struct elf_bytes left = { 0 }, right = { 0 };

		if (!text_starts_with(section->name, ".debug_"))
			continue;
		assert_non_null(found);
		if (is_one_of(section->name, unread, sizeof(unread) / sizeof(unread[0]))) {
			assert_int_equal(found->size, 0);
			unread_count++;
			continue;
		}
		assert_int_equal(elf_image_load_section(wanted, section, UINT64_MAX, &left), 0);
		assert_int_equal(elf_image_load_raw_section(got, found, UINT64_MAX, &right), 0);
		assert_int_equal(left.size, right.size);
		assert_memory_equal(left.data, right.data, left.size);
		read_count++;
	}
	/* At least .debug_info, _abbrev, _line and _str. */
	assert_in_range(read_count, 4, 20);
	/* .debug_aranges; code that was optimized has lists of ranges and locations, too. */
	assert_in_range(unread_count, 1, 7);
}

static void what_comes_out_is_what_was_packed(void **state)
{
	_cleanup_(close_fd) int self_fd = open_self();
	_cleanup_(elf_image_deinit) struct elf_image self = { .fd = -1 };

	(void)state;
	assert_int_equal(elf_image_init_fd(&self, self_fd), 0);
	for (int i = 0; i < WAY_COUNT; i++) {
		_cleanup_(close_fd) int packed_fd = open_packed(ways[i]), fd = -1;
		_cleanup_(elf_image_deinit) struct elf_image packed = { .fd = -1 };
		_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };

		assert_int_equal(elf_image_init_fd(&packed, packed_fd), 0);
		assert_in_range(count_packed(&packed), 4, 20);
		assert_int_equal(unpacked_elf_make(&packed, scratch_file_open, &fd), 0);
		assert_true(fd >= 0);
		assert_int_equal(elf_image_init_fd(&image, fd), 0);
		assert_int_equal(image.machine, self.machine);
		assert_int_equal(count_packed(&image), 0);
		expect_debug_data(&self, &image);
	}
}

/* The build id identifies dwz's common file, which distributions compress. */
static void the_build_id_is_kept(void **state)
{
	_cleanup_(close_fd) int packed_fd = open_packed("zlib"), fd = -1;
	_cleanup_(elf_image_deinit) struct elf_image packed = { .fd = -1 };
	_cleanup_(elf_image_deinit) struct elf_image made = { .fd = -1 };
	uint8_t wanted[BUILD_ID_MAX_BYTES], got[BUILD_ID_MAX_BYTES];
	uint32_t wanted_bytes, got_bytes;

	(void)state;
	assert_int_equal(elf_image_init_fd(&packed, packed_fd), 0);
	assert_int_equal(unpacked_elf_make(&packed, scratch_file_open, &fd), 0);
	assert_int_equal(elf_image_init_fd(&made, fd), 0);
	assert_int_equal(elf_image_build_id(&packed, wanted, &wanted_bytes), 0);
	assert_int_equal(elf_image_build_id(&made, got, &got_bytes), 0);
	assert_int_equal(got_bytes, wanted_bytes);
	assert_memory_equal(got, wanted, wanted_bytes);
}

static void a_file_with_nothing_packed_is_left_as_it_is(void **state)
{
	_cleanup_(close_fd) int self_fd = open_self();
	_cleanup_(elf_image_deinit) struct elf_image self = { .fd = -1 };
	int fd = 0;

	(void)state;
	assert_int_equal(elf_image_init_fd(&self, self_fd), 0);
	assert_int_equal(unpacked_elf_make(&self, scratch_file_open, &fd), 0);
	assert_int_equal(fd, -1);
}

static void the_process_that_makes_ranges_reads_all_of_them(void **state)
{
	struct symbol_cache_maker_limits limits = wide;
	struct symbol_cache file;

	(void)state;
	limits.memory_bytes = 256 << 20;
	for (int i = 0; i < WAY_COUNT; i++) {
		assert_int_equal(make(open_packed(ways[i]), SYMBOL_DEPTH_FULL, &limits, &file), 0);
		expect_known_function(&file, true);
	}
}

/* An image with one section; the builder owns its bytes. */
static void build(struct elf_builder *builder, const char *name, const void *bytes, size_t size,
		  struct elf_image *image)
{
	elf_builder_init(builder, 1);
	elf_builder_add(builder, name, SHT_PROGBITS, SHF_COMPRESSED, bytes, size);
	elf_builder_finish(builder);
	assert_int_equal(elf_image_init_memory(image, builder->bytes, BUILT_BYTES), 0);
}

static void what_is_damaged_is_empty_and_what_is_huge_refused(void **state)
{
	static const struct {
		uint64_t claimed;
		int error;
	} cases[] = {
		{ 3ULL << 30, -E2BIG },
		{ UINT64_MAX, -E2BIG },
		{ 17 << 20, -E2BIG },
		{ 1 << 10, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct elf_builder builder;
		_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
		_cleanup_(elf_image_deinit) struct elf_image made = { .fd = -1 };
		_cleanup_(close_fd) int fd = -1;
		const Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB,
					    .ch_size = cases[i].claimed,
					    .ch_addralign = 1 };
		uint8_t bytes[128] = { 0 };

		memcpy(bytes, &header, sizeof(header));
		build(&builder, ".debug_info", bytes, sizeof(bytes), &image);
		assert_int_equal(unpacked_elf_make(&image, scratch_file_open, &fd), cases[i].error);
		if (cases[i].error)
			continue;
		assert_int_equal(elf_image_init_fd(&made, fd), 0);
		assert_int_equal(elf_image_find_section(&made, ".debug_info")->size, 0);
	}
}

/* Damaged and huge sections that nobody reads; sections with similar names are read. */
static void what_nothing_reads_is_empty_whatever_it_claims(void **state)
{
	static const struct {
		const char *name;
		int error;
	} cases[] = {
		{ ".debug_loclists", 0 },	{ ".debug_loc.dwo", 0 },
		{ ".debug_gnu_pubnames", 0 },	{ ".debug_names", 0 },
		{ ".debug_line", -E2BIG },	{ ".debug_line_str", -E2BIG },
		{ ".debug_loc_later", -E2BIG }, { ".debug_lo", -E2BIG },
		{ ".debug_info.dwo", -E2BIG },	{ ".gnu_debugaltlink", -E2BIG },
	};
	const Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB,
				    .ch_size = 3ULL << 30,
				    .ch_addralign = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct elf_builder builder;
		_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
		_cleanup_(elf_image_deinit) struct elf_image made = { .fd = -1 };
		_cleanup_(close_fd) int fd = -1;

		build(&builder, cases[i].name, &header, sizeof(header), &image);
		assert_int_equal(unpacked_elf_make(&image, scratch_file_open, &fd), cases[i].error);
		if (cases[i].error)
			continue;
		assert_int_equal(elf_image_init_fd(&made, fd), 0);
		assert_non_null(elf_image_find_section(&made, cases[i].name));
		assert_int_equal(elf_image_find_section(&made, cases[i].name)->size, 0);
	}
}

static int open_nothing(uint64_t bytes, int *fd)
{
	(void)bytes;
	(void)fd;
	return -ENOSPC;
}

static void without_room_nothing_is_made(void **state)
{
	static struct elf_builder builder;
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	const Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 16 };
	int fd = -2;

	(void)state;
	build(&builder, ".debug_info", &header, sizeof(header), &image);
	assert_int_equal(unpacked_elf_make(&image, open_nothing, &fd), -ENOSPC);
	assert_int_equal(fd, -2);
	/* More than any disk has. */
	assert_int_equal(scratch_file_open(1ULL << 60, &fd), -ENOSPC);
	assert_int_equal(fd, -2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_out_is_what_was_packed),
		cmocka_unit_test(the_build_id_is_kept),
		cmocka_unit_test(a_file_with_nothing_packed_is_left_as_it_is),
		cmocka_unit_test(the_process_that_makes_ranges_reads_all_of_them),
		cmocka_unit_test(what_is_damaged_is_empty_and_what_is_huge_refused),
		cmocka_unit_test(what_nothing_reads_is_empty_whatever_it_claims),
		cmocka_unit_test(without_room_nothing_is_made),
	};

	symbol_cache_maker_enter(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
