/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of copies of this program in which single bytes are changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "symbols/symbol_cache_key.h"

struct copy {
	int fd;
	struct elf_image image;
};

static int set_up(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct copy *copy = calloc(1, sizeof(*copy));
	off_t size = lseek(fd, 0, SEEK_END), offset = 0;

	copy->fd = memfd_create("copy", MFD_CLOEXEC);
	while (offset < size)
		assert_true(sendfile(copy->fd, fd, &offset, size - offset) > 0);
	close(fd);
	*state = copy;
	return elf_image_init_fd(&copy->image, copy->fd);
}

static int tear_down(void **state)
{
	struct copy *copy = *state;

	elf_image_deinit(&copy->image);
	close(copy->fd);
	free(copy);
	return 0;
}

static const struct elf_section *section_of(const struct copy *copy, const char *name)
{
	const struct elf_section *section = elf_image_find_section(&copy->image, name);

	assert_non_null(section);
	return section;
}

static struct symbol_cache_key key_of(const struct copy *copy, enum symbol_depth depth)
{
	struct symbol_cache_key key;

	assert_int_equal(symbol_cache_key_make(&copy->image, NULL, depth, &key), 0);
	return key;
}

/* Flips a bit in the middle of the section. */
static void flip(const struct copy *copy, const char *name)
{
	const struct elf_section *section = section_of(copy, name);
	off_t at = section->offset + section->size / 2;
	uint8_t byte;

	assert_int_equal(pread(copy->fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(copy->fd, &byte, 1, at), 1);
}

static bool changes_key(const struct copy *copy, const char *name, enum symbol_depth depth)
{
	struct hash128 before = key_of(copy, depth).hash, after;

	flip(copy, name);
	after = key_of(copy, depth).hash;
	flip(copy, name);
	assert_true(hash128_equal(key_of(copy, depth).hash, before));
	return !hash128_equal(before, after);
}

static void what_is_read_is_in_the_key(void **state)
{
	static const char *const symbols[] = { ".symtab", ".strtab", ".dynsym", ".dynstr" };
	static const char *const dwarf[] = { ".debug_info", ".debug_abbrev", ".debug_line",
					     ".debug_str" };

	for (size_t i = 0; i < 4; i++) {
		assert_true(changes_key(*state, symbols[i], SYMBOL_DEPTH_SYMBOLS));
		assert_true(changes_key(*state, symbols[i], SYMBOL_DEPTH_FULL));
		assert_false(changes_key(*state, dwarf[i], SYMBOL_DEPTH_SYMBOLS));
		assert_true(changes_key(*state, dwarf[i], SYMBOL_DEPTH_FULL));
	}
}

static void what_is_not_read_is_not(void **state)
{
	assert_false(changes_key(*state, ".note.gnu.build-id", SYMBOL_DEPTH_FULL));
	assert_false(changes_key(*state, ".text", SYMBOL_DEPTH_FULL));
}

static void depth_and_debug_file_are_in_the_key(void **state)
{
	const struct copy *copy = *state;
	struct symbol_cache_key with_debug;

	assert_false(hash128_equal(key_of(copy, SYMBOL_DEPTH_SYMBOLS).hash,
				   key_of(copy, SYMBOL_DEPTH_FULL).hash));
	assert_int_equal(symbol_cache_key_make(&copy->image, &copy->image, SYMBOL_DEPTH_FULL,
					       &with_debug),
			 0);
	assert_false(hash128_equal(with_debug.hash, key_of(copy, SYMBOL_DEPTH_FULL).hash));
}

static void files_that_need_others_are_partial(void **state)
{
	/* DW_AT_dwo_name, DW_FORM_string; DW_AT_GNU_dwo_name */
	static const uint8_t names[][2] = { { 0x76, 0x08 }, { 0xb0, 0x42 } };
	const struct copy *copy = *state;
	const struct elf_section *section = section_of(copy, ".debug_abbrev");
	off_t at = section->offset + section->size / 2;
	uint8_t before[2];

	assert_int_equal(pread(copy->fd, before, 2, at), 2);
	assert_false(key_of(copy, SYMBOL_DEPTH_FULL).is_partial);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(pwrite(copy->fd, names[i], 2, at), 2);
		assert_true(key_of(copy, SYMBOL_DEPTH_FULL).is_partial);
		assert_false(key_of(copy, SYMBOL_DEPTH_SYMBOLS).is_partial);
	}
	assert_int_equal(pwrite(copy->fd, before, 2, at), 2);
	assert_false(key_of(copy, SYMBOL_DEPTH_FULL).is_partial);
}

static void sections_that_claim_too_much_are_refused(void **state)
{
	struct copy *copy = *state;
	struct elf_section *section = (struct elf_section *)section_of(copy, ".debug_info");
	struct symbol_cache_key key = { .is_partial = true };

	section->size = SYMBOL_CACHE_KEY_MAX_BYTES + 1;
	assert_int_equal(symbol_cache_key_make(&copy->image, NULL, SYMBOL_DEPTH_FULL, &key),
			 -E2BIG);
	section->size = 1 << 30;
	assert_int_equal(symbol_cache_key_make(&copy->image, NULL, SYMBOL_DEPTH_FULL, &key),
			 -EBADMSG);
	assert_true(key.is_partial);
	assert_int_equal(symbol_cache_key_make(&copy->image, NULL, SYMBOL_DEPTH_SYMBOLS, &key), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_read_is_in_the_key),
		TEST(what_is_not_read_is_not),
		TEST(depth_and_debug_file_are_in_the_key),
		TEST(files_that_need_others_are_partial),
		TEST(sections_that_claim_too_much_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
