/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts are this program, started again; a Python program is what they attach to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/runtimes/elf_host.h"
#include "agent/runtimes/file_host.h"
#include "agent/runtimes/proc_host.h"
#include "agent/runtimes/runtime_host.h"
#include "agent/runtimes/runtime_hosts.h"
#include "agent/runtimes/tests/live_hosts.h"
#include "ebpf/abi/frame.h"
#include "interpreters/python/tests/live_python.h"
#include <linux/capability.h>
#include <sys/stat.h>

enum { MODULES_MAX = 64, USER = 1000, OTHER_USER = 1001 };

static const char script[] = "import sys, time\nprint('ready', flush=True)\ntime.sleep(1000)\n";

struct fixture {
	struct runtime_hosts *hosts;
	struct runtime_home *home;
	uint32_t lost_count;
	uint32_t lost_pid;
};

static void note_lost(void *context, uint32_t pid)
{
	struct fixture *fixture = context;

	fixture->lost_count++;
	fixture->lost_pid = pid;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct runtime_hosts_options options = {
		.languages = LANGUAGES_ALL,
		.lost = note_lost,
		.context = fixture,
	};

	assert_int_equal(runtime_hosts_create(&options, &fixture->hosts), 0);
	fixture->home = runtime_hosts_home(fixture->hosts);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	runtime_hosts_destroy(fixture->hosts);
	assert_int_equal(find_host(-1), -1);
	free(fixture);
	return 0;
}

/* No runtime: it takes a process that looks at it to say so. */
static int attach_to_no_runtime(struct fixture *fixture, uid_t uid)
{
	struct host_target target = {
		.uid = uid,
		.pid = 7,
		.executable_id = 1,
		.path = "/bin/cat",
		.file = open("/bin/cat", O_RDONLY | O_CLOEXEC),
		.memory = open("/proc/self/stat", O_RDONLY | O_CLOEXEC),
	};
	struct host_runtime runtime;
	int err = fixture->home->ops->attach(fixture->home, &target, &runtime);

	close(target.file);
	close(target.memory);
	return err;
}

static void a_user_gets_one_host_and_another_user_another_one(void **state)
{
	struct fixture *fixture = *state;
	pid_t first;

	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	first = find_host(-1);
	assert_true(first > 0);
	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	assert_int_equal(find_host(first), -1);
	assert_int_equal(attach_to_no_runtime(fixture, OTHER_USER), -ENOENT);
	assert_true(find_host(first) > 0);
	assert_int_equal(fixture->lost_count, 0);
}

static uint32_t count_other_files(pid_t pid)
{
	uint32_t count = 0;

	for (int fd = 0; fd < 256; fd++) {
		char path[64], target[64] = "";

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			count += strcmp(target, "/dev/null") && strncmp(target, "socket:", 7);
	}
	return count;
}

static void a_host_may_read_processes_and_has_no_descriptors_but_its_own(void **state)
{
	const uint64_t read_others = 1ULL << CAP_SYS_PTRACE;
	struct fixture *fixture = *state;
	uint64_t permitted, effective;

	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	read_confinement(find_host(-1), &permitted, &effective);
	assert_int_equal(permitted, read_others);
	assert_int_equal(effective, read_others);
	/* Descriptors that came with a request are closed when it was answered, or just after. */
	while (count_other_files(find_host(-1)))
		usleep(1000);
}

static void a_host_that_hangs_is_abandoned_and_its_process_named(void **state)
{
	struct fixture *fixture = *state;
	pid_t first;

	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	first = find_host(-1);
	stop_host(first);
	assert_int_equal(attach_to_no_runtime(fixture, USER), -EHOSTDOWN);
	assert_int_equal(fixture->lost_count, 1);
	assert_int_equal(fixture->lost_pid, 7);
	/* Another process replaces it. */
	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	assert_int_not_equal(find_host(-1), first);
}

static void a_host_that_ended_by_itself_costs_no_process_its_runtime(void **state)
{
	struct fixture *fixture = *state;
	siginfo_t ended;

	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	signal_host(find_host(-1), SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)find_host(-1), &ended, WEXITED | WNOWAIT), 0);
	assert_int_equal(attach_to_no_runtime(fixture, USER), -EAGAIN);
	assert_int_equal(fixture->lost_count, 1);
	assert_int_equal(fixture->lost_pid, 0);
	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	assert_int_equal(runtime_hosts_hanging_count(fixture->hosts), 0);
}

static void a_user_whose_hosts_are_lost_again_and_again_gets_no_more(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < HOSTS_LOST_OF_USER_MAX; i++) {
		assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
		stop_host(find_host(-1));
		assert_int_equal(attach_to_no_runtime(fixture, USER), -EHOSTDOWN);
		/* It was killed: the next one is our only child again. */
		while (runtime_hosts_hanging_count(fixture->hosts))
			usleep(1000);
	}
	assert_int_equal(attach_to_no_runtime(fixture, USER), -EAGAIN);
	assert_int_equal(attach_to_no_runtime(fixture, OTHER_USER), -ENOENT);
}

static void of_many_users_those_without_runtimes_keep_no_host(void **state)
{
	struct fixture *fixture = *state;
	pid_t first;

	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
	first = find_host(-1);
	for (uid_t i = 1; i <= HOSTS_MAX; i++)
		assert_int_equal(attach_to_no_runtime(fixture, USER + i), -ENOENT);
	/* Nothing lived in the one that was not used last. */
	while (!kill(first, 0) && runtime_hosts_hanging_count(fixture->hosts))
		usleep(1000);
	assert_int_equal(fixture->lost_count, 0);
	assert_int_equal(attach_to_no_runtime(fixture, USER), -ENOENT);
}

static void a_host_that_does_not_start_is_not_tried_again_at_once(void **state)
{
	static const char start[] = "#!/bin/sh\necho tried >>\"$0.tries\"\n";
	char program[] = "/tmp/allframes-start-XXXXXX", tries[64], lines[64];
	struct runtime_hosts_options options = { .program = program, .lost = note_lost };
	struct fixture fixture = { 0 };
	int fd = mkstemp(program);
	ssize_t count;

	(void)state;
	assert_int_equal(write(fd, start, sizeof(start) - 1), sizeof(start) - 1);
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	options.context = &fixture;
	assert_int_equal(runtime_hosts_create(&options, &fixture.hosts), 0);
	fixture.home = runtime_hosts_home(fixture.hosts);
	assert_int_equal(attach_to_no_runtime(&fixture, USER), -EAGAIN);
	assert_int_equal(attach_to_no_runtime(&fixture, OTHER_USER), -EAGAIN);
	runtime_hosts_destroy(fixture.hosts);
	snprintf(tries, sizeof(tries), "%s.tries", program);
	fd = open(tries, O_RDONLY | O_CLOEXEC);
	count = read(fd, lines, sizeof(lines));
	assert_int_equal(count, sizeof("tried"));
	close(fd);
	unlink(tries);
	unlink(program);
}

static void nothing_is_attached_to_after_the_stop(void **state)
{
	struct fixture *fixture = *state;

	fixture->home->ops->stop_attaching(fixture->home);
	assert_int_equal(attach_to_no_runtime(fixture, USER), -ECANCELED);
}

static void parts_of_memory_are_read_one_behind_the_other(void **state)
{
	static const char text[] = "memory of this process";
	struct fixture *fixture = *state;
	struct memory_part parts[2] = {
		{ .address = (uintptr_t)text + 10, .bytes = 4 },
		{ .address = (uintptr_t)text, .bytes = 6 },
	};
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC), err;
	char bytes[10];

	/* It does not wait until a host has started. */
	do {
		err = fixture->home->ops->read(fixture->home, USER, 7, fd, parts, 2, bytes);
	} while (err == -EAGAIN);
	assert_int_equal(err, 0);
	assert_memory_equal(bytes, "thismemory", sizeof(bytes));
	parts[1].address = 8;
	assert_int_equal(fixture->home->ops->read(fixture->home, USER, 7, fd, parts, 2, bytes),
			 -EFAULT);
	stop_host(find_host(-1));
	assert_int_equal(fixture->home->ops->read(fixture->home, USER, 7, fd, parts, 1, bytes),
			 -EHOSTDOWN);
	assert_int_equal(fixture->lost_pid, 7);
	close(fd);
}

/* --- with a runtime --- */

static bool start_python(struct live_python *python)
{
	char path[] = "/tmp/allframes-host-XXXXXX", line[16];
	glob_t pythons;
	int fd;

	if (!find_pythons(&pythons)) {
		print_message("no Python is there\n");
		return false;
	}
	fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, script, sizeof(script) - 1) == sizeof(script) - 1);
	close(fd);
	assert_int_equal(live_python_start(python, pythons.gl_pathv[pythons.gl_pathc - 1], path),
			 0);
	assert_non_null(fgets(line, sizeof(line), python->output));
	assert_int_equal(process_memory_init(&python->memory, "/proc", python->pid), 0);
	unlink(path);
	globfree(&pythons);
	return true;
}

/* Attaches as the agent does: with the files that the process has mapped. */
static int attach(struct fixture *fixture, struct live_python *python, uint64_t executable_id,
		  struct host_runtime *runtime)
{
	struct attach_module modules[MODULES_MAX];
	struct host_target target = {
		.uid = USER,
		.pid = (uint32_t)python->pid,
		.executable_id = executable_id,
		.file = -1,
		.modules = modules,
	};
	struct proc_maps maps = { 0 };
	struct process_memory memory;
	int err;

	assert_int_equal(process_memory_init(&memory, "/proc", python->pid), 0);
	target.memory = memory.fd;
	assert_int_equal(proc_maps_read(&maps, "/proc", python->pid, PROC_MAPS_EXECUTABLE), 0);
	for (uint32_t i = 0; i < maps.count && target.module_count < MODULES_MAX; i++) {
		const struct proc_mapping *row = &maps.rows[i];
		struct elf_image image = { 0 };
		struct runtime_file *file;
		uint64_t address = 0;
		struct file_key key;
		int fd;

		if (mapped_file_open("/proc", python->pid, row, &fd, &key))
			continue;
		assert_int_equal(elf_image_init_fd(&image, fd), 0);
		elf_image_mapping_address(&image, row->offset, row->end - row->start, &address);
		if (!languages_probe(LANGUAGES_ALL, &image, row->path, &file)) {
			file->language->ops->release(file);
			target.file = fd;
			target.path = row->path;
			target.bias = row->start - address;
		}
		elf_image_deinit(&image);
		modules[target.module_count++] = (struct attach_module){
			.path = row->path, .fd = fd, .bias = row->start - address
		};
	}
	assert_true(target.file >= 0);
	err = fixture->home->ops->attach(fixture->home, &target, runtime);
	for (uint32_t i = 0; i < target.module_count; i++)
		close(modules[i].fd);
	proc_maps_deinit(&maps);
	process_memory_deinit(&memory);
	return err;
}

static int name_two(struct fixture *fixture, const struct host_runtime *runtime, uint32_t pid,
		    struct name_answers *answers)
{
	/* Where there is nothing. */
	const struct name_query queries[2] = {
		{ .words = { frame_word(FRAME_PYTHON, 0, 0x10), 77 } },
		{ .words = { frame_word(FRAME_PYTHON, 0, 0x20), 77 } },
	};

	return fixture->home->ops->name(fixture->home, &runtime->runtime, &runtime->memory, 1, pid,
					queries, 2, answers);
}

static void release(struct fixture *fixture, struct host_runtime *runtime)
{
	fixture->home->ops->release_runtime(fixture->home, &runtime->runtime);
	fixture->home->ops->release_memory(fixture->home, &runtime->memory);
	free(runtime->data);
}

static void a_runtime_lives_in_its_host_and_is_asked_there(void **state)
{
	struct fixture *fixture = *state;
	struct host_runtime first, second;
	struct name_answers answers = { 0 };
	struct live_python python;
	struct hosted fork;

	if (!start_python(&python))
		skip();
	assert_int_equal(attach(fixture, &python, 5, &first), 0);
	assert_int_equal(attach(fixture, &python, 5, &second), 0);
	assert_int_equal(first.data_bytes, second.data_bytes);
	assert_memory_equal(first.data, second.data, first.data_bytes);
	assert_int_equal(name_two(fixture, &first, (uint32_t)python.pid, &answers), 0);
	assert_int_equal(answers.answers.count, 2);
	/* It was looked for. */
	assert_int_equal(answers.answers.items[0].err, -ESTALE);
	/* Its memory is another one's as well. */
	assert_int_equal(fixture->home->ops->add_memory(fixture->home, &first.runtime,
							python.memory.fd, &fork),
			 0);
	fixture->home->ops->release_memory(fixture->home, &fork);
	release(fixture, &first);
	assert_int_equal(name_two(fixture, &second, (uint32_t)python.pid, &answers), 0);
	release(fixture, &second);
	assert_int_equal(fixture->lost_count, 0);
	name_answers_deinit(&answers);
	live_python_stop(&python);
}

static void what_lived_in_a_host_that_hangs_is_lost(void **state)
{
	struct fixture *fixture = *state;
	struct name_answers answers = { 0 };
	struct host_runtime hanging, other, again;
	struct live_python python;
	struct hosted fork;

	if (!start_python(&python))
		skip();
	assert_int_equal(attach(fixture, &python, 5, &hanging), 0);
	assert_int_equal(attach(fixture, &python, 5, &other), 0);
	stop_host(find_host(python.pid));
	assert_int_equal(name_two(fixture, &hanging, 71, &answers), -EHOSTDOWN);
	assert_int_equal(answers.answers.count, 0);
	assert_int_equal(fixture->lost_pid, 71);
	assert_true(fixture->home->ops->is_lost(fixture->home, &other.runtime));
	assert_int_equal(name_two(fixture, &other, 72, &answers), -ENOTCONN);
	assert_int_equal(fixture->home->ops->add_memory(fixture->home, &other.runtime,
							python.memory.fd, &fork),
			 -ENOTCONN);
	assert_int_equal(fixture->lost_count, 1);
	assert_int_equal(attach(fixture, &python, 5, &again), 0);
	assert_false(fixture->home->ops->is_lost(fixture->home, &again.runtime));
	assert_int_equal(name_two(fixture, &again, 72, &answers), 0);
	release(fixture, &hanging);
	release(fixture, &other);
	release(fixture, &again);
	name_answers_deinit(&answers);
	live_python_stop(&python);
}

/* A process that holds runtimes, or reads files or maps, is this program, started again: see scripts/unit_tests.c. */
void unit_tests_enter(int argc, char **argv)
{
	runtime_host_enter(argc, argv);
	file_host_enter(argc, argv);
	elf_host_enter(argc, argv);
	proc_host_enter(argc, argv);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_user_gets_one_host_and_another_user_another_one),
		TEST(a_host_may_read_processes_and_has_no_descriptors_but_its_own),
		TEST(a_host_that_hangs_is_abandoned_and_its_process_named),
		TEST(a_host_that_ended_by_itself_costs_no_process_its_runtime),
		TEST(a_user_whose_hosts_are_lost_again_and_again_gets_no_more),
		TEST(of_many_users_those_without_runtimes_keep_no_host),
		cmocka_unit_test(a_host_that_does_not_start_is_not_tried_again_at_once),
		TEST(nothing_is_attached_to_after_the_stop),
		TEST(parts_of_memory_are_read_one_behind_the_other),
		TEST(a_runtime_lives_in_its_host_and_is_asked_there),
		TEST(what_lived_in_a_host_that_hangs_is_lost),
	};

	(void)argc;
	(void)argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
