/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/kernel_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/capability.h>

#include "lib/host/tests/proc_fixture.h"

struct taken {
	char good[2048];
	char bad[2048];
};

static void take(void *context, bool is_good, const char *text)
{
	struct taken *taken = context;
	char *to = is_good ? taken->good : taken->bad;

	strcat(to, text);
	strcat(to, "\n");
}

static void each_capability_that_is_missing_is_told_with_what_it_costs(void **state)
{
	const uint64_t most = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON | 1ULL << CAP_DAC_READ_SEARCH |
			      1ULL << CAP_CHECKPOINT_RESTORE | 1ULL << CAP_SYSLOG;
	struct taken taken = { 0 };

	(void)state;
	kernel_check_capabilities(most, take, &taken);
	assert_string_equal(taken.bad,
			    "CAP_SYS_PTRACE is missing: processes are not looked into: no "
			    "names, no user stacks\n");
	assert_non_null(strstr(taken.good, "CAP_BPF\nCAP_PERFMON\nCAP_DAC_READ_SEARCH\n"));
	taken = (struct taken){ 0 };
	kernel_check_capabilities(UINT64_MAX, take, &taken);
	assert_string_equal(taken.bad, "");
}

static void sys_admin_holds_the_newer_ones(void **state)
{
	struct taken taken = { 0 };

	(void)state;
	kernel_check_capabilities(1ULL << CAP_SYS_ADMIN, take, &taken);
	assert_string_equal(taken.good, "CAP_BPF\nCAP_PERFMON\nCAP_CHECKPOINT_RESTORE\n");
}

static void all_is_told_whatever_is_missing(void **state)
{
	static const char *const things[] = { "kernel ",      "type information", "bpf(2)",
					      "ring buffers", "perf events",	  "the kernel",
					      "lockdown",     "CAP_SYSLOG" };
	struct taken taken = { 0 };

	(void)state;
	kernel_check_all(take, &taken);
	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		assert_true(strstr(taken.good, things[i]) || strstr(taken.bad, things[i]));
}

static bool has_addresses(const char *root, const char *text)
{
	char path[PATH_MAX];

	write_fake_file(root, "kallsyms", text);
	snprintf(path, sizeof(path), "%s/kallsyms", root);
	return kernel_check_has_addresses(path);
}

static void addresses_are_hidden_only_where_all_are_0(void **state)
{
	char root[] = "/tmp/allframes-test-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_true(has_addresses(root, "0000000000000000 A fixed_percpu_data\n"
					"0000000000001000 A irq_stack_backing_store\n"));
	assert_false(has_addresses(root, "0000000000000000 A fixed_percpu_data\n"
					 "0000000000000000 T _stext\n"));
	assert_false(kernel_check_has_addresses("/nowhere"));
	remove_folder(root);
}

static enum kernel_lockdown lockdown(const char *root, const char *setting, const char *command)
{
	char setting_path[PATH_MAX], command_path[PATH_MAX];

	snprintf(setting_path, sizeof(setting_path), "%s/%s", root, setting ? "lockdown" : "none");
	snprintf(command_path, sizeof(command_path), "%s/cmdline", root);
	if (setting)
		write_fake_file(root, "lockdown", setting);
	write_fake_file(root, "cmdline", command);
	return kernel_check_lockdown(setting_path, command_path);
}

static void lockdown_is_told_by_its_setting_or_the_command_line(void **state)
{
	char root[] = "/tmp/allframes-test-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(lockdown(root, "none integrity [confidentiality]\n", "quiet\n"),
			 KERNEL_CONFIDENTIAL);
	assert_int_equal(lockdown(root, "none [integrity] confidentiality\n",
				  "lockdown=confidentiality\n"),
			 KERNEL_INTEGRITY);
	assert_int_equal(lockdown(root, "[none] integrity confidentiality\n", "quiet\n"),
			 KERNEL_OPEN);
	assert_int_equal(lockdown(root, NULL, "quiet lockdown=confidentiality\n"),
			 KERNEL_CONFIDENTIAL);
	assert_int_equal(lockdown(root, NULL, "quiet\n"), KERNEL_OPEN);
	remove_folder(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_capability_that_is_missing_is_told_with_what_it_costs),
		cmocka_unit_test(sys_admin_holds_the_newer_ones),
		cmocka_unit_test(all_is_told_whatever_is_missing),
		cmocka_unit_test(addresses_are_hidden_only_where_all_are_0),
		cmocka_unit_test(lockdown_is_told_by_its_setting_or_the_command_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
