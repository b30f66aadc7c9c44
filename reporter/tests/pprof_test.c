/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/pprof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <unistd.h>
#include <zlib.h>

#include "build/proto/profile.pb-c.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_map.h"
#include "reporter/folded.h"
#include "reporter/tests/fixture.h"

static const char *const tags[] = { "env:test", "zone:b" };

static const struct profile_info info = {
	.start_time_ns = 1700000000000000000,
	.duration_ns = 10000000000,
	.samples_per_second = 99,
	.tags = tags,
	.tag_count = 2,
};

/* The weight of the test's samples; 0: none. */
static uint8_t weight;

/* The profile of all reported samples; the caller frees it. */
static char *write_file(struct fixture *f, size_t *bytes)
{
	struct profile_info weighed = info;
	char *file = NULL;
	FILE *out = open_memstream(&file, bytes);

	weighed.weight = weight;
	assert_int_equal(pprof_write(out, fixture_snapshot(f), &weighed, &f->lookup), 0);
	fclose(out);
	return file;
}

static Pprof__Profile *decode_file(struct fixture *f)
{
	enum { UNPACKED_BYTES = 1 << 20 };
	size_t bytes;
	char *file = write_file(f, &bytes);
	uint8_t *unpacked = malloc(UNPACKED_BYTES);
	z_stream stream = {
		.next_in = (uint8_t *)file,
		.avail_in = bytes,
		.next_out = unpacked,
		.avail_out = UNPACKED_BYTES,
	};
	Pprof__Profile *profile;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	profile = pprof__profile__unpack(NULL, stream.total_out, unpacked);
	assert_non_null(profile);
	inflateEnd(&stream);
	free(unpacked);
	free(file);
	return profile;
}

static const char *string_of(const Pprof__Profile *profile, int64_t index)
{
	assert_in_range(index, 0, profile->n_string_table - 1);
	return profile->string_table[index];
}

/* Ids are assigned in order, so an entry's id is its index + 1. */
static const Pprof__Function *function_of(const Pprof__Profile *profile, uint64_t id)
{
	assert_in_range(id, 1, profile->n_function);
	assert_int_equal(profile->function[id - 1]->id, id);
	return profile->function[id - 1];
}

static const Pprof__Location *location_of(const Pprof__Profile *profile, uint64_t id)
{
	for (size_t i = 0; i < profile->n_location; i++) {
		if (profile->location[i]->id == id)
			return profile->location[i];
	}
	fail_msg("no location %" PRIu64, id);
	return NULL;
}

static const Pprof__Mapping *mapping_of(const Pprof__Profile *profile, uint64_t id)
{
	assert_in_range(id, 1, profile->n_mapping);
	assert_int_equal(profile->mapping[id - 1]->id, id);
	return profile->mapping[id - 1];
}

static const Pprof__Label *label_of(const Pprof__Profile *profile, const Pprof__Sample *sample,
				    const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++) {
		if (!strcmp(string_of(profile, sample->label[i]->key), key))
			return sample->label[i];
	}
	fail_msg("no label %s", key);
	return NULL;
}

/* Adds @count to the line @text; a negative count wraps. */
static void add_line(struct hash_map *lines, const char *text, uint64_t count)
{
	uint64_t sum = 0;

	hash_map_find_bytes(lines, text, strlen(text), &sum);
	assert_int_equal(hash_map_set_bytes(lines, text, strlen(text), sum + count), 0);
}

/* A name as in the folded file, but without suffixes. */
static void append_folded(struct text_builder *text, const char *name)
{
	size_t from = text->length;

	text_builder_append_name(text, name);
	for (size_t i = from; i < text->length; i++) {
		if (text->text[i] == ';')
			text->text[i] = ':';
	}
}

static void take_profile_lines(const Pprof__Profile *profile, struct hash_map *lines)
{
	for (size_t i = 0; i < profile->n_sample; i++) {
		const Pprof__Sample *sample = profile->sample[i];
		const char *comm = string_of(profile, label_of(profile, sample, "comm")->str);
		struct text_builder text = { 0 };

		append_folded(&text, *comm ? comm : "[unknown]");
		for (size_t j = sample->n_location_id; j-- > 0;) {
			const Pprof__Location *location =
				location_of(profile, sample->location_id[j]);

			for (size_t k = location->n_line; k-- > 0;) {
				const Pprof__Function *function =
					function_of(profile, location->line[k]->function_id);

				text_builder_append(&text, ";");
				append_folded(&text, string_of(profile, function->name));
			}
		}
		add_line(lines, text_builder_text(&text), -(uint64_t)sample->value[0]);
		text_builder_deinit(&text);
	}
}

static void remove_all(char *text, const char *part)
{
	char *at;

	while ((at = strstr(text, part)))
		memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

static void add_folded_lines(struct fixture *f, struct hash_map *lines)
{
	struct stack_counts counts;
	char *text = NULL, *rest, *line;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(
		stack_counts_init(&counts, fixture_snapshot(f), &f->lookup, false, SIZE_MAX), 0);
	folded_write(out, &counts);
	fclose(out);
	remove_all(text, "_[k]");
	remove_all(text, "_[i]");
	remove_all(text, "_[j]");
	for (rest = text; (line = strsep(&rest, "\n")) && *line;) {
		char *count = strrchr(line, ' ');

		*count++ = '\0';
		add_line(lines, line, strtoull(count, NULL, 10));
	}
	free(text);
	stack_counts_deinit(&counts);
}

static void stack_by_stack_it_says_what_the_folded_file_says(void **state)
{
	struct fixture *f = *state;
	struct hash_map lines = { 0 };
	uint64_t count, sum = 0;
	Pprof__Profile *profile;
	size_t cursor = 0;

	fixture_report_all_kinds(f);
	profile = decode_file(f);
	add_folded_lines(f, &lines);
	assert_int_equal(lines.count, 5);
	while (hash_map_next(&lines, &cursor, NULL, &count))
		sum += count;
	assert_int_equal(sum, 17);
	/* Subtracts the profile from the lines: nothing may remain, and no line may be new. */
	take_profile_lines(profile, &lines);
	assert_int_equal(lines.count, 5);
	cursor = 0;
	while (hash_map_next(&lines, &cursor, NULL, &count))
		assert_int_equal(count, 0);
	hash_map_deinit(&lines);
	pprof__profile__free_unpacked(profile, NULL);
}

static void the_header_says_what_was_measured(void **state)
{
	struct fixture *f = *state;
	Pprof__Profile *profile;

	fixture_report_all_kinds(f);
	profile = decode_file(f);
	assert_string_equal(profile->string_table[0], "");
	assert_int_equal(profile->n_sample_type, 2);
	assert_string_equal(string_of(profile, profile->sample_type[0]->type), "samples");
	assert_string_equal(string_of(profile, profile->sample_type[0]->unit), "count");
	assert_string_equal(string_of(profile, profile->sample_type[1]->type), "cpu");
	assert_string_equal(string_of(profile, profile->sample_type[1]->unit), "nanoseconds");
	assert_string_equal(string_of(profile, profile->period_type->type), "cpu");
	assert_int_equal(profile->period, 1000000000 / 99);
	assert_int_equal(profile->time_nanos, info.start_time_ns);
	assert_int_equal(profile->duration_nanos, info.duration_ns);
	assert_int_equal(profile->n_comment, 2);
	assert_string_equal(string_of(profile, profile->comment[0]), "env:test");
	assert_string_equal(string_of(profile, profile->comment[1]), "zone:b");
	for (size_t i = 0; i < profile->n_sample; i++) {
		const Pprof__Sample *sample = profile->sample[i];

		assert_int_equal(sample->n_value, 2);
		assert_int_equal(sample->value[1], sample->value[0] * profile->period);
		assert_string_equal(string_of(profile, label_of(profile, sample, "thread")->str),
				    "thread");
		assert_int_equal(label_of(profile, sample, "tid")->num,
				 label_of(profile, sample, "pid")->num + 1);
	}
	pprof__profile__free_unpacked(profile, NULL);
}

static void nothing_is_there_twice(void **state)
{
	struct fixture *f = *state;
	Pprof__Profile *p;

	fixture_report_all_kinds(f);
	/* Differs from a sample above in nothing that is in the profile, so it must be merged. */
	REPORT(f, "prog", 20, 1, native_frame(f->prog, 0x3000, 0),
	       native_frame(f->prog, 0x1001, FRAME_RETURN_ADDRESS));
	p = decode_file(f);
	for (size_t i = 0; i < p->n_string_table; i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(p->string_table[i], p->string_table[j]);
	for (size_t i = 0; i < p->n_function; i++)
		for (size_t j = 0; j < i; j++)
			assert_false(p->function[i]->name == p->function[j]->name &&
				     p->function[i]->filename == p->function[j]->filename);
	for (size_t i = 0; i < p->n_mapping; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(p->mapping[i]->filename, p->mapping[j]->filename);
	for (size_t i = 0; i < p->n_location; i++)
		for (size_t j = 0; j < i; j++) {
			const Pprof__Location *a = p->location[i], *b = p->location[j];

			assert_int_not_equal(a->id, b->id);
			assert_false(a->mapping_id == b->mapping_id && a->address == b->address &&
				     a->line[0]->function_id == b->line[0]->function_id);
		}
	assert_int_equal(p->n_sample, 6);
	pprof__profile__free_unpacked(p, NULL);
}

static void mappings_have_their_file_build_id_and_range(void **state)
{
	struct fixture *f = *state;
	Pprof__Profile *profile;
	const char *names[] = { "/opt/prog",	     "/lib/lib;x.so", "[anonymous]",
				"[kernel.kallsyms]", "[kernel.ext4]", "[kernel.bpf]" };

	fixture_report_all_kinds(f);
	profile = decode_file(f);
	assert_int_equal(profile->n_mapping, 6);
	for (size_t i = 0; i < 6; i++) {
		size_t at = 0;

		while (at < 6 &&
		       strcmp(names[i], string_of(profile, profile->mapping[at]->filename)))
			at++;
		if (at == 6)
			fail_msg("no mapping %s", names[i]);
		if (i == 0) {
			const Pprof__Mapping *mapping = profile->mapping[at];

			assert_string_equal(string_of(profile, mapping->build_id), "ab0c");
			assert_int_equal(mapping->memory_start, 0x1000);
			assert_int_equal(mapping->memory_limit, 0x9000);
			assert_int_equal(mapping->file_offset, 0x400);
		}
	}
	pprof__profile__free_unpacked(profile, NULL);
}

static void inlined_functions_are_lines_of_one_location(void **state)
{
	struct fixture *f = *state;
	Pprof__Profile *profile;
	const Pprof__Location *location;

	REPORT(f, "p", 1, 1, native_frame(f->prog, 0x3001, FRAME_RETURN_ADDRESS));
	profile = decode_file(f);
	assert_int_equal(profile->n_location, 1);
	location = profile->location[0];
	assert_int_equal(location->address, 0x3000);
	assert_string_equal(string_of(profile, mapping_of(profile, location->mapping_id)->filename),
			    "/opt/prog");
	assert_int_equal(location->n_line, 3);
	assert_string_equal(string_of(profile,
				      function_of(profile, location->line[0]->function_id)->name),
			    "tiny");
	assert_string_equal(
		string_of(profile, function_of(profile, location->line[0]->function_id)->filename),
		"t.c");
	assert_int_equal(location->line[0]->line, 7);
	assert_string_equal(string_of(profile,
				      function_of(profile, location->line[2]->function_id)->name),
			    "outer");
	pprof__profile__free_unpacked(profile, NULL);
}

static void inlined_interpreted_functions_are_lines_of_one_location_as_well(void **state)
{
	struct fixture *f = *state;
	const struct frame outer = { .kind = FRAME_JAVA, .function = "A.outer", .line = 9 };
	struct frame inner = {
		.kind = FRAME_JAVA, .flags = FRAME_INLINED, .function = "A.inner", .line = 3
	};
	struct frame near = inner, further = outer;
	Pprof__Profile *profile;

	near.flags |= FRAME_APPROXIMATE;
	further.column = 300;
	/*
	 * The same innermost function: alone, inlined into another at a known line, and at an
	 * approximate one.
	 */
	REPORT(f, "p", 1, 1, inner, outer, inner, outer, near, outer, outer);
	REPORT(f, "p", 1, 1, inner, outer, further);
	profile = decode_file(f);
	assert_int_equal(profile->n_location, 4);
	assert_int_equal(profile->location[0]->n_line, 2);
	assert_int_equal(profile->location[0]->line[0]->line, 3);
	assert_int_equal(profile->location[0]->line[1]->line, 9);
	assert_int_equal(profile->location[1]->n_line, 2);
	assert_string_equal(
		string_of(profile,
			  function_of(profile, profile->location[1]->line[0]->function_id)->name),
		"A.inner_[~]");
	assert_int_equal(profile->location[2]->n_line, 1);
	/* The same function at the same line, in another column. */
	assert_int_equal(profile->location[2]->line[0]->column, 0);
	assert_int_equal(profile->location[3]->line[0]->column, 300);
	pprof__profile__free_unpacked(profile, NULL);
}

static void hostile_names_become_valid_text(void **state)
{
	struct fixture *f = *state;
	Pprof__Profile *profile;

	REPORT(f, "\xff\x1b\n", 1, 1,
	       ((struct frame){ .kind = FRAME_FIRST_INTERPRETED, .function = "\xc0;x" }));
	profile = decode_file(f);
	assert_string_equal(string_of(profile, label_of(profile, profile->sample[0], "comm")->str),
			    "?? ");
	assert_string_equal(string_of(profile, profile->function[0]->name), "?;x");
	pprof__profile__free_unpacked(profile, NULL);
}

static void report_trace(struct fixture *f, struct trace *trace, const struct label_set *labels)
{
	struct reporter *reporter = sample_store_reporter(f->store);
	struct sample_event event = {
		.sample.trace = trace,
		.sample.pid = 5,
		.sample.tid = 6,
		.sample.process_comm = "p",
		.sample.thread_comm = "t",
		.sample.labels = labels,
	};

	reporter->ops->report(reporter, &event);
	trace_unref(trace);
}

static void numbers_that_are_not_known_have_no_label(void **state)
{
	struct fixture *f = *state;
	struct reporter *reporter = sample_store_reporter(f->store);
	struct sample_event event = {
		.sample.trace = trace_create(NULL, 0, true, false),
		.sample.pid = 5,
		.sample.tid = SAMPLE_NO_NUMBER,
		.sample.process_comm = "p",
		.sample.thread_comm = "t",
	};
	Pprof__Profile *profile;

	reporter->ops->report(reporter, &event);
	trace_unref(event.sample.trace);
	profile = decode_file(f);
	assert_int_equal(profile->sample[0]->n_label, 3);
	assert_int_equal(label_of(profile, profile->sample[0], "pid")->num, 5);
	pprof__profile__free_unpacked(profile, NULL);
}

static void report_labels(struct fixture *f, const struct label_set *labels)
{
	report_trace(f, trace_create(NULL, 0, true, false), labels);
}

static void a_programs_labels_stand_beside_ours(void **state)
{
	static const char *const texts[] = { "pid",  "x",   "label.pid", "y",
					     "user", "ann", "goroutine", "z" };
	static const char *const keys[] = { "label.pid", "label.label.pid", "user",
					    "label.goroutine" };
	struct fixture *f = *state;
	Pprof__Profile *profile;
	struct label_set set;

	report_labels(f, NULL);
	fill_labels(&set, 4, texts, true);
	report_labels(f, &set);
	report_labels(f, &set);
	profile = decode_file(f);
	assert_int_equal(profile->n_sample, 2);
	assert_int_equal(profile->sample[0]->value[0], 2);
	assert_int_equal(profile->sample[0]->n_label, 9);
	assert_int_equal(label_of(profile, profile->sample[0], "pid")->num, 5);
	assert_int_equal(label_of(profile, profile->sample[0], "goroutine")->num,
			 FIXTURE_GOROUTINE_ID);
	for (int i = 0; i < 4; i++)
		assert_string_equal(string_of(profile,
					      label_of(profile, profile->sample[0], keys[i])->str),
				    texts[2 * i + 1]);
	assert_int_equal(profile->sample[1]->n_label, 4);
	pprof__profile__free_unpacked(profile, NULL);
}

static void an_approximate_frame_is_the_location_that_the_exact_one_is(void **state)
{
	struct frame frame = { .kind = FRAME_JAVA, .function = "f", .line = 3 };
	struct fixture *f = *state;
	Pprof__Profile *profile;

	report_trace(f, trace_create(&frame, 1, true, false), NULL);
	frame.flags = FRAME_APPROXIMATE;
	report_trace(f, trace_create(&frame, 1, true, false), NULL);
	profile = decode_file(f);
	assert_int_equal(profile->n_location, 1);
	assert_int_equal(profile->n_sample, 1);
	pprof__profile__free_unpacked(profile, NULL);
}

static void a_sample_of_a_virtual_thread_says_so(void **state)
{
	const struct frame frame = { .kind = FRAME_JAVA,
				     .flags = FRAME_MARKS_TRACE,
				     .function = "f" };
	struct fixture *f = *state;
	Pprof__Profile *profile;

	report_trace(f, trace_create(&frame, 1, true, false), NULL);
	profile = decode_file(f);
	assert_int_equal(profile->n_sample, 1);
	assert_string_equal(string_of(profile,
				      label_of(profile, profile->sample[0], "virtual_thread")->str),
			    "true");
	pprof__profile__free_unpacked(profile, NULL);
}

static void report_weight(struct fixture *f, struct frame frame, uint64_t value)
{
	struct reporter *reporter = sample_store_reporter(f->store);
	const struct sample_event event = {
		.sample.trace = trace_create(&frame, 1, true, false),
		.sample.pid = 10,
		.sample.tid = 11,
		.sample.process_comm = "prog",
		.sample.thread_comm = "thread",
		.sample.origin = WEIGHT_RUNS,
		.value = value,
	};

	reporter->ops->report(reporter, &event);
	trace_unref(event.sample.trace);
}

static void a_weight_is_in_the_row_of_its_samples(void **state)
{
	struct fixture *f = *state;
	struct frame sampled = native_frame(f->prog, 0x1000, 0);
	struct frame other = native_frame(f->prog, 0x2000, 0);
	Pprof__Profile *profile;

	REPORT(f, "prog", 10, 5, sampled);
	report_weight(f, sampled, 100);
	report_weight(f, sampled, 23);
	report_weight(f, other, 4);
	weight = WEIGHT_RUNS;
	profile = decode_file(f);
	weight = 0;
	assert_int_equal(profile->n_sample_type, 3);
	assert_string_equal(string_of(profile, profile->sample_type[2]->type), "runs");
	assert_string_equal(string_of(profile, profile->sample_type[2]->unit), "count");
	assert_int_equal(profile->n_sample, 2);
	assert_int_equal(profile->sample[0]->value[0], 5);
	assert_int_equal(profile->sample[0]->value[1], 5 * profile->period);
	assert_int_equal(profile->sample[0]->value[2], 123);
	assert_int_equal(profile->sample[1]->value[0], 0);
	assert_int_equal(profile->sample[1]->value[1], 0);
	assert_int_equal(profile->sample[1]->value[2], 4);
	pprof__profile__free_unpacked(profile, NULL);
}

static void a_profile_without_samples_is_one(void **state)
{
	Pprof__Profile *profile = decode_file(*state);

	assert_int_equal(profile->n_sample, 0);
	assert_int_equal(profile->n_sample_type, 2);
	pprof__profile__free_unpacked(profile, NULL);
}

/* Runs `go tool pprof @options FILE` and returns what it prints; the caller frees it. */
static char *run_pprof(const char *options, const char *file)
{
	_cleanup_(free_pointer) char *command = NULL;
	char *text = NULL;
	size_t bytes;
	FILE *copy = open_memstream(&text, &bytes);
	FILE *output;
	int byte;

	assert_true(asprintf(&command, "go tool pprof %s %s 2>/dev/null", options, file) > 0);
	output = popen(command, "r");
	assert_non_null(output);
	while ((byte = getc(output)) != EOF)
		putc(byte, copy);
	fclose(copy);
	assert_int_equal(pclose(output), 0);
	return text;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void go_tool_pprof_reads_it(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/pprof_test.XXXXXX.pb.gz";
	int fd;
	size_t bytes;
	char *file, *text;

	if (system("go version >/dev/null 2>&1")) {
		print_message("# there is no go: its pprof was not asked\n");
		skip();
	}
	fixture_report_all_kinds(f);
	file = write_file(f, &bytes);
	fd = mkstemps(path, 6);
	assert_int_equal(write(fd, file, bytes), bytes);
	close(fd);
	free(file);
	text = run_pprof("-raw", path);
	assert_contains(text, "PeriodType: cpu nanoseconds\nPeriod: 10101010\n");
	assert_contains(text, "env:test");
	assert_contains(text, "/opt/prog ab0c");
	free(text);
	text = run_pprof("-top -sample_index=samples", path);
	assert_contains(text, "of 17 total");
	assert_contains(text, "bpf_prog_1");
	assert_contains(text, "[error: no unwind information]");
	free(text);
	text = run_pprof("-traces -sample_index=samples", path);
	assert_contains(text, "         5   tiny (inline)\n"
			      "             middle (inline)\n"
			      "             outer\n"
			      "             main\n");
	assert_contains(text, "         4   lib;x.so+0x5000\n"
			      "             lib;x.so+0x6000_[?]\n"
			      "             [error: no unwind information]\n");
	free(text);
	unlink(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(stack_by_stack_it_says_what_the_folded_file_says),
		TEST(the_header_says_what_was_measured),
		TEST(nothing_is_there_twice),
		TEST(mappings_have_their_file_build_id_and_range),
		TEST(inlined_functions_are_lines_of_one_location),
		TEST(inlined_interpreted_functions_are_lines_of_one_location_as_well),
		TEST(hostile_names_become_valid_text),
		TEST(numbers_that_are_not_known_have_no_label),
		TEST(a_programs_labels_stand_beside_ours),
		TEST(an_approximate_frame_is_the_location_that_the_exact_one_is),
		TEST(a_sample_of_a_virtual_thread_says_so),
		TEST(a_weight_is_in_the_row_of_its_samples),
		TEST(a_profile_without_samples_is_one),
		TEST(go_tool_pprof_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
