/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of executable files, with ELF files made here. */
#include "agent/runtimes/executable_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEGMENTS = 3 };

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[SEGMENTS];
};

static void identify(const Elf64_Phdr segments[SEGMENTS], struct binary *binary)
{
	struct file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct file, segments),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = SEGMENTS,
		},
	};
	struct program_facts facts;
	struct elf_image image;
	int fd = memfd_create("executable_file_test", 0);

	memcpy(file.segments, segments, sizeof(file.segments));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &file, sizeof(file)), sizeof(file));
	assert_int_equal(ftruncate(fd, 0x10000), 0);
	assert_int_equal(executable_file_identify(fd, binary, &facts, &image), 0);
	assert_null(binary->facts);
	elf_image_deinit(&image);
	close(fd);
}

static void a_file_without_segments_is_code_of_a_runtime(void **state)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
	};
	struct program_facts facts;
	struct elf_image image;
	struct binary binary;
	int fd = memfd_create("executable_file_test", 0);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(executable_file_identify(fd, &binary, &facts, &image), -EOPNOTSUPP);
	close(fd);
}

static Elf64_Phdr segment(uint32_t flags, uint64_t address, uint64_t offset, uint64_t bytes)
{
	return (Elf64_Phdr){ .p_type = PT_LOAD,
			     .p_flags = flags,
			     .p_vaddr = address,
			     .p_offset = offset,
			     .p_filesz = bytes,
			     .p_memsz = bytes };
}

static void text_reaches_over_all_executable_segments(void **state)
{
	const Elf64_Phdr segments[SEGMENTS] = {
		segment(PF_R | PF_X, 0x11000, 0x1000, 0x800),
		segment(PF_R | PF_W, 0x30000, 0x3000, 0x900),
		segment(PF_R | PF_X, 0x20000, 0x2000, 0x700),
	};
	struct binary binary;

	(void)state;
	identify(segments, &binary);
	assert_int_equal(binary.memory_start, 0x11000);
	assert_int_equal(binary.memory_limit, 0x20700);
	assert_int_equal(binary.file_offset, 0x1000);
}

static int load(uint64_t max_work_bytes, uint64_t max_code_bytes, bool *lacks_code)
{
	const struct load_limits limits = { max_work_bytes, max_code_bytes };
	int fd = open("/bin/ls", O_RDONLY | O_CLOEXEC);
	struct load_result result = { .lacks_code = *lacks_code };
	int err = executable_file_load(fd, NULL, &limits, &result);

	assert_true(fd >= 0);
	*lacks_code = result.lacks_code;
	stack_deltas_deinit(&result.deltas);
	close(fd);
	return err;
}

static void what_rows_cost_is_limited(void **state)
{
	bool lacks_code = true;

	(void)state;
	assert_int_equal(load(1, UINT64_MAX, &lacks_code), -EAGAIN);
	assert_true(lacks_code);
	assert_int_equal(load(UINT64_MAX, UINT64_MAX, &lacks_code), 0);
	assert_false(lacks_code);
	/* The start files of the C library have no tables. */
	assert_int_equal(load(UINT64_MAX, 0, &lacks_code), 0);
	assert_true(lacks_code);
}

static void segments_may_come_in_any_order(void **state)
{
	const Elf64_Phdr segments[SEGMENTS] = {
		segment(PF_R | PF_X, 0x20000, 0x2000, 0x700),
		segment(PF_R | PF_X, 0x11000, 0x1000, 0x800),
		segment(PF_R, 0x10000, 0x3000, 0x100),
	};
	struct binary binary;

	(void)state;
	identify(segments, &binary);
	assert_int_equal(binary.memory_start, 0x11000);
	assert_int_equal(binary.memory_limit, 0x20700);
	assert_int_equal(binary.file_offset, 0x1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_segments_is_code_of_a_runtime),
		cmocka_unit_test(text_reaches_over_all_executable_segments),
		cmocka_unit_test(what_rows_cost_is_limited),
		cmocka_unit_test(segments_may_come_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
