/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include "lib/host/proc_maps.h"
#include "lib/host/tests/find_mapping.h"
#include "lib/host/tests/proc_fixture.h"

#define LINE_OF_LS "55d0c0a00000-55d0c0a16000 r-xp 00004000 fe:01 1311234    /usr/bin/ls\n"

static int parse(struct proc_maps *maps, const char *text)
{
	return proc_maps_parse(maps, text, strlen(text), PROC_MAPS_ALL);
}

static void every_field_is_taken(void **state)
{
	static const char text[] = LINE_OF_LS
		"7f0000000000-7f0000001000 rw-s 00000000 00:01 42                         /dev/zero (deleted)\n"
		"7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
		"7ffd00022000-7ffd00023000 --xp 00000000 00:00 0 \n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
	struct proc_maps maps;

	(void)state;
	assert_int_equal(parse(&maps, text), 0);
	assert_int_equal(maps.count, 5);
	assert_int_equal(maps.rows[0].start, 0x55d0c0a00000);
	assert_int_equal(maps.rows[0].end, 0x55d0c0a16000);
	assert_int_equal(maps.rows[0].offset, 0x4000);
	assert_int_equal(maps.rows[0].device_major, 0xfe);
	assert_int_equal(maps.rows[0].device_minor, 1);
	assert_int_equal(maps.rows[0].inode, 1311234);
	assert_int_equal(maps.rows[0].protection, PROT_READ | PROT_EXEC);
	assert_false(maps.rows[0].is_deleted);
	assert_string_equal(maps.rows[0].path, "/usr/bin/ls");
	assert_true(maps.rows[1].is_deleted);
	assert_string_equal(maps.rows[1].path, "/dev/zero");
	assert_string_equal(maps.rows[2].path, "[stack]");
	assert_string_equal(maps.rows[3].path, "");
	assert_int_equal(maps.rows[4].start, 0xffffffffff600000);
	proc_maps_deinit(&maps);
	assert_int_equal(proc_maps_parse(&maps, text, sizeof(text) - 1, PROC_MAPS_EXECUTABLE), 0);
	assert_int_equal(maps.count, 3);
	assert_string_equal(maps.rows[1].path, "");
	assert_string_equal(maps.rows[2].path, "[vsyscall]");
	proc_maps_deinit(&maps);
}

static void files_next_to_anonymous_code_are_found(void **state)
{
	static const char text[] = "1000-2000 r--p 00000000 fe:00 7   /bin/far\n"
				   "2000-3000 r--p 00000000 fe:00 8   /bin/below\n"
				   "3000-4000 rw-p 00000000 00:00 0\n"
				   "4000-5000 r-xp 00000000 00:00 0\n"
				   "5000-6000 rwxp 00000000 00:00 0   [anon:code]\n"
				   "6000-7000 rw-p 00000000 00:00 0   [heap]\n"
				   "7000-8000 rw-p 00001000 fe:00 9   /bin/above\n"
				   "8000-9000 rw-p 00001000 fe:00 9   /bin/above\n"
				   "9000-a000 r-xp 00000000 00:00 0   [vdso]\n"
				   "a000-b000 r--p 00001000 fe:00 6   /bin/later\n"
				   "b000-c000 r-xp 00001000 fe:00 6   /bin/later\n"
				   "c000-d000 rwxp 00000000 00:00 0\n";
	static const uint64_t starts[] = { 0x2000, 0x4000, 0x5000, 0x7000, 0x9000, 0xb000, 0xc000 };
	struct proc_maps maps;

	(void)state;
	assert_int_equal(proc_maps_parse(&maps, text, sizeof(text) - 1, PROC_MAPS_CODE), 0);
	assert_int_equal(maps.count, sizeof(starts) / sizeof(starts[0]));
	for (uint32_t i = 0; i < maps.count; i++)
		assert_int_equal(maps.rows[i].start, starts[i]);
	assert_string_equal(maps.rows[0].path, "/bin/below");
	assert_int_equal(maps.rows[0].protection, PROT_READ);
	assert_string_equal(maps.rows[3].path, "/bin/above");
	proc_maps_deinit(&maps);
}

static void paths_may_hold_anything(void **state)
{
	static const struct {
		const char *path;
		const char *expected;
		bool is_deleted;
	} cases[] = {
		{ "/tmp/a b", "/tmp/a b", false },
		{ "/tmp/a\\012b", "/tmp/a\nb", false },
		{ "/tmp/a\\012", "/tmp/a\n", false },
		{ "/tmp/a\\01", "/tmp/a\\01", false },
		{ "/tmp/\\012 (deleted)", "/tmp/\n", true },
		{ "/tmp/x (deleted) (deleted)", "/tmp/x (deleted)", true },
		{ "[anon: (deleted)", "[anon: (deleted)", false },
		{ "/ 7f00-7f01 r-xp 0 0:0 0", "/ 7f00-7f01 r-xp 0 0:0 0", false },
		{ "/memfd:\xff\x01 (deleted)", "/memfd:\xff\x01", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct proc_maps maps;
		char line[256];

		snprintf(line, sizeof(line), "1000-2000 r-xp 0 0:0 1 %s\n", cases[i].path);
		assert_int_equal(parse(&maps, line), 0);
		assert_int_equal(maps.count, 1);
		assert_string_equal(maps.rows[0].path, cases[i].expected);
		assert_int_equal(maps.rows[0].is_deleted, cases[i].is_deleted);
		proc_maps_deinit(&maps);
	}
}

static void malformed_lines_are_bad(void **state)
{
	static const char *const lines[] = {
		"\n",
		"rubbish\n",
		"1000-\n",
		"1000-2000\n",
		"2000-1000 r-xp 0 0:0 0\n",
		"1000-1000 r-xp 0 0:0 0\n",
		"1000-2000 r-x",
		"1000-2000 r-xp 0 0:0 \n",
		"1000-2000 r-xp 0 0:0 0x\n",
		"1000-2000 r-xp 0 0:0 99999999999999999999\n",
		"11111111111111111-22222222222222222 r-xp 0 0:0 0\n",
		"1000-2000 r-xp 0 100000000:0 0\n",
		"-1000-2000 r-xp 0 0:0 0\n",
	};
	struct proc_maps maps;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(parse(&maps, lines[i]), -EBADMSG);
	assert_int_equal(parse(&maps, ""), 0);
	assert_int_equal(maps.count, 0);
	proc_maps_deinit(&maps);
}

static void rows_never_overlap(void **state)
{
	struct proc_maps maps;

	(void)state;
	assert_int_equal(parse(&maps, "1000-3000 r-xp 0 0:0 1 /a\n"
				      "2000-4000 r-xp 0 0:0 1 /b\n"
				      "3000-4000 r-xp 0 0:0 1 /c\n"),
			 0);
	assert_int_equal(maps.count, 2);
	assert_string_equal(maps.rows[1].path, "/c");
	proc_maps_deinit(&maps);
}

static void too_many_rows_are_left_out(void **state)
{
	const size_t count = PROC_MAPS_MAX_ROWS + 10;
	char *text = malloc(count * 64), *end = text;
	struct proc_maps maps;

	(void)state;
	for (size_t i = 1; i <= count; i++)
		end += sprintf(end, "%zx000-%zx800 r-xp 0 0:0 1 /f%zu\n", i, i, i);
	assert_int_equal(proc_maps_parse(&maps, text, end - text, PROC_MAPS_ALL), 0);
	assert_int_equal(maps.count, PROC_MAPS_MAX_ROWS);
	assert_true(maps.is_truncated);
	assert_string_equal(maps.rows[PROC_MAPS_MAX_ROWS - 1].path, "/f65536");
	proc_maps_deinit(&maps);
	free(text);
}

static void the_kernels_own_text_is_read(void **state)
{
	char folder[] = "/tmp/proc_maps_test_XXXXXX", path[PATH_MAX];
	const struct proc_mapping *row;
	struct proc_maps maps;
	void *mapped;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/odd\nname (deleted)", folder);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	mapped = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 4096);
	assert_int_equal(proc_maps_read(&maps, "/proc", getpid(), PROC_MAPS_ALL), 0);
	row = find_mapping(&maps, (uintptr_t)mapped);
	assert_non_null(row);
	assert_int_equal(row->offset, 4096);
	path[strlen(path) - strlen(" (deleted)")] = '\0';
	assert_string_equal(row->path, path);
	assert_true(row->is_deleted);
	row = find_mapping(&maps, (uintptr_t)the_kernels_own_text_is_read);
	assert_non_null(row);
	assert_true(row->protection & PROT_EXEC);
	proc_maps_deinit(&maps);
	munmap(mapped, 8192);
	close(fd);
	remove_folder(folder);
}

static void code_that_is_asked_for_is_as_in_the_text(void **state)
{
	char folder[] = "/tmp/proc_maps_test_XXXXXX", path[PATH_MAX];
	struct proc_maps code, all;
	void *mapped;
	int fd, asked = 0;
	bool is_text = false;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/odd\nand\\012", folder);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	assert_true(mapped != MAP_FAILED);
	unlink(path);
	/* Sanitizers map no code without a file. */
	assert_int_equal(proc_maps_read(&code, "/proc", getpid(), PROC_MAPS_CODE), 0);
	assert_int_equal(proc_maps_read(&all, "/proc", getpid(), PROC_MAPS_ALL), 0);
	for (uint32_t i = 0; i < all.count; i++) {
		const struct proc_mapping *row = &all.rows[i], *found;

		if (!(row->protection & PROT_EXEC) || !strcmp(row->path, "[vsyscall]"))
			continue;
		found = find_mapping(&code, row->start);
		assert_non_null(found);
		assert_int_equal(found->start, row->start);
		assert_int_equal(found->end, row->end);
		assert_int_equal(found->offset, row->offset);
		assert_int_equal(found->inode, row->inode);
		assert_int_equal(found->device_major, row->device_major);
		assert_int_equal(found->device_minor, row->device_minor);
		assert_int_equal(found->protection, row->protection);
		assert_int_equal(found->is_deleted, row->is_deleted);
		if (row->start == (uintptr_t)mapped)
			is_text = !strcmp(found->path, row->path);
		else
			assert_string_equal(found->path, row->path);
		asked++;
	}
	assert_true(asked > 2);
	assert_true(find_mapping(&code, (uintptr_t)mapped)->is_deleted);
	/* Only the text has escaped a line end, and what looks like an escaped one. */
	if (!is_text)
		assert_string_equal(find_mapping(&code, (uintptr_t)mapped)->path, path);
	proc_maps_deinit(&code);
	proc_maps_deinit(&all);
	munmap(mapped, 4096);
	close(fd);
	remove_folder(folder);
}

static void a_process_whose_leader_has_exited_has_maps(void **state)
{
	pid_t pid = start_without_leader();
	struct proc_maps maps;

	(void)state;
	assert_int_equal(proc_maps_read(&maps, "/proc", pid, PROC_MAPS_EXECUTABLE), 0);
	assert_true(maps.count > 0);
	proc_maps_deinit(&maps);
	end_process(pid);
	assert_int_equal(proc_maps_read(&maps, "/proc", pid, PROC_MAPS_ALL), -ESRCH);
}

static void a_process_without_memory_is_gone(void **state)
{
	struct proc_maps maps;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_maps_read(&maps, "/proc", pid, PROC_MAPS_ALL), -ESRCH);
	waitpid(pid, NULL, 0);
}

static void another_root_can_stand_for_proc(void **state)
{
	char folder[] = "/tmp/proc_maps_test_XXXXXX";
	struct proc_maps maps;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_fake_file(folder, "12/maps", LINE_OF_LS);
	write_fake_file(folder, "13/maps", "");
	write_fake_file(folder, "13/task/13/maps", "");
	write_fake_file(folder, "13/task/15/maps", LINE_OF_LS);
	write_fake_file(folder, "14/maps", "nonsense");
	assert_int_equal(proc_maps_read(&maps, folder, 12, PROC_MAPS_ALL), 0);
	assert_int_equal(maps.count, 1);
	proc_maps_deinit(&maps);
	assert_int_equal(proc_maps_read(&maps, folder, 13, PROC_MAPS_ALL), 0);
	assert_string_equal(maps.rows[0].path, "/usr/bin/ls");
	proc_maps_deinit(&maps);
	assert_int_equal(proc_maps_read(&maps, folder, 14, PROC_MAPS_ALL), -EBADMSG);
	assert_int_equal(proc_maps_read(&maps, folder, 99, PROC_MAPS_ALL), -ESRCH);
	remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_taken),
		cmocka_unit_test(files_next_to_anonymous_code_are_found),
		cmocka_unit_test(paths_may_hold_anything),
		cmocka_unit_test(malformed_lines_are_bad),
		cmocka_unit_test(rows_never_overlap),
		cmocka_unit_test(too_many_rows_are_left_out),
		cmocka_unit_test(the_kernels_own_text_is_read),
		cmocka_unit_test(code_that_is_asked_for_is_as_in_the_text),
		cmocka_unit_test(a_process_whose_leader_has_exited_has_maps),
		cmocka_unit_test(a_process_without_memory_is_gone),
		cmocka_unit_test(another_root_can_stand_for_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
