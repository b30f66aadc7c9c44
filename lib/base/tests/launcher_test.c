/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/child_process.h"

static const struct launch_rule rules[] = {
	{ .program = "expr", .name = "expr", .argument = "0" },
	{ .program = "/nowhere/program", .name = "program", .argument = "0" },
	{ .program = "readlink", .name = "readlink", .argument = "/proc/self/fd/9" },
	{ .program = "test", .name = "test", .argument = "abc", .has_digits = true },
	{ .program = "sleep", .name = "sleep", .argument = "100", .is_bound = true },
	{ .program = "sh", .name = "sh", .argument = "-c", .has_digits = true },
};

static int set_up(void **state)
{
	(void)state;
	return launcher_start(rules, sizeof(rules) / sizeof(rules[0]));
}

static int tear_down(void **state)
{
	(void)state;
	launcher_stop();
	/* Nothing is left behind. */
	return waitpid(-1, NULL, 0) != -1 || errno != ECHILD;
}

static int start(const char *program, const char *argument, const char *digits, int given,
		 int number, struct child_process *child)
{
	char *arguments[] = { "name", (char *)argument, (char *)digits, NULL };

	return child_process_start(program, arguments, given, number, child);
}

/* Exit status of a child of ours. */
static int wait_for(const struct child_process *child)
{
	int status;

	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->pid_fd);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_listed_program_becomes_a_child_of_the_caller(void **state)
{
	struct child_process child;

	(void)state;
	assert_true(launcher_is_running());
	assert_int_equal(start("expr", "0", NULL, -1, -1, &child), 0);
	assert_int_equal(wait_for(&child), 1);
}

static void nothing_else_is_started(void **state)
{
	struct child_process child;

	(void)state;
	assert_int_equal(start("expr", "1", NULL, -1, -1, &child), -EPERM);
	assert_int_equal(start("true", "0", NULL, -1, -1, &child), -EPERM);
	assert_int_equal(start("expr", "0", "0", -1, -1, &child), -EPERM);
	assert_int_equal(start("test", "abc", NULL, -1, -1, &child), -EPERM);
	/* The launcher itself looks at what follows the argument. */
	assert_int_equal(start("sh", "-c", "true", -1, -1, &child), -EPERM);
	assert_int_equal(start("sh", "-c", "", -1, -1, &child), -EPERM);
	assert_int_equal(start("readlink", "/proc/self/fd/9", NULL, STDIN_FILENO,
			       LAUNCH_NUMBER_MAX + 1, &child),
			 -EPERM);
	assert_int_equal(start("readlink", "/proc/self/fd/9", NULL, STDIN_FILENO, STDOUT_FILENO,
			       &child),
			 -EPERM);
	/* It goes on. */
	assert_int_equal(start("expr", "0", NULL, -1, -1, &child), 0);
	assert_int_equal(wait_for(&child), 1);
}

static void a_program_that_is_not_there_leaves_no_process(void **state)
{
	struct child_process child;

	(void)state;
	assert_int_equal(start("/nowhere/program", "0", NULL, -1, -1, &child), -ENOENT);
}

static void a_program_gets_one_descriptor(void **state)
{
	struct child_process child;
	int fds[2];

	(void)state;
	assert_int_equal(start("readlink", "/proc/self/fd/9", NULL, -1, -1, &child), 0);
	assert_int_equal(wait_for(&child), 1);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(start("readlink", "/proc/self/fd/9", NULL, fds[0], 9, &child), 0);
	assert_int_equal(wait_for(&child), 0);
	close(fds[0]);
	close(fds[1]);
}

static void digits_follow_the_argument(void **state)
{
	char digits[LAUNCH_DIGITS_MAX + 2];
	struct child_process child;

	(void)state;
	/* test(1) takes two words for an operator and its operand, and abc is none. */
	assert_int_equal(start("test", "abc", "0123456789abcdef", -1, -1, &child), 0);
	assert_int_equal(wait_for(&child), 2);
	memset(digits, 'a', sizeof(digits));
	digits[LAUNCH_DIGITS_MAX + 1] = '\0';
	assert_int_equal(start("test", "abc", digits, -1, -1, &child), -E2BIG);
	digits[LAUNCH_DIGITS_MAX] = '\0';
	assert_int_equal(start("test", "abc", digits, -1, -1, &child), 0);
	assert_int_equal(wait_for(&child), 2);
}

static void a_program_has_the_callers_nice_value_and_its_own_group(void **state)
{
	char *arguments[] = { "sleep", "100", NULL };
	int own = getpriority(PRIO_PROCESS, 0), other = own > 0 ? own - 1 : own + 1;
	struct child_process child;

	(void)state;
	assert_int_equal(setpriority(PRIO_PROCESS, 0, other), 0);
	assert_int_equal(child_process_start_bound("sleep", arguments, &child), 0);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)child.pid), other);
	assert_int_equal(getpgid(child.pid), child.pid);
	(void)setpriority(PRIO_PROCESS, 0, own);
	assert_int_equal(kill(child.pid, SIGKILL), 0);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	close(child.pid_fd);
}

/* The process that has a launcher: starts a bound program, sends its pid, and ends after an answer. */
static void run_agent(int pids, int answers)
{
	char *arguments[] = { "sleep", "100", NULL };
	struct child_process child;
	char byte;

	if (launcher_start(rules, sizeof(rules) / sizeof(rules[0])) ||
	    child_process_start_bound("sleep", arguments, &child) ||
	    write(pids, &child.pid, sizeof(child.pid)) != sizeof(child.pid) ||
	    read(answers, &byte, 1) != 1)
		_exit(1);
	_exit(0);
}

static void a_bound_program_ends_with_the_process(void **state)
{
	struct pollfd polled = { .events = POLLIN };
	int pids[2], answers[2], status;
	pid_t pid, bound;

	(void)state;
	assert_int_equal(pipe(pids), 0);
	assert_int_equal(pipe(answers), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		run_agent(pids[1], answers[0]);
	assert_int_equal(read(pids[0], &bound, sizeof(bound)), sizeof(bound));
	polled.fd = (int)syscall(SYS_pidfd_open, bound, 0);
	assert_true(polled.fd >= 0);
	assert_int_equal(poll(&polled, 1, 0), 0);
	assert_int_equal(write(answers[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(poll(&polled, 1, 10000), 1);
	close(polled.fd);
	for (int i = 0; i < 2; i++) {
		close(pids[i]);
		close(answers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listed_program_becomes_a_child_of_the_caller),
		cmocka_unit_test(nothing_else_is_started),
		cmocka_unit_test(a_program_that_is_not_there_leaves_no_process),
		cmocka_unit_test(a_program_gets_one_descriptor),
		cmocka_unit_test(digits_follow_the_argument),
		cmocka_unit_test(a_program_has_the_callers_nice_value_and_its_own_group),
	};

	const struct CMUnitTest own_launcher[] = {
		cmocka_unit_test(a_bound_program_ends_with_the_process),
	};
	int failed = cmocka_run_group_tests_name("launcher", tests, set_up, tear_down);

	return failed + cmocka_run_group_tests_name("end", own_launcher, NULL, NULL);
}
