/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The real kernel programs, loaded, for the live tests of this folder.
 */
#ifndef AGENT_TRACING_TESTS_LIVE_PROGRAMS_H
#define AGENT_TRACING_TESTS_LIVE_PROGRAMS_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Before cmocka.h, which has a macro fail(). */
#include "agent/tracing/bpf_loader.h"
#include "agent/tracing/task_list.h"
#include "lib/base/error.h"

#include <cmocka.h>

/** Skips the test where the kernel refuses; fails it where loading does. */
static inline struct bpf_loader *live_loader(const struct bpf_loader_options *options)
{
	struct bpf_loader *loader = NULL;
	int err = bpf_loader_create(options, &loader);

	if (err)
		print_message("%s\n", error_text());
	if (err == -EPERM || (err && access("/sys/kernel/btf/vmlinux", R_OK)))
		skip();
	assert_int_equal(err, 0);
	return loader;
}

static inline struct bpf_loader_options live_options(void)
{
	return (struct bpf_loader_options){
		.samples_per_second = 997,
		.cpu_count = 2,
		.map_memory_bytes = 16 << 20,
		.cgroup_fd = -1,
	};
}

/** The identity of process @pid, which must exist. */
static inline struct process_identity live_identity(struct bpf_loader *loader, uint32_t pid)
{
	struct process_identity identity = { 0 };
	struct task_snapshot *tasks;
	uint32_t count;

	assert_int_equal(task_list_read(loader, &tasks, &count), 0);
	for (uint32_t i = 0; i < count; i++) {
		if (tasks[i].pid == pid)
			identity = tasks[i].identity;
	}
	free(tasks);
	assert_int_not_equal(identity.start_time_ns, 0);
	return identity;
}

/** A child that computes until it is killed. */
static inline pid_t live_busy_child(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (long cpu = 1; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
			if (!fork()) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				break;
			}
		}
		for (volatile uint64_t count = 0;; count++)
			;
	}
	return child;
}

static inline void live_kill(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

#endif
