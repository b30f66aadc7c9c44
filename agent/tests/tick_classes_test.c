/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tick_classes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/model/metrics.h"

static void assert_unread(uint64_t unsent, uint64_t unread)
{
	tick_classes_note_unread();
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNSENT), unsent);
	assert_int_equal(metrics_read(METRIC_SAMPLES_UNREAD), unread);
}

static void a_run_that_sent_nothing_and_a_sample_that_nobody_read_are_known(void **state)
{
	(void)state;
	metrics_reset();
	assert_unread(0, 0);
	metrics_set(metric_of_counter(COUNTER_RUNS), 100);
	metrics_set(metric_of_counter(COUNTER_IDLE), 50);
	metrics_set(metric_of_counter(COUNTER_UNSELECTED), 10);
	metrics_set(metric_of_counter(COUNTER_LOST_RING_FULL), 5);
	metrics_set(metric_of_counter(COUNTER_SAMPLES), 35);
	metrics_set(METRIC_SAMPLES_RECEIVED, 35);
	assert_unread(0, 0);
	metrics_set(metric_of_counter(COUNTER_RUNS), 103);
	metrics_set(METRIC_SAMPLES_RECEIVED, 31);
	assert_unread(3, 4);
	metrics_reset();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_sent_nothing_and_a_sample_that_nobody_read_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
