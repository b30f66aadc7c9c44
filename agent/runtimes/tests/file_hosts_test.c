/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts are this program, started again (runtime_hosts_test.c); the files are those that this process has mapped. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/runtimes/file_hosts.h"
#include "agent/runtimes/host_pool.h"
#include "agent/runtimes/tests/live_hosts.h"
#include "lib/base/clock.h"
#include "lib/base/sealed_file.h"

enum { USER = 1000, OTHER_USER = 1001 };

static const char text[] = "bytes of a file that is mapped\n";

struct fixture {
	struct file_hosts *hosts;
	struct file_home *home;
	uint32_t lost_count;
	char path[64];
	void *mapped;
	struct proc_mapping mapping;
	struct proc_maps maps;
};

static void note_lost(void *context)
{
	((struct fixture *)context)->lost_count++;
}

static void find_mapping(struct fixture *fixture)
{
	assert_int_equal(proc_maps_read(&fixture->maps, "/proc", getpid(), PROC_MAPS_ALL), 0);
	for (uint32_t i = 0; i < fixture->maps.count; i++)
		if (fixture->maps.rows[i].start == (uintptr_t)fixture->mapped)
			fixture->mapping = fixture->maps.rows[i];
	assert_true(fixture->mapping.inode);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct file_hosts_options options = { .lost = note_lost, .context = fixture };
	int fd;

	snprintf(fixture->path, sizeof(fixture->path), "/tmp/file_hosts_test.XXXXXX");
	fd = mkstemp(fixture->path);
	assert_true(fd >= 0 && write(fd, text, sizeof(text)) == sizeof(text));
	fixture->mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(fixture->mapped != MAP_FAILED);
	close(fd);
	find_mapping(fixture);
	assert_int_equal(file_hosts_create(&options, &fixture->hosts), 0);
	fixture->home = file_hosts_home(fixture->hosts);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	file_hosts_destroy(fixture->hosts);
	assert_int_equal(find_host(-1), -1);
	proc_maps_deinit(&fixture->maps);
	munmap(fixture->mapped, 4096);
	unlink(fixture->path);
	free(fixture);
	return 0;
}

static int open_file(struct fixture *fixture, uid_t uid, struct held_file **file)
{
	struct file_key key;
	int err = fixture->home->ops->open(fixture->home, uid, (uint32_t)getpid(),
					   &fixture->mapping, file, &key);

	if (!err)
		assert_int_equal(key.size, sizeof(text));
	return err;
}

static void check_copy(struct held_file *file)
{
	char bytes[sizeof(text) + 1];
	int fd;

	assert_int_equal(file->ops->copy(file, &fd), 0);
	assert_true(sealed_file_is_one(fd));
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), sizeof(text));
	assert_memory_equal(bytes, text, sizeof(text));
	close(fd);
}

static int read_names(struct fixture *fixture, uint64_t offset, char *bytes, uint32_t size,
		      uint32_t *count)
{
	const struct code_file file = { .pid = (uint32_t)getpid(), .mapping = &fixture->mapping };
	struct file_key key;

	return fixture->home->ops->read(fixture->home, USER, &file, offset, bytes, size, &key,
					count);
}

static void a_file_is_held_and_copied(void **state)
{
	struct fixture *fixture = *state;
	struct held_file *file;

	assert_int_equal(open_file(fixture, USER, &file), 0);
	check_copy(file);
	check_copy(file);
	assert_false(file->ops->is_lost(file));
	/* Deleted, it is still held. */
	unlink(fixture->path);
	fixture->home->ops->expire(fixture->home, UINT64_MAX);
	check_copy(file);
	held_file_unref(file);
	assert_int_equal(fixture->lost_count, 0);
}

static bool has_open(pid_t pid, const char *path)
{
	for (int fd = 0; fd < 64; fd++) {
		char link[64], target[128] = "";

		snprintf(link, sizeof(link), "/proc/%d/fd/%d", pid, fd);
		if (readlink(link, target, sizeof(target) - 1) > 0 &&
		    !strncmp(target, path, strlen(path)))
			return true;
	}
	return false;
}

static void what_nobody_holds_any_more_is_closed(void **state)
{
	struct fixture *fixture = *state;
	struct held_file *file;

	assert_int_equal(open_file(fixture, USER, &file), 0);
	assert_true(has_open(find_host(-1), fixture->path));
	assert_false(has_open(getpid(), fixture->path));
	held_file_ref(file);
	held_file_unref(file);
	check_copy(file);
	held_file_unref(file);
	while (has_open(find_host(-1), fixture->path))
		usleep(1000);
}

static void chunks_are_read_from_anywhere(void **state)
{
	struct fixture *fixture = *state;
	char bytes[FILE_HOME_READ_BYTES];
	uint32_t count = 0;

	assert_int_equal(read_names(fixture, 6, bytes, 4, &count), 0);
	assert_int_equal(count, 4);
	assert_memory_equal(bytes, text + 6, 4);
	assert_int_equal(read_names(fixture, 0, bytes, sizeof(bytes), &count), 0);
	assert_int_equal(count, sizeof(text));
	assert_int_equal(read_names(fixture, sizeof(text), bytes, sizeof(bytes), &count), 0);
	assert_int_equal(count, 0);
	/* It was closed again. */
	assert_false(has_open(find_host(-1), fixture->path));
}

static void what_cannot_be_opened_says_why(void **state)
{
	struct fixture *fixture = *state;
	struct held_file *file;
	char byte;
	uint32_t count;

	fixture->mapping.start++;
	fixture->mapping.inode++;
	assert_int_equal(open_file(fixture, USER, &file), -ENOENT);
	assert_int_equal(read_names(fixture, 0, &byte, 1, &count), -ENOENT);
	assert_int_equal(fixture->lost_count, 0);
}

static void a_host_has_no_more_rights_than_it_takes(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t rights = 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH |
				1ULL << CAP_CHECKPOINT_RESTORE;
	uint64_t permitted, effective;
	struct held_file *file;

	assert_int_equal(open_file(fixture, USER, &file), 0);
	read_confinement(find_host(-1), &permitted, &effective);
	assert_int_equal(permitted & ~rights, 0);
	assert_int_equal(effective & ~rights, 0);
	held_file_unref(file);
}

static void files_of_a_host_that_hangs_are_lost_and_opened_anew_when_it_has_ended(void **state)
{
	struct fixture *fixture = *state;
	struct held_file *hanging, *again;
	uint64_t begin_ns;
	int fd;

	assert_int_equal(open_file(fixture, USER, &hanging), 0);
	stop_host(find_host(-1));
	begin_ns = clock_monotonic_ns();
	assert_int_equal(hanging->ops->copy(hanging, &fd), -EHOSTDOWN);
	/* A server may take some seconds to answer. */
	assert_true(clock_monotonic_ns() - begin_ns > 4 * NS_PER_SECOND);
	assert_true(hanging->ops->is_lost(hanging));
	assert_int_equal(fixture->lost_count, 1);
	assert_int_equal(hanging->ops->copy(hanging, &fd), -ESTALE);
	while (file_hosts_hanging_count(fixture->hosts))
		usleep(1000);
	assert_int_equal(open_file(fixture, USER, &again), 0);
	check_copy(again);
	held_file_unref(again);
	held_file_unref(hanging);
	assert_int_equal(fixture->lost_count, 1);
}

static void files_that_were_copied_lately_outlive_the_host(void **state)
{
	struct fixture *fixture = *state;
	struct held_file *file;
	siginfo_t ended;

	assert_int_equal(open_file(fixture, USER, &file), 0);
	check_copy(file);
	signal_host(find_host(-1), SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)find_host(-1), &ended, WEXITED | WNOWAIT), 0);
	check_copy(file);
	held_file_unref(file);
}

static void a_user_whose_hosts_are_lost_again_and_again_gets_no_more(void **state)
{
	struct fixture *fixture = *state;
	struct held_file *file;
	siginfo_t ended;

	for (uint32_t i = 0; i < HOSTS_LOST_OF_USER_MAX; i++) {
		assert_int_equal(open_file(fixture, USER, &file), 0);
		signal_host(find_host(-1), SIGKILL);
		assert_int_equal(waitid(P_PID, (id_t)find_host(-1), &ended, WEXITED | WNOWAIT), 0);
		held_file_unref(file);
		assert_int_equal(open_file(fixture, USER, &file), -EAGAIN);
	}
	assert_int_equal(open_file(fixture, USER, &file), -EAGAIN);
	assert_int_equal(fixture->lost_count, HOSTS_LOST_OF_USER_MAX);
	assert_int_equal(open_file(fixture, OTHER_USER, &file), 0);
	held_file_unref(file);
}

static void after_the_stop_what_is_held_is_copied_and_nothing_opened(void **state)
{
	struct fixture *fixture = *state;
	struct held_file *file, *other;
	uint64_t begin_ns;
	int fd;

	assert_int_equal(open_file(fixture, USER, &file), 0);
	fixture->home->ops->stop(fixture->home);
	assert_int_equal(open_file(fixture, USER, &other), -ECANCELED);
	check_copy(file);
	fixture->home->ops->expire(fixture->home, UINT64_MAX);
	/* And only for a second. */
	stop_host(find_host(-1));
	begin_ns = clock_monotonic_ns();
	assert_true(file->ops->copy(file, &fd) < 0);
	assert_true(clock_monotonic_ns() - begin_ns < 4 * NS_PER_SECOND);
	assert_int_equal(fixture->lost_count, 0);
	held_file_unref(file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_held_and_copied),
		TEST(what_nobody_holds_any_more_is_closed),
		TEST(chunks_are_read_from_anywhere),
		TEST(what_cannot_be_opened_says_why),
		TEST(a_host_has_no_more_rights_than_it_takes),
		TEST(files_of_a_host_that_hangs_are_lost_and_opened_anew_when_it_has_ended),
		TEST(files_that_were_copied_lately_outlive_the_host),
		TEST(a_user_whose_hosts_are_lost_again_and_again_gets_no_more),
		TEST(after_the_stop_what_is_held_is_copied_and_nothing_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
