/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/fakes.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "agent/processes/local_devices.h"
#include "lib/base/clock.h"

static bool parse(const char *line, uint64_t *device, bool *is_local)
{
	return mountinfo_line_parse(line, strlen(line), device, is_local);
}

static void a_line_of_mountinfo_has_a_device_and_a_type(void **state)
{
	uint64_t device;
	bool is_local;

	(void)state;
	assert_true(parse("36 35 98:3 /a /b rw,noatime master:1 shared:2 - ext4 /dev/r rw", &device,
			  &is_local));
	assert_int_equal(device, makedev(98, 3));
	assert_true(is_local);
	assert_true(parse("36 35 0:50 / /mnt\\040- rw - fuse.sshfs host: rw", &device, &is_local));
	assert_false(is_local);
	assert_true(parse("1 1 0:51 / / rw - nfs4 host:/x rw", &device, &is_local));
	assert_false(is_local);
	assert_true(parse("1 1 0:52 / / rw - ext4", &device, &is_local));
	assert_true(is_local);
	assert_true(parse("1 1 0:52 / / rw - ext", &device, &is_local));
	assert_false(is_local);
}

static void a_damaged_line_is_passed_over(void **state)
{
	static const char *const lines[] = { "", " - ", "1 1", "1 1 0:5 / / rw", "x y 0:5 - ext4" };
	uint64_t device;
	bool is_local;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(parse(lines[i], &device, &is_local));
}

static void files_of_tmp_and_of_memfd_are_local_here(void **state)
{
	struct local_devices devices;
	struct stat status;
	int fd = memfd_create("x", MFD_CLOEXEC);

	(void)state;
	local_devices_init(&devices);
	assert_int_equal(fstat(fd, &status), 0);
	assert_true(local_devices_contain(&devices, "/proc", getpid(), major(status.st_dev),
					  minor(status.st_dev), 1));
	assert_int_equal(stat("/bin/sh", &status), 0);
	assert_true(local_devices_contain(&devices, "/proc", getpid(), major(status.st_dev),
					  minor(status.st_dev), 1));
	close(fd);
	local_devices_deinit(&devices);
}

static void what_is_mounted_nowhere_is_not_local(void **state)
{
	struct local_devices devices;

	(void)state;
	local_devices_init(&devices);
	assert_false(local_devices_contain(&devices, "/proc", getpid(), 4000, 77, 1));
	assert_false(local_devices_contain(&devices, "/nowhere", getpid(), 8, 1, 1));
	local_devices_deinit(&devices);
}

static void what_was_learned_is_forgotten_in_time(void **state)
{
	struct local_devices devices;
	struct fake_proc proc;

	(void)state;
	fake_proc_init(&proc);
	local_devices_init(&devices);
	fake_proc_write(&proc, 7, "mountinfo", "1 1 0:77 / / rw - nfs host rw\n");
	assert_false(local_devices_contain(&devices, proc.root, 7, 0, 77, 1));
	fake_proc_write(&proc, 7, "mountinfo", "1 1 0:77 / / rw - btrfs /dev/x rw\n");
	assert_false(local_devices_contain(&devices, proc.root, 7, 0, 77, 2));
	assert_true(local_devices_contain(&devices, proc.root, 7, 0, 77, 61 * NS_PER_SECOND));
	local_devices_deinit(&devices);
	fake_proc_deinit(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_mountinfo_has_a_device_and_a_type),
		cmocka_unit_test(a_damaged_line_is_passed_over),
		cmocka_unit_test(files_of_tmp_and_of_memfd_are_local_here),
		cmocka_unit_test(what_is_mounted_nowhere_is_not_local),
		cmocka_unit_test(what_was_learned_is_forgotten_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
