/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with metrics of any bytes: decoding, all rules, series, the report. An input is taken twice, so that its series
 * are compared.
 *
 * covers: received_metrics.c metrics_message.c
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "integration/collector/received_metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct received_metrics received = { 0 };
	struct findings findings = { 0 };
	FILE *null = fopen("/dev/null", "we");

	if (!null)
		abort();
	for (int i = 0; i < 2; i++)
		received_metrics_add(&received, (struct span){ data, size }, UINT64_MAX / 2, i,
				     &findings);
	received_metrics_write_report(&received, null);
	fclose(null);
	received_metrics_deinit(&received);
	return 0;
}
