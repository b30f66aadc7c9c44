/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sample_weigher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/model/origins.h"
#include "reporter/weights.h"

enum {
	PIDS = 40,
	MAX_EVENTS = 100000,
	MAX_PROCESSES = 4000,
};

/* Takes what the weigher hands on. */
struct taker {
	struct reporter reporter;
	size_t count;
	struct taken {
		uint32_t pid;
		uint64_t time_ns;
		uint64_t value;
		bool is_no_sample;
		char comm[COMM_BYTES];
	} events[MAX_EVENTS];
};

static struct taker taker;

static void take(struct reporter *reporter, const struct sample_event *event)
{
	struct taken *taken = &taker.events[taker.count++];
	struct frame leaf = trace_frame(event->sample.trace, 0);

	(void)reporter;
	assert_int_equal(event->sample.origin, WEIGHT_RUNS);
	assert_true(taker.count < MAX_EVENTS);
	*taken = (struct taken){
		.pid = event->sample.pid,
		.time_ns = event->time_ns,
		.value = event->value,
		.is_no_sample = leaf.function && !strcmp(leaf.function, NO_SAMPLE_FRAME),
	};
	strncpy(taken->comm, event->sample.process_comm, COMM_BYTES - 1);
	assert_true(event->value > 0);
}

static const struct reporter_ops take_ops = { .report = take };

struct fixture {
	struct trace *trace;
	struct sample_weigher *weigher;
	/* Names in samples and in costs. */
	const char *sampled;
	const char *counted;
};

static void begin(struct fixture *f, struct sample_weigher_options options)
{
	const struct frame frame = { .kind = FRAME_KERNEL, .function = "work", .address = 1 };

	f->sampled = "sampled";
	f->counted = "counted";
	taker.count = 0;
	taker.reporter.ops = &take_ops;
	options.weight = WEIGHT_RUNS;
	f->trace = trace_create(&frame, 1, true, false);
	f->weigher = sample_weigher_create(&options);
	assert_non_null(f->weigher);
	sample_weigher_add_next(f->weigher, &taker.reporter);
}

static void end(struct fixture *f)
{
	sample_weigher_destroy(f->weigher);
	trace_unref(f->trace);
}

static void sample(struct fixture *f, uint32_t pid, uint64_t time_ns)
{
	const struct sample_event event = {
		.sample = { .trace = f->trace,
			    .pid = pid,
			    .tid = pid,
			    .process_comm = f->sampled,
			    .thread_comm = "thread" },
		.time_ns = time_ns,
	};
	struct reporter *reporter = sample_weigher_reporter(f->weigher);

	reporter->ops->report(reporter, &event);
}

static int cost(struct fixture *f, uint32_t pid, uint64_t start_ns, int64_t count, bool has_ended)
{
	struct weighed_cost added = {
		.key = { .start_time_ns = start_ns, .id = pid, .pid = pid },
		.count = count,
		.has_ended = has_ended,
	};

	strncpy(added.comm, f->counted, COMM_BYTES - 1);
	return sample_weigher_add(f->weigher, &added);
}

static uint64_t sum_of(uint32_t pid, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < taker.count; i++)
		if (taker.events[i].pid == pid && taker.events[i].time_ns >= from_ns &&
		    taker.events[i].time_ns < to_ns)
			sum += taker.events[i].value;
	return sum;
}

static void samples_of_an_interval_share_its_costs_equally(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){ .has_all_processes = true });
	for (int i = 0; i < 3; i++)
		sample(&f, 7, 100 + i);
	sample(&f, 8, 101);
	cost(&f, 7, 50, 11, false);
	cost(&f, 8, 50, 1000, false);
	assert_int_equal(sample_weigher_end_interval(f.weigher, 200), 0);
	assert_int_equal(taker.count, 4);
	assert_int_equal(sum_of(7, 0, 200), 11);
	assert_int_equal(sum_of(8, 0, 200), 1000);
	for (size_t i = 0; i < taker.count; i++)
		assert_true(taker.events[i].pid == 8 || taker.events[i].value == 3 ||
			    taker.events[i].value == 4);
	end(&f);
}

static void costs_without_a_sample_go_to_the_next_one(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){ .has_all_processes = true });
	cost(&f, 7, 50, 5, false);
	sample_weigher_end_interval(f.weigher, 200);
	assert_int_equal(taker.count, 0);
	sample(&f, 7, 250);
	cost(&f, 7, 50, 6, false);
	sample_weigher_end_interval(f.weigher, 300);
	assert_int_equal(taker.count, 1);
	assert_int_equal(taker.events[0].value, 11);
	assert_int_equal(taker.events[0].time_ns, 250);
	end(&f);
}

static void what_is_left_at_the_end_is_a_stack_of_its_own(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){ .has_all_processes = true });
	cost(&f, 7, 50, 5, true);
	cost(&f, 8, 50, 9, false);
	sample_weigher_end_interval(f.weigher, 200);
	/* Another CPU's part of the costs may come with the next interval. */
	assert_int_equal(taker.count, 0);
	cost(&f, 7, 50, 2, true);
	sample_weigher_end_interval(f.weigher, 300);
	assert_int_equal(taker.count, 1);
	assert_int_equal(taker.events[0].pid, 7);
	assert_int_equal(taker.events[0].value, 7);
	assert_true(taker.events[0].is_no_sample);
	assert_string_equal(taker.events[0].comm, "counted");
	assert_int_equal(sample_weigher_finish(f.weigher), 0);
	assert_int_equal(taker.count, 2);
	assert_int_equal(taker.events[1].pid, 8);
	assert_int_equal(taker.events[1].value, 9);
	assert_int_equal(taker.events[1].time_ns, 300);
	end(&f);
}

static void of_selected_processes_those_with_samples_are_finished(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){ 0 });
	sample(&f, 7, 100);
	cost(&f, 7, 50, 0, false);
	cost(&f, 8, 50, 9, false);
	sample_weigher_end_interval(f.weigher, 200);
	cost(&f, 7, 50, 3, false);
	sample_weigher_end_interval(f.weigher, 300);
	sample_weigher_finish(f.weigher);
	assert_int_equal(taker.count, 1);
	assert_int_equal(taker.events[0].pid, 7);
	assert_int_equal(taker.events[0].value, 3);
	assert_true(taker.events[0].is_no_sample);
	end(&f);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){ .has_all_processes = true });
	/* In any order. */
	cost(&f, 7, 150, 20, false);
	cost(&f, 7, 50, 5, true);
	sample(&f, 7, 160);
	sample(&f, 7, 140);
	sample_weigher_end_interval(f.weigher, 200);
	assert_int_equal(sum_of(7, 0, 150), 5);
	assert_int_equal(sum_of(7, 150, 200), 20);
	/* The older one has gone, and the newer one is found. */
	sample_weigher_end_interval(f.weigher, 300);
	sample(&f, 7, 310);
	cost(&f, 7, 150, 4, false);
	sample_weigher_end_interval(f.weigher, 400);
	assert_int_equal(sum_of(7, 300, 400), 4);
	end(&f);
}

static void intervals_wait_for_samples_that_come_late(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){ .delay_ns = 1000, .has_all_processes = true });
	cost(&f, 7, 50, 5, false);
	sample_weigher_end_interval(f.weigher, 200);
	cost(&f, 7, 50, 100, false);
	sample(&f, 7, 250);
	sample_weigher_end_interval(f.weigher, 300);
	sample(&f, 7, 150);
	sample_weigher_end_interval(f.weigher, 1199);
	assert_int_equal(taker.count, 0);
	sample_weigher_end_interval(f.weigher, 1300);
	assert_int_equal(sum_of(7, 150, 151), 5);
	assert_int_equal(sum_of(7, 250, 251), 100);
	end(&f);
}

/* A sum that is estimated can become less. What was handed on stays. */
static void an_estimate_that_became_less_is_made_up_for(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){ .has_all_processes = true });
	sample(&f, 7, 100);
	cost(&f, 7, 50, 10, false);
	sample_weigher_end_interval(f.weigher, 200);
	sample(&f, 7, 210);
	cost(&f, 7, 50, -3, false);
	sample_weigher_end_interval(f.weigher, 300);
	sample(&f, 7, 310);
	cost(&f, 7, 50, 8, false);
	sample_weigher_end_interval(f.weigher, 400);
	assert_int_equal(taker.count, 2);
	assert_int_equal(sum_of(7, 0, 400), 15);
	end(&f);
}

static void what_does_not_fit_costs_no_sums(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, (struct sample_weigher_options){
			  .has_all_processes = true, .max_samples = 3, .max_processes = 2 });
	for (uint64_t i = 0; i < 10; i++)
		sample(&f, 7, 100 + i);
	cost(&f, 7, 50, 100, false);
	cost(&f, 8, 50, 1, false);
	cost(&f, 9, 50, 1, false);
	assert_int_equal(sample_weigher_end_interval(f.weigher, 200), -E2BIG);
	assert_int_equal(taker.count, 3);
	assert_int_equal(sum_of(7, 0, 200), 100);
	/* There is room again. */
	sample(&f, 7, 210);
	cost(&f, 7, 50, 5, false);
	assert_int_equal(sample_weigher_end_interval(f.weigher, 300), 0);
	assert_int_equal(sum_of(7, 200, 300), 5);
	end(&f);
}

/* A process of the test at random: its name is its number among all of them. */
struct random_process {
	uint64_t start_ns;
	uint32_t number;
	char name[COMM_BYTES];
};

/* Samples of the process, perhaps none, until @end_ns. */
static void sample_at_random(struct fixture *f, const struct random_process *process, uint32_t pid,
			     uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < process->start_ns)
		begin_ns = process->start_ns;
	for (int i = (int)(random() % 6) - 2; i > 0; i--)
		sample(f, pid, begin_ns + (uint64_t)random() % (end_ns - begin_ns));
}

/* Processes that come, go and use a pid again, with samples at random: of each the sum is exact. */
static void sums_of_random_processes_are_exact(void **state)
{
	static struct random_process processes[PIDS];
	static uint64_t wanted[MAX_PROCESSES], found[MAX_PROCESSES];
	struct fixture f;
	uint32_t count = 0;

	(void)state;
	srandom(46);
	begin(&f, (struct sample_weigher_options){ .delay_ns = 3000, .has_all_processes = true });
	for (uint64_t now_ns = 1000; now_ns < 400000; now_ns += 1000) {
		for (uint32_t pid = 1; pid < PIDS; pid++) {
			struct random_process *process = &processes[pid];
			bool has_ended = process->start_ns && random() % 20 == 0;
			int64_t costs = random() % 3 ? random() % 1000000007 : 0;

			if (!process->start_ns && random() % 4)
				continue;
			if (!process->start_ns) {
				process->start_ns = now_ns + (uint64_t)random() % 400;
				process->number = count++;
				snprintf(process->name, COMM_BYTES, "%u", process->number);
				assert_true(count < MAX_PROCESSES);
			}
			f.sampled = f.counted = process->name;
			sample_at_random(&f, process, pid, now_ns,
					 now_ns + (has_ended ? 500 : 1000));
			assert_int_equal(cost(&f, pid, process->start_ns, costs, has_ended), 0);
			wanted[process->number] += (uint64_t)costs;
			if (has_ended)
				process->start_ns = 0;
		}
		assert_int_equal(sample_weigher_end_interval(f.weigher, now_ns + 1000), 0);
	}
	assert_int_equal(sample_weigher_finish(f.weigher), 0);
	for (size_t i = 0; i < taker.count; i++)
		found[atoi(taker.events[i].comm)] += taker.events[i].value;
	assert_true(count > 2 * PIDS);
	assert_true(taker.count > 5000);
	assert_memory_equal(found, wanted, sizeof(found));
	end(&f);
}

static void weights_are_found_by_their_names(void **state)
{
	struct text_builder names = { 0 };
	struct costs_sum sum = { .run_time_ns = 5, .run_count = 6, .page_reads = 7 };
	uint8_t weight = 0;

	(void)state;
	assert_false(weight_find("joule", &weight));
	assert_true(weight_find("runs", &weight));
	assert_int_equal(weight, WEIGHT_RUNS);
	assert_int_equal(weight_count(weight, &sum), 6);
	assert_int_equal(weight_source(weight), 0);
	assert_true(weight_find("page-reads", &weight));
	assert_int_equal(weight_count(weight, &sum), 7);
	assert_int_equal(weight_source(weight), COST_PAGE_READS);
	assert_string_equal(sample_weight_type(weight)->type, "page-reads");
	assert_null(sample_weight_type(ORIGIN_CLOCK));
	weights_append_names(&names);
	assert_non_null(strstr(text_builder_text(&names), "run-time, runs, "));
	assert_non_null(strstr(text_builder_text(&names), " or "));
	text_builder_deinit(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_an_interval_share_its_costs_equally),
		cmocka_unit_test(costs_without_a_sample_go_to_the_next_one),
		cmocka_unit_test(what_is_left_at_the_end_is_a_stack_of_its_own),
		cmocka_unit_test(of_selected_processes_those_with_samples_are_finished),
		cmocka_unit_test(a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(intervals_wait_for_samples_that_come_late),
		cmocka_unit_test(an_estimate_that_became_less_is_made_up_for),
		cmocka_unit_test(what_does_not_fit_costs_no_sums),
		cmocka_unit_test(sums_of_random_processes_are_exact),
		cmocka_unit_test(weights_are_found_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
