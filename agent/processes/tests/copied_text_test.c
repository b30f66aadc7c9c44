/* SPDX-License-Identifier: Apache-2.0 */
/* Text that moved out of its file, in a made-up process whose memory is a sparse file. */
#include "agent/processes/tests/process_sync_fixture.h"

#include <fcntl.h>

#include "ebpf/abi/frame.h"

static const char program[] = "/bin/bash";

/* Range of the program's text in its file, in whole pages, and its address in the process. */
struct text {
	uint64_t offset;
	uint64_t bytes;
	uint64_t start;
	uint64_t bias;
};

/* Writes the maps of a process whose text lies at 0x10000000; @is_copied: in anonymous memory. */
static void map_text(struct fixture *fixture, uint32_t pid, const struct text *text, bool is_copied)
{
	char maps[4096] = "";

	make_process(fixture, pid, program);
	if (is_copied)
		sprintf(maps, "%lx-%lx r-xp 00000000 00:00 0\n", text->start,
			text->start + text->bytes);
	else
		map_line(fixture, pid, maps, text->start, text->start + text->bytes, text->offset,
			 program);
	fake_proc_write(&fixture->proc, pid, "maps", maps);
}

static struct text find_text(void)
{
	struct text text = { .start = 0x10000000 };
	struct elf_image image;
	int fd = open(program, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_image_init_fd(&image, fd), 0);
	for (uint32_t i = 0; i < image.segment_count; i++) {
		const struct elf_segment *segment = &image.segments[i];

		if (segment->type != 1 || !(segment->flags & 1))
			continue;
		text.offset = segment->offset & ~0xfffULL;
		text.bytes =
			((segment->offset + segment->file_bytes + 0xfff) & ~0xfffULL) - text.offset;
		text.bias = text.start - (segment->address & ~0xfffULL);
	}
	assert_true(text.bytes > 100 * 4096);
	elf_image_deinit(&image);
	close(fd);
	return text;
}

/* Copies the file's bytes to the text's address in the process's memory. */
static void copy_into_memory(struct fixture *fixture, uint32_t pid, const struct text *text)
{
	char path[256];
	void *bytes = malloc(text->bytes);
	int from = open(program, O_RDONLY | O_CLOEXEC), to;

	fake_proc_write_memory(&fixture->proc, (int)pid, '-');
	snprintf(path, sizeof(path), "%s/%u/stat", fixture->proc.root, pid);
	to = open(path, O_RDWR | O_CLOEXEC);
	assert_true(bytes && from >= 0 && to >= 0);
	assert_true(pread(from, bytes, text->bytes, text->offset) > 0);
	assert_int_equal(pwrite(to, bytes, text->bytes, text->start), text->bytes);
	close(from);
	close(to);
	free(bytes);
}

static void change_byte(struct fixture *fixture, uint32_t pid, uint64_t address)
{
	char path[256], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/%u/stat", fixture->proc.root, pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, address), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, address), 1);
	close(fd);
}

/* The one row of the process on the kernel side. */
static struct mapping_row only_row(struct fixture *fixture, uint32_t pid)
{
	struct fake_entry entry;

	assert_true(fake_published(&fixture->writer, pid, &entry));
	assert_int_equal(entry.count, 1);
	return entry.rows[0];
}

/* The process runs its program from the file, and then has the bytes of its text in memory too. */
static struct text run_program(struct fixture *fixture, struct process *process)
{
	struct text text = find_text();

	map_text(fixture, process->pid, &text, false);
	sync_process(fixture, process);
	copy_into_memory(fixture, process->pid, &text);
	return text;
}

static void copied_text_keeps_its_executable_and_bias(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct text text = run_program(fixture, process);
	struct mapping_row before = only_row(fixture, 7), after;

	assert_int_equal(before.bias, text.bias);
	map_text(fixture, 7, &text, true);
	sync_process(fixture, process);
	after = only_row(fixture, 7);
	assert_memory_equal(&before, &after, sizeof(before));
	/* A part of it only, from then on, and it stays so without a look. */
	text.start += 16 * 4096;
	text.bytes -= 32 * 4096;
	map_text(fixture, 7, &text, true);
	sync_process(fixture, process);
	after = only_row(fixture, 7);
	assert_int_equal(after.executable_id, before.executable_id);
	assert_int_equal(after.bias, before.bias);
	assert_int_equal(after.start, text.start);
	change_byte(fixture, 7, text.start);
	sync_process(fixture, process);
	assert_int_equal(only_row(fixture, 7).executable_id, before.executable_id);
	drop(fixture, process);
}

static void other_bytes_are_anonymous(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct text text = run_program(fixture, process);

	change_byte(fixture, 7, text.start + 5);
	map_text(fixture, 7, &text, true);
	sync_process(fixture, process);
	assert_int_equal(only_row(fixture, 7).executable_id, EXECUTABLE_ID_ANONYMOUS);
	assert_int_equal(only_row(fixture, 7).bias, 0);
	/* It was being copied: now it is whole. */
	change_byte(fixture, 7, text.start + 5);
	sync_process(fixture, process);
	assert_true(only_row(fixture, 7).executable_id >= EXECUTABLE_ID_FIRST);
	assert_int_equal(only_row(fixture, 7).bias, text.bias);
	drop(fixture, process);
}

static void after_some_looks_it_is_somebody_elses_memory(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct text text = run_program(fixture, process);

	change_byte(fixture, 7, text.start);
	map_text(fixture, 7, &text, true);
	for (int i = 0; i < 10; i++)
		sync_process(fixture, process);
	assert_null(process->mappings[0].executable);
	change_byte(fixture, 7, text.start);
	sync_process(fixture, process);
	assert_int_equal(only_row(fixture, 7).executable_id, EXECUTABLE_ID_ANONYMOUS);
	drop(fixture, process);
}

static void memory_where_no_file_was_seen_is_anonymous(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct text text = find_text();

	map_text(fixture, 7, &text, true);
	copy_into_memory(fixture, 7, &text);
	sync_process(fixture, process);
	assert_int_equal(only_row(fixture, 7).executable_id, EXECUTABLE_ID_ANONYMOUS);
	drop(fixture, process);
}

/*
 * The process starts with its text in anonymous memory, and with the part of its file that begins @pages pages behind the
 * text, or before it if that is negative, at the address where @bias puts it.
 */
static void map_part_beside(struct fixture *fixture, uint32_t pid, const struct text *text,
			    int64_t pages, uint64_t bias)
{
	uint64_t offset = (pages < 0 ? text->offset : text->offset + text->bytes) + pages * 4096;
	uint64_t start = offset + bias;
	char maps[8192] = "", part[4096] = "", copy[128];

	make_process(fixture, pid, program);
	sprintf(copy, "%lx-%lx r-xp 00000000 00:00 0\n", text->start, text->start + text->bytes);
	map_line(fixture, pid, part, start, start + 4096, offset, program);
	memcpy(strstr(part, "r-xp"), "r--p", 4);
	sprintf(maps, "%s%s", pages < 0 ? part : copy, pages < 0 ? copy : part);
	fake_proc_write(&fixture->proc, pid, "maps", maps);
}

static void text_is_known_by_other_parts_of_its_file(void **state)
{
	struct fixture *fixture = *state;
	/* A page below the text, not adjacent; the one behind it. */
	const int64_t pages[] = { -2, 0 };
	struct text text = find_text();

	for (uint32_t i = 0; i < 2; i++) {
		struct process *process = add(fixture, 7 + i, 100, 1);

		map_part_beside(fixture, 7 + i, &text, pages[i], text.bias);
		copy_into_memory(fixture, 7 + i, &text);
		sync_process(fixture, process);
		assert_true(only_row(fixture, 7 + i).executable_id >= EXECUTABLE_ID_FIRST);
		assert_int_equal(only_row(fixture, 7 + i).bias, text.bias);
		assert_int_equal(only_row(fixture, 7 + i).start, text.start);
		assert_false(process->has_doubtful_text);
		drop(fixture, process);
	}
}

static void bytes_decide_whether_memory_next_to_a_file_is_its_text(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct text text = find_text();

	map_part_beside(fixture, 7, &text, -1, text.bias);
	copy_into_memory(fixture, 7, &text);
	change_byte(fixture, 7, text.start + 5);
	sync_process(fixture, process);
	assert_int_equal(only_row(fixture, 7).executable_id, EXECUTABLE_ID_ANONYMOUS);
	/* It may be a copy that is not complete. */
	assert_true(process->has_doubtful_text);
	change_byte(fixture, 7, text.start + 5);
	sync_process(fixture, process);
	assert_int_equal(only_row(fixture, 7).bias, text.bias);
	assert_false(process->has_doubtful_text);
	drop(fixture, process);
}

static void memory_where_the_file_has_no_code_is_anonymous(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct text text = find_text();

	/* The part is so far away that its file's text would be elsewhere. */
	map_part_beside(fixture, 7, &text, -1, text.bias - (1 << 26));
	copy_into_memory(fixture, 7, &text);
	sync_process(fixture, process);
	assert_int_equal(only_row(fixture, 7).executable_id, EXECUTABLE_ID_ANONYMOUS);
	assert_false(process->has_doubtful_text);
	assert_int_equal(process->beside_count, 1);
	drop(fixture, process);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copied_text_keeps_its_executable_and_bias),
		TEST(other_bytes_are_anonymous),
		TEST(after_some_looks_it_is_somebody_elses_memory),
		TEST(memory_where_no_file_was_seen_is_anonymous),
		TEST(text_is_known_by_other_parts_of_its_file),
		TEST(bytes_decide_whether_memory_next_to_a_file_is_its_text),
		TEST(memory_where_the_file_has_no_code_is_anonymous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
