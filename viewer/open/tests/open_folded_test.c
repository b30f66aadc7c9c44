/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks as several tools and people write them, and the text of perf script. */
#include "viewer/open/open_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include "reporter/folded.h"

static int open_text(const char *text, size_t count, struct opened_samples *opened)
{
	char *copy = malloc(count + 1);
	int err;

	memcpy(copy, text, count);
	*opened = (struct opened_samples){ 0 };
	err = open_bytes(copy, count, opened);
	free(copy);
	return err;
}

/* The page's export of the samples from @from_ns on. */
static char *folded_of(struct opened_samples *opened, uint64_t from_ns)
{
	struct stored_sample *stored = calloc(opened->moments.count + 1, sizeof(*stored));
	struct sample_snapshot snapshot = { .samples = stored };
	struct stack_counts counts;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	for (size_t i = 0; i < opened->moments.count; i++) {
		const struct opened_moment *moment = &opened->moments.items[i];

		if (moment->time_ns >= from_ns)
			stored[snapshot.count++] = (struct stored_sample){
				.sample =
					sample_table_at(opened->table.blocks.items, moment->sample)
						->sample,
				.count = (uint64_t)moment->value,
			};
	}
	assert_int_equal(stack_counts_init(&counts, &snapshot, NULL, false, SIZE_MAX), 0);
	folded_write_values(out, &counts, &opened->facts.types[0]);
	fclose(out);
	stack_counts_deinit(&counts);
	free(stored);
	return text;
}

static void assert_bytes_read_as(const char *text, size_t count, const char *folded)
{
	struct opened_samples opened;
	char *got;

	if (open_text(text, count, &opened))
		fail_msg("%s: %s", text, error_text());
	got = folded_of(&opened, 0);
	assert_string_equal(got, folded);
	free(got);
	opened_samples_deinit(&opened);
}

static void assert_reads_as(const char *text, const char *folded)
{
	assert_bytes_read_as(text, strlen(text), folded);
}

static void line_ends_and_gaps_are_of_any_kind(void **state)
{
	(void)state;
	assert_reads_as("a;b 3\r\na;c 2\r\n", "a;b 3\na;c 2\n");
	assert_reads_as("\r\n# made by a tool\r\n\n  \na;b\t 3 \n", "a;b 3\n");
	assert_reads_as("a;b 3\na;c 0\na;b 0\n", "a;b 3\n");
}

static void byte_order_marks_are_read(void **state)
{
	static const char little[] = "\xff\xfe"
				     "a\0;\0\xe4\0 \0"
				     "3\0\n";
	static const char big[] = "\xfe\xff"
				  "\0a\0;\xd8\x3d\xde\0\0 \0"
				  "3";

	(void)state;
	assert_reads_as("\xef\xbb\xbf"
			"a;b 3\n",
			"a;b 3\n");
	assert_bytes_read_as(little, sizeof(little), "a;\xc3\xa4 3\n");
	assert_bytes_read_as(big, sizeof(big) - 1, "a;\xf0\x9f\x98\x80 3\n");
}

static void fractions_and_signs_are_exact(void **state)
{
	(void)state;
	assert_reads_as("a;b 3.5\na;c 2\na;d 0.125\n", "a;b 3.5\na;c 2\na;d 0.125\n");
	assert_reads_as("a;b 10\na;c -4\n", "a;b 10\na;c -4\n");
	assert_reads_as("a;b 3.000\na;c 1.50\n", "a;b 3\na;c 1.5\n");
}

static void the_root_is_a_function_or_a_process(void **state)
{
	static const struct {
		const char *text;
		bool is_function;
	} files[] = {
		{ "main 5\nmain;x 2\n", true },
		{ "java/lang/Thread.run;Work.run_[j] 3\n", true },
		{ "<module> (app.py:3);work (app.py:1) 3\n", true },
		{ "libc.so.1`_start;app`main 3\n", true },
		{ "start_thread;work 3\n", true },
		{ "entry_[k];read_[k] 3\n", true },
		{ "app;outer;inner 3\n", false },
		{ "main;_start;main;x 2\nmain;runtime.goexit;main.main 1\n", false },
		{ "a_program_with_a_long_name;_start;main 2\n", false },
		{ "java-1234/1235;start_thread;work 2\n", false },
		{ "app;[error: no unwind information];x 2\n", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct opened_samples opened;
		const struct sample *sample;

		assert_int_equal(open_text(files[i].text, strlen(files[i].text), &opened), 0);
		sample = &sample_table_at(opened.table.blocks.items, 0)->sample;
		if (files[i].is_function == (*sample->process_comm != 0))
			fail_msg("%s is read the wrong way", files[i].text);
		assert_string_equal(sample->thread_comm, "");
		assert_int_equal(sample->pid, SAMPLE_NO_NUMBER);
		opened_samples_deinit(&opened);
		/* The export without lines leaves them out. */
		if (!strstr(files[i].text, ".py:"))
			assert_reads_as(files[i].text, files[i].text);
	}
}

static void marks_and_names_stay(void **state)
{
	static const char text[] = "app;outer_[j];inner_[i];read_[k] 9\n"
				   "app;libc.so.6+0x26d70 8\n"
				   "app;Foo$$Lambda+0x00007f00 7\n"
				   "app;run(int)+0x1a 6\n"
				   "app;x_[1] 5\n";

	(void)state;
	assert_reads_as(text, text);
}

static void two_columns_are_a_comparison(void **state)
{
	static const char text[] = "a;b 3 5\na;c 0 2\na;d 4 0\n";
	struct opened_samples opened;
	char *got;

	(void)state;
	assert_int_equal(open_text(text, strlen(text), &opened), 0);
	assert_int_equal(opened.facts.part_count, 2);
	assert_true(opened.facts.parts[0].last_ns < opened.facts.parts[1].first_ns);
	got = folded_of(&opened, opened.facts.parts[1].first_ns);
	assert_string_equal(got, "a;b 5\na;c 2\n");
	free(got);
	opened_samples_deinit(&opened);
	/* The number before the last one belongs to the name. */
	assert_reads_as("a;step 2 5\na;c 1\n", "a;step 2 5\na;c 1\n");
}

static void text_of_perf_script_is_read(void **state)
{
	static const char text[] =
		"# captured on: now\n"
		"my app 2  100/101 [003] 12.500000:     250000 cpu-clock:uhH: \n"
		"\tffffffff81000010 read_it+0x10 ([kernel.kallsyms])\n"
		"\t            4010 inner (inlined)\n"
		"\t            4010 outer(int, char (*)(long))+0x10 (/opt/a b/app)\n"
		"\t            5555 [unknown] (/lib/libx.so)\n"
		"\t            6666 jitted+0x6 (/tmp/perf-100.map)\n"
		"\tffffffffc0000010 [unknown] ([ext4])\n"
		"\tffffffffc0000020 [unknown] (/lib/modules/6.1/kernel/fs/xfs.ko)\n"
		"\tffffffff81000030 [unknown] ([kernel.kallsyms])\n"
		"\n"
		"my app 2  100/101 [003] 12.510000:     250000 cpu-clock:uhH: \r\n"
		"            4010 outer(int, char (*)(long))+0x10 (/opt/a b/app)\r\n"
		"\r\n"
		"swapper     0 [000] 12.520000: 7 cycles: \n"
		"\tffffffff81000020 idle ([kernel.kallsyms])\n";
	static const char *const types[] = { "samples", "cpu-clock", "samples of cycles",
					     "cycles" };
	struct opened_samples opened;
	const struct sample *sample;
	char *got;

	(void)state;
	assert_int_equal(open_text(text, strlen(text), &opened), 0);
	assert_int_equal(opened.facts.type_count, 4);
	for (int i = 0; i < 4; i++)
		assert_string_equal(opened.facts.types[i].type, types[i]);
	assert_string_equal(opened.facts.types[1].unit, "nanoseconds");
	assert_string_equal(opened.facts.comments[0], "captured on: now");
	assert_int_equal(opened.type_totals[0], 2);
	assert_int_equal(opened.type_totals[1], 500000);
	assert_int_equal(opened.type_totals[3], 7);
	assert_int_equal(opened.last_ns - opened.first_ns, 20000000);
	sample = &sample_table_at(opened.table.blocks.items, 0)->sample;
	assert_string_equal(sample->process_comm, "my app 2");
	assert_int_equal(sample->pid, 100);
	assert_int_equal(sample->tid, 101);
	assert_int_equal(sample->cpu, 3);
	got = folded_of(&opened, 0);
	assert_non_null(strstr(
		got,
		"my app 2;vmlinux+0xffffffff81000030_[k];xfs+0xffffffffc0000020_[k];"
		"ext4+0xffffffffc0000010_[k];jitted_[j];libx.so+0x5555;outer(int, char (*)(long));"
		"inner_[i];read_it_[k] "));
	free(got);
	opened_samples_deinit(&opened);
	assert_true(open_text("a 1 1.0: 5 x:\n\t4010 f (/a)\n\nnonsense\n", 37, &opened) < 0);
	assert_non_null(strstr(error_text(), "line 4: no sample of perf script: nonsense"));
	opened_samples_deinit(&opened);
}

static int open_line_text(const char *text, struct opened_samples *opened)
{
	return open_text(text, strlen(text), opened);
}

static void a_bad_line_is_named(void **state)
{
	struct opened_samples opened;

	(void)state;
	assert_true(open_line_text("a;b 1\n\n#\nno number\n", &opened) < 0);
	assert_non_null(strstr(error_text(), "line 4: no number at the end: no number"));
	opened_samples_deinit(&opened);
	assert_true(open_line_text("a;b 1\na;b 9999999999999999999\n", &opened) < 0);
	assert_non_null(strstr(error_text(), "line 2"));
	opened_samples_deinit(&opened);
	assert_true(open_line_text("a;b 0.5\na;b 999999999999999999\n", &opened) < 0);
	assert_non_null(strstr(error_text(), "line 2: the number is too large"));
	opened_samples_deinit(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_ends_and_gaps_are_of_any_kind),
		cmocka_unit_test(byte_order_marks_are_read),
		cmocka_unit_test(fractions_and_signs_are_exact),
		cmocka_unit_test(the_root_is_a_function_or_a_process),
		cmocka_unit_test(marks_and_names_stay),
		cmocka_unit_test(two_columns_are_a_comparison),
		cmocka_unit_test(a_bad_line_is_named),
		cmocka_unit_test(text_of_perf_script_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
