// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/unwind/stopped_process.h"
#include "agent/unwind/user_unwind.h"

enum {
	SPIN_MAX_BYTES = 200,
};

static volatile unsigned turns;

/* Never returns; its code is what the unwind looks for. */
__attribute__((noinline)) static void spin(int ready)
{
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		turns++;
}

struct fixture {
	pid_t child;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	fixture->child = fork();
	if (!fixture->child)
		spin(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->child > 0) {
		kill(fixture->child, SIGKILL);
		waitpid(fixture->child, NULL, 0);
	}
	free(fixture);
	return 0;
}

/* The letter of its state in /proc. */
static char state_of(pid_t pid)
{
	char path[64], text[512] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	end = strrchr(text, ')');
	assert_non_null(end);
	return end[2];
}

/* Stops the process, or skips the test where that is not allowed. */
static void stop(struct stopped_process *process, pid_t pid)
{
	int err = stopped_process_init(process, pid, 0);

	if (err == -EPERM || err == -EACCES)
		skip();
	assert_int_equal(err, 0);
}

static void a_thread_is_unwound_from_where_it_spins_to_its_entry(void **state)
{
	const struct fixture *fixture = *state;
	static struct emulated_trace trace;
	struct emulated_start start = { 0 };
	struct stopped_process process;
	struct user_tables tables;
	struct user_unwind *unwind;
	bool has_spin = false;

	stop(&process, fixture->child);
	assert_int_equal(process.threads.count, 1);
	assert_int_equal(process.threads.items[0].tid, fixture->child);
	tables = address_space_tables(&process.space);
	memcpy(start.registers, process.threads.items[0].set.registers, sizeof(start.registers));
	assert_int_equal(user_unwind_create(&unwind), 0);
	assert_int_equal(user_unwind_run(unwind, &tables, stopped_process_read, &process, &start,
					 &trace),
			 0);
	user_unwind_destroy(unwind);
	assert_int_equal(trace.error, UNWIND_OK);
	assert_true(trace.word_count > 4);
	assert_non_null(address_space_binary(&process.space, trace.words[1]));
	/* The child's text is where ours is. */
	for (uint32_t i = 0; i < trace.word_count; i++)
		has_spin |= trace.pcs[i] - (uintptr_t)spin < SPIN_MAX_BYTES;
	assert_true(has_spin);
	stopped_process_deinit(&process);
}

static void a_process_that_ran_runs_on(void **state)
{
	const struct fixture *fixture = *state;
	struct stopped_process process;

	stop(&process, fixture->child);
	assert_int_equal(state_of(fixture->child), 't');
	stopped_process_deinit(&process);
	assert_int_not_equal(state_of(fixture->child), 't');
	assert_int_not_equal(state_of(fixture->child), 'T');
}

static void a_process_that_was_stopped_stays_so(void **state)
{
	const struct fixture *fixture = *state;
	struct stopped_process process;
	int status;

	kill(fixture->child, SIGSTOP);
	assert_int_equal(waitpid(fixture->child, &status, WUNTRACED), fixture->child);
	stop(&process, fixture->child);
	stopped_process_deinit(&process);
	/* On its way out of the trap it stops again, before it runs any of its code. */
	while (state_of(fixture->child) != 'T')
		usleep(1000);
}

static void a_process_that_is_gone_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct stopped_process process;

	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
	assert_int_equal(stopped_process_init(&process, fixture->child, 0), -ESRCH);
	fixture->child = 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_thread_is_unwound_from_where_it_spins_to_its_entry),
		TEST(a_process_that_ran_runs_on),
		TEST(a_process_that_was_stopped_stays_so),
		TEST(a_process_that_is_gone_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
