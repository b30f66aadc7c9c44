/* SPDX-License-Identifier: Apache-2.0 */
/** Host processes that a test's own process has started. Behind cmocka.h. */
#ifndef AGENT_RUNTIMES_TESTS_LIVE_HOSTS_H
#define AGENT_RUNTIMES_TESTS_LIVE_HOSTS_H

#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/** Our only child but @other, or -1. */
static inline pid_t find_host(pid_t other)
{
	int pid = -1, found = -1;
	glob_t threads;

	/* A thread of its own starts them. */
	assert_int_equal(glob("/proc/self/task/*/children", 0, NULL, &threads), 0);
	for (size_t i = 0; i < threads.gl_pathc; i++) {
		FILE *children = fopen(threads.gl_pathv[i], "re");

		while (children && fscanf(children, "%d", &pid) == 1)
			if (pid != other)
				found = pid;
		if (children)
			fclose(children);
	}
	globfree(&threads);
	return found;
}

/**
 * The capabilities of a host, which must be confined: sets that are inherited or ambient are empty, no new rights can
 * be had, and system calls are filtered.
 */
static inline void read_confinement(pid_t pid, uint64_t *permitted, uint64_t *effective)
{
	char path[64], line[256];
	uint32_t count = 0;
	FILE *status;

	*permitted = *effective = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status)) {
		unsigned long long set;
		char name[16];
		int value;

		if (sscanf(line, "Cap%15[A-Za-z]: %llx", name, &set) == 2 && strcmp(name, "Bnd")) {
			if (!strcmp(name, "Prm"))
				*permitted = set;
			else if (!strcmp(name, "Eff"))
				*effective = set;
			else
				assert_int_equal(set, 0);
			count++;
		}
		if (sscanf(line, "NoNewPrivs: %d", &value) == 1 ||
		    sscanf(line, "Seccomp: %d", &value) == 1) {
			assert_true(value);
			count++;
		}
	}
	fclose(status);
	/* Inherited, permitted, effective, ambient; and the other two. */
	assert_int_equal(count, 6);
}

/** A pid that is none would be everybody's. */
static inline void signal_host(pid_t pid, int number)
{
	int err;

	if (pid <= 0)
		abort();
	err = kill(pid, number);
	assert_int_equal(err, 0);
}

/** All threads of the host stand still, as in reads that get no answer. */
static inline void stop_host(pid_t pid)
{
	char pattern[64];
	glob_t tasks;

	signal_host(pid, SIGSTOP);
	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/stat", pid);
	assert_int_equal(glob(pattern, 0, NULL, &tasks), 0);
	for (size_t i = 0; i < tasks.gl_pathc; i++) {
		char state = 0;

		while (state != 'T') {
			FILE *file = fopen(tasks.gl_pathv[i], "re");

			assert_non_null(file);
			assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
			fclose(file);
		}
	}
	globfree(&tasks);
}

#endif
