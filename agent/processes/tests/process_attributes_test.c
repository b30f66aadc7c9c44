/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/process_attributes.h"

#include <sys/mman.h>
#include <unistd.h>

#include "lib/host/command_line.h"
#include "lib/host/process_environment.h"

#include "agent/processes/executable_cache.h"
#include "agent/processes/tests/fakes.h"

struct fixture {
	struct process_table table;
	struct fake_proc proc;
	struct user_names users;
	struct attribute_sources sources;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	process_table_init(&fixture.table);
	fake_proc_init(&fixture.proc);
	user_names_init(&fixture.users, "/etc/passwd");
	fixture.sources = (struct attribute_sources){ fixture.proc.root, &fixture.users };
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	process_table_deinit(&fixture->table);
	fake_proc_deinit(&fixture->proc);
	user_names_deinit(&fixture->users);
	return 0;
}

static struct process *add(struct fixture *fixture, uint32_t pid, uint64_t exec_id)
{
	const struct process_identity identity = { .start_time_ns = 100, .exec_id = exec_id };

	return process_table_add(&fixture->table, pid, &identity, 1000);
}

static void write_bytes(struct fixture *fixture, uint32_t pid, const char *name, const char *bytes,
			size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u/%s", fixture->proc.root, pid, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, size, 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

/* Writes the files of @pid in /proc; @environment has one variable. */
static void tell(struct fixture *fixture, uint32_t pid, const char *path, const char *cgroup,
		 const char *environment)
{
	fake_proc_write(&fixture->proc, pid, "cgroup", cgroup);
	fake_proc_link(&fixture->proc, pid, "exe", path);
	write_bytes(fixture, pid, "environ", environment, strlen(environment) + 1);
}

/* Gives the process's folder to another user, where this is root's test. */
static int chown_of(struct fixture *fixture, uint32_t pid, uid_t uid)
{
	char path[128];

	fake_proc_write(&fixture->proc, pid, "comm", "x\n");
	snprintf(path, sizeof(path), "%s/%u", fixture->proc.root, pid);
	return getuid() ? 0 : chown(path, uid, (gid_t)-1);
}

static struct proc_first_read first_read(struct fixture *fixture, const struct process *process)
{
	struct proc_first_read first = { .parent_pid = process->parent_pid };

	service_name_read(fixture->proc.root, (pid_t)process->pid, first.service_name);
	command_line_read(fixture->proc.root, (pid_t)process->pid, first.command_line);
	return first;
}

static void ask(struct fixture *fixture, struct process *process)
{
	struct proc_first_read first = first_read(fixture, process);
	const struct proc_maps none = { 0 };

	process_attributes_read(&fixture->table, process, &fixture->sources, &first, &none, NULL);
}

static void inherit(struct fixture *fixture, struct process *child, const struct process *parent)
{
	struct proc_first_read first = first_read(fixture, child);

	process_attributes_inherit(&fixture->table, child, parent, &fixture->sources, &first);
}

static void a_program_is_asked_once(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1);
	struct process *next;
	struct process_info *info;

	tell(fixture, 7, "/opt/shop/server", "0::/lxc.payload.web/init.scope\n",
	     "OTEL_SERVICE_NAME=shop");
	ask(fixture, process);
	info = process->info;
	assert_non_null(info);
	assert_int_equal(info->pid, 7);
	assert_string_equal(info->executable_path, "/opt/shop/server");
	assert_string_equal(info->container_id, "web");
	assert_string_equal(info->service_name, "shop");
	tell(fixture, 7, "/opt/shop/other", "0::/\n", "A=b");
	ask(fixture, process);
	assert_ptr_equal(process->info, info);
	/* After an exec. */
	next = add(fixture, 7, 2);
	ask(fixture, next);
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
	ask(fixture, process);
	assert_null(process->info);
	/* With no more than that the process is known. */
	fake_proc_link(&fixture->proc, 7, "exe", "/bin/sh");
	ask(fixture, process);
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

	inherit(fixture, child, parent);
	assert_null(child->info);
	tell(fixture, 7, "/opt/shop/server", "0::/lxc.payload.web\n", "OTEL_SERVICE_NAME=shop");
	ask(fixture, parent);
	inherit(fixture, child, parent);
	info = child->info;
	assert_int_equal(info->pid, 8);
	assert_string_equal(info->executable_path, "/opt/shop/server");
	assert_string_equal(info->container_id, "web");
	assert_string_equal(info->service_name, "shop");
	assert_int_equal(parent->info->pid, 7);
	/* Its own files are not asked, and it is asked no more. */
	tell(fixture, 8, "/opt/shop/other", "0::/\n", "A=b");
	ask(fixture, child);
	inherit(fixture, child, parent);
	assert_ptr_equal(child->info, info);
	process_table_remove(&fixture->table, child);
	process_table_remove(&fixture->table, parent);
}

static void it_is_known_who_runs_a_program_and_where(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1), *orphan = add(fixture, 9, 1);
	uid_t own = getuid();
	char number[16];

	process->parent_pid = 6;
	fake_proc_write(&fixture->proc, 6, "comm", "sh\n");
	tell(fixture, 7, "/opt/shop/server", "0::/system.slice/shop.service\n", "A=b");
	write_bytes(fixture, 7, "cmdline",
		    "server\0-port\0"
		    "80",
		    16);
	ask(fixture, process);
	assert_string_equal(process->info->command_line, "server -port 80");
	assert_string_equal(process->info->unit, "shop.service");
	assert_int_equal(process->info->parent_pid, 6);
	assert_string_equal(process->info->parent_comm, "sh");
	if (!own)
		assert_string_equal(process->info->user_name, "root");
	/* In a container the numbers have other names, and a parent may be outside. */
	assert_int_equal(chown_of(fixture, 9, 33), 0);
	tell(fixture, 9, "/opt/shop/server", "0::/lxc.payload.web\n", "A=b");
	ask(fixture, orphan);
	snprintf(number, sizeof(number), "%u", own ? own : 33);
	assert_string_equal(orphan->info->user_name, number);
	assert_int_equal(orphan->info->parent_pid, 0);
	assert_string_equal(orphan->info->parent_comm, "");
	assert_string_equal(orphan->info->unit, "");
	process_table_remove(&fixture->table, orphan);
	process_table_remove(&fixture->table, process);
}

static void a_fork_has_a_parent_and_a_command_line_of_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct process *parent = add(fixture, 7, 1), *child = add(fixture, 8, 1);
	struct process *gone = add(fixture, 9, 1);

	tell(fixture, 7, "/opt/shop/server", "0::/system.slice/shop.service\n", "A=b");
	fake_proc_write(&fixture->proc, 7, "comm", "server\n");
	write_bytes(fixture, 7, "cmdline", "server: master", 14);
	ask(fixture, parent);
	fake_proc_write(&fixture->proc, 8, "comm", "worker\n");
	write_bytes(fixture, 8, "cmdline", "server: worker", 14);
	child->parent_pid = gone->parent_pid = 7;
	inherit(fixture, child, parent);
	assert_string_equal(child->info->command_line, "server: worker");
	assert_string_equal(child->info->unit, "shop.service");
	assert_int_equal(child->info->parent_pid, 7);
	assert_string_equal(child->info->parent_comm, "server");
	process_attributes_inherit(&fixture->table, gone, parent, &fixture->sources, NULL);
	assert_string_equal(gone->info->command_line, "server: master");
	assert_string_equal(gone->info->user_name, parent->info->user_name);
	process_table_remove(&fixture->table, gone);
	process_table_remove(&fixture->table, child);
	process_table_remove(&fixture->table, parent);
}

static struct proc_mapping rows[] = {
	{ .inode = 1, .protection = PROT_EXEC, .path = "/lib/server" },
	{ .protection = PROT_EXEC, .path = "/opt/shop/server" },
	{ .inode = 2, .protection = PROT_EXEC, .path = "/opt/shop/server" },
	{ .inode = 2, .protection = PROT_EXEC, .path = "/opt/shop/server" },
};
static const struct proc_maps maps = { .rows = rows, .count = 4 };

static const struct program_facts facts_of_server = {
	.languages = 1 << (FRAME_GO - FRAME_FIRST_INTERPRETED),
	.count = 5,
	.items = {
		{ "process.executable.build_id.go", true, "a/b" },
		{ "process.runtime.name", false, "go" },
		{ "process.runtime.version", false, "go1.26.8" },
		{ "allframes.go.module.path", false, "example.com/shop" },
		{ "allframes.go.module.version", false, "v1.2.3" },
	},
};
static struct binary server_binary = { .fd = -1, .facts = &facts_of_server };
static struct executable server = { .id = 1 << 16, .binary = &server_binary };

static void read_mapped(struct fixture *fixture, struct process *process,
			const struct proc_maps *of_process, struct process_mapping *mappings)
{
	const struct proc_first_read first = { 0 };

	process_attributes_read(&fixture->table, process, &fixture->sources, &first, of_process,
				mappings);
}

static void expect_go(const struct process *process)
{
	assert_string_equal(process->info->executable_path, "/opt/shop/server");
	assert_string_equal(process_info_attribute(process->info, "process.runtime.name"), "go");
	assert_string_equal(process_info_attribute(process->info, "process.runtime.version"),
			    "go1.26.8");
	assert_string_equal(process_info_attribute(process->info, "allframes.go.module.path"),
			    "example.com/shop");
	assert_string_equal(process_info_attribute(process->info, "allframes.go.module.version"),
			    "v1.2.3");
	/* The binary's own is none of the process's. */
	assert_int_equal(process->info->attribute_count, 4);
}

static void a_program_of_go_says_what_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1), *fork = add(fixture, 8, 1);
	struct process_mapping mappings[4] = { [2] = { .executable = &server } };

	tell(fixture, 7, "/opt/shop/server", "0::/\n", "A=b");
	read_mapped(fixture, process, &maps, mappings);
	expect_go(process);
	assert_true(mappings[2].is_program && !mappings[1].is_program && !mappings[3].is_program);
	inherit(fixture, fork, process);
	expect_go(fork);
	process_table_remove(&fixture->table, fork);
	process_table_remove(&fixture->table, process);
}

static void a_program_behind_the_dynamic_loader_has_its_own_name(void **state)
{
	static const char arguments[] =
		"/lib64/ld-linux-x86-64.so.2\0--preload\0x.so\0/opt/shop/server\0-v";
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1);
	struct process_mapping mappings[4] = { [2] = { .executable = &server } };
	char path[128];
	FILE *file;

	tell(fixture, 7, "/lib64/ld-linux-x86-64.so.2", "0::/\n", "A=b");
	snprintf(path, sizeof(path), "%s/7/cmdline", fixture->proc.root);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(arguments, sizeof(arguments), 1, file), 1);
	assert_int_equal(fclose(file), 0);
	read_mapped(fixture, process, &maps, mappings);
	expect_go(process);
	process_table_remove(&fixture->table, process);
}

static void a_program_whose_text_was_moved_is_known_by_its_copy(void **state)
{
	static struct proc_mapping moved_rows[] = {
		{ .inode = 2, .protection = PROT_READ, .path = "/opt/shop/server" },
		{ .protection = PROT_EXEC, .path = "" },
	};
	const struct proc_maps moved = { .rows = moved_rows, .count = 2 };
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1);
	struct process_mapping mappings[2] = { [1] = { .executable = &server } };

	tell(fixture, 7, "/opt/shop/server", "0::/\n", "A=b");
	read_mapped(fixture, process, &moved, mappings);
	expect_go(process);
	process_table_remove(&fixture->table, process);
}

static void libraries_and_programs_in_other_languages_say_nothing(void **state)
{
	struct binary binary = { .fd = -1 };
	struct executable plain = { .binary = &binary };
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1);
	struct process_mapping mappings[4] = {
		[0] = { .executable = &server },
		[2] = { .executable = &plain },
	};

	tell(fixture, 7, "/opt/shop/server", "0::/\n", "A=b");
	read_mapped(fixture, process, &maps, mappings);
	assert_string_equal(process_info_attribute(process->info, "process.runtime.name"), "");
	assert_string_equal(process_info_attribute(process->info, "allframes.go.module.path"), "");
	process_table_remove(&fixture->table, process);
}

static void a_file_that_is_looked_at_later_adds_what_it_says(void **state)
{
	struct fixture *fixture = *state;
	struct process *process = add(fixture, 7, 1);
	struct process_mapping mappings[4] = { 0 };
	const struct process_info *before;

	tell(fixture, 7, "/opt/shop/server", "0::/\n", "A=b");
	read_mapped(fixture, process, &maps, mappings);
	before = process->info;
	assert_string_equal(process_info_attribute(before, "process.runtime.name"), "");
	mappings[0].executable = &server;
	process_attributes_identified(&fixture->table, process, &mappings[0]);
	assert_ptr_equal(process->info, before);
	for (int i = 0; i < 2; i++) {
		mappings[2].executable = &server;
		process_attributes_identified(&fixture->table, process, &mappings[2]);
		expect_go(process);
	}
	/* Who has borrowed it reads on. */
	assert_string_equal(before->executable_path, "/opt/shop/server");
	process_table_remove(&fixture->table, process);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_program_of_go_says_what_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_program_behind_the_dynamic_loader_has_its_own_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_program_whose_text_was_moved_is_known_by_its_copy,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			libraries_and_programs_in_other_languages_say_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_looked_at_later_adds_what_it_says,
						set_up, tear_down),
		TEST(a_program_is_asked_once),
		TEST(without_an_executable_there_is_nothing_to_tell),
		TEST(a_fork_is_told_of_as_its_parent_is),
		TEST(it_is_known_who_runs_a_program_and_where),
		TEST(a_fork_has_a_parent_and_a_command_line_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
