/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "agent/host/remote_memory.h"
#include "agent/host/tests/proc_fixture.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_is_read),
		cmocka_unit_test(a_process_whose_leader_has_exited_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
