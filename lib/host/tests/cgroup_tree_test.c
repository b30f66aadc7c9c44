// SPDX-License-Identifier: Apache-2.0
#include "lib/host/cgroup_tree.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/host/container_names.h"

#define ID_A "aaaa456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "aaaab56789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_C "cccc456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct tree {
	char root[64];
	char mountinfo[96];
};

/* Makes the folder root/@path with those above it. */
static void make(const struct tree *tree, const char *path)
{
	char all[512];

	snprintf(all, sizeof(all), "%s/%s/", tree->root, path);
	for (char *at = all + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		assert_true(!mkdir(all, 0700) || errno == EEXIST);
		*at = '/';
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Writes a file at root/@path, whose folder is made. */
static void put(const struct tree *tree, const char *path, const char *text)
{
	char folder[512], all[512];

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	make(tree, folder);
	snprintf(all, sizeof(all), "%s/%s", tree->root, path);
	write_file(all, text);
}

static int setup(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	char text[1024];

	assert_non_null(tree);
	strcpy(tree->root, "/tmp/allframes-cgroups-XXXXXX");
	assert_non_null(mkdtemp(tree->root));
	snprintf(tree->mountinfo, sizeof(tree->mountinfo), "%s/mountinfo", tree->root);
	snprintf(text, sizeof(text),
		 "22 1 8:1 / / rw,relatime - ext4 /dev/sda rw\n"
		 "31 23 0:28 / %s/v1/memory rw shared:9 - cgroup cgroup rw,memory\n"
		 "32 23 0:28 / %s/v1/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
		 "34 23 0:28 / %s/v1/blkio rw,relatime - cgroup cgroup rw,blkio\n"
		 "35 23 0:28 / %s/v1/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
		 "33 23 0:29 / %s/v2 rw,relatime shared:1 - cgroup2 cgroup2 rw\n",
		 tree->root, tree->root, tree->root, tree->root, tree->root);
	write_file(tree->mountinfo, text);
	make(tree, "v1/memory");
	make(tree, "v1/cpu,cpuacct/docker/" ID_C);
	make(tree, "v1/blkio/deep");
	make(tree, "v1/systemd/system.slice/only-there.service");
	make(tree, "v2/system.slice/nginx.service/below");
	make(tree, "v2/system.slice/docker-" ID_A ".scope/init.scope");
	make(tree, "v2/machine.slice/libpod-" ID_B ".scope/container");
	make(tree, "v2/user.slice/twice.service");
	make(tree, "v2/system.slice/twice.service");
	*state = tree;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static int teardown(void **state)
{
	struct tree *tree = *state;

	nftw(tree->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(tree);
	return 0;
}

static void assert_at(const struct tree *tree, const struct cgroup_location *location,
		      const char *path, const char *controller)
{
	char all[512];

	snprintf(all, sizeof(all), "%s/%s", tree->root, path);
	assert_string_equal(location->path, all);
	assert_string_equal(location->controller, controller);
}

static int locate(const struct tree *tree, const char *path, struct cgroup_location *location)
{
	char all[512];

	snprintf(all, sizeof(all), "%s/%s", tree->root, path);
	return cgroup_locate(tree->mountinfo, all, location);
}

static void a_directory_belongs_to_the_mount_that_it_is_below(void **state)
{
	const struct tree *tree = *state;
	struct cgroup_location location;

	assert_int_equal(locate(tree, "v2/system.slice/", &location), 0);
	assert_at(tree, &location, "v2/system.slice", "");
	assert_int_equal(locate(tree, "v1/cpu,cpuacct/docker", &location), 0);
	assert_at(tree, &location, "v1/cpu,cpuacct/docker", "cpu");
	assert_int_equal(locate(tree, "v1/memory", &location), 0);
	assert_at(tree, &location, "v1/memory", "memory");
	/* The kernel has another name for it. */
	assert_int_equal(locate(tree, "v1/blkio/deep", &location), 0);
	assert_at(tree, &location, "v1/blkio/deep", "io");
	/* It has no controller. */
	assert_int_equal(locate(tree, "v1/systemd/system.slice", &location), 0);
	assert_at(tree, &location, "v1/systemd/system.slice", "name=systemd");
	assert_int_equal(locate(tree, "v1", &location), -ENOENT);
	assert_int_equal(locate(tree, "mountinfo", &location), -ENOENT);
	assert_int_equal(locate(tree, "nothing", &location), -ENOENT);
	assert_int_equal(cgroup_locate("/nonexistent", tree->root, &location), -ENOENT);
}

static void a_container_is_found_by_its_id_or_the_start_of_it(void **state)
{
	const struct tree *tree = *state;
	struct cgroup_location location;

	assert_int_equal(cgroup_find_container(tree->mountinfo, ID_A, &location), 0);
	assert_at(tree, &location, "v2/system.slice/docker-" ID_A ".scope", "");
	assert_int_equal(cgroup_find_container(tree->mountinfo, "aaaa4", &location), 0);
	assert_at(tree, &location, "v2/system.slice/docker-" ID_A ".scope", "");
	assert_int_equal(cgroup_find_container(tree->mountinfo, "aaaab", &location), 0);
	assert_at(tree, &location, "v2/machine.slice/libpod-" ID_B ".scope", "");
	assert_int_equal(cgroup_find_container(tree->mountinfo, ID_C, &location), 0);
	assert_at(tree, &location, "v1/cpu,cpuacct/docker/" ID_C, "cpu");
	assert_int_equal(cgroup_find_container(tree->mountinfo, "aaaa", &location), -EEXIST);
	assert_int_equal(cgroup_find_container(tree->mountinfo, "ccc", &location), -ENOENT);
	assert_int_equal(cgroup_find_container(tree->mountinfo, "dddd", &location), -ENOENT);
}

static void a_unit_is_found_by_its_name(void **state)
{
	const struct tree *tree = *state;
	struct cgroup_location location;

	assert_int_equal(cgroup_find_unit(tree->mountinfo, "nginx.service", &location), 0);
	assert_at(tree, &location, "v2/system.slice/nginx.service", "");
	assert_int_equal(cgroup_find_unit(tree->mountinfo, "twice.service", &location), -EEXIST);
	/* In systemd's own hierarchy of version 1 only. */
	assert_int_equal(cgroup_find_unit(tree->mountinfo, "only-there.service", &location), 0);
	assert_at(tree, &location, "v1/systemd/system.slice/only-there.service", "name=systemd");
	assert_int_equal(cgroup_find_unit(tree->mountinfo, "nginx", &location), -ENOENT);
}

static void a_named_hierarchy_has_a_number(void **state)
{
	static const char text[] = "12:pids:/user.slice\n"
				   "3:cpu,cpuacct:/\n"
				   "9:name=systemd:/user.slice/session-1.scope\n"
				   "no number\n"
				   "8:name=elogind:/\n"
				   "0::/user.slice";
	uint32_t number = 77;

	(void)state;
	assert_true(cgroup_is_named("name=systemd"));
	assert_false(cgroup_is_named("memory"));
	assert_false(cgroup_is_named(""));
	assert_int_equal(cgroup_find_hierarchy(text, "name=system", &number), -ENOENT);
	assert_int_equal(cgroup_find_hierarchy("", "name=systemd", &number), -ENOENT);
	assert_int_equal(number, 77);
	assert_int_equal(cgroup_find_hierarchy(text, "name=systemd", &number), 0);
	assert_int_equal(number, 9);
	assert_int_equal(cgroup_find_hierarchy(text, "name=elogind", &number), 0);
	assert_int_equal(number, 8);
}

static void the_path_of_a_process_is_that_of_its_group(void **state)
{
	const struct tree *tree = *state;
	char path[CGROUP_PATH_MAX_BYTES] = "untouched", directory[512];
	struct stat status;

	put(tree, "proc/12/cgroup", "4:memory:/docker\n0::/system.slice/nginx.service\n");
	snprintf(directory, sizeof(directory), "%s/v2/system.slice/nginx.service", tree->root);
	assert_int_equal(stat(directory, &status), 0);
	snprintf(directory, sizeof(directory), "%s/proc", tree->root);
	/* It has moved since. */
	assert_int_equal(cgroup_path_of_process(tree->mountinfo, directory, 12, status.st_ino + 1,
						path),
			 -ENOENT);
	assert_int_equal(cgroup_path_of_process(tree->mountinfo, directory, 13, status.st_ino,
						path),
			 -ENOENT);
	assert_string_equal(path, "untouched");
	assert_int_equal(
		cgroup_path_of_process(tree->mountinfo, directory, 12, status.st_ino, path), 0);
	assert_string_equal(path, "/system.slice/nginx.service");
}

static void assert_named(const struct tree *tree, const char *name, const char *expected)
{
	char id[CONTAINER_ID_MAX_BYTES];

	assert_int_equal(container_names_find(tree->root, name, id), 0);
	assert_string_equal(id, expected);
}

static void names_are_those_in_the_files_of_the_engines(void **state)
{
	const struct tree *tree = *state;
	char id[CONTAINER_ID_MAX_BYTES];

	put(tree, "var/lib/docker/containers/" ID_A "/config.v2.json",
	    "{\"ID\":\"" ID_A "\",\"Image\":\"sha256:1\",\"Name\":\"/web\",\"Path\":\"nginx\"}");
	put(tree, "var/lib/containers/storage/overlay-containers/containers.json",
	    "[{\"id\":\"" ID_B "\",\"names\":[\"db\",\"db-alias\"],\"image\":\"x\"},"
	    "{\"id\":\"" ID_C "\",\"image\":\"names\"},{\"id\":\"short\",\"names\":[\"broken\"]}]");
	put(tree, "var/lib/nerdctl/1935db59/names/default/cache", ID_C);
	put(tree, "var/log/containers/shop-7d9_default_app-" ID_A ".log", "");
	put(tree, "var/log/containers/shop-7d9_default_sidecar-" ID_B ".log", "");
	put(tree, "var/log/containers/not-one.log", "");
	assert_named(tree, "web", ID_A);
	assert_named(tree, "db", ID_B);
	assert_named(tree, "db-alias", ID_B);
	assert_named(tree, "cache", ID_C);
	assert_named(tree, "app", ID_A);
	assert_int_equal(container_names_find(tree->root, "shop-7d9", id), -EEXIST);
	assert_int_equal(container_names_find(tree->root, "we", id), -ENOENT);
	assert_int_equal(container_names_find(tree->root, "broken", id), -ENOENT);
	assert_int_equal(container_names_find(tree->root, "x", id), -ENOENT);
	assert_int_equal(container_names_find(tree->root, "", id), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_directory_belongs_to_the_mount_that_it_is_below),
		TEST(a_container_is_found_by_its_id_or_the_start_of_it),
		TEST(a_unit_is_found_by_its_name),
		cmocka_unit_test(a_named_hierarchy_has_a_number),
		TEST(the_path_of_a_process_is_that_of_its_group),
		TEST(names_are_those_in_the_files_of_the_engines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
