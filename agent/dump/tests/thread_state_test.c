// SPDX-License-Identifier: Apache-2.0
#include "agent/dump/thread_state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "lib/host/tests/proc_fixture.h"

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/thread_state_test_XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

/* Reads thread 7 of process 7 with these files; NULL: there is none. */
static struct dumped_thread read_thread(const char *stat, const char *call, const char *status)
{
	struct dumped_thread thread = { .tid = 7 };

	write_fake_file(folder, "7/task/7/stat", stat);
	write_fake_file(folder, "7/task/7/syscall", call);
	write_fake_file(folder, "7/task/7/status", status);
	assert_int_equal(thread_state_read(folder, 7, &thread), 0);
	return thread;
}

static void a_thread_runs_or_waits_in_a_system_call(void **state)
{
	struct dumped_thread thread = read_thread("7 (a) b) R 1 2", "running\n", "TracerPid:\t0\n");
	char call[64];

	(void)state;
	assert_string_equal(thread.name, "a) b");
	assert_string_equal(thread.state, "running");
	assert_string_equal(thread.why, "");
	snprintf(call, sizeof(call), "%d 0x1 0x2 0x7ffc\n", (int)SYS_read);
	thread = read_thread("7 (x) S 1 2", call, "Name:\tx\nTracerPid:\t0\n");
	assert_string_equal(thread.state, "waiting in read");
	thread = read_thread("7 (x) S 1 2", "100000 0x1\n", "\n");
	assert_string_equal(thread.state, "waiting in system call 100000");
	thread = read_thread("7 (x) S 1 2", "-1 0x7ffc 0x55\n", "\n");
	assert_string_equal(thread.state, "waiting");
	assert_string_equal(thread.why, "");
	/* A kernel thread is in no system call. */
	thread = read_thread("7 (x) S 0 0 0 0 -1 2129984 0 0", "0 0x0 0x0 0x0\n", "\n");
	assert_string_equal(thread.state, "waiting");
	thread = read_thread("7 (x) S 1 7 7 0 -1 4194560 0 0", "0 0x0 0x0 0x0\n", "\n");
	assert_string_not_equal(thread.state, "waiting");
}

static void a_thread_that_cannot_be_stopped_has_a_reason(void **state)
{
	struct dumped_thread thread;

	(void)state;
	write_fake_file(folder, "99/comm", "gdb\n");
	thread = read_thread("7 (x) t 1 2", "running\n", "Name:\tx\nTracerPid:\t99\n");
	assert_string_equal(thread.state, "stopped, traced by gdb (99)");
	assert_string_equal(thread.why, "not stopped: traced by gdb (99)");
	thread = read_thread("7 (x) D 1 2", "100000 0x1\n", "\n");
	assert_string_equal(thread.state, "waiting uninterruptibly in system call 100000");
	assert_string_equal(thread.why, "not stopped: it waits uninterruptibly");
	thread = read_thread("7 (x) Z 1 2", "", "\n");
	assert_string_equal(thread.why, "not stopped: it has ended");
	/* A signal has stopped it, which is no obstacle. */
	thread = read_thread("7 (x) T 1 2", "-1 0x1 0x2\n", "TracerPid:\t0\n");
	assert_string_equal(thread.state, "stopped");
	assert_string_equal(thread.why, "");
}

static void threads_that_are_gone_or_malformed_are_refused(void **state)
{
	struct dumped_thread thread = { .tid = 8 };

	(void)state;
	assert_int_equal(thread_state_read(folder, 8, &thread), -ESRCH);
	write_fake_file(folder, "8/task/8/stat", "8 x S");
	assert_int_equal(thread_state_read(folder, 8, &thread), -ESRCH);
	write_fake_file(folder, "8/task/8/stat", "8 (x)");
	assert_int_equal(thread_state_read(folder, 8, &thread), -ESRCH);
}

static void kernel_frames_are_names(void **state)
{
	struct dumped_thread thread = { .tid = 7 };

	(void)state;
	write_fake_file(folder, "7/task/7/stack",
			"[<0>] futex_wait+0x10/0x20\n[<0>] nbd_read+0x1/0x2 [nbd]\nrubbish\n");
	thread_state_add_kernel_frames(folder, 7, &thread);
	assert_int_equal(thread.frames.count, 2);
	assert_string_equal(dumped_text(&thread, thread.frames.items[0].function), "futex_wait");
	assert_string_equal(dumped_text(&thread, thread.frames.items[1].function), "nbd_read");
	dumped_thread_deinit(&thread);
}

static void a_command_is_one_text(void **state)
{
	char name[DUMPED_NAME_BYTES], *command;

	(void)state;
	write_fake_file(folder, "7/comm", "prog\n");
	write_fake_bytes(folder, "7/cmdline", "./prog\0-x\0", 10);
	process_name_read(folder, 7, name, &command);
	assert_string_equal(name, "prog");
	assert_string_equal(command, "./prog -x");
	free(command);
	process_name_read(folder, 8, name, &command);
	assert_string_equal(name, "");
	assert_string_equal(command, "");
	free(command);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_thread_runs_or_waits_in_a_system_call),
		TEST(a_thread_that_cannot_be_stopped_has_a_reason),
		TEST(threads_that_are_gone_or_malformed_are_refused),
		TEST(kernel_frames_are_names),
		TEST(a_command_is_one_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
