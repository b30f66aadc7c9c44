// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
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

#include "lib/host/core_file.h"
#include "lib/host/tests/core_builder.h"

enum {
	PAGE = 4096,
	DWARF_RSP = 7,
	DWARF_RIP = 16,
	DWARF_ARM64_SP = 31,
	/* Words of x86-64's set. */
	WORD_R15 = 0,
	WORD_RIP = 16,
	WORD_RSP = 19,
	WORD_FS_BASE = 21,
};

#define STACK 0x7ffc00000000ULL
#define TEXT 0x555500000000ULL

struct fixture {
	struct core_builder builder;
	struct core_file core;
	int fd;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	core_builder_init(&fixture->builder, EM_X86_64);
	fixture->fd = memfd_create("core", MFD_CLOEXEC);
	assert_true(fixture->fd >= 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	core_file_deinit(&fixture->core);
	close(fixture->fd);
	free(fixture);
	return 0;
}

static int read_core(struct fixture *fixture)
{
	const struct core_builder *builder = &fixture->builder;

	core_file_deinit(&fixture->core);
	assert_int_equal(ftruncate(fixture->fd, 0), 0);
	assert_int_equal(pwrite(fixture->fd, builder->bytes, builder->size, 0), builder->size);
	return core_file_init(&fixture->core, fixture->fd);
}

static void threads_come_with_their_registers_by_dwarf_number(void **state)
{
	struct fixture *fixture = *state;
	const struct core_thread *threads;

	core_builder_thread(&fixture->builder, 41, 1000);
	core_builder_thread(&fixture->builder, 42, (uint64_t)-16);
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.machine, EM_X86_64);
	assert_int_equal(fixture->core.threads.count, 2);
	threads = fixture->core.threads.items;
	assert_int_equal(threads[0].tid, 41);
	assert_int_equal(threads[0].set.registers[15], 1000 + WORD_R15);
	assert_int_equal(threads[0].set.registers[DWARF_RIP], 1000 + WORD_RIP);
	assert_int_equal(threads[0].set.registers[DWARF_RSP], 1000 + WORD_RSP);
	assert_true(threads[0].set.is_system_call);
	assert_int_equal(threads[0].set.thread_pointer, 1000 + WORD_FS_BASE);
	/* Its word for the system call is -1. */
	assert_int_equal(threads[1].tid, 42);
	assert_false(threads[1].set.is_system_call);
}

static void registers_of_arm64_are_read_as_well(void **state)
{
	struct fixture *fixture = *state;

	core_builder_init(&fixture->builder, EM_AARCH64);
	core_builder_thread(&fixture->builder, 7, 500);
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.machine, EM_AARCH64);
	for (int i = 0; i < REGISTER_COUNT_MAX; i++)
		assert_int_equal(fixture->core.threads.items[0].set.registers[i], 500 + i);
	assert_false(fixture->core.threads.items[0].set.is_system_call);
}

static void thread_pointers_of_arm64_come_in_notes_of_their_own(void **state)
{
	struct fixture *fixture = *state;
	struct core_builder *builder = &fixture->builder;
	const uint64_t pointers[] = { 0x1111, 0x2222 };

	core_builder_init(builder, EM_AARCH64);
	/* This note belongs to no thread. */
	core_builder_named_note(builder, "LINUX", NT_ARM_TLS, pointers, 8);
	for (uint32_t i = 0; i < 2; i++) {
		core_builder_thread(builder, i, 500);
		core_builder_named_note(builder, "LINUX", NT_ARM_TLS, &pointers[i], 8);
		core_builder_named_note(builder, "LINUX", NT_ARM_TLS, "cut", 3);
		core_builder_named_note(builder, "OTHER", NT_ARM_TLS, "another", 8);
	}
	core_builder_thread(builder, 2, 500);
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.threads.items[0].set.thread_pointer, 0x1111);
	assert_int_equal(fixture->core.threads.items[1].set.thread_pointer, 0x2222);
	assert_int_equal(fixture->core.threads.items[2].set.thread_pointer, 0);
}

static void dumped_memory_is_read_over_segment_borders(void **state)
{
	struct fixture *fixture = *state;
	struct remote_memory *memory = &fixture->core.memory;
	uint8_t pages[2 * PAGE], buffer[2 * PAGE];

	for (size_t i = 0; i < sizeof(pages); i++)
		pages[i] = i / 7;
	/* Out of order, neighbours, the upper one dumped in part. */
	core_builder_memory(&fixture->builder, STACK + PAGE, PF_R | PF_W, PAGE, pages + PAGE, 100);
	core_builder_memory(&fixture->builder, STACK, PF_R | PF_W, PAGE, pages, PAGE);
	core_builder_memory(&fixture->builder, TEXT, PF_R | PF_X, PAGE, NULL, 0);
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.segments.count, 3);
	assert_int_equal(remote_memory_read(memory, STACK + 10, buffer, PAGE + 90), 0);
	assert_memory_equal(buffer, pages + 10, PAGE + 90);
	assert_int_equal(remote_memory_read(memory, STACK + 10, buffer, PAGE + 91), -EFAULT);
	assert_int_equal(remote_memory_read(memory, STACK - 1, buffer, 1), -EFAULT);
	assert_int_equal(remote_memory_read(memory, STACK + 2 * PAGE, buffer, 1), -EFAULT);
	assert_int_equal(remote_memory_read(memory, TEXT, buffer, 1), -EFAULT);
	assert_int_equal(remote_memory_read(memory, UINT64_MAX - 3, buffer, 8), -EFAULT);
	assert_true(core_file_segment(&fixture->core, TEXT + PAGE - 1)->is_executable);
	assert_false(core_file_segment(&fixture->core, STACK)->is_executable);
	assert_null(core_file_segment(&fixture->core, TEXT + PAGE));
	assert_null(core_file_segment(&fixture->core, 0));
}

static void a_core_file_that_is_cut_off_gives_what_is_there(void **state)
{
	struct fixture *fixture = *state;
	struct core_builder *builder = &fixture->builder;
	uint8_t page[PAGE] = { 1, 2, 3 }, buffer[8];

	core_builder_memory(builder, TEXT, PF_R, PAGE, page, PAGE);
	core_builder_memory(builder, STACK, PF_R, PAGE, page, PAGE);
	builder->size -= PAGE + 16;
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(remote_memory_read(&fixture->core.memory, TEXT, buffer, 8), 0);
	assert_int_equal(remote_memory_read(&fixture->core.memory, TEXT + PAGE - 16, buffer, 1),
			 -EFAULT);
	assert_int_equal(remote_memory_read(&fixture->core.memory, STACK, buffer, 1), -EFAULT);
}

/* A note with @count mappings of 4 pages each, 16 pages apart. */
static void put_mappings(struct core_builder *builder, uint64_t count, uint64_t claimed,
			 const char *names, size_t name_bytes)
{
	uint64_t words[64] = { claimed, PAGE };

	for (uint64_t i = 0; i < count; i++) {
		words[2 + 3 * i] = TEXT + i * 16 * PAGE;
		words[3 + 3 * i] = TEXT + (i * 16 + 4) * PAGE;
		words[4 + 3 * i] = i * 4;
	}
	memcpy(&words[2 + 3 * count], names, name_bytes);
	core_builder_note(builder, NT_FILE, words, (2 + 3 * count) * 8 + name_bytes);
}

static void mapped_files_are_known_by_name(void **state)
{
	static const char names[] = "/bin/one\0/lib/two words.so";
	struct fixture *fixture = *state;
	const struct core_mapping *mappings;

	put_mappings(&fixture->builder, 2, 2, names, sizeof(names));
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.mappings.count, 2);
	mappings = fixture->core.mappings.items;
	assert_int_equal(mappings[0].start, TEXT);
	assert_int_equal(mappings[0].end, TEXT + 4 * PAGE);
	assert_int_equal(mappings[0].offset, 0);
	assert_string_equal(mappings[0].path, "/bin/one");
	assert_int_equal(mappings[1].offset, 4 * PAGE);
	assert_string_equal(mappings[1].path, "/lib/two words.so");
}

static void the_vdso_is_found_by_the_auxiliary_vector(void **state)
{
	const uint64_t vector[] = { AT_PAGESZ, PAGE, AT_SYSINFO_EHDR, STACK - PAGE, AT_NULL, 0 };
	struct fixture *fixture = *state;

	core_builder_note(&fixture->builder, NT_AUXV, vector, sizeof(vector));
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.vdso_address, STACK - PAGE);
}

static void what_is_no_core_file_is_refused(void **state)
{
	struct fixture *fixture = *state;
	Elf64_Ehdr *header = core_builder_header(&fixture->builder);
	const Elf64_Ehdr good = *header;

	header->e_type = ET_EXEC;
	assert_int_equal(read_core(fixture), -EOPNOTSUPP);
	*header = good;
	header->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_core(fixture), -EOPNOTSUPP);
	*header = good;
	header->e_machine = EM_RISCV;
	assert_int_equal(read_core(fixture), -EOPNOTSUPP);
	*header = good;
	header->e_phentsize--;
	assert_int_equal(read_core(fixture), -EBADMSG);
	*header = good;
	header->e_phoff = UINT64_MAX / 4;
	assert_true(read_core(fixture) < 0);
	*header = good;
	assert_int_equal(read_core(fixture), 0);
	fixture->builder.size = 10;
	assert_int_equal(read_core(fixture), -EBADMSG);
}

static void more_segments_than_the_field_holds_are_counted_elsewhere(void **state)
{
	struct fixture *fixture = *state;
	Elf64_Ehdr *header = core_builder_header(&fixture->builder);
	Elf64_Shdr section = { .sh_info = 2 };

	core_builder_memory(&fixture->builder, STACK, PF_R, PAGE, "x", 1);
	header->e_phnum = PN_XNUM;
	header->e_shoff = core_builder_put(&fixture->builder, &section, sizeof(section));
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.segments.count, 1);
	section.sh_info = CORE_FILE_MAX_SEGMENTS + 1;
	memcpy(fixture->builder.bytes + header->e_shoff, &section, sizeof(section));
	assert_int_equal(read_core(fixture), -E2BIG);
}

static void damaged_segments_are_refused(void **state)
{
	struct fixture *fixture = *state;
	Elf64_Phdr *segment = core_builder_segments(&fixture->builder);

	core_builder_memory(&fixture->builder, STACK, PF_R, 2 * PAGE, "x", 1);
	core_builder_memory(&fixture->builder, STACK + PAGE, PF_R, PAGE, "x", 1);
	assert_int_equal(read_core(fixture), -EBADMSG);
	segment[2].p_vaddr = UINT64_MAX - 10;
	assert_int_equal(read_core(fixture), -EBADMSG);
	segment[2].p_vaddr = STACK + 2 * PAGE;
	assert_int_equal(read_core(fixture), 0);
	segment[0].p_filesz = CORE_FILE_MAX_NOTE_BYTES + 1ULL;
	assert_int_equal(read_core(fixture), -E2BIG);
	segment[0].p_filesz = CORE_BUILDER_MAX_BYTES;
	assert_int_equal(read_core(fixture), -EBADMSG);
}

static void damaged_notes_are_refused(void **state)
{
	static const char names[] = "one\0two";
	struct fixture *fixture = *state;
	struct core_builder *builder = &fixture->builder;

	core_builder_note(builder, NT_PRSTATUS, names, sizeof(names));
	assert_int_equal(read_core(fixture), -EBADMSG);
	core_builder_init(builder, EM_X86_64);
	put_mappings(builder, 2, 3, names, sizeof(names));
	assert_int_equal(read_core(fixture), -EBADMSG);
	core_builder_init(builder, EM_X86_64);
	put_mappings(builder, 2, UINT64_MAX, names, sizeof(names));
	assert_int_equal(read_core(fixture), -EBADMSG);
	core_builder_init(builder, EM_X86_64);
	/* The last name does not end. */
	put_mappings(builder, 2, 2, names, sizeof(names) - 1);
	assert_int_equal(read_core(fixture), -EBADMSG);
	core_builder_init(builder, EM_X86_64);
	put_mappings(builder, 1, 1, names, sizeof(names));
	put_mappings(builder, 1, 1, names, sizeof(names));
	assert_int_equal(read_core(fixture), -EBADMSG);
	core_builder_init(builder, EM_X86_64);
	core_builder_thread(builder, 1, 1);
	core_builder_segments(builder)->p_filesz -= 8;
	assert_int_equal(read_core(fixture), -EBADMSG);
}

static void notes_of_others_and_padding_are_passed_over(void **state)
{
	static const uint32_t other[] = { 6, 4, NT_PRSTATUS, 0x554e494c, 0x58, 1 };
	static const uint8_t zeroes[8];
	struct fixture *fixture = *state;
	struct core_builder *builder = &fixture->builder;

	core_builder_put(builder, other, sizeof(other));
	core_builder_segments(builder)->p_filesz += sizeof(other);
	core_builder_note(builder, NT_PRPSINFO, zeroes, sizeof(zeroes));
	core_builder_thread(builder, 5, 1);
	core_builder_put(builder, zeroes, sizeof(zeroes));
	core_builder_segments(builder)->p_filesz += sizeof(zeroes);
	assert_int_equal(read_core(fixture), 0);
	assert_int_equal(fixture->core.threads.count, 1);
	assert_int_equal(fixture->core.threads.items[0].tid, 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(threads_come_with_their_registers_by_dwarf_number),
		TEST(registers_of_arm64_are_read_as_well),
		TEST(thread_pointers_of_arm64_come_in_notes_of_their_own),
		TEST(dumped_memory_is_read_over_segment_borders),
		TEST(a_core_file_that_is_cut_off_gives_what_is_there),
		TEST(mapped_files_are_known_by_name),
		TEST(the_vdso_is_found_by_the_auxiliary_vector),
		TEST(what_is_no_core_file_is_refused),
		TEST(more_segments_than_the_field_holds_are_counted_elsewhere),
		TEST(damaged_segments_are_refused),
		TEST(damaged_notes_are_refused),
		TEST(notes_of_others_and_padding_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
