/* SPDX-License-Identifier: Apache-2.0 */
/* Debug files in a folder that pretends to be /proc, with the roots of two processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/base/cleanup.h"
#include "lib/elf/debug_file.h"
#include "lib/elf/tests/elf_builder.h"
#include "lib/host/mapped_file.h"
#include "lib/host/tests/proc_fixture.h"

enum {
	TEXT_BYTES = 64,
	PID = 42,
};

#define BUILD_ID_PATH "usr/lib/debug/.build-id/ab/cdef.debug"

struct fixture {
	char proc_root[32];
	/* The file whose debug file is looked for, and the debug file. */
	struct elf_builder file;
	struct elf_builder debug;
	struct elf_image image;
	struct debug_file_search search;
};

/* @build_id: its last byte, 0 for none. */
static void build(struct elf_builder *builder, uint8_t build_id, const char *link, uint32_t crc)
{
	static const uint8_t text[TEXT_BYTES];
	const uint8_t note[] = { 4, 0, 0,   0,	 3,   0, 0,    0,    3,	      0,
				 0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, build_id };
	char bytes[64] = "";
	size_t size;

	elf_builder_init(builder, 1);
	elf_builder_add(builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text,
			sizeof(text));
	if (build_id)
		elf_builder_add(builder, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note,
				sizeof(note));
	if (link) {
		strcpy(bytes, link);
		size = (strlen(link) + 4) / 4 * 4;
		memcpy(bytes + size, &crc, sizeof(crc));
		elf_builder_add(builder, ".gnu_debuglink", SHT_PROGBITS, 0, bytes, size + 4);
	}
	elf_builder_finish(builder);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->proc_root, "/tmp/debug_file_XXXXXX");
	assert_non_null(mkdtemp(fixture->proc_root));
	fixture->search = (struct debug_file_search){
		.proc_root = fixture->proc_root,
		.pid = PID,
		.path = "/opt/tool/bin",
	};
	write_fake_file(fixture->proc_root, "42/root/empty", "");
	write_fake_file(fixture->proc_root, "1/root/empty", "");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char mount_path[64];

	elf_image_deinit(&fixture->image);
	/* Removes the mount of a test that has failed. */
	snprintf(mount_path, sizeof(mount_path), "%s/mount", fixture->proc_root);
	(void)umount2(mount_path, MNT_DETACH);
	remove_folder(fixture->proc_root);
	free(fixture);
	return 0;
}

static void put_debug(struct fixture *fixture, const char *path)
{
	write_fake_bytes(fixture->proc_root, path, fixture->debug.bytes, BUILT_BYTES);
}

static uint32_t debug_crc(const struct fixture *fixture)
{
	return crc32(0, fixture->debug.bytes, BUILT_BYTES);
}

/* Searches; the path of what was found, below the proc root, must end in @expected (NULL: none). */
static void assert_finds(struct fixture *fixture, const char *expected)
{
	_cleanup_(close_fd) int fd = -1;
	char link[64], found[PATH_MAX] = "";
	int err;

	elf_image_deinit(&fixture->image);
	assert_int_equal(elf_image_init_memory(&fixture->image, fixture->file.bytes, BUILT_BYTES),
			 0);
	err = debug_file_open(&fixture->search, &fixture->image, &fd);
	if (!expected) {
		assert_int_equal(err, -ENOENT);
		return;
	}
	assert_int_equal(err, 0);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, found, sizeof(found) - 1) > 0);
	assert_string_equal(found + strlen(fixture->proc_root) + 1, expected);
}

static void a_build_id_leads_to_the_host_s_root_before_the_process_s(void **state)
{
	struct fixture *fixture = *state;

	build(&fixture->file, 0xef, NULL, 0);
	build(&fixture->debug, 0xef, NULL, 0);
	assert_finds(fixture, NULL);
	put_debug(fixture, "42/root/" BUILD_ID_PATH);
	assert_finds(fixture, "42/root/" BUILD_ID_PATH);
	fixture->search.pid = 0;
	assert_finds(fixture, NULL);
	put_debug(fixture, "1/root/" BUILD_ID_PATH);
	assert_finds(fixture, "1/root/" BUILD_ID_PATH);
	fixture->search.pid = 42;
	assert_finds(fixture, "1/root/" BUILD_ID_PATH);
}

static void what_somebody_else_has_put_there_is_not_believed(void **state)
{
	enum { SOMEBODY = 12345 };
	struct fixture *fixture = *state;
	_cleanup_(close_fd) int fd = -1;
	int debug_fd = -1;
	char path[128];

	if (geteuid())
		skip();
	build(&fixture->file, 0xef, NULL, 0);
	build(&fixture->debug, 0xef, NULL, 0);
	put_debug(fixture, "42/root/" BUILD_ID_PATH);
	snprintf(path, sizeof(path), "%s/42/root/" BUILD_ID_PATH, fixture->proc_root);
	assert_int_equal(chown(path, SOMEBODY, SOMEBODY), 0);
	assert_finds(fixture, NULL);
	/* The owner of the file may provide its debug file. */
	write_fake_bytes(fixture->proc_root, "42/root/opt/tool/bin", fixture->file.bytes,
			 BUILT_BYTES);
	snprintf(path, sizeof(path), "%s/42/root/opt/tool/bin", fixture->proc_root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf_image_deinit(&fixture->image);
	assert_int_equal(elf_image_init_fd(&fixture->image, fd), 0);
	assert_int_equal(debug_file_open(&fixture->search, &fixture->image, &debug_fd), -ENOENT);
	assert_int_equal(chown(path, SOMEBODY, SOMEBODY), 0);
	assert_int_equal(debug_file_open(&fixture->search, &fixture->image, &debug_fd), 0);
	close(debug_fd);
	/* The same holds for files that debug data name. */
	assert_int_equal(debug_file_open_path(&fixture->search, "/" BUILD_ID_PATH, fd, &debug_fd),
			 0);
	close(debug_fd);
	assert_int_equal(fchown(fd, 0, 0), 0);
	assert_int_equal(debug_file_open_path(&fixture->search, "/" BUILD_ID_PATH, fd, &debug_fd),
			 -ENOENT);
}

static void another_build_id_or_other_text_is_not_believed(void **state)
{
	struct fixture *fixture = *state;

	build(&fixture->file, 0xef, "bin.debug", 0);
	build(&fixture->debug, 0xee, NULL, 0);
	put_debug(fixture, "42/root/" BUILD_ID_PATH);
	assert_finds(fixture, NULL);
	/* Nor is it found by a link whose CRC is right, since the ids differ. */
	build(&fixture->file, 0xef, "bin.debug", debug_crc(fixture));
	put_debug(fixture, "42/root/opt/tool/bin.debug");
	assert_finds(fixture, NULL);
	build(&fixture->debug, 0xef, NULL, 0);
	put_debug(fixture, "42/root/" BUILD_ID_PATH);
	assert_finds(fixture, "42/root/" BUILD_ID_PATH);
	built_section(&fixture->debug, 1)->sh_size++;
	put_debug(fixture, "42/root/" BUILD_ID_PATH);
	assert_finds(fixture, NULL);
	built_section(&fixture->debug, 1)->sh_size--;
	built_header(&fixture->debug)->e_machine = EM_AARCH64;
	put_debug(fixture, "42/root/" BUILD_ID_PATH);
	assert_finds(fixture, NULL);
}

static void links_are_tried_in_three_folders_and_proven_by_crc(void **state)
{
	static const char *const paths[] = { "42/root/usr/lib/debug/opt/tool/bin.debug",
					     "42/root/opt/tool/.debug/bin.debug",
					     "42/root/opt/tool/bin.debug",
					     "1/root/usr/lib/debug/opt/tool/bin.debug" };
	struct fixture *fixture = *state;

	build(&fixture->debug, 0, NULL, 0);
	build(&fixture->file, 0, "bin.debug", debug_crc(fixture));
	for (int i = 0; i < 4; i++) {
		assert_finds(fixture, i ? paths[i - 1] : NULL);
		put_debug(fixture, paths[i]);
		assert_finds(fixture, paths[i]);
	}
	build(&fixture->file, 0, "bin.debug", debug_crc(fixture) + 1);
	assert_finds(fixture, NULL);
	fixture->search.path = NULL;
	build(&fixture->file, 0, "bin.debug", debug_crc(fixture));
	assert_finds(fixture, NULL);
}

static void links_in_the_file_system_lead_nowhere_outside_of_the_root(void **state)
{
	struct fixture *fixture = *state;
	char target[PATH_MAX], link[PATH_MAX];

	build(&fixture->file, 0xef, NULL, 0);
	build(&fixture->debug, 0xef, NULL, 0);
	put_debug(fixture, "outside.debug");
	write_fake_file(fixture->proc_root, "42/root/usr/lib/debug/.build-id/ab/x", "");
	snprintf(target, sizeof(target), "%s/outside.debug", fixture->proc_root);
	snprintf(link, sizeof(link), "%s/42/root/" BUILD_ID_PATH, fixture->proc_root);
	assert_int_equal(symlink(target, link), 0);
	assert_finds(fixture, NULL);
	unlink(link);
	assert_int_equal(symlink("../../../../../../../../outside.debug", link), 0);
	assert_finds(fixture, NULL);
	unlink(link);
	/* Inside, it may be a link: some distributions make them. */
	put_debug(fixture, "42/root/elsewhere.debug");
	assert_int_equal(symlink("/elsewhere.debug", link), 0);
	assert_finds(fixture, "42/root/elsewhere.debug");
	unlink(link);
	/* Nothing waits for the other end of a FIFO. */
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_finds(fixture, NULL);
}

static bool refuse(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	(void)major;
	(void)minor;
	return pid != *(pid_t *)context;
}

static void devices_that_may_hang_are_left_alone(void **state)
{
	struct fixture *fixture = *state;
	pid_t refused = PID;

	build(&fixture->file, 0xef, NULL, 0);
	build(&fixture->debug, 0xef, NULL, 0);
	put_debug(fixture, "42/root/" BUILD_ID_PATH);
	put_debug(fixture, "1/root/" BUILD_ID_PATH);
	fixture->search.judge.may_read = refuse;
	fixture->search.judge.context = &refused;
	assert_finds(fixture, "1/root/" BUILD_ID_PATH);
	refused = DEBUG_FILE_HOST_PID;
	assert_finds(fixture, "42/root/" BUILD_ID_PATH);
}

/* --- mounts --- */

struct mounted {
	/* A mount whose submounts stay in their namespace, and the process that has them. */
	char folder[64];
	pid_t pid;
	/* Device of its mount at usr/lib/debug. */
	dev_t device;
};

static void mount_memory(const char *path)
{
	assert_int_equal(mount("none", path, "tmpfs", 0, NULL), 0);
}

/* Lives in a root and a mount namespace of its own, with a debug file and links on a mount there. */
static void be_mounted(const struct fixture *fixture, const char *folder, int ready)
{
	const char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS) || chroot(folder) || chdir("/") ||
	    mount("none", "/usr/lib/debug", "tmpfs", 0, NULL))
		_exit(1);
	write_fake_bytes("", BUILD_ID_PATH, fixture->debug.bytes, BUILT_BYTES);
	write_fake_bytes("", "usr/lib/debug/opt/tool/bin.debug", fixture->debug.bytes, BUILT_BYTES);
	write_fake_bytes("", "outside.debug", fixture->debug.bytes, BUILT_BYTES);
	if (symlink("opt/tool/bin.debug", "/usr/lib/debug/inside") ||
	    symlink("../../../outside.debug", "/usr/lib/debug/out") ||
	    symlink("/usr/lib/debug/opt/tool/bin.debug", "/usr/lib/debug/absolute") ||
	    symlink("usr/lib/debug/inside", "/onto") || write(ready, &byte, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void start_mounted(const struct fixture *fixture, struct mounted *mounted)
{
	struct stat status;
	char path[128];
	int ready[2];

	snprintf(mounted->folder, sizeof(mounted->folder), "%s/mount", fixture->proc_root);
	write_fake_file(fixture->proc_root, "mount/empty", "");
	mount_memory(mounted->folder);
	assert_int_equal(mount(NULL, mounted->folder, NULL, MS_PRIVATE, NULL), 0);
	write_fake_file(mounted->folder, "usr/lib/debug/empty", "");
	assert_int_equal(pipe(ready), 0);
	mounted->pid = fork();
	if (!mounted->pid)
		be_mounted(fixture, mounted->folder, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], path, 1), 1);
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/root/usr/lib/debug", mounted->pid);
	assert_int_equal(stat(path, &status), 0);
	mounted->device = status.st_dev;
}

static void end_mounted(const struct mounted *mounted)
{
	end_process(mounted->pid);
	assert_int_equal(umount(mounted->folder), 0);
}

static bool refuse_device(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	(void)pid;
	return makedev(major, minor) != *(dev_t *)context;
}

static int find_mounted(struct fixture *fixture)
{
	_cleanup_(close_fd) int fd = -1;

	return debug_file_open(&fixture->search, &fixture->image, &fd);
}

static int open_mounted(struct fixture *fixture, const char *path)
{
	_cleanup_(close_fd) int fd = -1;

	return debug_file_open_path(&fixture->search, path, -1, &fd);
}

static void other_mounts_are_entered_if_they_may_be_read(void **state)
{
	struct fixture *fixture = *state;
	struct mounted mounted;
	dev_t refused = 0;

	if (geteuid())
		skip();
	build(&fixture->debug, 0xef, NULL, 0);
	start_mounted(fixture, &mounted);
	fixture->search.proc_root = "/proc";
	fixture->search.pid = mounted.pid;
	fixture->search.judge.may_read = refuse_device;
	fixture->search.judge.context = &refused;
	/* By the build id, then by the link. */
	build(&fixture->file, 0xef, NULL, 0);
	elf_image_init_memory(&fixture->image, fixture->file.bytes, BUILT_BYTES);
	assert_int_equal(find_mounted(fixture), 0);
	refused = mounted.device;
	assert_int_equal(find_mounted(fixture), -ENOENT);
	elf_image_deinit(&fixture->image);
	build(&fixture->file, 0, "bin.debug", debug_crc(fixture));
	elf_image_init_memory(&fixture->image, fixture->file.bytes, BUILT_BYTES);
	assert_int_equal(find_mounted(fixture), -ENOENT);
	refused = 0;
	assert_int_equal(find_mounted(fixture), 0);
	/* So are links, on the mount, out of it and onto it. */
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/inside"), 0);
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/out"), 0);
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/absolute"), 0);
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/../debug/inside"), 0);
	assert_int_equal(open_mounted(fixture, "/onto"), 0);
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug"), -ENOENT);
	refused = mounted.device;
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/inside"), -ENOENT);
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/out"), -ENOENT);
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/../debug/inside"), -ENOENT);
	assert_int_equal(open_mounted(fixture, "/onto"), -ENOENT);
	refused = 0;
	/* Without a judge all links are followed. */
	fixture->search.judge.may_read = NULL;
	assert_int_equal(find_mounted(fixture), 0);
	assert_int_equal(open_mounted(fixture, "/onto"), 0);
	assert_int_equal(open_mounted(fixture, "/usr/lib/debug/out"), 0);
	end_mounted(&mounted);
}

/* Opens @path, which debug data name, and returns the error; the file that is found must be @expected. */
static int open_named(struct fixture *fixture, const char *path, const char *expected)
{
	_cleanup_(close_fd) int fd = -1;
	int err = debug_file_open_path(&fixture->search, path, -1, &fd);
	char found[16] = "";

	if (!err) {
		assert_true(read(fd, found, sizeof(found) - 1) > 0);
		assert_string_equal(found, expected);
	}
	return err;
}

static void files_that_debug_data_name_are_regular_and_below_a_root(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_MAX];

	write_fake_file(fixture->proc_root, "42/root/b/a.dwo", "own");
	assert_int_equal(open_named(fixture, "/b/a.dwo", "own"), 0);
	assert_int_equal(open_named(fixture, "/../b/../b/a.dwo", "own"), 0);
	write_fake_file(fixture->proc_root, "1/root/b/a.dwo", "host");
	assert_int_equal(open_named(fixture, "/b/a.dwo", "host"), 0);
	assert_int_equal(open_named(fixture, "/b/other.dwo", ""), -ENOENT);
	assert_int_equal(open_named(fixture, "b/a.dwo", ""), -EINVAL);
	assert_int_equal(open_named(fixture, "/b", ""), -ENOENT);

	snprintf(path, sizeof(path), "%s/42/root/fifo.dwo", fixture->proc_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(open_named(fixture, "/fifo.dwo", ""), -ENOENT);

	write_fake_file(fixture->proc_root, "outside", "secret");
	snprintf(path, sizeof(path), "%s/42/root/link.dwo", fixture->proc_root);
	assert_int_equal(symlink("../../outside", path), 0);
	assert_int_equal(open_named(fixture, "/link.dwo", ""), -ENOENT);
}

static void links_are_names_without_folders(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		int error;
	} cases[] = {
		{ "abc\0\1\0\0\0", 8, 0 },
		{ "abcd\0\0\0\0\1\0\0\0", 12, 0 },
		{ "abc\0\1\0\0", 7, -EBADMSG },
		{ "a/c\0\1\0\0\0", 8, -EBADMSG },
		{ "\0\0\0\0\1\0\0\0", 8, -EBADMSG },
		{ "abcdefgh", 8, -EBADMSG },
		{ "", 0, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name;
		uint32_t crc;

		assert_int_equal(debug_link_parse(cases[i].bytes, cases[i].size, &name, &crc),
				 cases[i].error);
		if (!cases[i].error)
			assert_int_equal(crc, 1);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_build_id_leads_to_the_host_s_root_before_the_process_s),
		TEST(what_somebody_else_has_put_there_is_not_believed),
		TEST(another_build_id_or_other_text_is_not_believed),
		TEST(links_are_tried_in_three_folders_and_proven_by_crc),
		TEST(links_in_the_file_system_lead_nowhere_outside_of_the_root),
		TEST(devices_that_may_hang_are_left_alone),
		TEST(other_mounts_are_entered_if_they_may_be_read),
		TEST(files_that_debug_data_name_are_regular_and_below_a_root),
		cmocka_unit_test(links_are_names_without_folders),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
