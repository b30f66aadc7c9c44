/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/file_packages.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/host/tests/proc_fixture.h"

enum { PATHS_MAX = 8 };

static const struct path_judge any = { 0 };

struct fixture {
	char folder[64];
	struct judged_root root;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	strcpy(fixture.folder, "/tmp/file_packages_test_XXXXXX");
	if (!mkdtemp(fixture.folder))
		return -1;
	fixture.root = (struct judged_root){
		.fd = open(fixture.folder, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.pid = getpid(),
		.judge = &any,
	};
	*state = &fixture;
	return fixture.root.fd < 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->root.fd);
	remove_folder(fixture->folder);
	return 0;
}

static void assert_package(const struct fixture *fixture, const char *path,
			   enum package_format format, const char *name)
{
	struct file_package package;

	assert_int_equal(file_packages_find(&fixture->root, &path, 1, &package), 0);
	assert_string_equal(package.name, name);
	assert_int_equal(package.format, format);
}

static void dpkg_has_lists_of_files(void **state)
{
	const struct fixture *fixture = *state;

	write_fake_file(fixture->folder, "var/lib/dpkg/status",
			"Package: libc6\nStatus: install ok installed\nArchitecture: amd64\n"
			"Multi-Arch: same\nDescription: C library\n Package: other\n\n"
			"Package: bash\nArchitecture: amd64\n\n"
			"Package: gone\nArchitecture: amd64\n\n"
			"Package: ../../etc\nArchitecture: all\n\n"
			"Package: python3-numpy\nArchitecture: amd64\nMulti-Arch: foreign\n");
	write_fake_file(fixture->folder, "var/lib/dpkg/info/libc6:amd64.list",
			"/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n");
	write_fake_file(fixture->folder, "var/lib/dpkg/info/bash.list", "/bin/bash\n");
	write_fake_file(fixture->folder, "var/lib/dpkg/info/python3-numpy.list",
			"/usr/lib/python3/dist-packages/numpy/core.so\n");
	write_fake_file(fixture->folder, "var/lib/etc.list", "/opt/wrong\n");
	assert_package(fixture, "/lib/x86_64-linux-gnu/libc.so.6", PACKAGE_DPKG, "libc6");
	assert_package(fixture, "/usr/lib/x86_64-linux-gnu/libc.so.6", PACKAGE_DPKG, "libc6");
	assert_package(fixture, "/usr/bin/bash", PACKAGE_DPKG, "bash");
	assert_package(fixture, "/usr/lib/python3/dist-packages/numpy/core.so", PACKAGE_DPKG,
		       "python3-numpy");
	assert_package(fixture, "/opt/prog", PACKAGE_UNKNOWN, "");
	assert_package(fixture, "/opt/wrong", PACKAGE_UNKNOWN, "");
	assert_package(fixture, "/lib", PACKAGE_DPKG, "libc6");
}

static void apk_has_one_file(void **state)
{
	const struct fixture *fixture = *state;

	write_fake_file(fixture->folder, "lib/apk/db/installed",
			"P:musl\nV:1.2\nF:lib\nR:ld-musl-x86_64.so.1\nR:libc.musl-x86_64.so.1\n\n"
			"P:busybox\nF:bin\nR:busybox\nF:etc\nR:securetty\n");
	assert_package(fixture, "/lib/ld-musl-x86_64.so.1", PACKAGE_APK, "musl");
	assert_package(fixture, "/bin/busybox", PACKAGE_APK, "busybox");
	assert_package(fixture, "/bin/securetty", PACKAGE_UNKNOWN, "");
}

static void several_files_are_looked_up_at_once(void **state)
{
	const struct fixture *fixture = *state;
	const char *paths[] = { "/bin/busybox", "/none", "/lib/a.so", "/bin/busybox" };
	static const char *const expected[] = { "busybox", "", "musl", "busybox" };
	struct file_package packages[PATHS_MAX];

	write_fake_file(fixture->folder, "lib/apk/db/installed",
			"P:musl\nF:lib\nR:a.so\n\nP:busybox\nF:bin\nR:busybox\n");
	assert_int_equal(file_packages_find(&fixture->root, paths, 4, packages), 0);
	for (int i = 0; i < 4; i++)
		assert_string_equal(packages[i].name, expected[i]);
}

static void without_a_database_nothing_is_found(void **state)
{
	const struct fixture *fixture = *state;
	const char *path = "/bin/true";
	struct file_package package;

	assert_int_equal(file_packages_find(&fixture->root, &path, 1, &package), -ENOENT);
	assert_string_equal(package.name, "");
	assert_null(distribution_debuginfod(&fixture->root));
}

/* A link in a container does not lead out of it. */
static void links_stay_in_the_root(void **state)
{
	const struct fixture *fixture = *state;
	char outside[96], link[96];

	snprintf(outside, sizeof(outside), "%s/outside", fixture->folder);
	write_fake_file(fixture->folder, "outside", "ID=debian\n");
	write_fake_file(fixture->folder, "etc/hosts", "");
	snprintf(link, sizeof(link), "%s/etc/os-release", fixture->folder);
	assert_int_equal(symlink(outside, link), 0);
	assert_null(distribution_debuginfod(&fixture->root));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("../outside", link), 0);
	assert_string_equal(distribution_debuginfod(&fixture->root),
			    "https://debuginfod.debian.net");
}

static void assert_server(const struct fixture *fixture, const char *text, const char *expected)
{
	const char *found;

	write_fake_file(fixture->folder, "etc/os-release", text);
	found = distribution_debuginfod(&fixture->root);
	if (!expected)
		assert_null(found);
	else
		assert_string_equal(found, expected);
}

static void distributions_have_servers(void **state)
{
	const struct fixture *fixture = *state;

	assert_server(fixture, "NAME=\"Fedora Linux\"\nID=fedora\n",
		      "https://debuginfod.fedoraproject.org");
	assert_server(fixture, "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n",
		      "https://debuginfod.opensuse.org");
	assert_server(fixture, "ID=linuxmint\nID_LIKE='ubuntu debian'\n",
		      "https://debuginfod.ubuntu.com");
	assert_server(fixture, "ID_LIKE=debian\nID=ubuntu\n", "https://debuginfod.ubuntu.com");
	assert_server(fixture, "ID=alpine\n", NULL);
	assert_server(fixture, "VERSION_ID=debian\nID=\n", NULL);
	assert_server(fixture, "ID=debianlike\n", NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(dpkg_has_lists_of_files),
		TEST(apk_has_one_file),
		TEST(several_files_are_looked_up_at_once),
		TEST(without_a_database_nothing_is_found),
		TEST(links_stay_in_the_root),
		TEST(distributions_have_servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
