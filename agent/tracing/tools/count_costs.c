/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `count_costs COUNTERS`: what -accounting loads, with so many counters of software events in place of the CPU's own, until
 * standard input ends. For the bench, on machines without hardware counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/tracing/cost_reader.h"
#include "lib/base/error.h"

/* Events that the kernel always has, and that do not come at a switch. */
static const uint64_t configs[COST_COUNTER_COUNT] = {
	PERF_COUNT_SW_PAGE_FAULTS_MIN,	PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS,
	PERF_COUNT_SW_PAGE_FAULTS,
};

int main(int argc, char **argv)
{
	struct perf_event_attr events[COST_COUNTER_COUNT];
	const struct agent_config config = { 0 };
	const struct cost_reader_options options = { .config = &config, .events = events };
	struct cost_reader *reader;
	int count = argc == 2 ? atoi(argv[1]) : -1;
	char byte;

	if (count < 0 || count > COST_COUNTER_COUNT) {
		fprintf(stderr, "usage: count_costs COUNTERS\n");
		return 2;
	}
	for (int i = 0; i < COST_COUNTER_COUNT; i++)
		events[i] = (struct perf_event_attr){
			.type = PERF_TYPE_SOFTWARE,
			.config = i < count ? configs[i] : PERF_COUNT_SW_MAX,
		};
	if (cost_reader_create(&options, &reader)) {
		fprintf(stderr, "count_costs: %s\n", error_text());
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	cost_reader_destroy(reader);
	return 0;
}
