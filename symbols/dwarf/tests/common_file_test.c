/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/dwarf/common_file.h"

/* Makes an ELF file with one section; returns its descriptor. */
static int make_file(const char *name, const void *bytes, size_t size)
{
	enum { NAMES_OFFSET = 64, NAMES_BYTES = 64 };
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
		.e_shoff = 512,
	};
	Elf64_Shdr sections[3] = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 128, .sh_size = size },
		[2] = { .sh_name = 30,
			.sh_type = SHT_STRTAB,
			.sh_offset = NAMES_OFFSET,
			.sh_size = NAMES_BYTES },
	};
	char file[512 + sizeof(sections)] = "";
	int fd = memfd_create("common", MFD_CLOEXEC);

	memcpy(file, &header, sizeof(header));
	strcpy(file + NAMES_OFFSET + 1, name);
	strcpy(file + NAMES_OFFSET + 30, ".shstrtab");
	memcpy(file + 128, bytes, size);
	memcpy(file + 512, sections, sizeof(sections));
	assert_int_equal(write(fd, file, sizeof(file)), sizeof(file));
	return fd;
}

static int read_link(int fd, struct common_file_link *link)
{
	struct elf_image image = { .fd = -1 };
	int err;

	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	err = common_file_link_read(&image, link);
	elf_image_deinit(&image);
	return err;
}

/* A program's .debug_sup: a path and a checksum of 4 bytes. */
static const uint8_t program_bytes[] = "\5\0\0/debug/common\0\4abcd";
static const uint8_t common_bytes[] = "\5\0\1\0\4abcd";

static void debug_sup_names_a_file_by_its_checksum(void **state)
{
	struct common_file_link link;
	char path[PATH_MAX];
	uint8_t other[sizeof(common_bytes)];
	int fd = make_file(".debug_sup", program_bytes, sizeof(program_bytes) - 1);
	int common = make_file(".debug_sup", common_bytes, sizeof(common_bytes) - 1), stale;

	(void)state;
	assert_int_equal(read_link(fd, &link), 0);
	assert_true(link.is_supplementary);
	assert_int_equal(link.identity_bytes, 4);
	assert_memory_equal(link.identity, "abcd", 4);
	assert_int_equal(common_file_path(&link, fd, path, sizeof(path)), 0);
	assert_string_equal(path, "/debug/common");
	assert_int_equal(common_file_path(&link, fd, path, 5), -ENAMETOOLONG);
	assert_true(common_file_is(&link, common));
	/* Neither the program itself nor a file of another build is accepted. */
	assert_false(common_file_is(&link, fd));
	memcpy(other, common_bytes, sizeof(other));
	other[sizeof(other) - 2] = 'x';
	stale = make_file(".debug_sup", other, sizeof(other) - 1);
	assert_false(common_file_is(&link, stale));
	common_file_link_deinit(&link);
	/* The common file itself has no link. */
	assert_int_equal(read_link(common, &link), -ENOENT);
	common_file_link_deinit(&link);
	close(stale);
	close(common);
	close(fd);
}

static void debugaltlink_names_one_beside_the_file(void **state)
{
	static const uint8_t bytes[] = "common\0abcd";
	struct common_file_link link;
	char path[PATH_MAX];
	int fd = make_file(".gnu_debugaltlink", bytes, sizeof(bytes) - 1);

	(void)state;
	assert_int_equal(read_link(fd, &link), 0);
	assert_false(link.is_supplementary);
	assert_string_equal(link.path, "common");
	assert_int_equal(link.identity_bytes, 4);
	assert_int_equal(common_file_path(&link, fd, path, sizeof(path)), 0);
	/* A path relative to a file in memory, which is in the root directory. */
	assert_string_equal(path, "/common");
	assert_false(common_file_is(&link, fd));
	common_file_link_deinit(&link);
	close(fd);
}

static void what_is_cut_is_refused(void **state)
{
	struct common_file_link link;

	(void)state;
	for (size_t size = 0; size < sizeof(program_bytes) - 1; size++) {
		int fd = make_file(".debug_sup", program_bytes, size);

		assert_int_not_equal(read_link(fd, &link), 0);
		common_file_link_deinit(&link);
		close(fd);
		fd = make_file(".gnu_debugaltlink", "common", size < 6 ? size : 6);
		assert_int_not_equal(read_link(fd, &link), 0);
		common_file_link_deinit(&link);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_sup_names_a_file_by_its_checksum),
		cmocka_unit_test(debugaltlink_names_one_beside_the_file),
		cmocka_unit_test(what_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
