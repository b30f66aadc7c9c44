/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include "agent/host/remote_memory.h"
#include "agent/host/tests/proc_fixture.h"

static char marker[] = "a marker that the child has too";

static void another_process_is_read(void **state)
{
	struct process_memory process;
	char text[64];
	uint64_t value;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(process_memory_init(&process, "/proc", pid), 0);
	assert_int_equal(remote_memory_read_string(&process.memory, (uintptr_t)marker, text,
						   sizeof(text)),
			 0);
	assert_string_equal(text, marker);
	assert_int_equal(remote_memory_read_u64(&process.memory, (uintptr_t)marker, &value), 0);
	assert_memory_equal(&value, marker, 8);
	assert_int_equal(remote_memory_read_u64(&process.memory, 8, &value), -EFAULT);
	assert_int_equal(remote_memory_read_u64(&process.memory, UINT64_MAX - 3, &value), -EFAULT);
	assert_int_equal(remote_memory_read_u64(&process.memory, INT64_MAX - 3, &value), -EFAULT);
	assert_memory_equal(&value, marker, 8);
	end_process(pid);
	assert_int_equal(remote_memory_read_u64(&process.memory, (uintptr_t)marker, &value),
			 -ESRCH);
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
	assert_int_equal(remote_memory_read_u64(&process.memory, (uintptr_t)marker, &value), 0);
	assert_memory_equal(&value, marker, 8);
	process_memory_deinit(&process);
	end_process(pid);
}

static void a_string_may_end_with_its_mapping(void **state)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct process_memory process;
	char text[16];

	(void)state;
	munmap(pages + 4096, 4096);
	strcpy(pages + 4096 - 4, "end");
	assert_int_equal(process_memory_init(&process, "/proc", getpid()), 0);
	assert_int_equal(remote_memory_read_string(&process.memory, (uintptr_t)pages + 4092, text,
						   sizeof(text)),
			 0);
	assert_string_equal(text, "end");
	pages[4095] = 'x';
	assert_int_equal(remote_memory_read_string(&process.memory, (uintptr_t)pages + 4092, text,
						   sizeof(text)),
			 -EFAULT);
	process_memory_deinit(&process);
	munmap(pages, 4096);
}

static void bytes_can_stand_for_a_process(void **state)
{
	static const char bytes[] = "0123456789";
	struct buffer_memory buffer;
	uint32_t value = 7;
	char text[6];

	(void)state;
	buffer_memory_init(&buffer, 0x1000, bytes, sizeof(bytes));
	assert_int_equal(remote_memory_read_u32(&buffer.memory, 0x1000, &value), 0);
	assert_memory_equal(&value, "0123", 4);
	assert_int_equal(remote_memory_read_u32(&buffer.memory, 0x1007, &value), 0);
	assert_int_equal(remote_memory_read_u32(&buffer.memory, 0x1008, &value), -EFAULT);
	assert_int_equal(remote_memory_read_u32(&buffer.memory, 0xfff, &value), -EFAULT);
	assert_int_equal(remote_memory_read_u32(&buffer.memory, UINT64_MAX, &value), -EFAULT);
	assert_int_equal(remote_memory_read_string(&buffer.memory, 0x1002, text, sizeof(text)), 0);
	assert_string_equal(text, "23456");
	assert_int_equal(remote_memory_read_string(&buffer.memory, 0x1008, text, sizeof(text)), 0);
	assert_string_equal(text, "89");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_is_read),
		cmocka_unit_test(a_process_whose_leader_has_exited_is_read),
		cmocka_unit_test(a_string_may_end_with_its_mapping),
		cmocka_unit_test(bytes_can_stand_for_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
