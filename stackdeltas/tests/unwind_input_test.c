/* SPDX-License-Identifier: Apache-2.0 */
/* Finding .eh_frame in files with and without section headers; the key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/fde_table.h"
#include "stackdeltas/unwind_input.h"

/* The test itself, as bytes that can be changed. */
struct fixture {
	uint8_t *bytes;
	size_t size;
	Elf64_Ehdr *header;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	_cleanup_(close_fd) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fstat(fd, &status))
		return -1;
	fixture->size = status.st_size;
	fixture->bytes = malloc(fixture->size);
	if (read(fd, fixture->bytes, fixture->size) != (ssize_t)fixture->size)
		return -1;
	fixture->header = (Elf64_Ehdr *)fixture->bytes;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	free(fixture->bytes);
	free(fixture);
	return 0;
}

static int read_input(const struct fixture *fixture, struct unwind_input *input)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { 0 };
	int error = elf_image_init_memory(&image, fixture->bytes, fixture->size);

	return error ? error : unwind_input_read(&image, input);
}

static Elf64_Phdr *find_segment(struct fixture *fixture, uint32_t type, uint32_t flags)
{
	Elf64_Phdr *segments = (Elf64_Phdr *)(fixture->bytes + fixture->header->e_phoff);

	for (int i = 0; i < fixture->header->e_phnum; i++)
		if (segments[i].p_type == type && (segments[i].p_flags & flags) == flags)
			return &segments[i];
	fail();
	return NULL;
}

static void strip_sections(struct fixture *fixture)
{
	fixture->header->e_shoff = 0;
	fixture->header->e_shnum = 0;
	fixture->header->e_shstrndx = 0;
}

static void segments_lead_to_the_same_bytes_as_sections(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(unwind_input_deinit) struct unwind_input by_section = { 0 };
	_cleanup_(unwind_input_deinit) struct unwind_input by_segment = { 0 };

	assert_int_equal(read_input(fixture, &by_section), 0);
	strip_sections(fixture);
	assert_int_equal(read_input(fixture, &by_segment), 0);
	assert_int_equal(by_section.machine, by_segment.machine);
	assert_int_equal(by_section.segment_count, by_segment.segment_count);
	assert_int_equal(by_section.eh_frame_address, by_segment.eh_frame_address);
	/* The section may have a terminator behind the last FDE. */
	assert_in_range(by_section.eh_frame_bytes - by_segment.eh_frame_bytes, 0, 4);
	assert_memory_equal(by_section.eh_frame, by_segment.eh_frame, by_segment.eh_frame_bytes);
}

static void a_header_without_table_is_enough(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(unwind_input_deinit) struct unwind_input with_table = { 0 };
	_cleanup_(unwind_input_deinit) struct unwind_input without_table = { 0 };
	uint8_t *header;

	strip_sections(fixture);
	assert_int_equal(read_input(fixture, &with_table), 0);
	header = fixture->bytes + find_segment(fixture, PT_GNU_EH_FRAME, 0)->p_offset;
	header[2] = header[3] = 0xff;
	assert_int_equal(read_input(fixture, &without_table), 0);
	assert_int_equal(with_table.eh_frame_bytes, without_table.eh_frame_bytes);
}

/* The code is still there. */
static void assert_only_code(const struct fixture *fixture, int eh_frame_error)
{
	_cleanup_(unwind_input_deinit) struct unwind_input input = { 0 };

	assert_int_equal(read_input(fixture, &input), 0);
	assert_int_equal(input.eh_frame_error, eh_frame_error);
	assert_int_equal(input.eh_frame_bytes, 0);
	assert_true(input.is_bare);
	assert_int_equal(input.code.range_count, 1);
	assert_int_equal(input.code.ranges[0].address, input.segments[0].start);
	assert_int_equal(input.code.ranges[0].size,
			 input.segments[0].end - input.segments[0].start);
}

static void an_eh_frame_that_is_compressed_is_none(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(unwind_input_deinit) struct unwind_input input = { 0 };
	Elf64_Shdr *sections = (Elf64_Shdr *)(fixture->bytes + fixture->header->e_shoff);
	uint64_t names = sections[fixture->header->e_shstrndx].sh_offset;
	int changed_count = 0;

	for (int i = 0; i < fixture->header->e_shnum; i++)
		if (!strcmp((char *)fixture->bytes + names + sections[i].sh_name, ".eh_frame")) {
			sections[i].sh_flags |= SHF_COMPRESSED;
			changed_count++;
		}
	assert_int_equal(changed_count, 1);
	assert_int_equal(read_input(fixture, &input), 0);
	assert_int_equal(input.eh_frame_error, -EBADMSG);
	assert_int_equal(input.eh_frame_bytes, 0);
}

static void fdes_are_handed_on_with_what_was_counted_in_them(void **state)
{
	_cleanup_(unwind_input_deinit) struct unwind_input input = { 0 };
	_cleanup_(stack_deltas_deinit) struct stack_deltas kept = { 0 }, made = { 0 },
							   fewer = { 0 };
	struct delta_statistics kept_statistics, made_statistics, fewer_statistics;
	struct unwind_input without;

	assert_int_equal(read_input(*state, &input), 0);
	assert_int_equal(input.source_count, 0);
	without = input;
	without.fdes = NULL;
	assert_int_equal(extract_deltas(&input, NULL, &kept, &kept_statistics), 0);
	assert_int_equal(extract_deltas(&without, NULL, &made, &made_statistics), 0);
	assert_true(made_statistics.cie_count > 0);
	assert_memory_equal(&kept_statistics, &made_statistics, sizeof(kept_statistics));
	assert_int_equal(kept.row_count, made.row_count);
	assert_memory_equal(kept.rows, made.rows, stack_deltas_row_bytes(made.row_count));
	/* It is that table that is read. */
	input.fdes->fdes.count--;
	assert_int_equal(extract_deltas(&input, NULL, &fewer, &fewer_statistics), 0);
	assert_int_equal(fewer_statistics.fde_count, made_statistics.fde_count - 1);
}

static void damaged_headers_are_told(void **state)
{
	struct fixture *fixture = *state;
	Elf64_Phdr *segment = find_segment(fixture, PT_GNU_EH_FRAME, 0);
	uint8_t *header = fixture->bytes + segment->p_offset;

	strip_sections(fixture);
	header[0] = 2;
	assert_only_code(fixture, -EOPNOTSUPP);
	header[0] = 1;
	header[1] = 0x9b;
	assert_only_code(fixture, -EOPNOTSUPP);
	header[1] = 0x1b;
	memset(header + 8, 0xff, 4);
	assert_only_code(fixture, -EBADMSG);
	segment->p_filesz = segment->p_memsz = 3;
	assert_only_code(fixture, -EBADMSG);
	segment->p_filesz = segment->p_memsz = 0;
	assert_only_code(fixture, -ENOENT);
	segment->p_type = PT_NULL;
	assert_only_code(fixture, -ENOENT);
}

static void a_pointer_outside_of_the_file_is_enoent(void **state)
{
	struct fixture *fixture = *state;
	Elf64_Phdr *segment = find_segment(fixture, PT_GNU_EH_FRAME, 0);

	strip_sections(fixture);
	memcpy(fixture->bytes + segment->p_offset + 4, (const uint8_t[]){ 0, 0, 0, 0x7f }, 4);
	assert_only_code(fixture, -ENOENT);
}

static void a_file_without_executable_segment_is_enoent(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_input input;

	find_segment(fixture, PT_LOAD, PF_X)->p_flags = PF_R;
	assert_int_equal(read_input(fixture, &input), -ENOENT);
}

static void segments_out_of_reach_are_malformed(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_input input;
	Elf64_Phdr *segment = find_segment(fixture, PT_LOAD, PF_X);

	segment->p_vaddr = segment->p_paddr = 1ULL << 48;
	assert_int_equal(read_input(fixture, &input), -EBADMSG);
}

static void the_key_covers_all_that_decides_the_rows(void **state)
{
	uint8_t bytes[] = { 1, 2, 3, 4 };
	struct unwind_input input = {
		.machine = EM_X86_64,
		.segment_count = 1,
		.segments = { { 0x1000, 0x2000 }, { 0x3000, 0x4000 } },
		.eh_frame_address = 0x5000,
		.eh_frame_bytes = sizeof(bytes),
		.eh_frame = bytes,
	};
	uint8_t code[] = { 5, 6, 7 }, raw[] = { 8, 9 };
	struct code_bytes range = { 0x1100, code, sizeof(code) };
	uint64_t starts[] = { 0x1101, 0x1102 };
	uint64_t pointers[] = { 0x1102 };
	struct hash128 key;

	(void)state;
	input.code.pointers.items = pointers;
	input.code.pointers.count = 1;
	input.code.ranges = &range;
	input.code.range_count = 1;
	input.code.starts.items = starts;
	input.code.starts.count = 1;
	input.source_count = 1;
	input.sources[0].raw = (struct elf_bytes){ raw, 1 };
	key = unwind_input_key(&input);
#define ASSERT_OTHER_KEY(change, undo)                                                             \
	do {                                                                                       \
		change;                                                                            \
		assert_false(hash128_equal(key, unwind_input_key(&input)));                        \
		undo;                                                                              \
		assert_true(hash128_equal(key, unwind_input_key(&input)));                         \
	} while (0)

	ASSERT_OTHER_KEY(bytes[3]++, bytes[3]--);
	ASSERT_OTHER_KEY(input.eh_frame_bytes--, input.eh_frame_bytes++);
	ASSERT_OTHER_KEY(input.eh_frame_address++, input.eh_frame_address--);
	ASSERT_OTHER_KEY(input.machine++, input.machine--);
	ASSERT_OTHER_KEY(input.segments[0].start++, input.segments[0].start--);
	ASSERT_OTHER_KEY(input.segments[0].end++, input.segments[0].end--);
	ASSERT_OTHER_KEY(input.segment_count++, input.segment_count--);
	ASSERT_OTHER_KEY(code[1]++, code[1]--);
	ASSERT_OTHER_KEY(range.address++, range.address--);
	ASSERT_OTHER_KEY(range.size--, range.size++);
	ASSERT_OTHER_KEY(starts[0]++, starts[0]--);
	ASSERT_OTHER_KEY(input.code.starts.count++, input.code.starts.count--);
	ASSERT_OTHER_KEY(pointers[0]--, pointers[0]++);
	ASSERT_OTHER_KEY(input.code.pointers.count--, input.code.pointers.count++);
	ASSERT_OTHER_KEY(raw[0]++, raw[0]--);
	ASSERT_OTHER_KEY(input.sources[0].raw.size++, input.sources[0].raw.size--);
	ASSERT_OTHER_KEY(input.sources[0].kind++, input.sources[0].kind--);
	ASSERT_OTHER_KEY(input.sources[0].encoding++, input.sources[0].encoding--);
	ASSERT_OTHER_KEY(input.source_count--, input.source_count++);
#undef ASSERT_OTHER_KEY
}

static void only_code_that_nobody_called_is_an_entry_point(void **state)
{
	static const uint8_t clears_fp[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x31, 0xed, 0x90, 0x90 };
	/* Free Pascal: pop rsi; and $-16,rsp */
	static const uint8_t pops[] = { 0x5e, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x31, 0xed };
	static const uint8_t a_function[] = { 0x55, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0x90 };
	static const uint8_t *const codes[] = { clears_fp, pops, a_function };
	struct fixture *fixture = *state;
	struct unwind_input input;
	uint64_t entry = fixture->header->e_entry;
	const Elf64_Phdr *segment = (const Elf64_Phdr *)(fixture->bytes + fixture->header->e_phoff);

	while (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
		segment++;
	for (int i = 0; i < 3; i++) {
		memcpy(fixture->bytes + segment->p_offset + (entry - segment->p_vaddr), codes[i],
		       sizeof(clears_fp));
		assert_int_equal(read_input(fixture, &input), 0);
		assert_int_equal(input.entry, i == 2 ? 0 : entry);
		unwind_input_deinit(&input);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(only_code_that_nobody_called_is_an_entry_point),
		TEST(segments_lead_to_the_same_bytes_as_sections),
		TEST(a_header_without_table_is_enough),
		TEST(an_eh_frame_that_is_compressed_is_none),
		TEST(fdes_are_handed_on_with_what_was_counted_in_them),
		TEST(damaged_headers_are_told),
		TEST(a_pointer_outside_of_the_file_is_enoent),
		TEST(a_file_without_executable_segment_is_enoent),
		TEST(segments_out_of_reach_are_malformed),
		cmocka_unit_test(the_key_covers_all_that_decides_the_rows),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
