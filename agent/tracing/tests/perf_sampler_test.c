/* SPDX-License-Identifier: Apache-2.0 */
/* Live: the events run the real program, and their counts add up with its counters. */
#include "agent/tracing/perf_sampler.h"

#include <time.h>

#include "agent/tracing/bpf_metrics.h"
#include "agent/tracing/cpu_list.h"
#include "agent/tracing/tests/live_programs.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"

enum { RATE = 997 };

static struct perf_sampler_options sampler_options(const struct bpf_loader *loader)
{
	return (struct perf_sampler_options){
		.program_fd = bpf_loader_fds(loader)->sample_entry,
		.samples_per_second = RATE,
	};
}

static struct bpf_loader *load(void)
{
	struct bpf_loader_options options = live_options();

	return live_loader(&options);
}

static void pause_ms(uint32_t ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

static uint64_t counter(const struct bpf_loader *loader, enum counter counter)
{
	assert_int_equal(bpf_metrics_update(bpf_loader_fds(loader)), 0);
	return metrics_read(metric_of_counter(counter));
}

static uint64_t tick_count(struct perf_sampler *sampler)
{
	uint64_t ticks[CPU_LIST_MAX_CPUS], sum = 0;

	perf_sampler_read_ticks(sampler, ticks, CPU_LIST_MAX_CPUS);
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX_CPUS; cpu++)
		sum += ticks[cpu];
	return sum;
}

static uint64_t expected_ticks(const struct perf_sampler *sampler, uint64_t time_ns)
{
	return time_ns * RATE / NS_PER_SECOND * perf_sampler_cpu_count(sampler);
}

/* On for certain is the time between the calls, on at most that with the calls. */
static void ticks_add_up_with_time_and_runs(void **state)
{
	struct bpf_loader *loader = load();
	struct perf_sampler_options options = sampler_options(loader);
	struct perf_sampler *sampler;
	uint64_t start_ns, on_ns, sure_start_ns, sure_ns, ticks, runs;
	pid_t child = live_busy_child();

	(void)state;
	assert_int_equal(perf_sampler_create(&options, &sampler), 0);
	pause_ms(50);
	assert_int_equal(tick_count(sampler), 0);
	start_ns = clock_monotonic_ns();
	assert_int_equal(perf_sampler_enable(sampler), 0);
	sure_start_ns = clock_monotonic_ns();
	pause_ms(800);
	assert_int_equal(perf_sampler_tick(sampler), 0);
	sure_ns = clock_monotonic_ns() - sure_start_ns;
	assert_int_equal(perf_sampler_disable(sampler), 0);
	on_ns = clock_monotonic_ns() - start_ns;
	ticks = tick_count(sampler);
	runs = counter(loader, COUNTER_RUNS);
	assert_in_range(ticks, expected_ticks(sampler, sure_ns) * 3 / 4,
			expected_ticks(sampler, on_ns) + 2 * perf_sampler_cpu_count(sampler));
	/* Some may be skipped, when maps are written on the machine; none can be too many. */
	assert_in_range(runs, ticks / 2, ticks + perf_sampler_cpu_count(sampler));
	assert_int_equal(runs, counter(loader, COUNTER_IDLE) + counter(loader, COUNTER_SAMPLES) +
				       counter(loader, COUNTER_UNSELECTED) +
				       counter(loader, COUNTER_LOST_RING_FULL));
	assert_true(counter(loader, COUNTER_SAMPLES) > 0);
	perf_sampler_destroy(sampler);
	live_kill(child);
	bpf_loader_destroy(loader);
}

static void off_means_that_no_program_runs(void **state)
{
	struct bpf_loader *loader = load();
	struct perf_sampler_options options = sampler_options(loader);
	struct perf_sampler *sampler;
	uint64_t runs, ticks;

	(void)state;
	assert_int_equal(perf_sampler_create(&options, &sampler), 0);
	pause_ms(50);
	assert_int_equal(counter(loader, COUNTER_RUNS), 0);
	assert_int_equal(tick_count(sampler), 0);
	assert_int_equal(perf_sampler_enable(sampler), 0);
	pause_ms(100);
	assert_int_equal(perf_sampler_disable(sampler), 0);
	runs = counter(loader, COUNTER_RUNS);
	ticks = tick_count(sampler);
	assert_true(runs > 0);
	/* Longer than a running event may stand still: being off is no sign of a dead CPU. */
	pause_ms(700);
	assert_int_equal(perf_sampler_tick(sampler), 0);
	assert_int_equal(counter(loader, COUNTER_RUNS), runs);
	assert_int_equal(tick_count(sampler), ticks);
	assert_int_equal(perf_sampler_enable(sampler), 0);
	assert_int_equal(perf_sampler_tick(sampler), 0);
	pause_ms(100);
	assert_true(counter(loader, COUNTER_RUNS) > runs);
	assert_true(tick_count(sampler) > ticks);
	perf_sampler_destroy(sampler);
	bpf_loader_destroy(loader);
}

static void only_the_cpus_asked_for_are_sampled(void **state)
{
	const uint32_t first = 0, absent = CPU_LIST_MAX_CPUS - 1;
	struct bpf_loader *loader = load();
	struct perf_sampler_options options = sampler_options(loader);
	struct cpu_list online;
	struct perf_sampler *sampler;

	(void)state;
	assert_int_equal(cpu_list_read_online(&online), 0);
	assert_int_equal(perf_sampler_create(&options, &sampler), 0);
	assert_int_equal(perf_sampler_cpu_count(sampler), online.count);
	perf_sampler_destroy(sampler);
	options.cpus = &first;
	options.cpu_count = 1;
	assert_int_equal(perf_sampler_create(&options, &sampler), 0);
	assert_int_equal(perf_sampler_cpu_count(sampler), 1);
	assert_int_equal(perf_sampler_tick(sampler), 0);
	assert_int_equal(perf_sampler_cpu_count(sampler), 1);
	perf_sampler_destroy(sampler);
	options.cpus = &absent;
	assert_int_equal(perf_sampler_create(&options, &sampler), -ENODEV);
	cpu_list_deinit(&online);
	bpf_loader_destroy(loader);
}

static void two_agents_sample_at_once(void **state)
{
	struct bpf_loader *loaders[2] = { load(), load() };
	struct perf_sampler *samplers[2];
	pid_t child = live_busy_child();

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct perf_sampler_options options = sampler_options(loaders[i]);

		assert_int_equal(perf_sampler_create(&options, &samplers[i]), 0);
		assert_int_equal(perf_sampler_enable(samplers[i]), 0);
	}
	pause_ms(300);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perf_sampler_disable(samplers[i]), 0);
		assert_true(counter(loaders[i], COUNTER_RUNS) > tick_count(samplers[i]) / 2);
		assert_true(counter(loaders[i], COUNTER_SAMPLES) > 0);
	}
	live_kill(child);
	for (int i = 0; i < 2; i++) {
		perf_sampler_destroy(samplers[i]);
		bpf_loader_destroy(loaders[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_add_up_with_time_and_runs),
		cmocka_unit_test(off_means_that_no_program_runs),
		cmocka_unit_test(only_the_cpus_asked_for_are_sampled),
		cmocka_unit_test(two_agents_sample_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
