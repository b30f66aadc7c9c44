/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/otlp_attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "reporter/tests/otlp_samples.h"

struct expectation {
	const char *key;
	const char *text;
	int64_t number;
	bool on_resource[3];
};

static const struct expectation expectations[] = {
	{ "service.name", "shop", 0, { true, true, true } },
	{ "container.id", "c0ffee", 0, { true, true, false } },
	{ "process.pid", NULL, 77, { false, true, false } },
	{ "process.executable.name", "server", 0, { false, true, false } },
	{ "process.executable.path", "/usr/bin/server", 0, { false, true, false } },
	{ "process.owner", "www", 0, { false, true, false } },
	{ "process.parent_pid", NULL, 7, { false, true, false } },
	{ "process.command_line", "server -token x", 0, { false, true, false } },
	{ "process.runtime.name", "go", 0, { false, true, false } },
	{ "process.runtime.version", "go1.26.8", 0, { false, true, false } },
	{ "allframes.go.module.path", "example.com/shop", 0, { false, true, false } },
	{ "allframes.go.module.version", "v1.2.3", 0, { false, true, false } },
	{ "thread.name", "thread", 0, { false, false, false } },
	{ "thread.id", NULL, 78, { false, false, false } },
	{ "cpu.logical_number", NULL, 3, { false, false, false } },
};

enum { EXPECTATION_COUNT = sizeof(expectations) / sizeof(expectations[0]) };

static void attributes_stand_where_the_grouping_wants_them(void **state)
{
	struct samples *s = *state;
	static const struct attribute attributes[] = {
		{ "process.runtime.name", "go" },
		{ "process.runtime.version", "go1.26.8" },
		{ "allframes.go.module.path", "example.com/shop" },
		{ "allframes.go.module.version", "v1.2.3" },
	};
	struct stored_sample *added =
		add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 77, 78, 1);

	added->sample.cpu = 3;
	added->sample.process = process_info_create(&(struct process_info){
		.pid = 77,
		.executable_path = "/usr/bin/server",
		.container_id = "c0ffee",
		.service_name = "shop",
		.command_line = "server -token x",
		.user_name = "www",
		.unit = "shop.service",
		.parent_comm = "sh",
		.parent_pid = 7,
		.attributes = attributes,
		.attribute_count = 4,
	});
	for (int grouping = GROUP_BY_CONTAINER; grouping <= GROUP_BY_SERVICE; grouping++) {
		struct requests *requests;
		const Sample *sample;
		const Data *data;
		size_t count;

		s->options.grouping = grouping;
		s->options.with_command_lines = true;
		requests = build(s);
		data = only(requests);
		sample = only_sample(data);
		count = sample->n_attribute_indices +
			data->resource_profiles[0]->resource->n_attributes;
		assert_int_equal(count, EXPECTATION_COUNT);
		for (int i = 0; i < EXPECTATION_COUNT; i++) {
			const struct expectation *expected = &expectations[i];
			const AnyValue *value =
				expected->on_resource[grouping] ?
					resource_value(data->resource_profiles[0], expected->key) :
					sample_value(data->dictionary, sample, expected->key);

			assert_non_null(value);
			if (expected->text)
				assert_string_equal(value_text(value), expected->text);
			else
				assert_int_equal(value_number(value), expected->number);
		}
		requests_free(requests);
	}
}

static void command_lines_are_left_out_unless_they_are_wanted(void **state)
{
	struct samples *s = *state;
	struct requests *requests;
	const Data *data;

	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 77, 78, 1)->sample.process =
		process_info_create(&(struct process_info){
			.pid = 77, .command_line = "server -token x", .user_name = "www" });
	requests = build(s);
	data = only(requests);
	assert_null(sample_value(data->dictionary, only_sample(data), "process.command_line"));
	assert_null(sample_value(data->dictionary, only_sample(data), "process.parent_pid"));
	assert_non_null(sample_value(data->dictionary, only_sample(data), "process.owner"));
	for (size_t i = 0; i < data->dictionary->n_string_table; i++)
		assert_null(strstr(data->dictionary->string_table[i], "token"));
	requests_free(requests);
}

static void what_is_not_known_is_left_out(void **state)
{
	struct samples *s = *state;
	struct stored_sample *added =
		add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 77, 78, 1);
	struct requests *requests;
	const Data *data;

	added->sample.thread_comm = "";
	requests = build(s);
	data = only(requests);
	assert_int_equal(data->resource_profiles[0]->resource->n_attributes, 1);
	assert_string_equal(value_text(resource_value(data->resource_profiles[0], "service.name")),
			    "unknown_service:comm");
	assert_int_equal(only_sample(data)->n_attribute_indices, 2);
	requests_free(requests);
}

static void samples_of_other_machines_say_so(void **state)
{
	const struct otlp_attribute own[] = { { "host.name", "here" }, { "rack", "7" } };
	struct samples *s = *state;
	struct requests *requests;
	const Data *data;

	s->options.attributes = own;
	s->options.attribute_count = 2;
	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 77, 78, 1)->sample.process =
		process_info_create(&(struct process_info){ .pid = 77, .host_name = "there" });
	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 79, 79, 1)->sample.process =
		process_info_create(&(struct process_info){ .pid = 79 });
	requests = build(s);
	data = only(requests);
	assert_int_equal(data->n_resource_profiles, 2);
	for (size_t i = 0; i < 2; i++) {
		const ResourceProfiles *profiles = data->resource_profiles[i];
		uint32_t seen = 0;

		for (size_t j = 0; j < profiles->resource->n_attributes; j++)
			seen += !strcmp(profiles->resource->attributes[j]->key, "host.name");
		assert_int_equal(seen, 1);
		assert_string_equal(value_text(resource_value(profiles, "host.name")),
				    i ? "here" : "there");
		assert_string_equal(value_text(resource_value(profiles, "rack")), "7");
	}
	requests_free(requests);
}

static void a_sample_of_a_virtual_thread_says_so(void **state)
{
	struct samples *s = *state;
	struct frame frame = { .kind = FRAME_JAVA, .flags = FRAME_MARKS_TRACE, .function = "f" };
	struct requests *requests;
	const Sample *sample;
	const Data *data;

	add(s, trace_create(&frame, 1, true, false), 77, 78, 1);
	requests = build(s);
	data = only(requests);
	sample = only_sample(data);
	assert_int_equal(sample->n_attribute_indices, 4);
	assert_non_null(sample_value(data->dictionary, sample, "allframes.jvm.thread.virtual"));
	requests_free(requests);
}

static const char *service_of(struct samples *s, struct process_info *info, bool is_kernel_thread)
{
	static char name[64];
	const struct frame frame = kernel_frame(&s->fixture, 0x10, "f", "vmlinux");
	struct stored_sample *added =
		add(s, trace_create(&frame, 1, true, is_kernel_thread), 1, 1, 1);
	struct requests *requests;

	/* Only the last sample. */
	struct sample_snapshot snapshot = { .samples = added, .count = 1 };

	added->sample.process = info;
	requests = build_checked(&snapshot, &window, &s->options);
	snprintf(name, sizeof(name), "%s",
		 value_text(resource_value(only(requests)->resource_profiles[0], "service.name")));
	requests_free(requests);
	return name;
}

static void the_service_has_a_name_in_any_case(void **state)
{
	struct samples *s = *state;

	assert_string_equal(service_of(s, process("/bin/x", "", "shop"), false), "shop");
	assert_string_equal(service_of(s, process("/bin/x", "", ""), false), "unknown_service:x");
	assert_string_equal(service_of(s, process("", "", ""), false), "unknown_service:comm");
	assert_string_equal(service_of(s, NULL, false), "unknown_service:comm");
	assert_string_equal(service_of(s, NULL, true), "unknown_service:kernel");
}

static size_t resource_count(struct samples *s, enum resource_grouping grouping)
{
	struct requests *requests;
	size_t count;

	s->options.grouping = grouping;
	requests = build(s);
	count = only(requests)->n_resource_profiles;
	requests_free(requests);
	return count;
}

static void the_grouping_says_who_shares_a_resource(void **state)
{
	struct samples *s = *state;
	const struct {
		uint32_t pid;
		const char *path, *container, *service;
	} processes[] = {
		{ 1, "/bin/a", "c0", "shop" }, { 2, "/bin/b", "c0", "shop" },
		{ 3, "/bin/a", "c1", "shop" }, { 4, "/bin/a", "c1", NULL },
		{ 5, "/bin/a", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
		for (uint32_t j = 0; j < 2; j++)
			add(s, TRACE(native_frame(s->fixture.prog, 0x1000 + j, 0)),
			    processes[i].pid, 1, 1)
				->sample.process = process(
				processes[i].path, processes[i].container, processes[i].service);
	}
	assert_int_equal(resource_count(s, GROUP_BY_PROCESS), 5);
	assert_int_equal(resource_count(s, GROUP_BY_CONTAINER), 4);
	assert_int_equal(resource_count(s, GROUP_BY_SERVICE), 2);
}

static void a_later_tag_wins_over_an_earlier_one_and_over_ours(void **state)
{
	struct samples *s = *state;
	const struct otlp_attribute attributes[] = {
		{ "host.name", "one" },	 { "env", "test" },	    { "host.name", "two" },
		{ "thread.id", "mine" }, { "service.name", "all" }, { "", "nameless" },
	};
	const ResourceProfiles *resource;
	struct requests *requests;

	s->options.attributes = attributes;
	s->options.attribute_count = sizeof(attributes) / sizeof(attributes[0]);
	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 2, 1);
	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 3, 1);
	requests = build(s);
	resource = only(requests)->resource_profiles[0];
	assert_int_equal(resource->resource->n_attributes, 4);
	assert_string_equal(value_text(resource_value(resource, "host.name")), "two");
	assert_string_equal(value_text(resource_value(resource, "env")), "test");
	assert_string_equal(value_text(resource_value(resource, "service.name")), "all");
	/* Without the thread's id the two samples are merged. */
	assert_null(
		sample_value(only(requests)->dictionary, only_sample(only(requests)), "thread.id"));
	requests_free(requests);
}

/* Returns the same address at each call. */
static const struct label_set *make_labels(const char *key, const char *value)
{
	static struct label_set set;

	fill_labels(&set, 1, (const char *[]){ key, value }, true);
	return &set;
}

static void labels_are_attributes_of_the_sample_that_take_no_key_of_ours(void **state)
{
	struct samples *s = *state;
	struct requests *requests;
	const Dictionary *tables;
	const Sample *sample;

	for (int i = 0; i < 2; i++)
		add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 2, 1)->sample.labels =
			make_labels("process.pid", "");
	requests = build(s);
	sample = only_sample(only(requests));
	tables = only(requests)->dictionary;
	/* The two samples are merged; the other attributes are those of process and thread. */
	assert_int_equal(sample->n_attribute_indices, 3 + 2);
	assert_int_equal(value_number(sample_value(tables, sample, "process.pid")), 1);
	assert_string_equal(
		value_text(sample_value(tables, sample, "process.context.label.process.pid")), "");
	assert_int_equal(value_number(sample_value(tables, sample, "go.goroutine.id")),
			 FIXTURE_GOROUTINE_ID);
	requests_free(requests);
}

static void a_tag_wins_over_a_label(void **state)
{
	const struct otlp_attribute tag = { "process.context.label.user", "all" };
	struct samples *s = *state;
	struct requests *requests;

	s->options.attributes = &tag;
	s->options.attribute_count = 1;
	add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 1, 2, 1)->sample.labels =
		make_labels("user", "ann");
	requests = build(s);
	assert_null(sample_value(only(requests)->dictionary, only_sample(only(requests)), tag.key));
	assert_string_equal(
		value_text(resource_value(only(requests)->resource_profiles[0], tag.key)), "all");
	requests_free(requests);
}

static void names_that_are_no_utf8_do_not_get_out(void **state)
{
	struct samples *s = *state;
	const struct otlp_attribute tag = { "k\xff", "v\xc3" };
	struct stored_sample *added;
	struct requests *requests;
	struct frame frame = kernel_frame(&s->fixture, 0x10, "f\xf0\x9f\x98", "b\xed\xa0\x80");

	s->options.attributes = &tag;
	s->options.attribute_count = 1;
	added = add(s, trace_of(&frame, 1), 1, 1, 1);
	added->sample.thread_comm = "t\x80\xc3\xa9";
	added->sample.process = process("/x\xc0\xaf", "\xfe", "\xe2\x82");
	requests = build(s);
	assert_string_equal(value_text(sample_value(only(requests)->dictionary,
						    only_sample(only(requests)), "thread.name")),
			    "t?\xc3\xa9");
	requests_free(requests);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, samples_setup, samples_teardown)
	const struct CMUnitTest tests[] = {
		TEST(attributes_stand_where_the_grouping_wants_them),
		TEST(what_is_not_known_is_left_out),
		TEST(command_lines_are_left_out_unless_they_are_wanted),
		TEST(samples_of_other_machines_say_so),
		TEST(a_sample_of_a_virtual_thread_says_so),
		TEST(the_service_has_a_name_in_any_case),
		TEST(the_grouping_says_who_shares_a_resource),
		TEST(a_later_tag_wins_over_an_earlier_one_and_over_ours),
		TEST(labels_are_attributes_of_the_sample_that_take_no_key_of_ours),
		TEST(a_tag_wins_over_a_label),
		TEST(names_that_are_no_utf8_do_not_get_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
