/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/debug_packages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/host/tests/proc_fixture.h"

static const struct path_judge any = { 0 };

struct fixture {
	char folder[64];
	struct debug_packages packages;
	struct binary *libc;
	struct binary *musl;
	struct binary *own;
};

static struct binary *make_binary(const char *path, uint64_t id, bool has_build_id)
{
	return binary_create(&(struct binary){ .fd = -1,
					       .executable_id = EXECUTABLE_ID_FIRST + id,
					       .build_id = { 1, 2 },
					       .build_id_bytes = has_build_id ? 2 : 0,
					       .path = (char *)path });
}

static int set_up(void **state)
{
	static struct fixture fixture;

	strcpy(fixture.folder, "/tmp/debug_packages_test_XXXXXX");
	if (!mkdtemp(fixture.folder))
		return -1;
	write_fake_file(fixture.folder, "1/root/etc/os-release", "ID=debian\n");
	write_fake_file(fixture.folder, "1/root/var/lib/dpkg/status",
			"Package: libc6\nArchitecture: amd64\n\nPackage: zlib1g\nArchitecture: "
			"amd64\n");
	write_fake_file(fixture.folder, "1/root/var/lib/dpkg/info/libc6.list", "/lib/libc.so.6\n");
	write_fake_file(fixture.folder, "1/root/var/lib/dpkg/info/zlib1g.list", "/lib/libz.so\n");
	write_fake_file(fixture.folder, "70/root/lib/apk/db/installed",
			"P:musl\nF:lib\nR:libc.so.6\n");
	debug_packages_init(&fixture.packages, fixture.folder, &any);
	fixture.libc = make_binary("/usr/lib/libc.so.6", 0, true);
	fixture.musl = make_binary("/lib/libc.so.6", 1, true);
	fixture.own = make_binary("/opt/own", 2, false);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	debug_packages_deinit(&fixture->packages);
	binary_unref(fixture->libc);
	binary_unref(fixture->musl);
	binary_unref(fixture->own);
	remove_folder(fixture->folder);
	return 0;
}

static void files_have_packages_of_the_host_and_of_containers(void **state)
{
	struct fixture *fixture = *state;
	const struct nameless_file files[] = {
		{ fixture->libc, 50, "" },
		{ fixture->musl, 70, "c0ffee" },
		{ fixture->own, 50, "" },
	};

	assert_int_equal(debug_packages_look_up(&fixture->packages, files, 3), 0);
	assert_string_equal(debug_packages_advice(&fixture->packages, fixture->libc),
			    "Install libc6-dbg, or use -debuginfod with "
			    "DEBUGINFOD_URLS=https://debuginfod.debian.net.");
	assert_string_equal(debug_packages_advice(&fixture->packages, fixture->musl),
			    "Install musl-dbg.");
	/* In no package, and without a build id for servers. */
	assert_null(debug_packages_advice(&fixture->packages, fixture->own));
}

static void other_packages_have_dbgsym(void **state)
{
	struct fixture *fixture = *state;
	struct binary *zlib = make_binary("/lib/libz.so", 3, false);
	const struct nameless_file file = { zlib, 50, "" };

	assert_int_equal(debug_packages_look_up(&fixture->packages, &file, 1), 0);
	assert_string_equal(debug_packages_advice(&fixture->packages, zlib),
			    "Install zlib1g-dbgsym.");
	binary_unref(zlib);
}

static void each_file_is_looked_up_once(void **state)
{
	struct fixture *fixture = *state;
	const struct nameless_file file = { fixture->libc, 50, "" };

	assert_int_equal(debug_packages_look_up(&fixture->packages, &file, 1), 0);
	write_fake_file(fixture->folder, "1/root/var/lib/dpkg/info/libc6.list", "/other\n");
	assert_int_equal(debug_packages_look_up(&fixture->packages, &file, 1), 0);
	assert_non_null(strstr(debug_packages_advice(&fixture->packages, fixture->libc), "libc6"));
}

static void a_container_is_asked_again_once_it_has_a_process(void **state)
{
	struct fixture *fixture = *state;
	struct nameless_file file = { fixture->musl, 71, "c0ffee" };

	assert_int_equal(debug_packages_look_up(&fixture->packages, &file, 1), 0);
	assert_null(debug_packages_advice(&fixture->packages, fixture->musl));
	file.pid = 70;
	assert_int_equal(debug_packages_look_up(&fixture->packages, &file, 1), 0);
	assert_string_equal(debug_packages_advice(&fixture->packages, fixture->musl),
			    "Install musl-dbg.");
}

static void files_of_other_machines_are_not_here(void **state)
{
	struct fixture *fixture = *state;
	struct binary *elsewhere = binary_create(&(struct binary){
		.fd = -1, .executable_id = 900000, .path = "/lib/libc.so.6", .is_elsewhere = true });
	const struct nameless_file file = { elsewhere, 50, "" };

	assert_int_equal(debug_packages_look_up(&fixture->packages, &file, 1), 0);
	assert_null(debug_packages_advice(&fixture->packages, elsewhere));
	binary_unref(elsewhere);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(files_have_packages_of_the_host_and_of_containers),
		TEST(other_packages_have_dbgsym),
		TEST(each_file_is_looked_up_once),
		TEST(a_container_is_asked_again_once_it_has_a_process),
		TEST(files_of_other_machines_are_not_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
