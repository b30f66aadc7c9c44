/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/process_attributes.h"

#include "agent/processes/tests/fakes.h"

struct fixture {
	struct process_table table;
	struct fake_proc proc;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	process_table_init(&fixture.table);
	fake_proc_init(&fixture.proc);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	process_table_deinit(&fixture->table);
	fake_proc_deinit(&fixture->proc);
	return 0;
}

static struct process *add(struct fixture *fixture, uint32_t pid, uint64_t exec_id)
{
	const struct process_stamp stamp = { .start_time_ns = 100, .exec_id = exec_id };

	return process_table_add(&fixture->table, pid, &stamp, "test", 1000);
}

/* What /proc says of @pid; @environment has one variable. */
static void tell(struct fixture *fixture, uint32_t pid, const char *path, const char *cgroup,
		 const char *environment)
{
	char environ_path[128];
	FILE *file;

	fake_proc_write(&fixture->proc, pid, "cgroup", cgroup);
	fake_proc_link(&fixture->proc, pid, "exe", path);
	snprintf(environ_path, sizeof(environ_path), "%s/%u/environ", fixture->proc.root, pid);
	file = fopen(environ_path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(environment, strlen(environment) + 1, 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

static void a_program_is_asked_once(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1);
	struct process *next;
	struct process_info *info;

	tell(fixture, 7, "/opt/shop/server", "0::/lxc.payload.web/init.scope\n",
	     "OTEL_SERVICE_NAME=shop");
	process_attributes_read(&fixture->table, process, fixture->proc.root);
	info = process->info;
	assert_non_null(info);
	assert_int_equal(info->pid, 7);
	assert_string_equal(info->executable_path, "/opt/shop/server");
	assert_string_equal(info->container_id, "web");
	assert_string_equal(info->service_name, "shop");
	tell(fixture, 7, "/opt/shop/other", "0::/\n", "A=b");
	process_attributes_read(&fixture->table, process, fixture->proc.root);
	assert_ptr_equal(process->info, info);
	/* After an exec. */
	next = add(fixture, 7, 2);
	process_attributes_read(&fixture->table, next, fixture->proc.root);
	assert_string_equal(next->info->executable_path, "/opt/shop/other");
	assert_string_equal(next->info->container_id, "");
	assert_string_equal(next->info->service_name, "");
	process_table_remove(&fixture->table, next);
	process_table_remove(&fixture->table, process);
}

static void without_an_executable_there_is_nothing_to_tell(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1);

	/* A kernel thread, or a process that exits. */
	fake_proc_write(&fixture->proc, 7, "cgroup", "0::/lxc.payload.web\n");
	process_attributes_read(&fixture->table, process, fixture->proc.root);
	assert_null(process->info);
	/* With no more than that the process is known. */
	fake_proc_link(&fixture->proc, 7, "exe", "/bin/sh");
	process_attributes_read(&fixture->table, process, fixture->proc.root);
	assert_string_equal(process->info->executable_path, "/bin/sh");
	assert_string_equal(process->info->container_id, "web");
	assert_string_equal(process->info->service_name, "");
	process_table_remove(&fixture->table, process);
}

static void a_fork_is_told_of_as_its_parent_is(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent = add(fixture, 7, 1);
	struct process *child = add(fixture, 8, 1);
	struct process_info *info;

	process_attributes_inherit(&fixture->table, child, parent);
	assert_null(child->info);
	tell(fixture, 7, "/opt/shop/server", "0::/lxc.payload.web\n", "OTEL_SERVICE_NAME=shop");
	process_attributes_read(&fixture->table, parent, fixture->proc.root);
	process_attributes_inherit(&fixture->table, child, parent);
	info = child->info;
	assert_int_equal(info->pid, 8);
	assert_string_equal(info->executable_path, "/opt/shop/server");
	assert_string_equal(info->container_id, "web");
	assert_string_equal(info->service_name, "shop");
	assert_int_equal(parent->info->pid, 7);
	/* Its own files are not asked, and it is asked no more. */
	tell(fixture, 8, "/opt/shop/other", "0::/\n", "A=b");
	process_attributes_read(&fixture->table, child, fixture->proc.root);
	process_attributes_inherit(&fixture->table, child, parent);
	assert_ptr_equal(child->info, info);
	process_table_remove(&fixture->table, child);
	process_table_remove(&fixture->table, parent);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_program_is_asked_once),
		TEST(without_an_executable_there_is_nothing_to_tell),
		TEST(a_fork_is_told_of_as_its_parent_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
