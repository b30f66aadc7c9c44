/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/executable_cache_fixture.h"

#include "agent/runtimes/tests/local_files.h"

static void copy_file(const char *from, const char *to)
{
	char command[256];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

/* Makes the file look as if it had been there for long. */
static void settle(void)
{
	const struct timespec pause = { .tv_nsec = 150000000 };

	nanosleep(&pause, NULL);
}

static void one_state_of_a_file_is_one_executable(void **state)
{
	struct fixture *fixture = *state;
	struct executable *first = open_path(fixture, "/bin/ls");
	struct executable *again = open_path(fixture, "/usr/bin/ls");
	struct executable *other = open_path(fixture, "/bin/cat");

	assert_ptr_equal(first, again);
	assert_ptr_not_equal(first, other);
	assert_true(first->id >= EXECUTABLE_ID_FIRST);
	assert_int_equal(fixture->requested_count, 2);
	assert_string_equal(binary_name(first->binary), "ls");
	assert_true(first->binary->memory_limit > first->binary->memory_start);
	assert_true(first->binary->build_id_bytes > 0);
	executable_unref(fixture->cache, first);
	executable_unref(fixture->cache, again);
	executable_unref(fixture->cache, other);
}

static void a_replaced_file_is_another_executable(void **state)
{
	struct fixture *fixture = *state;
	struct executable *before, *after;
	struct binary *binary;
	uint64_t before_id;

	copy_file("/bin/ls", "/tmp/replaced.bin");
	settle();
	before = open_path(fixture, "/tmp/replaced.bin");
	before_id = before->id;
	copy_file("/bin/cat", "/tmp/replaced.bin");
	settle();
	after = open_path(fixture, "/tmp/replaced.bin");
	assert_true(before_id != after->id);
	unlink("/tmp/replaced.bin");
	/* Both are there still, by their ids. */
	binary = executable_cache_binary(fixture->cache, before_id);
	assert_non_null(binary);
	binary_unref(binary);
	executable_unref(fixture->cache, before);
	executable_unref(fixture->cache, after);
}

static void a_file_that_changed_just_now_is_not_shared(void **state)
{
	struct fixture *fixture = *state;
	struct executable *first, *second, *third, *fourth;

	copy_file("/bin/ls", "/tmp/fresh.bin");
	first = open_path(fixture, "/tmp/fresh.bin");
	second = open_path(fixture, "/tmp/fresh.bin");
	assert_true(first->id != second->id);
	settle();
	third = open_path(fixture, "/tmp/fresh.bin");
	fourth = open_path(fixture, "/tmp/fresh.bin");
	assert_int_equal(third->id, fourth->id);
	unlink("/tmp/fresh.bin");
	executable_unref(fixture->cache, first);
	executable_unref(fixture->cache, second);
	executable_unref(fixture->cache, third);
	executable_unref(fixture->cache, fourth);
}

static void what_is_no_elf_file_is_anonymous(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/etc/passwd");

	assert_int_equal(executable->id, EXECUTABLE_ID_ANONYMOUS);
	assert_null(executable->binary);
	assert_int_equal(fixture->requested_count, 0);
	executable_unref(fixture->cache, executable);
}

static void a_damaged_file_has_an_id_and_empty_rows(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable;
	uint64_t bias;

	copy_file("/bin/ls", "/tmp/damaged.bin");
	assert_int_equal(truncate("/tmp/damaged.bin", 200), 0);
	executable = open_path(fixture, "/tmp/damaged.bin");
	unlink("/tmp/damaged.bin");
	assert_true(executable->id >= EXECUTABLE_ID_FIRST);
	assert_int_equal(executable_mapping_bias(executable, 0x5000, 0x6000, 0x1000, &bias), 0);
	assert_int_equal(bias, 0x4000);
	load_all(fixture);
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	executable_unref(fixture->cache, executable);
}

static void the_bias_comes_from_the_segment_that_is_mapped(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/ls");
	uint64_t address = executable->binary->memory_start & ~0xfffULL;
	uint64_t offset = executable->binary->file_offset & ~0xfffULL;
	uint64_t bias;

	assert_int_equal(executable_mapping_bias(executable, 0x7000000, 0x7001000, offset, &bias),
			 0);
	assert_int_equal(bias, 0x7000000 - address);
	assert_int_equal(executable_mapping_bias(executable, 0x7000000, 0x7001000, 1ULL << 40,
						 &bias),
			 -ENOENT);
	executable_unref(fixture->cache, executable);
}

static void rows_are_published_once_loaded(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/ls");
	struct cached_rows *kept;

	assert_true(executable_rows_are_loading(fixture->cache, executable->id));
	assert_int_equal(executable_rows_loading_count(fixture->cache), 1);
	load_all(fixture);
	assert_false(executable_rows_are_loading(fixture->cache, executable->id));
	assert_int_equal(executable_rows_loading_count(fixture->cache), 0);
	assert_true(fake_has_executable(&fixture->writer, executable->id));
	assert_non_null(executable_rows_borrow(fixture->cache, executable->id, &kept));
	executable_rows_return(fixture->cache, kept);
	/* Nothing is missing, so nothing is loaded. */
	executable_rows_want(fixture->cache, executable->id);
	assert_int_equal(fixture->requested_count, 0);
	executable_unref(fixture->cache, executable);
}

static void an_image_is_found_by_its_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct executable *first, *second, *third;
	char image[4096];
	int fd = open("/bin/ls", O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, image, sizeof(image)), sizeof(image));
	close(fd);
	assert_int_equal(executable_cache_open_image(fixture->cache, image, sizeof(image), "[vdso]",
						     &first),
			 0);
	assert_int_equal(executable_cache_open_image(fixture->cache, image, sizeof(image), "[vdso]",
						     &second),
			 0);
	image[4000]++;
	assert_int_equal(executable_cache_open_image(fixture->cache, image, sizeof(image), "[vdso]",
						     &third),
			 0);
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(first, third);
	executable_unref(fixture->cache, first);
	executable_unref(fixture->cache, second);
	executable_unref(fixture->cache, third);
}

static void without_room_the_least_recently_used_rows_go(void **state)
{
	struct fixture *fixture = *state;
	struct executable *a = open_path(fixture, "/bin/ls");
	struct executable *b = open_path(fixture, "/bin/cat");
	struct executable *c;

	load_all(fixture);
	/* Just too little for a third. */
	fixture->writer.budget_bytes = fixture->writer.used_bytes + 1000;
	for (uint32_t i = 0; i < fixture->writer.executable_count; i++)
		fixture->writer.executables[i].was_used = fixture->writer.executables[i].id ==
							  a->id;
	c = open_path(fixture, "/bin/echo");
	load_all(fixture);
	assert_true(fake_has_executable(&fixture->writer, a->id));
	assert_false(fake_has_executable(&fixture->writer, b->id));
	assert_true(fake_has_executable(&fixture->writer, c->id));
	/* A sample that misses them brings them back, and others are evicted, but not at once. */
	executable_rows_want(fixture->cache, b->id);
	assert_int_equal(fixture->requested_count, 0);
	b->retry_ns = 0;
	executable_rows_want(fixture->cache, b->id);
	assert_int_equal(fixture->requested_count, 1);
	load_all(fixture);
	assert_true(fake_has_executable(&fixture->writer, b->id));
	executable_unref(fixture->cache, a);
	executable_unref(fixture->cache, b);
	executable_unref(fixture->cache, c);
}

static void what_nobody_maps_goes_first(void **state)
{
	struct fixture *fixture = *state;
	struct executable *a = open_path(fixture, "/bin/ls");
	struct executable *b = open_path(fixture, "/bin/cat");
	struct executable *c;
	uint64_t a_id = a->id;

	load_all(fixture);
	executable_unref(fixture->cache, a);
	fixture->writer.budget_bytes = fixture->writer.used_bytes + 1000;
	for (uint32_t i = 0; i < fixture->writer.executable_count; i++)
		fixture->writer.executables[i].was_used = fixture->writer.executables[i].id == a_id;
	c = open_path(fixture, "/bin/echo");
	load_all(fixture);
	assert_false(fake_has_executable(&fixture->writer, a_id));
	assert_true(fake_has_executable(&fixture->writer, b->id));
	executable_unref(fixture->cache, b);
	executable_unref(fixture->cache, c);
}

static void rows_that_never_fit_leave_the_rest_alone_and_are_not_tried_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct executable *small = open_path(fixture, "/bin/echo"), *large;
	const struct stack_deltas *deltas;
	struct cached_rows *kept;

	load_all(fixture);
	fixture->writer.budget_bytes = fixture->writer.used_bytes;
	large = open_path(fixture, "/bin/bash");
	load_all(fixture);
	assert_false(fake_has_executable(&fixture->writer, large->id));
	assert_true(fake_has_executable(&fixture->writer, small->id));
	executable_rows_want(fixture->cache, large->id);
	assert_int_equal(fixture->requested_count, 0);
	/* Deferred samples can be unwound with them. */
	deltas = executable_rows_borrow(fixture->cache, large->id, &kept);
	assert_non_null(deltas);
	assert_true(deltas->row_count > 1000);
	executable_rows_return(fixture->cache, kept);
	executable_unref(fixture->cache, small);
	executable_unref(fixture->cache, large);
}

static void rows_that_could_not_be_read_are_not_kept(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/echo");
	struct cached_rows *kept;
	int fd = open("/bin/echo", O_PATH | O_CLOEXEC);

	/* A descriptor that cannot be read. */
	assert_true(dup2(fd, executable->binary->fd) >= 0);
	close(fd);
	load_all(fixture);
	assert_false(fake_has_executable(&fixture->writer, executable->id));
	assert_null(executable_rows_borrow(fixture->cache, executable->id, &kept));
	executable_unref(fixture->cache, executable);
}

static void unused_records_are_forgotten_the_oldest_first_and_ids_never_come_back(void **state)
{
	struct fixture *fixture = *state;
	struct executable *a = open_path(fixture, "/bin/ls");
	struct executable *b = open_path(fixture, "/bin/cat");
	uint64_t a_id = a->id, b_id = b->id;
	struct binary *binary;

	load_all(fixture);
	executable_unref(fixture->cache, b);
	executable_unref(fixture->cache, a);
	executable_cache_trim(fixture->cache, 1);
	assert_null(executable_cache_binary(fixture->cache, b_id));
	assert_false(fake_has_executable(&fixture->writer, b_id));
	binary = executable_cache_binary(fixture->cache, a_id);
	assert_non_null(binary);
	/* A binary that a trace holds stays whole. */
	executable_cache_trim(fixture->cache, 0);
	assert_string_equal(binary_name(binary), "ls");
	/* A trace may have it for long: its file is closed all the same. */
	assert_int_equal(binary->fd, -1);
	binary_unref(binary);
	b = open_path(fixture, "/bin/cat");
	assert_true(b->id != b_id && b->id != a_id);
	/* The slot is used again: it is the generation that tells. */
	assert_true((b->id & (EXECUTABLE_SLOT_COUNT - 1)) < 2);
	assert_null(executable_cache_binary(fixture->cache, b_id));
	executable_unref(fixture->cache, b);
}

static void what_nobody_maps_is_unloaded_and_forgotten_after_a_while(void **state)
{
	struct fixture *fixture = *state;
	struct executable *a = open_path(fixture, "/bin/ls");
	struct executable *b = open_path(fixture, "/bin/cat");
	uint64_t a_id = a->id, b_id = b->id;
	uint64_t now_ns;

	load_all(fixture);
	executable_unref(fixture->cache, b);
	now_ns = clock_monotonic_ns();
	executable_cache_expire(fixture->cache, now_ns);
	assert_true(fake_has_executable(&fixture->writer, b_id));
	executable_cache_expire(fixture->cache, now_ns + EXECUTABLE_KEEP_NS + 1);
	assert_false(fake_has_executable(&fixture->writer, b_id));
	assert_null(executable_cache_binary(fixture->cache, b_id));
	assert_true(fake_has_executable(&fixture->writer, a_id));
	assert_int_equal(fixture->cache->count, 1);
	executable_unref(fixture->cache, a);
}

static void a_binary_in_traces_keeps_its_id_but_not_its_rows(void **state)
{
	struct fixture *fixture = *state;
	struct executable *a = open_path(fixture, "/bin/ls");
	uint64_t id = a->id;
	struct binary *binary = executable_cache_binary(fixture->cache, id);
	uint64_t late_ns;

	load_all(fixture);
	executable_unref(fixture->cache, a);
	late_ns = clock_monotonic_ns() + EXECUTABLE_KEEP_NS + 1;
	executable_cache_expire(fixture->cache, late_ns);
	assert_false(fake_has_executable(&fixture->writer, id));
	assert_int_equal(fixture->writer.used_bytes, 0);
	/* A sample from before can still ask for them. */
	executable_rows_want(fixture->cache, id);
	load_all(fixture);
	assert_true(fake_has_executable(&fixture->writer, id));
	executable_cache_expire(fixture->cache, late_ns);
	assert_false(fake_has_executable(&fixture->writer, id));
	/* It is started again: the same file, the same id, and its rows are asked for. */
	a = open_path(fixture, "/bin/ls");
	assert_int_equal(a->id, id);
	load_all(fixture);
	assert_true(fake_has_executable(&fixture->writer, id));
	executable_unref(fixture->cache, a);
	executable_cache_expire(fixture->cache, late_ns);
	/* Not before it has been unused for as long again. */
	assert_true(fake_has_executable(&fixture->writer, id));
	binary_unref(binary);
	executable_cache_expire(fixture->cache, late_ns + EXECUTABLE_KEEP_NS);
	assert_int_equal(fixture->cache->count, 0);
}

static void rows_of_a_forgotten_executable_are_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct executable *a = open_path(fixture, "/bin/ls");
	uint64_t id = a->id;

	executable_load(fixture->cache, id);
	executable_unref(fixture->cache, a);
	executable_cache_trim(fixture->cache, 0);
	executable_rows_publish(fixture->cache, clock_monotonic_ns());
	assert_false(fake_has_executable(&fixture->writer, id));
	assert_int_equal(executable_rows_loading_count(fixture->cache), 0);
}

static void a_file_that_no_process_runs_is_closed_after_a_while(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable = open_path(fixture, "/bin/ls"), *again;
	uint64_t now_ns = clock_monotonic_ns();

	executable_note_run(fixture->cache, executable);
	executable_note_run(fixture->cache, executable);
	executable_cache_close_files(fixture->cache, now_ns + 10 * EXECUTABLE_OPEN_NS);
	assert_false(executable_lacks_file(executable));
	assert_int_equal(executable_cache_next_close(fixture->cache), UINT64_MAX);
	executable_note_left(fixture->cache, executable, now_ns);
	assert_int_equal(executable_cache_next_close(fixture->cache), UINT64_MAX);
	executable_note_left(fixture->cache, executable, now_ns);
	assert_int_equal(executable_cache_next_close(fixture->cache), now_ns + EXECUTABLE_OPEN_NS);
	executable_cache_close_files(fixture->cache, now_ns + EXECUTABLE_OPEN_NS - 1);
	assert_false(executable_lacks_file(executable));
	executable_cache_close_files(fixture->cache, now_ns + EXECUTABLE_OPEN_NS);
	assert_true(executable_lacks_file(executable));
	/* The next process that runs it provides the file. */
	again = open_path(fixture, "/bin/ls");
	assert_ptr_equal(again, executable);
	assert_false(executable_lacks_file(executable));
	executable_unref(fixture->cache, again);
	executable_unref(fixture->cache, executable);
}

/* The file at @path as another process of ours, which is this one here, holds it. */
static struct executable *open_held(struct fixture *fixture, struct local_files *files,
				    const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct proc_mapping mapping = { .start = (uintptr_t)mapped, .path = path };
	struct executable *executable;
	struct held_file *held;
	struct file_key key;

	mapping.end = mapping.start + 4096;
	assert_int_equal(files->home.ops->open(&files->home, 0, (uint32_t)getpid(), &mapping, &held,
					       &key),
			 0);
	assert_int_equal(executable_cache_open(fixture->cache, -1, &key, getpid(), path, held,
					       &executable),
			 0);
	munmap(mapped, 4096);
	close(fd);
	return executable;
}

static void a_file_that_is_held_elsewhere_is_read_from_copies(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable, *again;
	struct local_files files;

	local_files_init(&files, "/proc");
	executable = open_held(fixture, &files, "/bin/ls");
	assert_true(executable->is_remote);
	assert_true(executable->id >= EXECUTABLE_ID_FIRST);
	load_all(fixture);
	assert_int_equal(executable->state, EXECUTABLE_PUBLISHED);
	assert_int_equal(files.copy_count, 2);
	/* There is no need of the second one that is held. */
	again = open_held(fixture, &files, "/bin/ls");
	assert_ptr_equal(again, executable);
	assert_int_equal(files.held_count, 1);
	assert_int_equal(files.copy_count, 2);
	executable_unref(fixture->cache, again);
	executable_unref(fixture->cache, executable);
	executable_cache_trim(fixture->cache, 0);
	assert_int_equal(files.held_count, 0);
	local_files_deinit(&files);
}

static void a_file_that_was_lost_has_rows_when_it_is_opened_anew(void **state)
{
	struct fixture *fixture = *state;
	struct executable *executable, *again;
	struct local_files files;

	local_files_init(&files, "/proc");
	executable = open_held(fixture, &files, "/bin/ls");
	files.lost_id = files.last_id;
	assert_true(executable_lacks_file(executable));
	load_all(fixture);
	assert_int_equal(executable->state, EXECUTABLE_UNLOADED);
	again = open_held(fixture, &files, "/bin/ls");
	assert_ptr_equal(again, executable);
	assert_false(executable_lacks_file(executable));
	executable->retry_ns = 0;
	executable_rows_want(fixture->cache, executable->id);
	load_all(fixture);
	assert_int_equal(executable->state, EXECUTABLE_PUBLISHED);
	executable_unref(fixture->cache, again);
	executable_unref(fixture->cache, executable);
	executable_cache_trim(fixture->cache, 0);
	local_files_deinit(&files);
}

static void rows_of_a_file_that_is_gone_are_asked_for_again(void **state)
{
	struct fixture *fixture = *state;
	const char *path = "/tmp/executable_gone.bin";
	struct executable *executable;

	assert_int_equal(system("cp /bin/ls /tmp/executable_gone.bin"), 0);
	executable = open_path(fixture, path);
	executable_cache_close_files(fixture->cache, clock_monotonic_ns() + 2 * EXECUTABLE_OPEN_NS);
	unlink(path);
	load_all(fixture);
	assert_int_equal(executable->state, EXECUTABLE_UNLOADED);
	assert_true(executable->retry_ns > clock_monotonic_ns());
	executable_unref(fixture->cache, executable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_state_of_a_file_is_one_executable),
		TEST(a_replaced_file_is_another_executable),
		TEST(a_file_that_changed_just_now_is_not_shared),
		TEST(what_is_no_elf_file_is_anonymous),
		TEST(a_damaged_file_has_an_id_and_empty_rows),
		TEST(the_bias_comes_from_the_segment_that_is_mapped),
		TEST(rows_are_published_once_loaded),
		TEST(an_image_is_found_by_its_bytes),
		TEST(without_room_the_least_recently_used_rows_go),
		TEST(what_nobody_maps_goes_first),
		TEST(rows_that_never_fit_leave_the_rest_alone_and_are_not_tried_at_once),
		TEST(rows_that_could_not_be_read_are_not_kept),
		TEST(unused_records_are_forgotten_the_oldest_first_and_ids_never_come_back),
		TEST(what_nobody_maps_is_unloaded_and_forgotten_after_a_while),
		TEST(a_binary_in_traces_keeps_its_id_but_not_its_rows),
		TEST(rows_of_a_forgotten_executable_are_dropped),
		TEST(a_file_that_no_process_runs_is_closed_after_a_while),
		TEST(a_file_that_is_held_elsewhere_is_read_from_copies),
		TEST(a_file_that_was_lost_has_rows_when_it_is_opened_anew),
		TEST(rows_of_a_file_that_is_gone_are_asked_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
