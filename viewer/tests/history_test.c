/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "lib/model/origins.h"
#include "viewer/tests/samples.h"

#define SECOND_NS 1000000000ULL

static struct history *make_history(uint64_t retention_ns, size_t max_bytes)
{
	const struct history_options options = {
		.retention_ns = retention_ns,
		.max_bytes = max_bytes,
	};
	struct history *history = history_create(&options);

	assert_non_null(history);
	return history;
}

static size_t count_samples(struct history *history, uint64_t from_ns, uint64_t to_ns)
{
	struct history_sample sample;
	struct history_view view;
	size_t count = 0;

	assert_int_equal(history_view_open(history, &view), 0);
	history_view_seek(&view, from_ns, to_ns);
	while (history_view_next(&view, &sample)) {
		assert_true(sample.time_ns >= from_ns && sample.time_ns < to_ns);
		assert_non_null(history_view_key(&view, sample.key));
		count++;
	}
	history_view_close(&view);
	return count;
}

static void assert_leaf(const struct history_view *view, uint32_t key, const char *function)
{
	struct key_stack stack = { 0 };

	assert_int_equal(history_key_stack(&view->keys, key, &stack), 0);
	assert_true(stack.frames.count > 0);
	assert_string_equal(stack.frames.items[stack.frames.count - 1].function, function);
	key_stack_deinit(&stack);
}

static void samples_come_out_as_they_went_in(void **state)
{
	struct history *history = make_history(3600 * SECOND_NS, 0);
	struct history_sample sample;
	struct history_view view;

	(void)state;
	srand(7);
	/* Several chunks, with times not quite in order. */
	for (uint32_t i = 0; i < 30000; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i % 50);
		report_stack(history, stack,
			     &(struct told){ .pid = 1 + i % 3,
					     .tid = i % 7,
					     .cpu = i % 300,
					     .time_ns = 5 * SECOND_NS + i * 1000000ULL +
							(i * 7919) % 3000000 });
	}
	assert_int_equal(history_view_open(history, &view), 0);
	for (uint32_t i = 0; i < 30000; i++) {
		const struct sample *key;
		char name[16];

		assert_true(history_view_next(&view, &sample));
		key = history_view_key(&view, sample.key);
		snprintf(name, sizeof(name), "f%u", i % 50);
		assert_leaf(&view, sample.key, name);
		assert_int_equal(key->pid, 1 + i % 3);
		assert_int_equal(key->tid, i % 7);
		assert_int_equal(sample.cpu, i % 300);
		assert_true(sample.time_ns ==
			    5 * SECOND_NS + i * 1000000ULL + (i * 7919) % 3000000);
		assert_string_equal(key->process_comm, "prog");
	}
	assert_false(history_view_next(&view, &sample));
	history_view_close(&view);
	history_destroy(history);
}

static uint64_t random_64(void)
{
	return (uint64_t)rand() << 62 ^ (uint64_t)rand() << 31 ^ (uint64_t)rand();
}

/* Small steps in both directions mostly, and some to anywhere. */
static uint64_t next_random_time(uint64_t time_ns)
{
	return rand() % 50 ? time_ns + (uint64_t)(rand() % 3000000) - 1000000 :
			     random_64() >> rand() % 64;
}

/* Also profiles without CPUs, and numbers of CPUs that no machine has. */
static uint32_t random_cpu(void)
{
	static const uint32_t cpus[] = { 0, 1, 2, 63, 127, 128, 5000, UINT32_MAX - 1, UINT32_MAX };

	return rand() % 20 ? (uint32_t)rand() % 4 : cpus[rand() % 9];
}

static void times_and_cpus_of_all_sizes_come_out(uint32_t time_unit_ns)
{
	enum { SAMPLES = 20000 };
	static uint64_t times[SAMPLES];
	static uint32_t cpus[SAMPLES];
	const struct history_options options = { .retention_ns = HISTORY_WITHOUT_END,
						 .time_unit_ns = time_unit_ns };
	struct history *history = history_create(&options);
	uint64_t time_ns = SECOND_NS, unit_ns = time_unit_ns ? time_unit_ns : 1;
	struct history_sample sample;
	struct history_view view;

	assert_non_null(history);
	srand(13);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		time_ns = next_random_time(time_ns);
		times[i] = time_ns - time_ns % unit_ns;
		cpus[i] = random_cpu();
		report_stack(history, "main",
			     &(struct told){ .pid = 1, .cpu = cpus[i], .time_ns = time_ns });
	}
	assert_int_equal(history_view_open(history, &view), 0);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		/* Seeking to UINT64_MAX leaves that time out. */
		if (times[i] == UINT64_MAX)
			continue;
		assert_true(history_view_next(&view, &sample));
		assert_true(sample.time_ns == times[i]);
		assert_int_equal(sample.cpu, cpus[i]);
	}
	assert_false(history_view_next(&view, &sample));
	history_view_close(&view);
	history_destroy(history);
}

static void exact_times_and_cpus_of_all_sizes_come_out(void **state)
{
	(void)state;
	times_and_cpus_of_all_sizes_come_out(0);
}

static void rounded_times_and_cpus_of_all_sizes_come_out(void **state)
{
	(void)state;
	times_and_cpus_of_all_sizes_come_out(1000);
}

/*
 * Samples as from a real machine: two CPUs, 99 samples a second each, and a few hundred stacks that
 * recur.
 */
static void a_sample_takes_a_few_bytes(void **state)
{
	enum { STACKS = 300, SAMPLES = 300000 };
	const struct history_options options = { .retention_ns = HISTORY_WITHOUT_END,
						 .time_unit_ns = 1000 };
	struct history *history = history_create(&options);
	struct history_facts first, last;
	double bytes;

	(void)state;
	srand(9);
	for (uint32_t i = 0; i < STACKS + SAMPLES; i++) {
		char stack[32];

		if (i == STACKS)
			history_facts(history, &first);
		snprintf(stack, sizeof(stack), "main;f%u",
			 i < STACKS ? i : (uint32_t)rand() % STACKS);
		report_stack(history, stack,
			     &(struct told){ .pid = 1,
					     .cpu = i % 2,
					     .time_ns = SECOND_NS + i / 2 * 10101010ULL +
							(uint64_t)rand() % 100000 });
	}
	history_facts(history, &last);
	bytes = (double)(last.bytes - first.bytes) / SAMPLES;
	print_message("%.1f bytes per sample\n", bytes);
	assert_true(bytes < 6);
	assert_int_equal(last.samples, STACKS + SAMPLES);
	history_destroy(history);
}

static void a_range_of_times_has_its_samples(void **state)
{
	struct history *history = make_history(3600 * SECOND_NS, 0);

	(void)state;
	for (uint32_t i = 0; i < 20000; i++)
		report_stack(history, "main",
			     &(struct told){ .pid = 1, .time_ns = SECOND_NS + i * 1000000ULL });
	assert_int_equal(count_samples(history, 0, UINT64_MAX), 20000);
	assert_int_equal(count_samples(history, 3 * SECOND_NS, 4 * SECOND_NS), 1000);
	assert_int_equal(count_samples(history, 0, SECOND_NS), 0);
	assert_int_equal(count_samples(history, 20 * SECOND_NS, UINT64_MAX), 1000);
	history_destroy(history);
}

static void what_is_too_old_goes_with_all_that_it_needed(void **state)
{
	struct history *history = make_history(10 * SECOND_NS, 0);
	struct history_facts facts, before;

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "old;f%u", i);
		report_stack(history, stack,
			     &(struct told){ .pid = i, .time_ns = SECOND_NS + i * 1000000ULL });
	}
	history_facts(history, &before);
	for (uint32_t i = 0; i < 2000; i++)
		report_stack(history, "new",
			     &(struct told){ .pid = 1,
					     .time_ns = 14 * SECOND_NS + i * 1000000ULL });
	history_facts(history, &facts);
	assert_int_equal(facts.samples, 2000);
	assert_int_equal(facts.dropped, 0);
	assert_true(facts.first_ns == 14 * SECOND_NS);
	assert_true(facts.bytes < before.bytes / 2);
	assert_int_equal(count_samples(history, 0, UINT64_MAX), 2000);
	/* Samples are limited by their own time, not by that of their chunk. */
	report_stack(history, "new", &(struct told){ .pid = 1, .time_ns = 25 * SECOND_NS });
	assert_int_equal(count_samples(history, 0, UINT64_MAX), 1001);
	history_destroy(history);
}

static void the_oldest_go_where_there_is_no_room(void **state)
{
	enum { MAX_BYTES = 1 << 20 };
	struct history *history = make_history(HISTORY_WITHOUT_END, MAX_BYTES);
	struct history_facts facts;

	(void)state;
	for (uint32_t i = 0; i < 50000; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i);
		report_stack(history, stack,
			     &(struct told){ .pid = 1, .time_ns = SECOND_NS + i * 1000000ULL });
		if (i % 1000 == 0) {
			history_facts(history, &facts);
			assert_true(facts.bytes <= MAX_BYTES);
		}
	}
	history_facts(history, &facts);
	assert_int_equal(facts.samples + facts.dropped, 50000);
	assert_true(facts.samples > 100);
	assert_int_equal(count_samples(history, 0, UINT64_MAX), facts.samples);
	history_destroy(history);
}

static void the_sum_of_a_weight_is_that_of_what_is_kept(void **state)
{
	const struct history_options options = {
		.retention_ns = HISTORY_WITHOUT_END,
		.max_bytes = 1 << 20,
		.keeps_values = true,
		.weight = WEIGHT_RUNS,
	};
	struct history *history = history_create(&options);
	uint64_t samples = 0, weight = 0;
	struct history_sample sample;
	struct history_facts facts;
	struct history_view view;

	(void)state;
	for (uint32_t i = 0; i < 50000; i++) {
		struct told told = { .pid = 1, .time_ns = SECOND_NS + i * 1000000ULL };
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i);
		report_stack(history, stack, &told);
		told.origin = WEIGHT_RUNS;
		told.value = 7 * (uint64_t)i;
		report_stack(history, stack, &told);
	}
	history_facts(history, &facts);
	assert_int_equal(history_view_open(history, &view), 0);
	while (history_view_next(&view, &sample)) {
		if (history_view_key(&view, sample.key)->origin == WEIGHT_RUNS)
			weight += (uint64_t)sample.value;
		else
			samples += (uint64_t)sample.value;
	}
	history_view_close(&view);
	assert_true(facts.dropped > 1000);
	assert_true(samples > 100);
	assert_int_equal(facts.samples, samples);
	assert_int_equal(facts.weight, weight);
	history_destroy(history);
}

/* Reports a stack with a frame in @binary, from a process with @pid and long texts. */
static void report_of_process(struct history *history, struct binary *binary, uint32_t pid,
			      const char *host, uint64_t time_ns)
{
	const struct process_info values = { .pid = pid, .host_name = host };
	struct process_info *process = process_info_create(&values);
	const struct frame frame = {
		.kind = FRAME_NATIVE,
		.binary = binary,
		.address = pid,
	};
	struct trace *trace = trace_create(&frame, 1, true, false);
	const struct sample_event event = {
		.sample.trace = trace,
		.sample.pid = pid,
		.time_ns = time_ns,
		.sample.process_comm = "comm",
		.sample.thread_comm = "comm",
		.sample.process = process,
	};

	history_reporter(history)->ops->report(history_reporter(history), &event);
	trace_unref(trace);
	process_info_unref(process);
}

static size_t history_bytes(struct history *history)
{
	struct history_facts facts;

	history_facts(history, &facts);
	return facts.bytes;
}

static void processes_and_binaries_count_once_and_go_with_their_samples(void **state)
{
	enum { TEXT_BYTES = 100000 };
	char text[TEXT_BYTES + 1];
	struct history *history = make_history(10 * SECOND_NS, 0);
	struct binary *binary, *other;
	size_t bytes, first;

	(void)state;
	memset(text, 'x', TEXT_BYTES);
	text[TEXT_BYTES] = '\0';
	binary = binary_create(&(struct binary){ .executable_id = 1, .fd = -1, .path = text });
	other = binary_create(&(struct binary){ .executable_id = 2, .fd = -1, .path = "short" });
	report_of_process(history, binary, 1, "", SECOND_NS);
	first = history_bytes(history);
	assert_true(first > TEXT_BYTES);
	/* The same binary in another stack. */
	report_of_process(history, binary, 2, "", SECOND_NS);
	assert_true(history_bytes(history) < first + 2000);
	bytes = history_bytes(history);
	/* A process, and then an equal copy of it in another stack. */
	report_of_process(history, other, 3, text, SECOND_NS);
	assert_true(history_bytes(history) > bytes + TEXT_BYTES);
	bytes = history_bytes(history);
	report_of_process(history, binary, 3, text, SECOND_NS);
	assert_true(history_bytes(history) < bytes + 2000);
	/* Everything is dropped. */
	report_of_process(history, other, 4, "", 50 * SECOND_NS);
	report_of_process(history, other, 4, "", 52 * SECOND_NS);
	assert_true(history_bytes(history) < first);
	assert_int_equal(binary->references, 1);
	binary_unref(binary);
	binary_unref(other);
	history_destroy(history);
}

static void while_it_is_looked_at_nothing_goes(void **state)
{
	enum { MAX_BYTES = 1 << 20 };
	struct history *history = make_history(10 * SECOND_NS, MAX_BYTES);
	struct history_sample sample;
	struct history_facts facts;
	struct history_view view;
	size_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		report_stack(history, "first",
			     &(struct told){ .pid = 1, .time_ns = SECOND_NS + i });
	assert_int_equal(history_view_open(history, &view), 0);
	for (uint32_t i = 0; i < 50000; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i);
		report_stack(history, stack,
			     &(struct told){ .pid = 1,
					     .time_ns = 60 * SECOND_NS + i * 1000000ULL });
	}
	while (history_view_next(&view, &sample)) {
		assert_leaf(&view, sample.key, "first");
		count++;
	}
	assert_int_equal(count, 100);
	history_facts(history, &facts);
	/* The memory is still limited. */
	assert_true(facts.bytes < MAX_BYTES + MAX_BYTES / 4);
	assert_true(facts.dropped > 0);
	history_view_close(&view);
	history_facts(history, &facts);
	assert_true(facts.bytes <= MAX_BYTES);
	history_destroy(history);
}

static void what_others_need_is_taken_from_the_oldest_samples(void **state)
{
	enum { MAX_BYTES = 1 << 20 };
	struct history *history = make_history(3600 * SECOND_NS, MAX_BYTES);
	struct history_facts full, reserved;

	(void)state;
	assert_int_equal(history_max_bytes(history), MAX_BYTES);
	for (uint32_t i = 0; i < 10000; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i);
		report_stack(history, stack, &(struct told){ .pid = 1, .time_ns = SECOND_NS + i });
	}
	history_facts(history, &full);
	assert_in_range(full.bytes, MAX_BYTES / 2, MAX_BYTES);
	history_reserve(history, MAX_BYTES / 2);
	history_facts(history, &reserved);
	assert_true(reserved.bytes <= MAX_BYTES / 2);
	assert_in_range(reserved.samples, 1, full.samples - 1);
	assert_true(reserved.first_ns > full.first_ns && reserved.last_ns == full.last_ns);
	assert_int_equal(reserved.dropped - full.dropped, full.samples - reserved.samples);
	report_stack(history, "main", &(struct told){ .pid = 1, .time_ns = 2 * SECOND_NS });
	history_facts(history, &reserved);
	assert_true(reserved.bytes <= MAX_BYTES / 2);
	history_destroy(history);
}

static void a_paused_history_takes_nothing(void **state)
{
	struct history *history = make_history(10 * SECOND_NS, 0);

	(void)state;
	report_stack(history, "main", &(struct told){ .time_ns = SECOND_NS });
	history_pause(history, true);
	assert_true(history_is_paused(history));
	report_stack(history, "main", &(struct told){ .time_ns = SECOND_NS + 1 });
	assert_int_equal(count_samples(history, 0, UINT64_MAX), 1);
	history_pause(history, false);
	report_stack(history, "main", &(struct told){ .time_ns = SECOND_NS + 2 });
	assert_int_equal(count_samples(history, 0, UINT64_MAX), 2);
	history_destroy(history);
}

static void equal_parts_are_the_same_pointers(void **state)
{
	struct history *history = make_history(10 * SECOND_NS, 0);
	const struct sample *keys[2];
	struct history_sample sample;
	struct stack_identity identities[2];
	struct history_view view;

	(void)state;
	report_stack(history, "a", &(struct told){ .pid = 3, .tid = 1, .time_ns = SECOND_NS });
	report_stack(history, "a", &(struct told){ .pid = 3, .tid = 2, .time_ns = SECOND_NS });
	assert_int_equal(history_view_open(history, &view), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(history_view_next(&view, &sample));
		keys[i] = history_view_key(&view, sample.key);
		identities[i] = history_key_identity(&view.keys, sample.key);
	}
	assert_ptr_not_equal(keys[0], keys[1]);
	assert_memory_equal(&identities[0], &identities[1], sizeof(identities[0]));
	assert_ptr_equal(keys[0]->process_comm, keys[1]->process_comm);
	history_view_close(&view);
	history_destroy(history);
}

static void *write_samples(void *argument)
{
	struct history *history = argument;

	for (uint32_t i = 0; i < 60000; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%u", i % 5000);
		report_stack(history, stack,
			     &(struct told){ .pid = 1, .time_ns = SECOND_NS + i * 1000000ULL });
	}
	return NULL;
}

static void one_thread_reads_while_another_writes(void **state)
{
	struct history *history = make_history(20 * SECOND_NS, 2 << 20);
	struct history_facts facts = { 0 };
	pthread_t writer;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_samples, history), 0);
	while (facts.samples + facts.dropped < 10000 || facts.last_ns < 60 * SECOND_NS) {
		count_samples(history, 0, UINT64_MAX);
		history_facts(history, &facts);
	}
	pthread_join(writer, NULL);
	history_facts(history, &facts);
	assert_int_equal(count_samples(history, 0, UINT64_MAX),
			 count_samples(history, facts.first_ns, UINT64_MAX));
	history_destroy(history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_come_out_as_they_went_in),
		cmocka_unit_test(exact_times_and_cpus_of_all_sizes_come_out),
		cmocka_unit_test(rounded_times_and_cpus_of_all_sizes_come_out),
		cmocka_unit_test(a_sample_takes_a_few_bytes),
		cmocka_unit_test(a_range_of_times_has_its_samples),
		cmocka_unit_test(what_is_too_old_goes_with_all_that_it_needed),
		cmocka_unit_test(the_oldest_go_where_there_is_no_room),
		cmocka_unit_test(the_sum_of_a_weight_is_that_of_what_is_kept),
		cmocka_unit_test(processes_and_binaries_count_once_and_go_with_their_samples),
		cmocka_unit_test(while_it_is_looked_at_nothing_goes),
		cmocka_unit_test(what_others_need_is_taken_from_the_oldest_samples),
		cmocka_unit_test(a_paused_history_takes_nothing),
		cmocka_unit_test(equal_parts_are_the_same_pointers),
		cmocka_unit_test(one_thread_reads_while_another_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
