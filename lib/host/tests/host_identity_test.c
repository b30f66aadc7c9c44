// SPDX-License-Identifier: Apache-2.0
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

#include "lib/host/host_identity.h"

#define HOST_ID "0123456789abcdef0123456789abcdef"
#define OTHER_ID "ffffffffffffffffffffffffffffffff"

static int make_root(void **state)
{
	char template[] = "/tmp/host_identity_XXXXXX";
	char command[256];
	char *root = mkdtemp(template);

	assert_non_null(root);
	snprintf(command, sizeof(command), "mkdir -p %s/etc %s/proc/1/root/etc %s/var/lib/dbus",
		 root, root, root);
	assert_int_equal(system(command), 0);
	*state = strdup(root);
	return 0;
}

static int remove_root(void **state)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	free(*state);
	return system(command);
}

static void put(const char *root, const char *path, const char *text)
{
	char full_path[256];
	FILE *file;

	snprintf(full_path, sizeof(full_path), "%s/%s", root, path);
	file = fopen(full_path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void the_host_has_its_name_and_architecture(void **state)
{
	struct host_identity identity;
	char name[256];

	assert_int_equal(gethostname(name, sizeof(name)), 0);
	host_identity_read(&identity, *state);
	assert_string_equal(identity.name, name);
	assert_true(!strcmp(identity.arch, "amd64") || !strcmp(identity.arch, "arm64"));
	assert_string_equal(identity.id, "");
}

static void the_machine_id_of_process_1_goes_before_a_containers(void **state)
{
	struct host_identity identity;

	put(*state, "etc/machine-id", OTHER_ID "\n");
	host_identity_read(&identity, *state);
	assert_string_equal(identity.id, OTHER_ID);
	put(*state, "proc/1/root/etc/machine-id", HOST_ID "\n");
	host_identity_read(&identity, *state);
	assert_string_equal(identity.id, HOST_ID);
}

static void what_is_no_machine_id_is_passed_over(void **state)
{
	static const char *const wrong[] = {
		"",
		"uninitialized\n",
		"0123456789abcdef\n",
		"0123456789ABCDEF0123456789ABCDEF\n",
	};
	struct host_identity identity;

	put(*state, "var/lib/dbus/machine-id", HOST_ID);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		put(*state, "etc/machine-id", wrong[i]);
		host_identity_read(&identity, *state);
		assert_string_equal(identity.id, HOST_ID);
	}
}

#define root_test(function) cmocka_unit_test_setup_teardown(function, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		root_test(the_host_has_its_name_and_architecture),
		root_test(the_machine_id_of_process_1_goes_before_a_containers),
		root_test(what_is_no_machine_id_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
