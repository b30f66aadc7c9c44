/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/otlp_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

#include "agent/base/clock.h"
#include "agent/base/vector.h"
#include "reporter/tests/fixture.h"
#include "reporter/tests/otlp_rules.h"

VECTOR_DEFINE(sample_vector, struct stored_sample)

enum {
	WINDOW_START_NS = 5000000000,
	WINDOW_END_NS = 10000000000,
};

/* Samples by hand: what they point to is this struct's. */
struct samples {
	struct fixture fixture;
	struct sample_vector vector;
	struct otlp_options options;
};

static const struct otlp_window window = {
	.start_ns = WINDOW_START_NS,
	.end_ns = WINDOW_END_NS,
	.realtime_offset_ns = 1700000000123456789,
};

static int setup(void **state)
{
	struct samples *s = calloc(1, sizeof(*s));

	fixture_init(&s->fixture);
	sample_store_destroy(s->fixture.store);
	s->fixture.store =
		sample_store_create(&(struct sample_store_options){ .keeps_times = true });
	s->options = (struct otlp_options){
		.samples_per_second = 19,
		.agent_version = "1.2.3",
		.max_request_bytes = SIZE_MAX,
	};
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct samples *s = *state;

	for (size_t i = 0; i < s->vector.count; i++) {
		trace_unref(s->vector.items[i].trace);
		process_info_unref(s->vector.items[i].process);
		free((void *)s->vector.items[i].times_ns);
	}
	sample_vector_deinit(&s->vector);
	fixture_deinit(&s->fixture);
	free(s);
	return 0;
}

/* Takes over the trace; times lie in the window, 10 ms apart. */
static struct stored_sample *add(struct samples *s, struct trace *trace, uint32_t pid, uint32_t tid,
				 uint64_t count)
{
	uint64_t *times = malloc(count * sizeof(*times));
	struct stored_sample sample = {
		.trace = trace,
		.process_comm = "comm",
		.thread_comm = "thread",
		.pid = pid,
		.tid = tid,
		.cpu = SAMPLE_NO_CPU,
		.count = count,
		.times_ns = times,
	};

	assert_non_null(trace);
	for (uint64_t i = 0; i < count; i++)
		times[i] = WINDOW_START_NS + i * 10000000;
	assert_int_equal(sample_vector_push(&s->vector, sample), 0);
	return &s->vector.items[s->vector.count - 1];
}

static struct trace *trace_of(const struct frame *frames, uint32_t count)
{
	return trace_create(frames, count, true, false);
}

#define TRACE(...)                                                                                 \
	({                                                                                         \
		const struct frame frames[] = { __VA_ARGS__ };                                     \
		trace_of(frames, sizeof(frames) / sizeof(frames[0]));                              \
	})

static struct process_info *process(const char *path, const char *container, const char *service)
{
	return process_info_create(&(struct process_info){
		.executable_path = path, .container_id = container, .service_name = service });
}

static struct requests *build(struct samples *s)
{
	struct sample_snapshot snapshot = { .samples = s->vector.items, .count = s->vector.count };

	return build_checked(&snapshot, &window, &s->options);
}

/* The one message that there is. */
static const Data *only(const struct requests *requests)
{
	assert_int_equal(requests->count, 1);
	return requests->data[0];
}

static const Sample *only_sample(const Data *data)
{
	assert_int_equal(data->n_resource_profiles, 1);
	assert_int_equal(profile_of(data->resource_profiles[0])->n_samples, 1);
	return profile_of(data->resource_profiles[0])->samples[0];
}

/* Threads of a few processes over common stacks, with addresses and names that @seed draws. */
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
		sample->process = process_info_ref(processes[who]);
	}
	for (int i = 0; i < 5; i++)
		process_info_unref(processes[i]);
}

/* --- the whole --- */

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

/* As the folded file would read, but for comm and suffixes; a name gets back its place. */
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

	assert_int_equal(stack_counts_init(&counts, snapshot, lookup), 0);
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

/* Taking away what the requests say leaves nothing of the folded lines, and adds none. */
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

/* --- frames --- */

static void native_frames_are_file_and_address_for_the_backend_to_name(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;
	const Mapping *mapping;
	const Sample *sample;

	add(s, TRACE(native_frame(f->prog, 0x3000, 0), native_frame(f->prog, 0x1001, 1)), 1, 1, 1);
	requests = build(s);
	sample = only_sample(only(requests));
	tables = only(requests)->dictionary;
	location = location_at(tables, sample, 1);
	assert_int_equal(location->address, 0x1000);
	assert_int_equal(location->n_lines, 0);
	assert_string_equal(frame_type_of(tables, location), "native");
	assert_int_equal(location_at(tables, sample, 0)->address, 0x3000);
	mapping = tables->mapping_table[location->mapping_index];
	assert_int_equal(mapping->memory_start, 0x1000);
	assert_int_equal(mapping->memory_limit, 0x9000);
	assert_int_equal(mapping->file_offset, 0x400);
	assert_string_equal(string_at(tables, mapping->filename_strindex), "/opt/prog");
	assert_string_equal(value_text(value_of(tables, mapping->attribute_indices,
						mapping->n_attribute_indices,
						"process.executable.build_id.gnu")),
			    "ab0c");
	requests_free(requests);
}

static void file_ids_are_32_hexadecimal_digits(void **state)
{
	struct samples *s = *state;
	struct binary *binary = binary_create(&(struct binary){
		.executable_id = 0x10009,
		.fd = -1,
		.path = "/lib/x.so",
		.file_id.bytes = { 0x01, 0xff, 0x20 },
		.memory_limit = 0x9000,
	});
	const Dictionary *tables;
	struct requests *requests;
	const Mapping *mapping;

	add(s, TRACE(native_frame(binary, 0x3000, 0)), 1, 1, 1);
	binary_unref(binary);
	requests = build(s);
	tables = only(requests)->dictionary;
	assert_int_equal(tables->n_mapping_table, 2);
	mapping = tables->mapping_table[1];
	assert_int_equal(mapping->n_attribute_indices, 1);
	assert_string_equal(value_text(value_of(tables, mapping->attribute_indices, 1,
						"process.executable.build_id.htlhash")),
			    "01ff2000000000000000000000000000");
	requests_free(requests);
}

static void copies_of_a_file_are_one_mapping(void **state)
{
	struct samples *s = *state;
	struct binary values = { .fd = -1, .path = "/lib/x.so", .memory_limit = 0x9000 };
	const Dictionary *tables;
	struct requests *requests;

	for (uint64_t i = 0; i < 3; i++) {
		struct binary *binary;

		values.executable_id = 0x10000 + i;
		binary = binary_create(&values);
		add(s, TRACE(native_frame(binary, 0x3000, 0)), 1, 1, 2);
		binary_unref(binary);
	}
	requests = build(s);
	tables = only(requests)->dictionary;
	assert_int_equal(tables->n_mapping_table, 2);
	assert_int_equal(tables->n_location_table, 2);
	assert_int_equal(only_sample(only(requests))->n_timestamps_unix_nano, 6);
	requests_free(requests);
}

static void kernel_frames_have_names_and_the_module_as_mapping(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;
	const char *const names[] = { "do_call", "ext4_read", "bpf_prog_1" };
	const char *const files[] = { "vmlinux", "ext4", "bpf" };

	add(s,
	    TRACE(kernel_frame(f, 0x10, "do_call", "vmlinux"),
		  kernel_frame(f, 0x20, "ext4_read", "ext4"),
		  kernel_frame(f, 0x30, "bpf_prog_1", "bpf"), kernel_frame(f, 0x40, NULL, "ext4")),
	    1, 1, 1);
	requests = build(s);
	tables = only(requests)->dictionary;
	for (size_t i = 0; i < 3; i++) {
		location = location_at(tables, only_sample(only(requests)), i);
		assert_string_equal(frame_type_of(tables, location), "kernel");
		assert_int_equal(location->address, 0xffffffff81000010 + i * 16);
		assert_int_equal(location->n_lines, 1);
		assert_string_equal(
			string_at(tables, tables->function_table[location->lines[0]->function_index]
						  ->name_strindex),
			names[i]);
		assert_string_equal(string_at(tables, tables->mapping_table[location->mapping_index]
							      ->filename_strindex),
				    files[i]);
	}
	location = location_at(tables, only_sample(only(requests)), 3);
	assert_int_equal(location->n_lines, 0);
	requests_free(requests);
}

static void guesses_are_seen_with_and_without_a_name(void **state)
{
	struct samples *s = *state;
	struct fixture *f = &s->fixture;
	const Dictionary *tables;
	struct requests *requests;
	const Location *location;

	add(s,
	    TRACE(native_frame(f->prog, 0x1000, FRAME_GUESS), native_frame(f->prog, 0x1000, 0),
		  native_frame(f->stripped, 0x5000, FRAME_GUESS)),
	    1, 1, 1);
	s->options.lookup = &f->lookup;
	requests = build(s);
	tables = only(requests)->dictionary;
	location = location_at(tables, only_sample(only(requests)), 0);
	assert_string_equal(
		string_at(tables,
			  tables->function_table[location->lines[0]->function_index]->name_strindex),
		"main_[?]");
	location = location_at(tables, only_sample(only(requests)), 1);
	assert_string_equal(
		string_at(tables,
			  tables->function_table[location->lines[0]->function_index]->name_strindex),
		"main");
	location = location_at(tables, only_sample(only(requests)), 2);
	assert_int_equal(location->n_lines, 0);
	assert_int_equal(value_of(tables, location->attribute_indices,
				  location->n_attribute_indices, "allframes.frame.guess")
				 ->bool_value,
			 true);
	requests_free(requests);
}

/* --- attributes --- */

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
	{ "thread.name", "thread", 0, { false, false, false } },
	{ "thread.id", NULL, 78, { false, false, false } },
	{ "cpu.logical_number", NULL, 3, { false, false, false } },
};

enum { EXPECTATION_COUNT = sizeof(expectations) / sizeof(expectations[0]) };

static void attributes_stand_where_the_grouping_wants_them(void **state)
{
	struct samples *s = *state;
	struct stored_sample *added =
		add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 77, 78, 1);

	added->cpu = 3;
	added->process = process("/usr/bin/server", "c0ffee", "shop");
	for (int grouping = GROUP_BY_CONTAINER; grouping <= GROUP_BY_SERVICE; grouping++) {
		struct requests *requests;
		const Sample *sample;
		const Data *data;
		size_t count;

		s->options.grouping = grouping;
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

static void what_is_not_known_is_left_out(void **state)
{
	struct samples *s = *state;
	struct stored_sample *added =
		add(s, TRACE(native_frame(s->fixture.prog, 0x1000, 0)), 77, 78, 1);
	struct requests *requests;
	const Data *data;

	added->thread_comm = "";
	requests = build(s);
	data = only(requests);
	assert_int_equal(data->resource_profiles[0]->resource->n_attributes, 1);
	assert_string_equal(value_text(resource_value(data->resource_profiles[0], "service.name")),
			    "unknown_service:comm");
	assert_int_equal(only_sample(data)->n_attribute_indices, 2);
	requests_free(requests);
}

static const char *service_of(struct samples *s, struct process_info *info, bool is_kernel_thread)
{
	static char name[64];
	const struct frame frame = kernel_frame(&s->fixture, 0x10, "f", "vmlinux");
	struct stored_sample *added =
		add(s, trace_create(&frame, 1, true, is_kernel_thread), 1, 1, 1);
	struct requests *requests;

	/* Only the last one. */
	struct sample_snapshot snapshot = { .samples = added, .count = 1 };

	added->process = info;
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
				->process = process(processes[i].path, processes[i].container,
						    processes[i].service);
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
	/* Without the thread's id the two are one. */
	assert_null(
		sample_value(only(requests)->dictionary, only_sample(only(requests)), "thread.id"));
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
	added->thread_comm = "t\x80\xc3\xa9";
	added->process = process("/x\xc0\xaf", "\xfe", "\xe2\x82");
	requests = build(s);
	assert_string_equal(value_text(sample_value(only(requests)->dictionary,
						    only_sample(only(requests)), "thread.name")),
			    "t?\xc3\xa9");
	requests_free(requests);
}

static void long_names_are_cut_between_characters(void **state)
{
	struct samples *s = *state;
	char *name = malloc(40001);
	struct requests *requests;
	struct frame frame;

	/* Characters of two bytes behind one of one: no even cut. */
	for (int i = 0; i < 40000; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[39998] = '\0';
	name[0] = name[1] = 'x';
	frame = kernel_frame(&s->fixture, 0x10, name + 1, "vmlinux");
	add(s, trace_of(&frame, 1), 1, 1, 1);
	requests = build(s);
	assert_in_range(strlen(only(requests)->dictionary->string_table[1]), 4, 16384);
	for (size_t i = 1; i < only(requests)->dictionary->n_string_table; i++)
		assert_true(strlen(only(requests)->dictionary->string_table[i]) <= 16384);
	requests_free(requests);
	free(name);
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
	add(s, TRACE(native_frame(f->prog, 0x1000, 0)), 1, 1, 30)->process = process("/a", "", "");
	add(s, TRACE(native_frame(f->prog, 0x1000, 0)), 1, 1, 20)->process = process("/a", "", "");
	s->vector.items[1].process_comm = "other";
	requests = build(s);
	assert_int_equal(only_sample(only(requests))->n_timestamps_unix_nano, 50);
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
	const size_t limits[] = { 4096, 65536, 262144 };
	struct samples *s = *state;

	add_random(s, 3000, 7);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct requests *requests;
		size_t bytes = 0;

		s->options.max_request_bytes = limits[i];
		requests = build(s);
		assert_true(requests->count > 1);
		for (size_t j = 0; j + 1 < requests->count; j++)
			bytes += requests->items[j].byte_count;
		/* And none is much smaller. */
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_rule_holds_for_every_kind_of_frame),
		TEST(every_rule_holds_for_many_samples),
		TEST(no_samples_make_no_request),
		TEST(stack_by_stack_it_says_what_the_folded_file_says),
		TEST(many_stacks_over_many_requests_are_those_of_the_folded_file),
		TEST(native_frames_are_file_and_address_for_the_backend_to_name),
		TEST(file_ids_are_32_hexadecimal_digits),
		TEST(copies_of_a_file_are_one_mapping),
		TEST(kernel_frames_have_names_and_the_module_as_mapping),
		TEST(guesses_are_seen_with_and_without_a_name),
		TEST(attributes_stand_where_the_grouping_wants_them),
		TEST(what_is_not_known_is_left_out),
		TEST(the_service_has_a_name_in_any_case),
		TEST(the_grouping_says_who_shares_a_resource),
		TEST(a_later_tag_wins_over_an_earlier_one_and_over_ours),
		TEST(names_that_are_no_utf8_do_not_get_out),
		TEST(long_names_are_cut_between_characters),
		TEST(times_are_of_the_wall_clock_in_whole_milliseconds),
		TEST(the_bounds_hold_the_window_and_late_samples),
		TEST(samples_that_read_the_same_are_one_with_times_in_order),
		TEST(samples_without_times_are_refused),
		TEST(no_request_is_larger_than_allowed),
		TEST(a_sample_with_too_many_times_goes_on_in_the_next_request),
		TEST(a_stack_larger_than_allowed_goes_alone),
		TEST(the_one_who_takes_requests_can_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
