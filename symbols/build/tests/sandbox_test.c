/* SPDX-License-Identifier: Apache-2.0 */
/* Each attempt runs in its own process, whose exit status is the result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "symbols/build/sandbox.h"

enum {
	GIVEN_FD = 123,
	MEMORY_BYTES = 32 << 20,
	OUTPUT_BYTES = 1000,
};

static char asked_path[64];

static int give_file(const char *path)
{
	strncpy(asked_path, path, sizeof(asked_path) - 1);
	return strcmp(path, "/given") ? -ENOENT : GIVEN_FD;
}

static const char *give_path(int fd)
{
	return fd == GIVEN_FD ? "/folder/given" : NULL;
}

/* The status of a process that calls @attempt in the sandbox with its own open file. */
static int status_of(bool (*attempt)(int fd))
{
	static const struct sandbox_files files = {
		.open_file = give_file,
		.file_path = give_path,
		.socket = -1,
	};
	static const struct sandbox_limits limits = {
		.cpu_ns = 1,
		.memory_bytes = MEMORY_BYTES,
		.mapped_bytes = 1 << 20,
		.output_bytes = OUTPUT_BYTES,
	};
	int fd = memfd_create("output", MFD_CLOEXEC), status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (sandbox_enter(&limits, &files))
			_exit(2);
		_exit(attempt(fd) ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	return status;
}

static bool is_refused(long result)
{
	return result < 0 && errno == EPERM;
}

static bool try_other_calls(int fd)
{
	char *arguments[] = { NULL }, byte;
	const struct iovec own = { &byte, 1 };

	return is_refused(process_vm_readv(getppid(), &own, 1, &own, 1, 0)) &&
	       is_refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)) &&
	       is_refused(syscall(SYS_renameat2, fd, "a", fd, "b", 0)) &&
	       is_refused(socket(AF_UNIX, SOCK_STREAM, 0)) && is_refused(kill(getpid(), 0)) &&
	       is_refused(execve("/bin/true", arguments, arguments)) &&
	       is_refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) &&
	       is_refused(syscall(SYS_setuid, 0)) && is_refused(unlinkat(fd, "file", 0)) &&
	       is_refused(fcntl(fd, F_SETOWN, 1)) && is_refused(send(1, "", 1, 0)) &&
	       mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}

static bool try_files(int fd)
{
	char *path = realpath("/proc/self/fd/123", NULL);
	struct stat status;

	return open("/given", O_RDONLY) == GIVEN_FD && !strcmp(asked_path, "/given") &&
	       open("/etc/passwd", O_RDONLY) == -1 && errno == ENOENT &&
	       !strcmp(asked_path, "/etc/passwd") && path && !strcmp(path, "/folder/given") &&
	       !realpath("/proc/self/fd/124", NULL) && !fstat(fd, &status) &&
	       stat("/etc/passwd", &status) == -1;
}

static bool try_memory(int fd)
{
	void *bytes = mmap(NULL, MEMORY_BYTES / 2, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *more = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	(void)fd;
	return bytes != MAP_FAILED && more == MAP_FAILED && errno == ENOMEM;
}

/* qsort() asks for it; without an answer it sorts without extra memory, and twice as slowly. */
static bool ask_memory_size(int fd)
{
	(void)fd;
	return sysconf(_SC_PHYS_PAGES) > 0;
}

static bool try_output(int fd)
{
	static const char bytes[OUTPUT_BYTES];

	if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return false;
	/* This call ends the process. */
	(void)!write(fd, bytes, 1);
	return false;
}

static bool try_time(int fd)
{
	while (lseek(fd, 0, SEEK_CUR) >= 0)
		;
	return false;
}

static void calls_that_are_not_listed_are_refused(void **state)
{
	(void)state;
	assert_int_equal(status_of(try_other_calls), 0);
}

static void files_come_from_the_caller_alone(void **state)
{
	(void)state;
	assert_int_equal(status_of(try_files), 0);
}

static void memory_output_and_time_have_limits(void **state)
{
	int status;

	(void)state;
	assert_int_equal(status_of(try_memory), 0);
	assert_int_equal(status_of(ask_memory_size), 0);
	status = status_of(try_output);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
	status = status_of(try_time);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_are_not_listed_are_refused),
		cmocka_unit_test(files_come_from_the_caller_alone),
		cmocka_unit_test(memory_output_and_time_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
