/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The databases of dpkg and apk, a list of files and os-release, the same bytes for all: names end within their bytes, and a
 * package is found only where a file is.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/host/file_packages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/file_packages_fuzz_XXXXXX";

/* A folder with dpkg's files, and one with apk's. */
static const char *const folders[] = {
	"dpkg",	    "dpkg/var", "dpkg/var/lib", "dpkg/var/lib/dpkg", "dpkg/var/lib/dpkg/info",
	"dpkg/etc", "apk",	"apk/lib",	"apk/lib/apk",	     "apk/lib/apk/db"
};
static const char *const files[] = { "dpkg/var/lib/dpkg/status", "dpkg/var/lib/dpkg/info/a.list",
				     "dpkg/etc/os-release", "apk/lib/apk/db/installed" };

enum {
	FOLDER_COUNT = sizeof(folders) / sizeof(folders[0]),
	FILE_COUNT = sizeof(files) / sizeof(files[0]),
	PATH_BYTES = sizeof(root) + 64,
};

static void make_path(const char *name, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/%s", root, name);
}

static void remove_root(void)
{
	char path[PATH_BYTES];

	for (int i = 0; i < FILE_COUNT; i++) {
		make_path(files[i], path);
		unlink(path);
	}
	for (int i = FOLDER_COUNT; i-- > 0;) {
		make_path(folders[i], path);
		rmdir(path);
	}
	rmdir(root);
}

static void make_root(void)
{
	char path[PATH_BYTES];

	assert(mkdtemp(root) && !atexit(remove_root));
	for (int i = 0; i < FOLDER_COUNT; i++) {
		make_path(folders[i], path);
		assert(!mkdir(path, 0700));
	}
}

static void look_up(const char *folder)
{
	static const struct path_judge any = { 0 };
	static const char *const paths[] = { "/usr/lib/a.so", "/bin/b", "/", "" };
	struct file_package packages[4];
	struct judged_root below = { .pid = getpid(), .judge = &any };
	char path[PATH_BYTES];

	make_path(folder, path);
	below.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert(below.fd >= 0);
	(void)file_packages_find(&below, paths, 4, packages);
	for (int i = 0; i < 4; i++) {
		assert(memchr(packages[i].name, 0, sizeof(packages[i].name)));
		assert(!*packages[i].name == (packages[i].format == PACKAGE_UNKNOWN));
	}
	(void)distribution_debuginfod(&below);
	close(below.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_made;

	if (!is_made)
		make_root();
	is_made = true;
	for (int i = 0; i < FILE_COUNT; i++) {
		char path[PATH_BYTES];
		int fd;

		make_path(files[i], path);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
		close(fd);
	}
	look_up("dpkg");
	look_up("apk");
	return 0;
}
