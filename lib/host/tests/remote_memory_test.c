/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "lib/host/remote_memory.h"
#include "lib/host/tests/proc_fixture.h"

static char marker[] = "a marker that the child has too";

static int read_u64(struct process_memory *process, uint64_t address, uint64_t *value)
{
	return remote_memory_read(&process->memory, address, value, sizeof(*value));
}

static void another_process_is_read(void **state)
{
	struct process_memory process;
	char text[sizeof(marker)];
	uint64_t value;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(process_memory_init(&process, "/proc", pid), 0);
	assert_int_equal(remote_memory_read(&process.memory, (uintptr_t)marker, text, sizeof(text)),
			 0);
	assert_string_equal(text, marker);
	assert_int_equal(read_u64(&process, (uintptr_t)marker, &value), 0);
	assert_memory_equal(&value, marker, 8);
	assert_int_equal(read_u64(&process, 8, &value), -EFAULT);
	assert_int_equal(read_u64(&process, UINT64_MAX - 3, &value), -EFAULT);
	assert_int_equal(read_u64(&process, INT64_MAX - 3, &value), -EFAULT);
	assert_memory_equal(&value, marker, 8);
	end_process(pid);
	assert_int_equal(read_u64(&process, (uintptr_t)marker, &value), -ESRCH);
	process_memory_deinit(&process);
	process_memory_deinit(&process);
	assert_int_equal(process_memory_init(&process, "/proc", pid), -ESRCH);
}

static void a_process_whose_leader_has_exited_is_read(void **state)
{
	pid_t pid = start_without_leader();
	struct process_memory process;
	uint64_t value;

	(void)state;
	assert_int_equal(process_memory_init(&process, "/proc", pid), 0);
	assert_int_equal(read_u64(&process, (uintptr_t)marker, &value), 0);
	assert_memory_equal(&value, marker, 8);
	process_memory_deinit(&process);
	end_process(pid);
}

static void after_an_exec_it_is_another_program(void **state)
{
	struct process_memory process;
	int to_child[2];
	uint64_t value;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(to_child, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(to_child[0], &value, 1) == 1)
			execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	assert_int_equal(process_memory_init(&process, "/proc", pid), 0);
	assert_int_equal(read_u64(&process, (uintptr_t)marker, &value), 0);
	assert_true(remote_memory_is_same(&process.memory));
	assert_int_equal(write(to_child[1], "x", 1), 1);
	do {
		usleep(1000);
		(void)read_u64(&process, (uintptr_t)marker, &value);
	} while (remote_memory_is_same(&process.memory));
	assert_int_equal(read_u64(&process, (uintptr_t)marker, &value), -ESRCH);
	/* Nothing was read of it. */
	assert_true(remote_memory_is_same(&process.memory));
	process_memory_deinit(&process);
	end_process(pid);
	close(to_child[0]);
	close(to_child[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_is_read),
		cmocka_unit_test(a_process_whose_leader_has_exited_is_read),
		cmocka_unit_test(after_an_exec_it_is_another_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
