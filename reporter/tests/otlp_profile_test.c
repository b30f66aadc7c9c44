/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/otlp_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

#include "lib/base/clock.h"
#include "reporter/tests/otlp_samples.h"

/* Threads of a few processes with common stacks; @seed determines addresses and names. */
static void add_random(struct samples *s, uint32_t count, uint32_t seed)
{
	struct process_info *processes[5] = {
		process("/usr/bin/server", "c0", "shop"),
		process("/usr/bin/server", "c1", NULL),
		process("/usr/bin/worker", "c1", NULL),
		process("/opt/tool", NULL, NULL),
		process("", NULL, NULL),
	};

	for (uint32_t i = 0; i < count; i++) {
		struct frame frames[40];
		uint32_t depth = 1 + rand_r(&seed) % 40, number = 0;
		uint32_t who = rand_r(&seed) % 5;
		struct stored_sample *sample;

		if (rand_r(&seed) % 2) {
			frames[number++] = kernel_frame(&s->fixture, rand_r(&seed) % 16 * 64,
							"do_something", "vmlinux");
		}
		while (number < depth)
			frames[number++] = native_frame(
				rand_r(&seed) % 2 ? s->fixture.prog : s->fixture.stripped,
				0x4001 + rand_r(&seed) % 500 * 16,
				FRAME_RETURN_ADDRESS | (rand_r(&seed) % 50 ? 0 : FRAME_GUESS));
		sample = add(s, trace_of(frames, number), 100 + who, 200 + rand_r(&seed) % 20,
			     1 + rand_r(&seed) % 5);
		sample->sample.process = process_info_ref(processes[who]);
	}
	for (int i = 0; i < 5; i++)
		process_info_unref(processes[i]);
}

/* --- complete requests --- */

static void every_rule_holds_for_every_kind_of_frame(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	struct symbol_lookup *lookups[2] = { NULL, &f->lookup };

	fixture_report_all_kinds(f);
	for (int grouping = GROUP_BY_CONTAINER; grouping <= GROUP_BY_SERVICE; grouping++) {
		for (int i = 0; i < 2; i++) {
			s->options.grouping = grouping;
			s->options.lookup = lookups[i];
			requests_free(build_checked(fixture_snapshot(f), &window, &s->options));
		}
	}
}

static void every_rule_holds_for_many_samples(void **state)
{
	struct samples *s = *state;

	add_random(s, 2000, 1);
	for (int grouping = GROUP_BY_CONTAINER; grouping <= GROUP_BY_SERVICE; grouping++) {
		s->options.grouping = grouping;
		requests_free(build(s));
	}
}

static void no_samples_make_no_request(void **state)
{
	struct samples *s = *state;
	struct requests *requests = build(s);

	assert_int_equal(requests->count, 0);
	requests_free(requests);
}

static void add_line(struct hash_map *lines, const char *text, uint64_t count)
{
	uint64_t sum = 0;

	hash_map_find_bytes(lines, text, strlen(text), &sum);
	assert_int_equal(hash_map_set_bytes(lines, text, strlen(text), sum + count), 0);
}

/*
 * Appends the location as in the folded file, but without suffixes. A location without a name is
 * written as file and address.
 */
static void append_location(const Dictionary *tables, const Location *location,
			    struct text_builder *text)
{
	const char *file = string_at(
		tables, tables->mapping_table[location->mapping_index]->filename_strindex);

	for (size_t i = location->n_lines; i-- > 0;) {
		const char *name = string_at(
			tables,
			tables->function_table[location->lines[i]->function_index]->name_strindex);

		text_builder_append(text, ";");
		for (; *name; name++)
			text_builder_append_bytes(text, *name == ';' ? ":" : name, 1);
	}
	if (location->n_lines)
		return;
	if (strrchr(file, '/'))
		file = strrchr(file, '/') + 1;
	text_builder_append(text, ";");
	for (; *file; file++)
		text_builder_append_bytes(text, *file == ';' ? ":" : file, 1);
	text_builder_format(text, "+0x%" PRIx64, location->address);
	if (value_of(tables, location->attribute_indices, location->n_attribute_indices,
		     "allframes.frame.guess"))
		text_builder_append(text, "_[?]");
}

static void take_message_lines(const Data *data, struct hash_map *lines)
{
	const Dictionary *tables = data->dictionary;

	for (size_t i = 0; i < data->n_resource_profiles; i++) {
		const Profile *profile = profile_of(data->resource_profiles[i]);

		for (size_t j = 0; j < profile->n_samples; j++) {
			const Sample *sample = profile->samples[j];
			struct text_builder text = { 0 };
			size_t depth = tables->stack_table[sample->stack_index]->n_location_indices;

			while (depth-- > 0)
				append_location(tables, location_at(tables, sample, depth), &text);
			add_line(lines, text_builder_text(&text), -sample->n_timestamps_unix_nano);
			text_builder_deinit(&text);
		}
	}
}

static void remove_all(char *text, const char *part)
{
	char *at;

	while ((at = strstr(text, part)))
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

static void add_folded_lines(const struct sample_snapshot *snapshot, struct symbol_lookup *lookup,
			     struct hash_map *lines)
{
	struct stack_counts counts;
	char *text = NULL, *line;
	size_t bytes;

	assert_int_equal(stack_counts_init(&counts, snapshot, lookup, false, SIZE_MAX), 0);
	for (size_t i = 0; i < counts.stacks.sequences.count; i++) {
		FILE *out = open_memstream(&text, &bytes);

		stack_counts_write_stack(&counts, &counts.stacks.sequences.items[i], out);
		fclose(out);
		remove_all(text, "_[k]");
		remove_all(text, "_[i]");
		remove_all(text, "_[j]");
		line = strchr(text, ';');
		add_line(lines, line, counts.stacks.sequences.items[i].count);
		free(text);
	}
	stack_counts_deinit(&counts);
}

/* Subtracts the requests from the folded lines: nothing may remain, and no line may be new. */
static void check_against_folded(struct samples *s, const struct sample_snapshot *snapshot,
				 struct symbol_lookup *lookup)
{
	struct hash_map lines = { 0 };
	struct requests *requests;
	size_t cursor = 0, line_count;
	uint64_t rest;

	s->options.lookup = lookup;
	requests = build_checked(snapshot, &window, &s->options);
	add_folded_lines(snapshot, lookup, &lines);
	line_count = lines.count;
	assert_true(line_count > 0);
	for (size_t i = 0; i < requests->count; i++)
		take_message_lines(requests->data[i], &lines);
	assert_int_equal(lines.count, line_count);
	while (hash_map_next(&lines, &cursor, NULL, &rest))
		assert_int_equal(rest, 0);
	hash_map_deinit(&lines);
	requests_free(requests);
}

static void stack_by_stack_it_says_what_the_folded_file_says(void **state)
{
	struct samples *s = *state;

	fixture_report_all_kinds(&s->fixture);
	check_against_folded(s, fixture_snapshot(&s->fixture), &s->fixture.lookup);
	check_against_folded(s, fixture_snapshot(&s->fixture), NULL);
}

static void many_stacks_over_many_requests_are_those_of_the_folded_file(void **state)
{
	struct samples *s = *state;
	struct sample_snapshot snapshot;

	add_random(s, 1000, 11);
	snapshot = (struct sample_snapshot){ .samples = s->vector.items, .count = s->vector.count };
	check_against_folded(s, &snapshot, &s->fixture.lookup);
	s->options.max_request_bytes = 16384;
	check_against_folded(s, &snapshot, NULL);
}

/* --- times --- */

static void times_are_of_the_wall_clock_in_whole_milliseconds(void **state)
{
	struct samples *s = *state;
	struct requests *requests;
	uint64_t *times;

	times = (uint64_t *)add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 1, 2)
			->times_ns;
	times[0] = 6000000001;
	times[1] = 6001543211;
	requests = build(s);
	assert_int_equal(only_sample(only(requests))->timestamps_unix_nano[0], 1700000006123000000);
	assert_int_equal(only_sample(only(requests))->timestamps_unix_nano[1], 1700000006125000000);
	requests_free(requests);
}

static void the_bounds_hold_the_window_and_late_samples(void **state)
{
	struct samples *s = *state;
	const struct {
		uint64_t time, start, end;
	} cases[] = {
		{ 6000000000, 1700000005123000000, 1700000010123456789 },
		{ WINDOW_START_NS, 1700000005123000000, 1700000010123456789 },
		{ 4000000000, 1700000004123000000, 1700000010123456789 },
		{ 11000000000, 1700000005123000000, 1700000011123000000 },
	};
	uint64_t *time =
		(uint64_t *)add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 1, 1)
			->times_ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct requests *requests;
		const Profile *profile;

		*time = cases[i].time;
		requests = build(s);
		profile = profile_of(only(requests)->resource_profiles[0]);
		assert_int_equal(profile->time_unix_nano, cases[i].start);
		assert_int_equal(profile->time_unix_nano + profile->duration_nano, cases[i].end);
		requests_free(requests);
	}
}

static void samples_that_read_the_same_are_one_with_times_in_order(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	struct requests *requests;

	/* The process's comm is not sent. */
	add(s, TRACE(native_frame(f->prog, 0x1000, 0)), 1, 1, 30)->sample.process =
		process("/a", "", "");
	add(s, TRACE(native_frame(f->prog, 0x1000, 0)), 1, 1, 20)->sample.process =
		process("/a", "", "");
	s->vector.items[1].sample.process_comm = "other";
	requests = build(s);
	assert_int_equal(only_sample(only(requests))->n_timestamps_unix_nano, 50);
	requests_free(requests);
}

static void a_weight_is_a_profile_of_its_own_and_no_further_sample(void **state)
{
	struct samples *s = *state;
	const uint64_t values[] = { 7, 8, 9 };
	struct requests *requests = calloc(1, sizeof(*requests));
	struct stored_sample *weighed;
	struct sample_snapshot snapshot;
	const Profile *profile;
	const Data *data;

	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 2, 4);
	weighed = add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 2, 3);
	weighed->sample.origin = WEIGHT_RUNS;
	weighed->values = values;
	weighed->value_sum = 24;
	snapshot = (struct sample_snapshot){ .samples = s->vector.items, .count = s->vector.count };
	assert_int_equal(
		otlp_build_requests(&snapshot, &window, &s->options, take_request, requests), 0);
	data = only(requests);
	assert_int_equal(requests->items[0].sample_count, 4);
	assert_int_equal(data->n_resource_profiles, 1);
	assert_int_equal(data->resource_profiles[0]->scope_profiles[0]->n_profiles, 2);
	profile = data->resource_profiles[0]->scope_profiles[0]->profiles[0];
	assert_int_equal(profile->samples[0]->n_values, 0);
	profile = data->resource_profiles[0]->scope_profiles[0]->profiles[1];
	assert_string_equal(string_at(data->dictionary, profile->sample_type->type_strindex),
			    "runs");
	assert_string_equal(string_at(data->dictionary, profile->period_type->type_strindex),
			    "cpu-clock");
	assert_int_equal(profile->samples[0]->n_timestamps_unix_nano, 3);
	assert_int_equal(profile->samples[0]->n_values, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(profile->samples[0]->values[i], values[i]);
	requests_free(requests);
}

static void samples_without_times_are_refused(void **state)
{
	struct samples *s = *state;
	struct stored_sample *added =
		add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 1, 1);
	struct sample_snapshot snapshot = { .samples = added, .count = 1 };
	static struct requests requests;

	free((void *)added->times_ns);
	added->times_ns = NULL;
	assert_int_equal(otlp_build_requests(&snapshot, &window, &s->options, take_request,
					     &requests),
			 -EINVAL);
	assert_int_equal(requests.count, 0);
}

/* --- splitting --- */

static void no_request_is_larger_than_allowed(void **state)
{
	static const struct profile_info info = { .host = "box", .kernel = "6.1" };
	const size_t limits[] = { 4096, 65536, 262144 };
	struct samples *s = *state;

	add_random(s, 3000, 7);
	/* With comments in each profile, too. */
	s->options.info = &info;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct requests *requests;
		size_t bytes = 0;

		s->options.max_request_bytes = limits[i];
		requests = build(s);
		assert_true(requests->count > 1);
		for (size_t j = 0; j + 1 < requests->count; j++)
			bytes += requests->items[j].byte_count;
		/* No request is much smaller than the limit. */
		assert_true(bytes > (requests->count - 1) * limits[i] / 10 * 8);
		requests_free(requests);
	}
}

static void a_sample_with_too_many_times_goes_on_in_the_next_request(void **state)
{
	struct samples *s = *state;
	struct requests *requests;
	uint64_t last = 0;

	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 1, 5000);
	s->options.max_request_bytes = 4096;
	requests = build(s);
	assert_in_range(requests->count, 10, 12);
	for (size_t i = 0; i < requests->count; i++) {
		const Sample *sample = only_sample(requests->data[i]);

		assert_true(sample->timestamps_unix_nano[0] > last);
		last = sample->timestamps_unix_nano[sample->n_timestamps_unix_nano - 1];
	}
	requests_free(requests);
}

static void a_stack_larger_than_allowed_goes_alone(void **state)
{
	struct samples *s = *state;
	static struct requests requests;
	struct sample_snapshot snapshot;

	add_random(s, 50, 3);
	s->options.max_request_bytes = 100;
	snapshot = (struct sample_snapshot){ .samples = s->vector.items, .count = s->vector.count };
	assert_int_equal(
		otlp_build_requests(&snapshot, &window, &s->options, take_request, &requests), 0);
	for (size_t i = 0; i < requests.count; i++) {
		assert_int_equal(requests.items[i].sample_count, 1);
		only_sample(requests.data[i]);
		free(requests.items[i].bytes);
		opentelemetry__proto__profiles__v1development__profiles_data__free_unpacked(
			requests.data[i], NULL);
	}
	assert_true(requests.count >= 50);
}

static int refuse_request(void *context, struct otlp_request *request)
{
	int *calls = context;

	free(request->bytes);
	return ++*calls == 2 ? -ECANCELED : 0;
}

static void the_one_who_takes_requests_can_end_it(void **state)
{
	struct samples *s = *state;
	struct sample_snapshot snapshot;
	int calls = 0;

	add_random(s, 500, 5);
	s->options.max_request_bytes = 8192;
	snapshot = (struct sample_snapshot){ .samples = s->vector.items, .count = s->vector.count };
	assert_int_equal(otlp_build_requests(&snapshot, &window, &s->options, refuse_request,
					     &calls),
			 -ECANCELED);
	assert_int_equal(calls, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, samples_setup, samples_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_rule_holds_for_every_kind_of_frame),
		TEST(every_rule_holds_for_many_samples),
		TEST(no_samples_make_no_request),
		TEST(stack_by_stack_it_says_what_the_folded_file_says),
		TEST(many_stacks_over_many_requests_are_those_of_the_folded_file),
		TEST(times_are_of_the_wall_clock_in_whole_milliseconds),
		TEST(the_bounds_hold_the_window_and_late_samples),
		TEST(samples_that_read_the_same_are_one_with_times_in_order),
		TEST(a_weight_is_a_profile_of_its_own_and_no_further_sample),
		TEST(samples_without_times_are_refused),
		TEST(no_request_is_larger_than_allowed),
		TEST(a_sample_with_too_many_times_goes_on_in_the_next_request),
		TEST(a_stack_larger_than_allowed_goes_alone),
		TEST(the_one_who_takes_requests_can_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
