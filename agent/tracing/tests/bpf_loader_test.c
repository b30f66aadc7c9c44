/* SPDX-License-Identifier: Apache-2.0 */
/* Live: the programs load, list the processes, and leave nothing behind. */
#include "agent/tracing/bpf_loader.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/tracing/task_list.h"
#include "agent/tracing/tests/live_programs.h"
#include "ebpf/abi/config.h"
#include "ebpf/abi/languages.h"
#include "ebpf/abi/slab.h"

static const struct task_snapshot *find_task(const struct task_snapshot *tasks, uint32_t count,
					     uint32_t pid)
{
	for (uint32_t i = 0; i < count; i++) {
		if (tasks[i].pid == pid)
			return &tasks[i];
	}
	return NULL;
}

static void the_task_list_holds_this_process_and_its_child(void **state)
{
	struct bpf_loader_options options = live_options();
	struct bpf_loader *loader = live_loader(&options);
	const struct task_snapshot *self, *child_task;
	struct task_snapshot *tasks;
	pid_t child = live_busy_child();
	uint32_t count;

	(void)state;
	assert_int_equal(task_list_read(loader, &tasks, &count), 0);
	for (uint32_t i = 1; i < count; i++)
		assert_true(tasks[i - 1].pid < tasks[i].pid);
	self = find_task(tasks, count, (uint32_t)getpid());
	child_task = find_task(tasks, count, (uint32_t)child);
	assert_non_null(self);
	assert_non_null(child_task);
	assert_int_equal(self->is_kernel_thread, 0);
	assert_true(child_task->identity.start_time_ns > self->identity.start_time_ns);
	free(tasks);
	live_kill(child);
	bpf_loader_destroy(loader);
}

static void the_map_budget_is_rounded_to_slabs(void **state)
{
	static const struct {
		uint64_t bytes;
		uint32_t slabs;
	} cases[] = {
		{ 0, 1 },
		{ SLAB_BYTES - 1, 1 },
		{ 3ULL * SLAB_BYTES + 5, 3 },
		{ 1ULL << 40, SLAB_MAX_COUNT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bpf_loader_options options = live_options();
		struct bpf_loader *loader;

		options.map_memory_bytes = cases[i].bytes;
		loader = live_loader(&options);
		assert_int_equal(bpf_loader_fds(loader)->slab_count, cases[i].slabs);
		bpf_loader_destroy(loader);
	}
}

static void two_agents_load_side_by_side(void **state)
{
	struct bpf_loader_options options = live_options();
	struct bpf_loader *first = live_loader(&options), *second = live_loader(&options);

	(void)state;
	assert_int_not_equal(bpf_loader_fds(first)->samples, bpf_loader_fds(second)->samples);
	bpf_loader_destroy(first);
	bpf_loader_destroy(second);
}

static void languages_come_later_and_share_the_maps(void **state)
{
	struct bpf_loader_options options = live_options();
	struct bpf_loader *loader = live_loader(&options);

	(void)state;
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++)
		assert_int_equal(bpf_loader_load_language(loader, i), 0);
	bpf_loader_destroy(loader);
}

static void code_is_copied_where_unwinders_have_a_loop(void **state)
{
	struct bpf_loader_options options = live_options();
	struct bpf_loader *loader = live_loader(&options);
	bool has_chain = strstr(bpf_loader_features(loader), "without bpf_loop");

	(void)state;
	assert_int_equal(bpf_loader_uses_code_copies(loader), !has_chain);
	bpf_loader_destroy(loader);
}

static void a_selection_that_cannot_be_is_refused(void **state)
{
	static const uint32_t pids[SELECTED_PIDS_MAX + 1] = { 1, 2, 3 };
	struct bpf_loader_options options = live_options();
	struct bpf_loader *loader = live_loader(&options);
	int no_cgroup = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	bpf_loader_destroy(loader);
	options.cgroup_fd = no_cgroup;
	assert_true(bpf_loader_create(&options, &loader) < 0);
	close(no_cgroup);
	options.cgroup_fd = -1;
	options.pids = pids;
	options.pid_count = SELECTED_PIDS_MAX + 1;
	assert_int_equal(bpf_loader_create(&options, &loader), -E2BIG);
}

/* In a child: 0 if loading fails with @expected after @spoil. */
static int load_in_child(void (*spoil)(void), int expected)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct bpf_loader_options options = live_options();
		struct bpf_loader *loader;
		int err;

		spoil();
		err = bpf_loader_create(&options, &loader);
		if (err != expected)
			print_message("%d: %s\n", err, error_text());
		_exit(err != expected);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void drop_privileges(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(2);
}

static void hide_btf(void)
{
	/* Not "/": in a chroot that is no mount point. */
	if (unshare(CLONE_NEWNS) || mount("none", "/sys", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL))
		_exit(2);
}

static void what_is_missing_is_told_apart(void **state)
{
	struct bpf_loader_options options = live_options();

	(void)state;
	bpf_loader_destroy(live_loader(&options));
	assert_int_equal(load_in_child(drop_privileges, -EPERM), 0);
	assert_int_equal(load_in_child(hide_btf, -EOPNOTSUPP), 0);
}

/* Loads in a pid namespace @depth levels below: the only processes there must be seen. */
static int count_tasks_below(int depth)
{
	pid_t child;
	int status;

	if (!depth) {
		struct bpf_loader_options options = live_options();
		struct task_snapshot *tasks;
		struct bpf_loader *loader;
		uint32_t count;

		if (bpf_loader_create(&options, &loader) || task_list_read(loader, &tasks, &count))
			return 10;
		/* The shared /proc does not matter: the first process of the namespace is we. */
		return count == 1 && tasks[0].pid == 1 ? 0 : 11;
	}
	if (unshare(CLONE_NEWPID))
		return 12;
	child = fork();
	if (!child)
		_exit(count_tasks_below(depth - 1));
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 13;
}

static void pids_are_those_of_the_agents_own_namespace(void **state)
{
	struct bpf_loader_options options = live_options();

	(void)state;
	bpf_loader_destroy(live_loader(&options));
	for (int depth = 1; depth <= 2; depth++) {
		pid_t child = fork();
		int status;

		if (!child)
			_exit(count_tasks_below(depth));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_task_list_holds_this_process_and_its_child),
		cmocka_unit_test(the_map_budget_is_rounded_to_slabs),
		cmocka_unit_test(two_agents_load_side_by_side),
		cmocka_unit_test(languages_come_later_and_share_the_maps),
		cmocka_unit_test(code_is_copied_where_unwinders_have_a_loop),
		cmocka_unit_test(a_selection_that_cannot_be_is_refused),
		cmocka_unit_test(what_is_missing_is_told_apart),
		cmocka_unit_test(pids_are_those_of_the_agents_own_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
