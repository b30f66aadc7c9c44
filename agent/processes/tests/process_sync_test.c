/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/process_sync_fixture.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "agent/processes/executable_rows.h"
#include "agent/processes/mapping_identity.h"
#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"
#include "lib/host/tests/proc_fixture.h"
#include "stackdeltas/copied_code.h"

static void neighbours_of_one_file_are_one_row(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct fake_entry entry;
	char text[4096] = "";

	make_process(fixture, 7, "/bin/ls");
	/* The offsets are those of one segment, mapped in three chunks; then a gap. */
	map_line(fixture, 7, text, 0x400000, 0x401000, 0x4000, "/bin/ls");
	map_line(fixture, 7, text, 0x401000, 0x402000, 0x5000, "/bin/ls");
	map_line(fixture, 7, text, 0x402000, 0x403000, 0x6000, "/bin/ls");
	map_line(fixture, 7, text, 0x404000, 0x405000, 0x8000, "/bin/ls");
	map_line(fixture, 7, text, 0x405000, 0x406000, 0x4000, "/bin/cat");
	fake_proc_write(&fixture->proc, 7, "maps", text);
	assert_true(sync_process(fixture, process));
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.count, 3);
	assert_int_equal(entry.rows[0].start, 0x400000);
	assert_int_equal(entry.rows[0].end, 0x403000);
	assert_int_equal(entry.rows[1].start, 0x404000);
	assert_int_equal(entry.rows[1].executable_id, entry.rows[0].executable_id);
	assert_int_equal(entry.rows[1].bias, entry.rows[0].bias);
	assert_true(entry.rows[2].executable_id != entry.rows[0].executable_id);
	assert_int_equal(entry.identity.start_time_ns, 100);
	drop(fixture, process);
}

static void special_mappings_have_special_ids(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct fake_entry entry;

	fake_proc_write(&fixture->proc, 7, "maps",
			"10000-20000 rwxp 00000000 00:00 0\n"
			"20000-30000 rwxp 00000000 00:00 0 [heap]\n"
			"7fff000-8000000 r-xp 00000000 00:00 0 [uprobes]\n"
			"9000000-9001000 rw-p 00000000 00:00 0\n"
			"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
	sync_process(fixture, process);
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.count, 2);
	assert_int_equal(entry.rows[0].executable_id, EXECUTABLE_ID_ANONYMOUS);
	assert_int_equal(entry.rows[0].end, 0x30000);
	assert_int_equal(entry.rows[0].bias, 0);
	assert_int_equal(entry.rows[1].executable_id, EXECUTABLE_ID_UPROBES);
	drop(fixture, process);
}

static void nothing_is_published_again_when_nothing_changed(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);

	make_process(fixture, 7, "/bin/ls");
	assert_true(sync_process(fixture, process));
	assert_false(sync_process(fixture, process));
	assert_int_equal(fixture->writer.publish_count, 1);
	assert_int_equal(fixture->writer.retire_count, 0);
	drop(fixture, process);
	assert_false(fake_published(&fixture->writer, 7, NULL));
}

static void a_new_mapping_is_published_and_keeps_the_generation(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	uint64_t generation;
	struct fake_entry entry;
	char text[4096] = "";

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, process);
	generation = process->generation;
	map_line(fixture, 7, text, 0x400000, 0x401000, 0, "/bin/ls");
	map_line(fixture, 7, text, 0x500000, 0x501000, 0, "/bin/cat");
	fake_proc_write(&fixture->proc, 7, "maps", text);
	assert_true(sync_process(fixture, process));
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.count, 2);
	assert_int_equal(process->generation, generation);
	drop(fixture, process);
}

static void another_library_at_the_same_address_is_another_executable(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct fake_entry before, after;
	uint64_t generation;

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, process);
	generation = process->generation;
	assert_true(fake_published(&fixture->writer, 7, &before));
	make_process(fixture, 7, "/bin/cat");
	assert_true(sync_process(fixture, process));
	assert_true(fake_published(&fixture->writer, 7, &after));
	assert_true(before.rows[0].executable_id != after.rows[0].executable_id);
	assert_true(process->generation > generation);
	drop(fixture, process);
}

static void a_file_that_was_overwritten_is_seen_where_something_was_mapped(void **state)
{
	const struct address_range touched = { .start = 0x400000, .end = 0x401000 };
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct fake_entry before, after;
	bool has_changed;

	assert_int_equal(system("cp /bin/ls /tmp/overwritten.bin"), 0);
	make_process(fixture, 7, "/tmp/overwritten.bin");
	sync_process(fixture, process);
	assert_true(fake_published(&fixture->writer, 7, &before));
	/* The same inode: the line in maps stays what it was. */
	assert_int_equal(system("cat /bin/cat > /tmp/overwritten.bin"), 0);
	assert_false(sync_process(fixture, process));
	assert_int_equal(process_sync_run(&fixture->sync, process, &touched, &has_changed), 0);
	assert_true(has_changed);
	assert_true(fake_published(&fixture->writer, 7, &after));
	assert_true(before.rows[0].executable_id != after.rows[0].executable_id);
	unlink("/tmp/overwritten.bin");
	drop(fixture, process);
}

static void rows_read_too_late_are_withdrawn(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, process);
	process_sync_doubt(&fixture->sync, process);
	assert_int_equal(process->table->count, 0);
	assert_int_equal(process->state, PROCESS_UNREADABLE);
	drop(fixture, process);
	/* Its samples wait for rows from the side-band. */
	process = add(fixture, 7, 200, 1);
	process->is_sampled = true;
	sync_process(fixture, process);
	process_sync_doubt(&fixture->sync, process);
	assert_int_equal(process->table->count, 0);
	assert_int_equal(process->state, PROCESS_NEW);
	drop(fixture, process);
}

static void a_file_on_a_foreign_file_system_is_left_to_another_thread(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct executable *executable;
	struct fake_entry entry;
	struct file_key key;
	struct stat status;
	char mounts[256];
	int fd;

	make_process(fixture, 7, "/bin/ls");
	assert_int_equal(stat("/bin/ls", &status), 0);
	snprintf(mounts, sizeof(mounts), "1 1 %u:%u / / rw - fuse.sshfs host:/ rw\n",
		 major(status.st_dev), minor(status.st_dev));
	fake_proc_write(&fixture->proc, 7, "mountinfo", mounts);
	sync_process(fixture, process);
	assert_int_equal(fixture->asked_count, 1);
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.count, 0);
	/* It is asked for once, however often the process is synced. */
	sync_process(fixture, process);
	assert_int_equal(fixture->asked_count, 1);

	fd = open("/bin/ls", O_RDONLY | O_CLOEXEC);
	assert_int_equal(file_key_of_fd(fd, &key), 0);
	assert_int_equal(executable_cache_open(fixture->sync.executables, fd, &key, 0, "/bin/ls",
					       NULL, &executable),
			 0);
	process_sync_identified(&fixture->sync, process, fixture->asked_start, status.st_ino,
				executable);
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.count, 1);
	assert_int_equal(entry.rows[0].executable_id, executable->id);
	drop(fixture, process);
}

static void a_late_answer_about_a_file_does_no_harm(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 100, 1);
	struct executable *executable;
	struct file_key key;
	int fd = open("/bin/ls", O_RDONLY | O_CLOEXEC);

	make_process(fixture, 7, "/bin/cat");
	sync_process(fixture, process);
	assert_int_equal(file_key_of_fd(fd, &key), 0);
	assert_int_equal(executable_cache_open(fixture->sync.executables, fd, &key, 0, "/bin/ls",
					       NULL, &executable),
			 0);
	process_sync_identified(&fixture->sync, process, 0x400000, key.inode, executable);
	process_sync_identified(&fixture->sync, process, 0x900000, key.inode, NULL);
	assert_int_equal(fixture->writer.publish_count, 1);
	drop(fixture, process);
}

static void an_ended_process_is_not_published_over_its_successor(void **state)
{
	struct fixture *fixture = *state;
	struct process *first = add(fixture, 7, 100, 1);
	struct process *second = add(fixture, 7, 100, 2);
	struct fake_entry entry;
	bool has_changed;

	make_process(fixture, 7, "/bin/ls");
	sync_process(fixture, second);
	/* The files in /proc are its successor's. */
	assert_int_equal(process_sync_run(&fixture->sync, first, &nothing_touched, &has_changed),
			 -ESRCH);
	assert_null(first->table);
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.identity.exec_id, 2);
	drop(fixture, first);
	assert_true(fake_published(&fixture->writer, 7, NULL));
	drop(fixture, second);
}

static void the_files_of_a_process_that_ended_are_closed(void **state)
{
	struct fixture *fixture = *state;
	struct process *first = add(fixture, 7, 100, 1), *second = add(fixture, 8, 100, 1);
	uint64_t now_ns = clock_monotonic_ns();
	struct executable *ls;

	make_process(fixture, 7, "/bin/ls");
	make_process(fixture, 8, "/bin/ls");
	sync_process(fixture, first);
	sync_process(fixture, second);
	/* Twice is not two of them. */
	sync_process(fixture, second);
	ls = first->mappings[0].executable;
	process_sync_end(&fixture->sync, first, now_ns);
	process_sync_end(&fixture->sync, first, now_ns);
	executable_cache_close_files(fixture->sync.executables, now_ns + 2 * EXECUTABLE_OPEN_NS);
	assert_false(executable_lacks_file(ls));
	drop(fixture, second);
	now_ns = clock_monotonic_ns();
	executable_cache_close_files(fixture->sync.executables, now_ns + 2 * EXECUTABLE_OPEN_NS);
	assert_true(executable_lacks_file(ls));
	/* The next one that runs it gives it back. */
	second = add(fixture, 8, 200, 1);
	sync_process(fixture, second);
	assert_ptr_equal(second->mappings[0].executable, ls);
	assert_false(executable_lacks_file(ls));
	drop(fixture, second);
	drop(fixture, first);
}

static int open_nothing(struct proc_home *home, pid_t pid, const struct proc_mapping *row, int *fd,
			struct file_key *key)
{
	(void)home;
	(void)pid;
	(void)row;
	(void)fd;
	(void)key;
	return -EIO;
}

static void an_executable_whose_file_cannot_be_opened_again_is_not_taken(void **state)
{
	struct fixture *fixture = *state;
	struct process *first = add(fixture, 7, 100, 1), *second = add(fixture, 8, 100, 1);
	struct proc_home_ops ops = *fixture->reads.home.ops;
	uint64_t now_ns = clock_monotonic_ns();
	struct executable *ls;

	make_process(fixture, 7, "/bin/ls");
	make_process(fixture, 8, "/bin/ls");
	sync_process(fixture, first);
	ls = first->mappings[0].executable;
	process_sync_end(&fixture->sync, first, now_ns);
	executable_cache_close_files(fixture->sync.executables, now_ns + 2 * EXECUTABLE_OPEN_NS);
	assert_true(executable_lacks_file(ls));
	ops.open_file = open_nothing;
	fixture->reads.home.ops = &ops;
	sync_process(fixture, second);
	assert_null(second->mappings[0].executable);
	drop(fixture, second);
	/* The first process has its reference still. */
	assert_int_equal(ls->references, 1);
	drop(fixture, first);
}

/* --- real processes --- */

static uint64_t row_of(const struct fake_entry *entry, uint64_t address, uint64_t *elf_address)
{
	for (uint32_t i = 0; i < entry->count; i++) {
		if (entry->rows[i].start > address || entry->rows[i].end <= address)
			continue;
		if (elf_address)
			*elf_address = address - entry->rows[i].bias;
		return entry->rows[i].executable_id;
	}
	return 0;
}

static void this_very_process_is_published_with_its_vdso_and_a_memfd(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, getpid(), 100, 1);
	int memory = memfd_create("code", MFD_CLOEXEC);
	struct fake_entry entry;
	char image[8192] = "not ELF", own_path[256] = "";
	struct binary *binary;
	uint64_t id;
	void *code;

	use_own_proc(fixture);
	assert_int_equal(write(memory, image, sizeof(image)), sizeof(image));
	code = mmap(NULL, sizeof(image), PROT_READ | PROT_EXEC, MAP_SHARED, memory, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	sync_process(fixture, process);
	assert_true(fake_published(&fixture->writer, getpid(), &entry));
	assert_int_equal(row_of(&entry, (uintptr_t)code, NULL), EXECUTABLE_ID_ANONYMOUS);

	id = row_of(&entry, (uintptr_t)&row_of, NULL);
	assert_true(id >= EXECUTABLE_ID_FIRST);
	binary = executable_cache_binary(fixture->sync.executables, id);
	assert_true(readlink("/proc/self/exe", own_path, sizeof(own_path) - 1) > 0);
	assert_string_equal(binary_name(binary), basename(own_path));
	binary_unref(binary);
	binary = NULL;
	for (uint32_t i = 0; i < entry.count && !binary; i++) {
		binary = executable_cache_binary(fixture->sync.executables,
						 entry.rows[i].executable_id);
		if (binary && strcmp(binary->path, "[vdso]") != 0) {
			binary_unref(binary);
			binary = NULL;
		}
	}
	assert_non_null(binary);
	assert_true(binary->fd >= 0);
	binary_unref(binary);
	assert_int_equal(fixture->asked_count, 0);
	munmap(code, sizeof(image));
	close(memory);
	drop(fixture, process);
}

static void a_deleted_program_can_still_be_read(void **state)
{
	char folder[] = "/tmp/process_sync_test_XXXXXX", program[64], command[96],
	     argument[] = "60";
	char *const arguments[] = { program, argument, NULL };
	struct fixture *fixture = *state;
	struct process *process;
	struct fake_entry entry;
	struct binary *binary = NULL;
	int executed[2];
	char byte;
	pid_t pid;

	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/deleted.bin", folder);
	snprintf(command, sizeof(command), "cp /bin/sleep %s", program);
	assert_int_equal(system(command), 0);
	assert_int_equal(pipe2(executed, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		execv(program, arguments);
		_exit(1);
	}
	close(executed[1]);
	/* The exec closes it. */
	assert_int_equal(read(executed[0], &byte, 1), 0);
	close(executed[0]);
	unlink(program);
	rmdir(folder);
	use_own_proc(fixture);
	process = add(fixture, pid, 100, 1);
	sync_process(fixture, process);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(fake_published(&fixture->writer, pid, &entry));
	for (uint32_t i = 0; i < entry.count && !binary; i++) {
		binary = executable_cache_binary(fixture->sync.executables,
						 entry.rows[i].executable_id);
		if (binary && strcmp(binary->path, program) != 0) {
			binary_unref(binary);
			binary = NULL;
		}
	}
	assert_non_null(binary);
	assert_true(binary->fd >= 0);
	assert_string_equal(process->info->executable_path, program);
	binary_unref(binary);
	drop(fixture, process);
}

static void a_process_whose_leader_has_exited_is_read_through_its_threads(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = start_without_leader();
	struct process *process;
	struct fake_entry entry;

	use_own_proc(fixture);
	process = add(fixture, pid, 100, 1);
	sync_process(fixture, process);
	end_process(pid);
	assert_true(fake_published(&fixture->writer, pid, &entry));
	assert_true(row_of(&entry, (uintptr_t)&row_of, NULL) >= EXECUTABLE_ID_FIRST);
	drop(fixture, process);
}

static void a_file_is_found_by_its_path_in_the_root_of_a_thread_that_lives(void **state)
{
	struct fixture *fixture = *state;
	char mounts[128], folder[128], path[192];
	struct proc_mapping row = { .path = "/it" };
	struct file_key key;
	struct stat status;
	int fd;

	/* The leader has exited: it has no root. */
	snprintf(folder, sizeof(folder), "%s/root", fixture->proc.root);
	assert_int_equal(mkdir(folder, 0755), 0);
	write_fake_file(fixture->proc.root, "7/task/8/comm", "");
	fake_proc_link(&fixture->proc, 7, "task/8/root", folder);
	snprintf(path, sizeof(path), "%s/it (deleted)", folder);
	write_text(path, "text");
	assert_int_equal(stat(path, &status), 0);
	snprintf(mounts, sizeof(mounts), "1 1 %u:%u / / rw - ext4 it rw\n", major(status.st_dev),
		 minor(status.st_dev));
	write_fake_file(fixture->proc.root, "self/mountinfo", mounts);
	row.inode = status.st_ino;
	row.device_major = major(status.st_dev);
	row.device_minor = minor(status.st_dev);
	assert_int_equal(mapping_open_by_path(&fixture->sync, 7, &row, &fd, &key), -ENOENT);
	/* The text that looks like the mark of a deleted file is part of its name. */
	row.is_deleted = true;
	assert_int_equal(mapping_open_by_path(&fixture->sync, 7, &row, &fd, &key), 0);
	assert_int_equal(key.inode, status.st_ino);
	close(fd);
	row.path = "/it (deleted)";
	row.is_deleted = false;
	assert_int_equal(mapping_open_by_path(&fixture->sync, 7, &row, &fd, &key), 0);
	close(fd);
	row.inode++;
	assert_int_equal(mapping_open_by_path(&fixture->sync, 7, &row, &fd, &key), -ENOENT);
}

static void keep_copy_request(void *context, struct code_copy_request *request)
{
	(void)context;
	free(request);
}

static void a_copy_of_code_is_in_the_published_rows_alone(void **state)
{
	struct fixture *fixture = *state;
	struct process_sync *sync = &fixture->sync;
	struct process *process = add(fixture, 7, 1000, 1);
	struct code_copy_answer answer = {
		.code = { .pid = 7,
			  .identity = process->identity,
			  .start = 0x700000,
			  .bytes = 0x2000 },
		.content = { 1, 1 },
	};
	/* sub $8,%rsp; call *%rdi; add $8,%rsp; ret */
	static const uint8_t code[0x2000] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
					      0x48, 0x83, 0xc4, 0x08, 0xc3 };
	struct fake_entry entry;
	struct process *changed;

	sync->copies.request = keep_copy_request;
	make_process(fixture, 7, "/bin/ls");
	add_anonymous(fixture, 7, "/bin/ls", 0x700000, 0x704000);
	sync_process(fixture, process);
	/* Nothing is copied while a file may turn out to be a runtime. */
	executable_load_dropped(sync->executables, process->table->rows[0].executable_id);
	code_copies_note_hit(&sync->copies, process, 0x700100, false, clock_monotonic_ns());
	assert_int_equal(copied_code_analyse(EM_X86_64, answer.code.start, code, answer.code.bytes,
					     &answer.deltas),
			 0);
	changed = code_copies_answer(&sync->copies, &answer, clock_monotonic_ns());
	assert_ptr_equal(changed, process);
	process_sync_republish(sync, process);
	assert_true(fake_published(&fixture->writer, 7, &entry));
	assert_int_equal(entry.count, 3);
	assert_int_equal(entry.rows[1].start, 0x700000);
	assert_int_equal(entry.rows[1].end, 0x702000);
	assert_true(entry.rows[1].executable_id & EXECUTABLE_ID_COPY);
	assert_true(fake_has_executable(&fixture->writer, entry.rows[1].executable_id));
	assert_int_equal(entry.rows[2].executable_id, EXECUTABLE_ID_ANONYMOUS);
	/* In user space it is anonymous memory as before, and a sync finds no change. */
	assert_int_equal(process->table->count, 2);
	assert_int_equal(process->table->rows[1].executable_id, EXECUTABLE_ID_ANONYMOUS);
	assert_false(sync_process(fixture, process));
	assert_int_equal(process->copies->count, 1);
	/* A touched range is read again, and the copy stays. */
	assert_int_equal(process_sync_run(sync, process,
					  &(struct address_range){ 0x700000, 0x704000 },
					  &(bool){ false }),
			 0);
	assert_int_equal(process->copies->count, 1);
	process_sync_end(sync, process, clock_monotonic_ns());
	assert_null(process->copies);
	assert_false(fake_has_executable(&fixture->writer, entry.rows[1].executable_id));
	drop(fixture, process);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_copy_of_code_is_in_the_published_rows_alone),
		TEST(neighbours_of_one_file_are_one_row),
		TEST(special_mappings_have_special_ids),
		TEST(nothing_is_published_again_when_nothing_changed),
		TEST(a_new_mapping_is_published_and_keeps_the_generation),
		TEST(another_library_at_the_same_address_is_another_executable),
		TEST(a_file_that_was_overwritten_is_seen_where_something_was_mapped),
		TEST(rows_read_too_late_are_withdrawn),
		TEST(a_file_on_a_foreign_file_system_is_left_to_another_thread),
		TEST(a_late_answer_about_a_file_does_no_harm),
		TEST(an_ended_process_is_not_published_over_its_successor),
		TEST(the_files_of_a_process_that_ended_are_closed),
		TEST(an_executable_whose_file_cannot_be_opened_again_is_not_taken),
		TEST(this_very_process_is_published_with_its_vdso_and_a_memfd),
		TEST(a_deleted_program_can_still_be_read),
		TEST(a_process_whose_leader_has_exited_is_read_through_its_threads),
		TEST(a_file_is_found_by_its_path_in_the_root_of_a_thread_that_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
