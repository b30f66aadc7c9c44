/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/process_info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void texts_are_copied_and_live_with_the_last_reference(void **state)
{
	char path[] = "/usr/bin/cat", container[] = "c0ffee", service[] = "shop";
	struct process_info *info = process_info_create(&(struct process_info){
		.pid = 7,
		.executable_path = path,
		.container_id = container,
		.service_name = service,
		.command_line = "cat /etc/motd",
		.user_name = "www",
		.unit = "shop.service",
		.parent_comm = "sh",
		.parent_pid = 3,
	});

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	memset(container, 'x', sizeof(container) - 1);
	memset(service, 'x', sizeof(service) - 1);
	assert_ptr_equal(process_info_ref(info), info);
	process_info_unref(info);
	assert_int_equal(info->pid, 7);
	assert_string_equal(info->executable_path, "/usr/bin/cat");
	assert_string_equal(info->container_id, "c0ffee");
	assert_string_equal(info->service_name, "shop");
	assert_string_equal(info->command_line, "cat /etc/motd");
	assert_string_equal(info->user_name, "www");
	assert_string_equal(info->unit, "shop.service");
	assert_string_equal(info->parent_comm, "sh");
	assert_int_equal(info->parent_pid, 3);
	assert_string_equal(process_info_executable_name(info), "cat");
	process_info_unref(info);
	process_info_unref(NULL);
}

static void what_is_not_known_is_empty(void **state)
{
	struct process_info *info = process_info_create(&(struct process_info){ .pid = 7 });

	(void)state;
	assert_string_equal(info->executable_path, "");
	assert_string_equal(info->container_id, "");
	assert_string_equal(info->service_name, "");
	assert_string_equal(process_info_executable_name(info), "");
	process_info_unref(info);
}

static void equal_are_those_of_equal_pids_and_texts(void **state)
{
	static const struct attribute attributes[] = { { "runtime", "go" },
						       { "empty", "" },
						       { "version", "v1" } };
	static const struct attribute others[] = { { "runtime", "go" }, { "version", "v2" } };
	static const struct attribute renamed[] = { { "runtime", "go" }, { "versio", "v1" } };
	const struct process_info values = {
		.pid = 7,
		.executable_path = "/bin/x",
		.attributes = attributes,
		.attribute_count = 3,
	};
	struct process_info moved = values, newer = values, child = values, other_key = values;
	struct process_info adopted = values;
	struct process_info *infos[7];

	(void)state;
	/* The same bytes in another text. */
	moved.container_id = "go";
	moved.attributes = &attributes[1];
	moved.attribute_count = 2;
	newer.attributes = others;
	newer.attribute_count = 2;
	other_key.attributes = renamed;
	other_key.attribute_count = 2;
	child.pid = 8;
	adopted.parent_pid = 1;
	infos[0] = process_info_create(&values);
	/* Made from an info whose computed fields are set; these are not copied. */
	infos[1] = process_info_create(infos[0]);
	infos[2] = process_info_create(&moved);
	infos[3] = process_info_create(&newer);
	infos[4] = process_info_create(&child);
	infos[5] = process_info_create(&other_key);
	infos[6] = process_info_create(&adopted);
	assert_true(process_info_equal(infos[0], infos[1]));
	assert_int_equal(infos[0]->hash, infos[1]->hash);
	assert_string_equal(process_info_attribute(infos[1], "version"), "v1");
	assert_int_equal(infos[1]->attribute_count, 2);
	for (int i = 2; i < 7; i++)
		assert_false(process_info_equal(infos[0], infos[i]));
	assert_false(process_info_equal(infos[0], NULL));
	assert_true(process_info_equal(NULL, NULL));
	for (int i = 0; i < 7; i++)
		process_info_unref(infos[i]);
}

static void a_path_without_a_slash_is_a_name(void **state)
{
	struct process_info *info =
		process_info_create(&(struct process_info){ .executable_path = "memfd:x" });

	(void)state;
	assert_string_equal(process_info_executable_name(info), "memfd:x");
	process_info_unref(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_copied_and_live_with_the_last_reference),
		cmocka_unit_test(what_is_not_known_is_empty),
		cmocka_unit_test(equal_are_those_of_equal_pids_and_texts),
		cmocka_unit_test(a_path_without_a_slash_is_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
