/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/process_usage.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MORE_BYTES = 64 << 20, MORE_FDS = 3 };

static void memory_and_descriptors_of_this_process_are_counted(void **state)
{
	struct process_usage before, after;
	char *memory = malloc(MORE_BYTES);
	int fds[MORE_FDS];

	(void)state;
	assert_non_null(memory);
	process_usage_read(&before);
	memset(memory, 1, MORE_BYTES);
	for (int i = 0; i < MORE_FDS; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	process_usage_read(&after);
	assert_true(after.resident_bytes >= before.resident_bytes + MORE_BYTES / 2);
	assert_true(after.resident_bytes <= after.virtual_bytes);
	assert_int_equal(after.open_fds, before.open_fds + MORE_FDS);
	assert_true(after.max_fds >= after.open_fds);
	assert_true(after.cpu_seconds >= before.cpu_seconds && after.cpu_seconds > 0);
	for (int i = 0; i < MORE_FDS; i++)
		close(fds[i]);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_and_descriptors_of_this_process_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
