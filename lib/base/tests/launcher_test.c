/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/child_process.h"

static char cache[] = "/tmp/launcher_test_XXXXXX";
static char output[64];

static int start_launcher(void)
{
	const struct launch_lists lists = {
		.rules = {
			{ .program = "expr", .name = "expr", .argument = "0" },
			{ .program = "/nowhere/program", .name = "program", .argument = "0" },
			{ .program = "readlink",
			  .name = "readlink",
			  .argument = "/proc/self/fd/9" },
			{ .program = "test", .name = "test", .argument = "abc", .has_digits = true },
			{ .program = "sleep", .name = "sleep", .argument = "100", .is_bound = true },
			{ .program = "sh", .name = "sh", .argument = "-c", .has_digits = true },
		},
		.rule_count = 6,
		.folders = {
			{ FOLDER_CACHE, cache },
			{ FOLDER_OUTPUT, output },
			{ FOLDER_OUTPUT, "/nowhere/output" },
			{ FOLDER_SCRATCH, "/tmp" },
		},
		.folder_count = 4,
	};

	return launcher_start(&lists);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(cache));
	snprintf(output, sizeof(output), "%s/output", cache);
	return start_launcher();
}

static int tear_down(void **state)
{
	(void)state;
	launcher_stop();
	unlink(output);
	rmdir(cache);
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

static void files_are_made_in_listed_folders(void **state)
{
	struct file_folder folder;
	struct stat made, there;
	int fd = -1;

	(void)state;
	assert_int_equal(file_folder_init(&folder, FOLDER_OUTPUT, output), 0);
	assert_int_equal(folder.fd, -1);
	assert_int_equal(file_folder_make(&folder, ".allframes-1.tmp", &fd), 0);
	assert_int_equal(write(fd, "text", 4), 4);
	assert_int_equal(file_folder_move(&folder, ".allframes-1.tmp", ""), 0);
	assert_int_equal(fstat(fd, &made), 0);
	assert_int_equal(stat(output, &there), 0);
	assert_int_equal(made.st_ino, there.st_ino);
	close(fd);
	file_folder_deinit(&folder);
	assert_int_equal(file_folder_init(&folder, FOLDER_SCRATCH, "/tmp"), 0);
	assert_int_equal(file_folder_make_unnamed(&folder, &fd), 0);
	assert_int_equal(fstat(fd, &made), 0);
	assert_int_equal(made.st_nlink, 0);
	close(fd);
}

static void errors_of_folders_come_back(void **state)
{
	struct folder_request request = { .kind = FOLDER_MAKE, .folder = 4, .name = "name" };
	struct file_folder folder;
	int fd = -7;

	(void)state;
	assert_int_equal(file_folder_init(&folder, FOLDER_OUTPUT, "/nowhere/output"), 0);
	assert_int_equal(file_folder_make(&folder, ".allframes-1.tmp", &fd), -ENOENT);
	assert_int_equal(file_folder_init(&folder, FOLDER_OUTPUT, output), 0);
	assert_int_equal(file_folder_make(&folder, "passwd", &fd), -EPERM);
	/* Folders that are not listed are opened by the process itself, if it may. */
	assert_int_equal(file_folder_init(&folder, FOLDER_OUTPUT, "/nowhere/other"), -ENOENT);
	assert_int_equal(launcher_ask_folder(&request, &fd), -EPERM);
	assert_int_equal(fd, -7);
}

/* The process that has a launcher: starts a bound program, sends its pid, and ends after an answer. */
static void run_agent(int pids, int answers)
{
	char *arguments[] = { "sleep", "100", NULL };
	struct child_process child;
	char byte;

	if (start_launcher() || child_process_start_bound("sleep", arguments, &child) ||
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
		cmocka_unit_test(files_are_made_in_listed_folders),
		cmocka_unit_test(errors_of_folders_come_back),
	};

	const struct CMUnitTest own_launcher[] = {
		cmocka_unit_test(a_bound_program_ends_with_the_process),
	};
	int failed = cmocka_run_group_tests_name("launcher", tests, set_up, tear_down);

	return failed + cmocka_run_group_tests_name("end", own_launcher, NULL, NULL);
}
