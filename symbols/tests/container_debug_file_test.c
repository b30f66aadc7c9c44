/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files in the root directory of a process that is gone when they are searched for. The store
 * uses a /proc made by the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/symbol_caches.h"
#include "symbols/tests/symbol_caches_fixture.h"

enum { CONTAINER_PID = 4000000, OTHER_PID, SLOW_PID };

/* A /proc with the host and a process whose own root has the debug file of @program. */
static void make_container(const char *directory, const char *program)
{
	char command[2048];

	snprintf(
		command, sizeof(command),
		"set -e; cd %s; mkdir -p 1 %d proc/1/root proc/%d proc/%d/root;"
		"mkdir -p %d/bin/.debug; objcopy --only-keep-debug /proc/%d/exe %d/bin/.debug/p.debug;"
		"objcopy --strip-debug --add-gnu-debuglink=%d/bin/.debug/p.debug /proc/%d/exe %s;"
		"ln -s $PWD/%d proc/%d/root",
		directory, CONTAINER_PID, CONTAINER_PID, SLOW_PID, CONTAINER_PID, getpid(),
		CONTAINER_PID, CONTAINER_PID, getpid(), program, CONTAINER_PID, CONTAINER_PID);
	assert_int_equal(system(command), 0);
}

/* Blocks the thread for DWARF. */
struct gate {
	int go[2];
	/* Written to when the thread has arrived. */
	int asked[2];
};

static bool wait_at_gate(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	struct gate *gate = context;
	char name[16], byte = 0;

	(void)pid;
	(void)major;
	(void)minor;
	pthread_getname_np(pthread_self(), name, sizeof(name));
	if (!strcmp(name, "lines") && write(gate->asked[1], &byte, 1) == 1)
		(void)!read(gate->go[0], &byte, 1);
	return true;
}

/*
 * Requests a binary of the container while the thread for DWARF is busy; the process is gone when the
 * thread is free again. @is_root_kept: the process lived until its symbols were made.
 */
static void find_debug_file(bool is_root_kept)
{
	char directory[] = "/tmp/container_debug_file_test.XXXXXX", command[PATH_BYTES];
	char program[PATH_BYTES], proc[64], path[PATH_BYTES], root[PATH_BYTES], byte = 0;
	struct symbol_caches_options options = plain;
	struct binary *slow = own_binary(1), *binary;
	struct gate gate;
	struct symbol_caches *store;

	assert_non_null(mkdtemp(directory));
	snprintf(program, sizeof(program), "%s/p", directory);
	snprintf(proc, sizeof(proc), "%s/proc", directory);
	snprintf(path, sizeof(path), "%s/%d/root", proc, CONTAINER_PID);
	snprintf(root, sizeof(root), "%s/%d", directory, CONTAINER_PID);
	make_container(directory, program);
	assert_int_equal(pipe2(gate.go, O_CLOEXEC) | pipe2(gate.asked, O_CLOEXEC), 0);
	binary = open_binary(program, 2);
	free(binary->path);
	binary->path = strdup("/bin/p");
	options.work.proc_root = proc;
	options.work.judge.may_read = wait_at_gate;
	options.work.judge.context = &gate;
	store = create(&options);
	symbol_caches_want(store, slow, SLOW_PID, SYMBOL_DEPTH_FULL);
	assert_int_equal(read(gate.asked[0], &byte, 1), 1);

	if (!is_root_kept)
		unlink(path);
	symbol_caches_want(store, binary, CONTAINER_PID, SYMBOL_DEPTH_FULL);
	assert_true(symbol_caches_wait_symbols(store, clock_monotonic_ns() + WAIT_NS));
	(void)unlink(path);
	close(gate.go[1]);
	assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	if (!is_root_kept) {
		expect_local(get(store, binary, SYMBOL_DEPTH_FULL), false);
		/* A process that comes later has that root, too. */
		snprintf(path, sizeof(path), "%s/%d", proc, OTHER_PID);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof(path), "%s/%d/root", proc, OTHER_PID);
		assert_int_equal(symlink(root, path), 0);
		symbol_caches_want(store, binary, OTHER_PID, SYMBOL_DEPTH_FULL);
		assert_true(symbol_caches_wait(store, clock_monotonic_ns() + WAIT_NS));
	}
	expect_local(get(store, binary, SYMBOL_DEPTH_FULL), true);
	assert_true(symbol_caches_destroy(store));
	binary_unref(slow);
	binary_unref(binary);
	close(gate.go[0]);
	close(gate.asked[0]);
	close(gate.asked[1]);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

static void the_root_of_a_process_that_is_gone_is_kept(void **state)
{
	(void)state;
	find_debug_file(true);
}

static void a_root_that_was_gone_too_early_is_looked_for_in_another_process(void **state)
{
	(void)state;
	find_debug_file(false);
}

int main(int argument_count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_root_of_a_process_that_is_gone_is_kept),
		cmocka_unit_test(a_root_that_was_gone_too_early_is_looked_for_in_another_process),
	};

	symbol_cache_maker_enter(argument_count, arguments);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
