// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/destinations.h"
#include "lib/model/metrics.h"

#include <cmocka.h>

static void assert_summary(const struct destinations *destinations, const char *expected)
{
	struct text_builder text = { 0 };

	destinations_append_summary(destinations, &text);
	assert_string_equal(text_builder_text(&text), expected);
	text_builder_deinit(&text);
}

static void dropped_samples_and_rejected_profiles_are_told_if_there_are_any(void **state)
{
	int none;
	const struct destinations destinations = { .otlp = (struct otlp_reporter *)&none };

	(void)state;
	metrics_reset();
	assert_summary(&destinations, "; sent no samples");
	metrics_add(METRIC_OTLP_SAMPLES_SENT, 5);
	metrics_add(METRIC_OTLP_REQUESTS_SENT, 2);
	assert_summary(&destinations, "; sent 5 samples in 2 requests");
	metrics_add(METRIC_OTLP_SAMPLES_DROPPED, 4);
	metrics_add(METRIC_OTLP_PROFILES_REJECTED, 3);
	assert_summary(&destinations, "; sent 5 samples in 2 requests, dropped 4 samples on the "
				      "way, 3 profiles rejected");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_samples_and_rejected_profiles_are_told_if_there_are_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
