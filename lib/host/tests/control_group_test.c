/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/host/control_group.h"
#include "lib/host/tests/proc_fixture.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void assert_id(const char *text, const char *expected)
{
	struct control_group group;

	memset(&group, 'x', sizeof(group));
	control_group_parse(text, strlen(text), &group);
	if (strcmp(group.container_id, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", text, group.container_id, expected);
}

static void assert_unit(const char *text, const char *expected)
{
	struct control_group group;

	memset(&group, 'x', sizeof(group));
	control_group_parse(text, strlen(text), &group);
	if (strcmp(group.unit, expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", text, group.unit, expected);
}

/* The one line of cgroups version 2. */
static void assert_path(const char *path, const char *expected)
{
	char line[1024];

	snprintf(line, sizeof(line), "0::%s\n", path);
	assert_id(line, expected);
}

static void engines_are_known_by_the_names_of_their_groups(void **state)
{
	static const char *const paths[] = {
		"/system.slice/docker-" ID ".scope",
		"/docker/" ID,
		"/system.slice/nerdctl-" ID ".scope",
		"/default/" ID,
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1b2c_3d.slice/"
		"cri-containerd-" ID ".scope",
		"/kubepods/besteffort/pod1b2c-3d/" ID,
		"/kubepods-besteffort-pod1b2c.slice:cri-containerd:" ID,
		"/kubepods.slice/kubepods-pod1b2c_3d.slice/crio-" ID ".scope",
		"/kubepods/pod1b2c-3d/crio-" ID,
		"/kubepods.slice/kubepods-pod1b2c_3d.slice/crio-" ID ".scope/container",
		"/machine.slice/libpod-" ID ".scope",
		"/machine.slice/libpod-" ID ".scope/container",
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		".scope/container",
		"/user.slice/podman.service/libpod-payload-" ID,
		"/libpod_parent/libpod-" ID,
		"/../../docker-" ID ".scope",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_path(paths[i], ID);
}

static void containers_without_digits_are_known_by_name(void **state)
{
	(void)state;
	assert_path("/machine.slice/machine-web.scope", "web");
	assert_path("/machine.slice/machine-web\\x2d1.scope/payload", "web-1");
	assert_path("/machine.slice/systemd-nspawn@db.service/payload", "db");
	assert_path("/lxc.payload.web/system.slice/cron.service", "web");
	assert_path("/lxc.payload/web", "web");
	assert_path("/lxc/web-1/init.scope", "web-1");
	assert_path("/system.slice/garden.service/garden/any-name", "any-name");
	assert_path("/garden/good/6f265890-5165-7fab-6b52-18d1", "6f265890-5165-7fab-6b52-18d1");
	assert_path("/ecs/93a1/0123456789abcdef0123456789abcdef-3623178273",
		    "0123456789abcdef0123456789abcdef-3623178273");
}

static void what_is_no_container_has_no_id(void **state)
{
	static const char *const paths[] = {
		"/",
		"",
		"//",
		"/init.scope",
		"/system.slice/ssh.service",
		"/user.slice/user-0.slice/session-3.scope",
		"/user.slice/user-1000.slice/user@1000.service/app.slice",
		/* Monitors, which are outside of the containers. */
		"/kubepods.slice/crio-conmon-" ID ".scope",
		"/machine.slice/libpod-conmon-" ID ".scope",
		"/lxc.monitor.web",
		"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator",
		/* Names that are almost container names. */
		"/docker/" ID "0",
		"/docker/0" ID,
		"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
		"/docker/0123456789abcdef",
		"/machine.slice/machine-.scope",
		"/machine.slice/machine-\\x00.scope",
		"/machine.slice/machine-a\\x0ab.scope",
		"/machine.slice/systemd-nspawn@.service",
		"/machine.slice/systemd-nspawn@db",
		"/lxc/",
		"/lxc.payload.",
		"/lxc/\xc3\xa4",
		"/garden/",
		"/6f265890-5165-7fab-6b52-18dx",
		"/6f265890-5165-7fab-6b52018d1",
		"/0123456789abcdef0123456789abcdef-",
		"/0123456789abcdef0123456789abcdef-1a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_path(paths[i], "");
}

static void the_innermost_container_counts(void **state)
{
	(void)state;
	assert_path("/docker/" OTHER "/docker/" ID "/init.scope", ID);
	assert_path("/machine.slice/machine-web.scope/payload/system.slice/docker-" ID ".scope",
		    ID);
	assert_path("/docker/" ID "/system.slice/crio-conmon-" OTHER ".scope", ID);
}

static void the_lines_of_version_1_are_looked_through(void **state)
{
	(void)state;
	assert_id("12:pids:/user.slice\n"
		  "4:cpu,cpuacct:/docker/" ID "\n"
		  "1:name=systemd:/docker/" OTHER "\n"
		  "0::/\n",
		  ID);
	/* A path may hold colons, and the last line lack its end. */
	assert_id("11:memory:/\n1:name=systemd:/a:b:c/docker/" ID, ID);
}

static void rubbish_is_no_container(void **state)
{
	char name[CONTAINER_ID_MAX_BYTES + 64], text[CONTAINER_ID_MAX_BYTES + 128];

	(void)state;
	assert_id("", "");
	assert_id("\n\n:\n::\n:::", "");
	assert_id("docker/" ID "\n0:docker/" ID "\n", "");
	memset(name, 'n', sizeof(name));
	name[CONTAINER_ID_MAX_BYTES] = '\0';
	snprintf(text, sizeof(text), "0::/lxc/%s\n", name);
	assert_id(text, "");
	name[CONTAINER_ID_MAX_BYTES - 1] = '\0';
	snprintf(text, sizeof(text), "0::/lxc/%s\n", name);
	assert_id(text, name);
	assert_path("/docker/" ID " (deleted)", ID);
}

static void it_is_read_from_the_process(void **state)
{
	char folder[] = "/tmp/control_group_test_XXXXXX";
	static char large[20000];
	struct control_group group;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_fake_file(folder, "7/cgroup", "0::/system.slice/docker.service/docker/" ID "\n");
	control_group_read(folder, 7, &group);
	assert_string_equal(group.container_id, ID);
	assert_string_equal(group.unit, "docker.service");
	control_group_read(folder, 8, &group);
	assert_string_equal(group.container_id, "");
	assert_string_equal(group.unit, "");
	/* The container might be in the part that was cut off. */
	memset(large, 'x', sizeof(large));
	memcpy(large, "1:a:/docker/", 12);
	memcpy(large + 16384 - 64, ID, 64);
	large[16384 - 65] = '/';
	write_fake_bytes(folder, "9/cgroup", large, sizeof(large));
	control_group_read(folder, 9, &group);
	assert_string_equal(group.container_id, "");
	remove_folder(folder);
}

static void units_are_named_by_their_groups(void **state)
{
	char long_name[400] = "0::/system.slice/";

	(void)state;
	assert_unit("0::/system.slice/nginx.service\n", "nginx.service");
	assert_unit("0::/system.slice/system-postgres.slice/postgres@15-main.service\n",
		    "postgres@15-main.service");
	assert_unit("0::/user.slice/user-1000.slice/session-3.scope\n", "session-3.scope");
	/* The innermost one. */
	assert_unit("0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-mail.scope\n",
		    "app-mail.scope");
	assert_unit("0::/system.slice/build.service/jobs/7\n", "build.service");
	assert_unit("0::/init.scope\n", "init.scope");
	assert_unit("0::/system.slice/_cpu.service (deleted)\n", "cpu.service");
	assert_unit("0::/system.slice/dev-disk-by\\x2dlabel-x.swap\n",
		    "dev-disk-by\\x2dlabel-x.swap");
	/* A container is none, but what runs it or runs in it may be. */
	assert_unit("0::/system.slice/docker-" ID ".scope\n", "");
	assert_unit("0::/machine.slice/machine-web.scope\n", "");
	assert_unit("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		    ".scope/container\n",
		    "user@1000.service");
	assert_unit("0::/lxc.payload.web/system.slice/nginx.service\n", "nginx.service");
	/* Version 1: one hierarchy is systemd's, in any line. */
	assert_unit("4:cpu,cpuacct:/x.service\n3:memory:/y.service\n"
		    "1:name=systemd:/system.slice/nginx.service\n0::/\n",
		    "nginx.service");
	assert_unit("4:cpu,cpuacct:/x.service\n", "");
	assert_unit("0::/user.slice\n", "");
	assert_unit("0::/.service\n", "");
	assert_unit("0::/_.service\n", "");
	assert_unit("0::/a\tb.service\n", "");
	assert_unit("0::/caf\xc3\xa9.service\n", "");
	assert_unit("", "");
	memset(long_name + strlen(long_name), 'x', 247);
	strcat(long_name, ".service");
	assert_unit(long_name, long_name + strlen("0::/system.slice/"));
	memset(long_name + strlen("0::/system.slice/"), 'x', 248);
	strcpy(long_name + strlen("0::/system.slice/") + 248, ".service");
	assert_unit(long_name, "");
}

static void in_a_namespace_of_its_own_it_is_read_from_the_mounts(void **state)
{
	static const char mounts[] =
		"1 0 0:1 / / rw - overlay overlay rw\n"
		"2 1 8:1 /var/lib/docker/containers/short/x /etc/x rw - ext4 /dev/sda rw\n"
		"3 1 8:1 /var/lib/docker/containers/" ID
		"/hostname /etc/hostname rw - ext4 /dev/sda rw\n"
		"4 1 8:1 /var/lib/docker/containers/" OTHER
		"/hosts /etc/hosts rw - ext4 /dev/sda rw\n";
	char folder[] = "/tmp/control_group_test_XXXXXX", id[CONTAINER_ID_MAX_BYTES];
	struct control_group group;

	(void)state;
	assert_non_null(mkdtemp(folder));
	write_fake_file(folder, "7/cgroup", "0::/\n");
	write_fake_file(folder, "7/mountinfo", mounts);
	control_group_read(folder, 7, &group);
	assert_string_equal(group.container_id, ID);
	write_fake_file(folder, "8/cgroup", "2:memory:/\n0::/\n");
	write_fake_file(folder, "8/mountinfo",
			"3 1 8:1 /x/overlay-containers/" OTHER
			"/userdata/hostname /etc/hostname rw\n");
	control_group_read(folder, 8, &group);
	assert_string_equal(group.container_id, OTHER);
	/* A process in a group that has a name is in no container because of its mounts. */
	write_fake_file(folder, "9/cgroup", "2:memory:/user.slice\n0::/\n");
	write_fake_file(folder, "9/mountinfo", mounts);
	control_group_read(folder, 9, &group);
	assert_string_equal(group.container_id, "");
	write_fake_file(folder, "10/cgroup", "0::/\n");
	control_group_read(folder, 10, &group);
	assert_string_equal(group.container_id, "");
	control_group_parse_mounts("containers/" ID, strlen("containers/" ID), id);
	assert_string_equal(id, "");
	remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_are_known_by_the_names_of_their_groups),
		cmocka_unit_test(containers_without_digits_are_known_by_name),
		cmocka_unit_test(what_is_no_container_has_no_id),
		cmocka_unit_test(the_innermost_container_counts),
		cmocka_unit_test(the_lines_of_version_1_are_looked_through),
		cmocka_unit_test(rubbish_is_no_container),
		cmocka_unit_test(units_are_named_by_their_groups),
		cmocka_unit_test(it_is_read_from_the_process),
		cmocka_unit_test(in_a_namespace_of_its_own_it_is_read_from_the_mounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
