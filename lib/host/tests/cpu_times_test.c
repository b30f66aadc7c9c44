/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/host/cpu_times.h"
#include "lib/host/tests/proc_fixture.h"

static char folder[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/cpu_times_test_XXXXXX");
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

static void idle_waiting_and_stolen_time_is_taken_of_each_cpu(void **state)
{
	struct cpu_times times[4] = { { 9, 9 }, { 9, 9 }, { 9, 9 }, { 9, 9 } };

	(void)state;
	write_fake_file(folder, "stat",
			"cpu  1 2 3 4000 5 6 7 8 0 0\n"
			"cpu0 1 2 3 100 20 6 7 8 0 0\n"
			"cpu2 1 2 3 300 0 6 7 90 0 0\n"
			"cpu9 1 2 3 900 0 6 7 8 0 0\n"
			"intr 1 2 3\ncpu1 1 1 1 1 1\n");
	assert_int_equal(cpu_times_read(folder, times, 4), 0);
	assert_int_equal(times[0].idle_ns, clock_ticks_ns(120));
	assert_int_equal(times[0].stolen_ns, clock_ticks_ns(8));
	assert_int_equal(times[1].idle_ns, 0);
	assert_int_equal(times[1].stolen_ns, 0);
	assert_int_equal(times[2].idle_ns, clock_ticks_ns(300));
	assert_int_equal(times[2].stolen_ns, clock_ticks_ns(90));
	assert_int_equal(times[3].idle_ns, 0);
	assert_int_equal(times[3].stolen_ns, 0);
}

static void a_line_that_makes_no_sense_is_refused(void **state)
{
	struct cpu_times times[1];

	(void)state;
	assert_int_equal(cpu_times_read(folder, times, 1), -ENOENT);
	write_fake_file(folder, "stat", "cpu  1 2 3 4 5\ncpu0 1 2 three\n");
	assert_int_equal(cpu_times_read(folder, times, 1), -EBADMSG);
}

static void the_idle_time_of_this_machine_grows(void **state)
{
	struct cpu_times before[1], after[1];

	(void)state;
	assert_int_equal(cpu_times_read("/proc", before, 1), 0);
	usleep(50000);
	assert_int_equal(cpu_times_read("/proc", after, 1), 0);
	assert_true(before[0].idle_ns > 0);
	assert_in_range(after[0].idle_ns, before[0].idle_ns,
			before[0].idle_ns + 10 * NS_PER_SECOND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(idle_waiting_and_stolen_time_is_taken_of_each_cpu),
		TEST(a_line_that_makes_no_sense_is_refused),
		TEST(the_idle_time_of_this_machine_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
