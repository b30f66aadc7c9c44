/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "lib/host/mapped_file.h"
#include "lib/host/tests/find_mapping.h"
#include "lib/host/tests/proc_fixture.h"

struct fixture {
	char folder[64];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->folder, "/tmp/mapped_file_test_XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	remove_folder(fixture->folder);
	free(fixture);
	return 0;
}

/* Maps @fd into this process, opens it through /proc and reads the content back. */
static void check_own_mapping(int fd, const char *content)
{
	void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	const struct proc_mapping *row;
	struct file_key key, expected;
	struct proc_maps maps;
	char buffer[64];
	int opened;

	assert_ptr_not_equal(mapped, MAP_FAILED);
	assert_int_equal(proc_maps_read(&maps, "/proc", getpid(), PROC_MAPS_ALL), 0);
	row = find_mapping(&maps, (uintptr_t)mapped);
	assert_non_null(row);
	assert_int_equal(mapped_file_open("/proc", getpid(), row, &opened, &key), 0);
	assert_int_equal(pread(opened, buffer, strlen(content), 0), strlen(content));
	assert_memory_equal(buffer, content, strlen(content));
	assert_int_equal(file_key_of_fd(fd, &expected), 0);
	assert_memory_equal(&key, &expected, sizeof(key));
	assert_int_equal(write(opened, "x", 1), -1);
	close(opened);
	proc_maps_deinit(&maps);
	munmap(mapped, 4096);
}

static void deleted_and_replaced_files_are_opened(void **state)
{
	struct fixture *fixture = *state;
	char path[128];
	int fd, other;

	snprintf(path, sizeof(path), "%s/library", fixture->folder);
	write_fake_file(fixture->folder, "library", "the old one");
	fd = open(path, O_RDONLY);
	check_own_mapping(fd, "the old one");
	unlink(path);
	check_own_mapping(fd, "the old one");
	write_fake_file(fixture->folder, "library", "the new one");
	check_own_mapping(fd, "the old one");
	other = open(path, O_RDONLY);
	check_own_mapping(other, "the new one");
	close(other);
	close(fd);
}

static void a_memfd_is_opened(void **state)
{
	int fd = memfd_create("named", 0);

	(void)state;
	assert_int_equal(write(fd, "in memory", 9), 9);
	check_own_mapping(fd, "in memory");
	close(fd);
}

/* A fake /proc without map_files, whose process 7 has the folder ROOT/rootfs as its root. */
static void fake_process(const struct fixture *fixture)
{
	char target[128], link[128];

	write_fake_file(fixture->folder, "7/comm", "fake\n");
	write_fake_file(fixture->folder, "rootfs/lib/a.so", "content of a");
	write_fake_file(fixture->folder, "rootfs/lib/b (deleted)", "content of b");
	snprintf(target, sizeof(target), "%s/rootfs", fixture->folder);
	snprintf(link, sizeof(link), "%s/7/root", fixture->folder);
	assert_int_equal(symlink(target, link), 0);
}

static struct proc_mapping mapping_of(const char *path, const char *real_path)
{
	struct stat status;

	assert_int_equal(stat(real_path, &status), 0);
	return (struct proc_mapping){
		.start = 0x1000,
		.end = 0x2000,
		.inode = status.st_ino,
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
		.path = path,
	};
}

static void paths_are_resolved_below_the_root_of_the_process(void **state)
{
	struct fixture *fixture = *state;
	struct proc_mapping mapping;
	char path[256], link[256];
	struct file_key key;
	char buffer[16];
	int fd;

	fake_process(fixture);
	snprintf(path, sizeof(path), "%s/rootfs/lib/a.so", fixture->folder);
	mapping = mapping_of("/lib/a.so", path);
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), 0);
	assert_int_equal(read(fd, buffer, sizeof(buffer)), 12);
	assert_memory_equal(buffer, "content of a", 12);
	close(fd);
	/* Absolute links and dots stay below the root. */
	snprintf(link, sizeof(link), "%s/rootfs/absolute", fixture->folder);
	assert_int_equal(symlink("/lib", link), 0);
	mapping.path = "/absolute/a.so";
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), 0);
	close(fd);
	mapping.path = "/../../lib/a.so";
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), 0);
	close(fd);
	/* So do links that lead up, and a link that leads to itself leads nowhere. */
	snprintf(link, sizeof(link), "%s/rootfs/lib/up", fixture->folder);
	assert_int_equal(symlink("./../../..//lib/", link), 0);
	mapping.path = "/absolute/up/a.so";
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), 0);
	close(fd);
	mapping.path = "/lib/up/../lib/./up/a.so";
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), 0);
	close(fd);
	snprintf(link, sizeof(link), "%s/rootfs/loop", fixture->folder);
	assert_int_equal(symlink("loop/loop", link), 0);
	mapping.path = "/loop/a.so";
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
	/* The last part may not be a link. */
	snprintf(link, sizeof(link), "%s/rootfs/lib/last.so", fixture->folder);
	assert_int_equal(symlink("a.so", link), 0);
	mapping.path = "/lib/last.so";
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
	mapping = mapping_of("/../../../etc/passwd", "/etc/passwd");
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
}

static void another_file_at_the_path_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct proc_mapping mapping;
	struct file_key key;
	char path[256];
	int fd = -7;

	fake_process(fixture);
	snprintf(path, sizeof(path), "%s/rootfs/lib/a.so", fixture->folder);
	mapping = mapping_of("/lib/a.so", path);
	mapping.inode++;
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
	mapping.inode--;
	mapping.device_minor++;
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
	assert_int_equal(fd, -7);
}

static void a_file_that_is_called_deleted_is_opened(void **state)
{
	struct fixture *fixture = *state;
	struct proc_mapping mapping;
	struct file_key key;
	char path[256];
	int fd;

	fake_process(fixture);
	snprintf(path, sizeof(path), "%s/rootfs/lib/b (deleted)", fixture->folder);
	mapping = mapping_of("/lib/b", path);
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
	mapping.is_deleted = true;
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), 0);
	close(fd);
}

static void only_regular_files_are_opened_and_nobody_is_waited_for(void **state)
{
	struct fixture *fixture = *state;
	struct proc_mapping mapping;
	struct file_key key;
	char path[256];
	int fd;

	fake_process(fixture);
	/* An open of a FIFO for reading would wait for a writer. */
	snprintf(path, sizeof(path), "%s/rootfs/fifo", fixture->folder);
	assert_int_equal(mkfifo(path, 0644), 0);
	mapping = mapping_of("/fifo", path);
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -EOPNOTSUPP);
	snprintf(path, sizeof(path), "%s/rootfs/lib", fixture->folder);
	mapping = mapping_of("/lib", path);
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -EOPNOTSUPP);
	/* map_files of a mapped device leads to the device. */
	snprintf(path, sizeof(path), "%s/7/map_files", fixture->folder);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/7/map_files/1000-2000", fixture->folder);
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -EOPNOTSUPP);
}

static void a_process_that_is_gone_is_told_from_a_file_that_is(void **state)
{
	struct proc_mapping mapping = { .start = 0x1000, .end = 0x2000, .inode = 1, .path = "/no" };
	struct fixture *fixture = *state;
	struct file_key key;
	int fd;

	fake_process(fixture);
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
	assert_int_equal(mapped_file_open(fixture->folder, 8, &mapping, &fd, &key), -ESRCH);
	mapping.path = "[heap]";
	assert_int_equal(mapped_file_open(fixture->folder, 7, &mapping, &fd, &key), -ENOENT);
}

static void a_process_whose_leader_has_exited_has_files(void **state)
{
	pid_t pid = start_without_leader();
	struct proc_maps maps;
	struct file_key key;
	int fd, opened = 0;

	(void)state;
	assert_int_equal(proc_maps_read(&maps, "/proc", pid, PROC_MAPS_EXECUTABLE), 0);
	for (uint32_t i = 0; i < maps.count; i++) {
		if (maps.rows[i].path[0] != '/')
			continue;
		assert_int_equal(mapped_file_open("/proc", pid, &maps.rows[i], &fd, &key), 0);
		close(fd);
		assert_int_equal(mapped_file_key("/proc", pid, &maps.rows[i], &key), 0);
		opened++;
	}
	assert_true(opened > 1);
	proc_maps_deinit(&maps);
	end_process(pid);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(deleted_and_replaced_files_are_opened),
		TEST(a_memfd_is_opened),
		TEST(paths_are_resolved_below_the_root_of_the_process),
		TEST(another_file_at_the_path_is_refused),
		TEST(a_file_that_is_called_deleted_is_opened),
		TEST(only_regular_files_are_opened_and_nobody_is_waited_for),
		TEST(a_process_that_is_gone_is_told_from_a_file_that_is),
		TEST(a_process_whose_leader_has_exited_has_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
