/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/host/cpu_idle_times.h"
#include "agent/host/tests/proc_fixture.h"

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/cpu_idle_times_test_XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	remove_folder(folder);
	return 0;
}

static uint64_t clock_ticks_ns(uint64_t ticks)
{
	return ticks * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void idle_and_waiting_time_is_taken_of_each_cpu(void **state)
{
	uint64_t idle_ns[4] = { 9, 9, 9, 9 };

	(void)state;
	write_fake_file(folder, "stat",
			"cpu  1 2 3 4000 5 6 7 8 0 0\n"
			"cpu0 1 2 3 100 20 6 7 8 0 0\n"
			"cpu2 1 2 3 300 0 6 7 8 0 0\n"
			"cpu9 1 2 3 900 0 6 7 8 0 0\n"
			"intr 1 2 3\ncpu1 1 1 1 1 1\n");
	assert_int_equal(cpu_idle_times(folder, idle_ns, 4), 0);
	assert_int_equal(idle_ns[0], clock_ticks_ns(120));
	assert_int_equal(idle_ns[1], 0);
	assert_int_equal(idle_ns[2], clock_ticks_ns(300));
	assert_int_equal(idle_ns[3], 0);
}

static void a_line_that_makes_no_sense_is_refused(void **state)
{
	uint64_t idle_ns[1];

	(void)state;
	assert_int_equal(cpu_idle_times(folder, idle_ns, 1), -ENOENT);
	write_fake_file(folder, "stat", "cpu  1 2 3 4 5\ncpu0 1 2 three\n");
	assert_int_equal(cpu_idle_times(folder, idle_ns, 1), -EBADMSG);
}

static void the_idle_time_of_this_machine_grows(void **state)
{
	uint64_t before_ns[1], after_ns[1];

	(void)state;
	assert_int_equal(cpu_idle_times("/proc", before_ns, 1), 0);
	usleep(50000);
	assert_int_equal(cpu_idle_times("/proc", after_ns, 1), 0);
	assert_true(before_ns[0] > 0);
	assert_in_range(after_ns[0], before_ns[0], before_ns[0] + 10 * NS_PER_SECOND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(idle_and_waiting_time_is_taken_of_each_cpu),
		TEST(a_line_that_makes_no_sense_is_refused),
		TEST(the_idle_time_of_this_machine_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
