/* SPDX-License-Identifier: Apache-2.0 */
/* Reads back what the outputs write: the folded stacks of both are equal. */
#include "viewer/open/open_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "reporter/folded.h"
#include "reporter/otlp_file.h"
#include "reporter/pprof.h"
#include "reporter/tests/fixture.h"

#define SECOND_NS 1000000000ULL
#define START_NS (1700000000 * SECOND_NS)

enum {
	LINES_MAX = 64,
};

static int setup(void **state)
{
	fixture_setup(state);
	sample_store_destroy(((struct fixture *)*state)->store);
	((struct fixture *)*state)->store =
		sample_store_create(&(struct sample_store_options){ .keeps_times = true });
	return 0;
}

/* Interpreted functions, one of them inlined, and code generated at run time with a name. */
static void report_interpreted(struct fixture *f)
{
	REPORT(f, "java", 50, 3,
	       (struct frame){ .kind = FRAME_JAVA,
			       .flags = FRAME_INLINED | FRAME_APPROXIMATE,
			       .function = "a.B.inner",
			       .file = "B.java",
			       .line = 7 },
	       (struct frame){
		       .kind = FRAME_JAVA, .function = "a.B.outer", .file = "B.java", .line = 9 },
	       (struct frame){
		       .kind = FRAME_NATIVE, .function = "stub", .address = 0x7f0000002000 },
	       native_frame(f->prog, 0x1001, FRAME_RETURN_ADDRESS));
	REPORT(f, "py", 60, 2,
	       (struct frame){ .kind = FRAME_PYTHON,
			       .function = "work",
			       .file = "/srv/app.py",
			       .line = 3,
			       .column = 5,
			       .start_line = 2 },
	       (struct frame){
		       .kind = FRAME_PYTHON, .function = "<module>", .file = "/srv/app.py" });
}

/* --- writing profiles --- */

static char *folded_of(const struct sample_snapshot *snapshot, struct symbol_lookup *lookup,
		       bool with_lines)
{
	struct stack_counts counts;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(stack_counts_init(&counts, snapshot, lookup, with_lines, SIZE_MAX), 0);
	folded_write(out, &counts);
	fclose(out);
	stack_counts_deinit(&counts);
	return text;
}

static char *pprof_with(struct fixture *f, const struct profile_info *info, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	assert_int_equal(pprof_write(out, fixture_snapshot(f), info, &f->lookup), 0);
	fclose(out);
	return text;
}

static char *pprof_of(struct fixture *f, uint64_t start_ns, size_t *bytes)
{
	const struct profile_info info = {
		.start_time_ns = start_ns,
		.duration_ns = 5 * SECOND_NS,
		.samples_per_second = 19,
	};

	return pprof_with(f, &info, bytes);
}

static char *otlp_of(struct fixture *f, size_t *bytes)
{
	static const struct otlp_attribute host = { "host.name", "box" };
	static const struct profile_info info = {
		.host = "box",
		.kernel = "6.1",
		.samples_per_second = 19,
	};
	const struct otlp_window window = {
		.end_ns = 5 * SECOND_NS,
		.realtime_offset_ns = 1700000000 * SECOND_NS,
	};
	const struct otlp_options options = {
		.samples_per_second = 19,
		.lookup = &f->lookup,
		.attributes = &host,
		.attribute_count = 1,
		.info = &info,
	};
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);

	assert_int_equal(otlp_file_write(out, fixture_snapshot(f), &window, &options), 0);
	fclose(out);
	return text;
}

/* --- reading them back --- */

static char *write_temporary(const void *bytes, size_t count)
{
	char *path = strdup("/tmp/allframes-open-test-XXXXXX");
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), count);
	close(fd);
	return path;
}

/* Opens the bytes as a file; the caller deinits @opened. */
static void open_content(const void *bytes, size_t count, struct opened_samples *opened)
{
	char *path = write_temporary(bytes, count);

	*opened = (struct opened_samples){ 0 };
	if (open_file(path, opened))
		fail_msg("%s", error_text());
	unlink(path);
	free(path);
}

static char *folded_of_opened(struct opened_samples *opened, bool with_lines)
{
	struct stored_sample *stored = calloc(opened->moments.count + 1, sizeof(*stored));
	struct sample_snapshot snapshot = { .samples = stored };
	char *text;

	/* The first type is that of the agent's samples. */
	for (size_t i = 0; i < opened->moments.count; i++) {
		const struct opened_moment *moment = &opened->moments.items[i];
		const struct sample *sample =
			&sample_table_at(opened->table.blocks.items, moment->sample)->sample;

		if (sample->origin == 0)
			stored[snapshot.count++] = (struct stored_sample){
				.sample = *sample,
				.count = (uint64_t)moment->value,
			};
	}
	text = folded_of(&snapshot, NULL, with_lines);
	free(stored);
	return text;
}

/* Opens the bytes and asserts that their folded stacks are @folded. */
static void assert_reads_as(const void *bytes, size_t count, bool with_lines, const char *folded)
{
	struct opened_samples opened;
	char *text;

	open_content(bytes, count, &opened);
	text = folded_of_opened(&opened, with_lines);
	assert_string_equal(text, folded);
	free(text);
	opened_samples_deinit(&opened);
}

static void folded_stacks_read_as_they_were_written(void **state)
{
	struct fixture *f = *state;
	char *folded;

	fixture_report_all_kinds(f);
	report_interpreted(f);
	for (int with_lines = 0; with_lines < 2; with_lines++) {
		folded = folded_of(fixture_snapshot(f), &f->lookup, with_lines);
		assert_reads_as(folded, strlen(folded), with_lines, folded);
		free(folded);
	}
}

static void pprof_reads_as_it_was_written(void **state)
{
	struct fixture *f = *state;
	char *folded, *file;
	size_t bytes;

	fixture_report_all_kinds(f);
	report_interpreted(f);
	folded = folded_of(fixture_snapshot(f), &f->lookup, false);
	file = pprof_of(f, START_NS, &bytes);
	assert_reads_as(file, bytes, false, folded);
	free(file);
	free(folded);
}

static void a_process_above_its_stacks_is_no_function(void **state)
{
	static const struct profile_info info = { .with_processes = true };
	struct fixture *f = *state;
	size_t bytes, plain_bytes;
	char *folded, *file;

	fixture_report_all_kinds(f);
	report_interpreted(f);
	folded = folded_of(fixture_snapshot(f), &f->lookup, false);
	free(pprof_of(f, 0, &plain_bytes));
	file = pprof_with(f, &info, &bytes);
	assert_true(bytes > plain_bytes);
	assert_reads_as(file, bytes, false, folded);
	free(file);
	free(folded);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The sorted lines without the part before the first `;`: OTLP has no comm. */
static char *without_comms(const char *folded)
{
	char *copy = strdup(folded), *rest = copy, *line, *lines[LINES_MAX], *text = NULL;
	size_t count = 0, bytes;
	FILE *out = open_memstream(&text, &bytes);

	while ((line = strsep(&rest, "\n")) && *line)
		lines[count++] = strchr(line, ';');
	qsort(lines, count, sizeof(*lines), compare_texts);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s\n", lines[i]);
	fclose(out);
	free(copy);
	return text;
}

static void otlp_reads_as_it_was_written(void **state)
{
	struct fixture *f = *state;
	char *folded, *file, *expected, *got;
	struct opened_samples opened;
	size_t bytes;

	fixture_report_all_kinds(f);
	report_interpreted(f);
	folded = folded_of(fixture_snapshot(f), &f->lookup, false);
	expected = without_comms(folded);
	free(folded);
	file = otlp_of(f, &bytes);
	open_content(file, bytes, &opened);
	folded = folded_of_opened(&opened, false);
	got = without_comms(folded);
	assert_string_equal(got, expected);
	assert_string_equal(opened.host, "box");
	assert_int_equal(opened.samples_per_second, 19);
	/* Once, though there are several profiles. */
	assert_int_equal(opened.facts.comment_count, 6);
	assert_string_equal(opened.facts.comments[0], "host: box");
	assert_string_equal(opened.facts.comments[1], "kernel: Linux 6.1");
	opened_samples_deinit(&opened);
	free(file);
	free(got);
	free(expected);
	free(folded);
}

/* Returns the column of the frames of @opened that have one: the same frame in samples of each type of values. */
static uint32_t only_column(const struct opened_samples *opened)
{
	uint32_t column = 0;

	for (size_t i = 0; i < opened->table.used; i++) {
		const struct trace *trace =
			sample_table_at(opened->table.blocks.items, i)->sample.trace;

		for (uint32_t j = 0; j < trace->frame_count; j++) {
			struct frame frame = trace_frame(trace, j);

			if (!frame.column)
				continue;
			assert_true(!column || column == frame.column);
			assert_string_equal(frame.function, "work");
			assert_int_equal(frame.line, 3);
			assert_int_equal(frame.start_line, 2);
			column = frame.column;
		}
	}
	return column;
}

static void columns_and_first_lines_are_read(void **state)
{
	struct fixture *f = *state;
	struct opened_samples opened;
	size_t bytes;
	char *file;

	report_interpreted(f);
	file = pprof_of(f, START_NS, &bytes);
	open_content(file, bytes, &opened);
	free(file);
	assert_int_equal(only_column(&opened), 5);
	opened_samples_deinit(&opened);
	file = otlp_of(f, &bytes);
	open_content(file, bytes, &opened);
	free(file);
	assert_int_equal(only_column(&opened), 5);
	opened_samples_deinit(&opened);
}

static void who_and_when_are_read(void **state)
{
	struct fixture *f = *state;
	const struct sample *sample;
	struct opened_samples opened;
	size_t bytes;
	char *file;

	REPORT(f, "prog", 10, 1, native_frame(f->prog, 0x1000, 0));
	file = pprof_of(f, START_NS, &bytes);
	open_content(file, bytes, &opened);
	free(file);
	/* One for each type of values. */
	assert_int_equal(opened.table.used, 2);
	sample = &sample_table_at(opened.table.blocks.items, 0)->sample;
	assert_int_equal(sample->pid, 10);
	assert_int_equal(sample->tid, 11);
	assert_string_equal(sample->process_comm, "prog");
	assert_string_equal(sample->thread_comm, "thread");
	assert_true(sample->trace->is_complete);
	assert_int_equal(opened.first_ns, 1700000000 * SECOND_NS);
	assert_int_equal(opened.facts.duration_ns, 5 * SECOND_NS);
	assert_int_equal(opened.samples_per_second, 19);
	opened_samples_deinit(&opened);

	file = otlp_of(f, &bytes);
	open_content(file, bytes, &opened);
	free(file);
	sample = &sample_table_at(opened.table.blocks.items, 0)->sample;
	assert_int_equal(sample->pid, 10);
	assert_int_equal(sample->tid, 11);
	assert_string_equal(sample->thread_comm, "thread");
	assert_string_equal(sample->process->executable_path, "/opt/prog");
	/* All samples of the fixture have clock time 0. */
	assert_int_equal(opened.first_ns, 1700000000 * SECOND_NS);
	opened_samples_deinit(&opened);
}

static void a_profile_without_a_time_is_of_its_file_s(void **state)
{
	struct fixture *f = *state;
	struct opened_samples opened;
	uint64_t now_ns = (uint64_t)time(NULL) * SECOND_NS;
	size_t bytes;
	char *file;

	REPORT(f, "prog", 10, 1, native_frame(f->prog, 0x1000, 0));
	file = pprof_of(f, 0, &bytes);
	open_content(file, bytes, &opened);
	free(file);
	assert_in_range(opened.start_ns, now_ns - SECOND_NS, now_ns + 60 * SECOND_NS);
	assert_int_equal(opened.first_ns, opened.start_ns);
	opened_samples_deinit(&opened);
}

/* --- files of other tools --- */

static void stacks_of_other_tools_are_read(void **state)
{
	static const char text[] = "swapper;start;idle_[k] 3\nnginx 2\n\nnginx;main;ngx_work 1000";
	static const char folded[] = "nginx;main;ngx_work 1000\n"
				     "swapper;start;idle_[k] 3\n"
				     "nginx 2\n";

	(void)state;
	assert_reads_as(text, strlen(text), false, folded);
}

static void no_number_is_too_large(void **state)
{
	static const char text[] = "a;main;often 300000000000\na;main;rare 1\n";

	(void)state;
	assert_reads_as(text, strlen(text), false, text);
}

/* --- refused files --- */

static void assert_refused(const void *bytes, size_t count, const char *why)
{
	char *path = write_temporary(bytes, count);
	struct opened_samples opened = { 0 };

	assert_int_equal(open_file(path, &opened), -EINVAL);
	if (!strstr(error_text(), why) || !strstr(error_text(), path))
		fail_msg("'%s' does not tell '%s'", error_text(), why);
	opened_samples_deinit(&opened);
	unlink(path);
	free(path);
}

static void what_is_no_profile_is_refused(void **state)
{
	static const char elf[] = "\x7f"
				  "ELF\2\1\1";
	struct opened_samples opened = { 0 };
	char late[5000];

	(void)state;
	assert_refused("", 0, "an empty file");
	assert_refused(elf, sizeof(elf), "a program, library or core file");
	assert_refused("FLR\0\0\2", 6, "a JFR recording");
	assert_refused("{\"a\":1}", 7, "it is JSON, but neither");
	assert_refused("{\"a\":", 5, "JSON is damaged at byte 5");
	assert_refused("{\"traceEvents\":[]}", 18, "a trace of Chrome");
	assert_refused("hello\n", 6, "none of the formats");
	assert_refused("\n\n", 2, "an empty file");
	assert_refused("a;b 1\nno number\n", 16, "line 2: no number at the end: no number");
	assert_refused("a;b 1\na\0b 2\n", 12, "none of the formats");
	memset(late, ';', sizeof(late));
	memcpy(late, "a;b 1\n", 6);
	late[sizeof(late) - 2] = '\0';
	assert_refused(late, sizeof(late), "line 2 is no text");
	assert_refused("a;b 0\n", 6, "no samples");
	assert_int_equal(open_file("/nonexistent", &opened), -EINVAL);
	assert_non_null(strstr(error_text(), "No such file"));
	assert_int_equal(open_file("/dev/zero", &opened), -EINVAL);
	assert_non_null(strstr(error_text(), "no regular file"));
}

/* A truncated file is refused or has fewer samples, but nothing worse happens. */
static void cut_files_are_refused(void **state)
{
	struct fixture *f = *state;
	char *file;
	size_t bytes;

	fixture_report_all_kinds(f);
	file = pprof_of(f, START_NS, &bytes);
	for (size_t cut = 3; cut < bytes; cut += 7)
		assert_refused(file, cut, "damaged");
	free(file);
	file = otlp_of(f, &bytes);
	for (size_t cut = 1; cut < bytes; cut += 7) {
		struct opened_samples opened = { 0 };
		char *copy = malloc(cut + 1);

		memcpy(copy, file, cut);
		(void)!open_bytes(copy, cut, &opened);
		opened_samples_deinit(&opened);
		free(copy);
	}
	free(file);
}

/* Like the test in gunzip_test.c, but with the limit for files: a GiB is decompressed. */
static void bombs_are_refused(void **state)
{
	const size_t plain_bytes = (size_t)1100 << 20, step = 1 << 20;
	unsigned char *zeros = calloc(1, step), *packed = malloc(2 << 20);
	z_stream stream = { .next_out = packed, .avail_out = 2 << 20 };

	(void)state;
	if (!getenv("ALLFRAMES_LONG")) {
		free(zeros);
		free(packed);
		skip();
	}
	deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
	for (size_t done = 0; done < plain_bytes; done += step) {
		stream.next_in = zeros;
		stream.avail_in = step;
		assert_int_equal(deflate(&stream, Z_NO_FLUSH), Z_OK);
	}
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_refused(packed, stream.total_out, "unpacked it has more than 1024 MiB");
	deflateEnd(&stream);
	free(zeros);
	free(packed);
}

/* Nested values: an attribute of an OTLP resource, 100,000 levels deep. */
static void nests_are_refused(void **state)
{
	enum { DEPTH = 100000, ROOM = 1 << 20 };
	uint8_t *bytes = malloc(ROOM), *at = bytes + ROOM;
	/* AnyValue{array_value{values{..}}}, KeyValue.value, Resource.attributes, .resource, .resource_profiles */
	static const uint8_t outer_tags[] = { 0x12, 0x0a, 0x0a, 0x0a };
	struct opened_samples opened = { 0 };

	(void)state;
	for (size_t i = 0; i < 2 * DEPTH + sizeof(outer_tags); i++) {
		size_t length = (size_t)(bytes + ROOM - at);
		uint8_t varint[5];
		size_t varint_bytes = 0;

		for (size_t left = length; left || !varint_bytes; left >>= 7)
			varint[varint_bytes++] = (left & 0x7f) | (left > 0x7f ? 0x80 : 0);
		if ((size_t)(at - bytes) < varint_bytes + 1)
			break;
		at -= varint_bytes;
		memcpy(at, varint, varint_bytes);
		*--at = i < 2 * DEPTH ? (i % 2 ? 0x2a : 0x0a) : outer_tags[i - 2 * DEPTH];
	}
	{
		size_t count = (size_t)(bytes + ROOM - at);
		char *copy = malloc(count + 1);

		memcpy(copy, at, count);
		assert_int_equal(open_bytes(copy, count, &opened), -EBADMSG);
		assert_non_null(strstr(error_text(), "OTLP"));
		free(copy);
	}
	opened_samples_deinit(&opened);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(folded_stacks_read_as_they_were_written, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_process_above_its_stacks_is_no_function, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(pprof_reads_as_it_was_written, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(otlp_reads_as_it_was_written, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(who_and_when_are_read, setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(columns_and_first_lines_are_read, setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(a_profile_without_a_time_is_of_its_file_s, setup,
						fixture_teardown),
		cmocka_unit_test(stacks_of_other_tools_are_read),
		cmocka_unit_test(no_number_is_too_large),
		cmocka_unit_test(what_is_no_profile_is_refused),
		cmocka_unit_test_setup_teardown(cut_files_are_refused, setup, fixture_teardown),
		cmocka_unit_test(bombs_are_refused),
		cmocka_unit_test(nests_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
