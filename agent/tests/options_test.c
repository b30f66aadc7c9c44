// SPDX-License-Identifier: Apache-2.0
#include "agent/tests/parse_options.h"

#include "agent/option_table.h"
#include "lib/base/clock.h"

static void without_arguments_the_defaults_hold(void **state)
{
	struct options options = parse(NULL);

	(void)state;
	assert_int_equal(options.action, OPTIONS_RUN);
	assert_int_equal(options.output_count, 0);
	assert_int_equal(options.pid_count, 0);
	assert_string_equal(options.comm, "");
	assert_null(options.cgroup);
	assert_int_equal(options.cpu_count, 0);
	assert_int_equal(options.samples_per_second, 19);
	assert_int_equal(options.duration_ns, 0);
	assert_int_equal(options.probabilistic_threshold, 100);
	assert_true(options.probabilistic_interval_ns == 60 * NS_PER_SECOND);
	assert_false(options.has_probabilistic_seed);
	assert_int_equal(options.tag_count, 0);
	assert_int_equal(options.max_map_memory_bytes, 256 << 20);
	assert_null(options.cache_dir);
	assert_int_equal(options.log_level, LOG_INFO);
	options_deinit(&options);
}

static void one_dash_or_two_equals_sign_or_next_argument_mean_the_same(void **state)
{
	static char *const forms[][2] = {
		{ "-samples-per-second", "99" },
		{ "--samples-per-second", "99" },
		{ "-samples-per-second=99", NULL },
		{ "--samples-per-second=99", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct options options = parse(forms[i][0], forms[i][1], NULL);

		assert_int_equal(options.samples_per_second, 99);
		options_deinit(&options);
	}
}

static void a_value_may_hold_dashes_and_equals_signs(void **state)
{
	struct options options = parse("-output", "-", "-output=a=b.txt", "-comm", "-x", NULL);

	(void)state;
	assert_string_equal(options.outputs[0], "-");
	assert_string_equal(options.outputs[1], "a=b.txt");
	assert_string_equal(options.comm, "-x");
	options_deinit(&options);
}

static void the_last_use_of_an_option_wins(void **state)
{
	struct options options = parse("-duration", "5s", "-duration=1m", "-cache-dir", "/a",
				       "-cache-dir", "/b", "-tags", "a:1", "-tags", "b:2,c:3",
				       NULL);

	(void)state;
	assert_true(options.duration_ns == 60 * NS_PER_SECOND);
	assert_string_equal(options.cache_dir, "/b");
	assert_int_equal(options.tag_count, 2);
	assert_string_equal(options.tags[0].key, "b");
	options_deinit(&options);
}

static void what_is_no_option_is_refused(void **state)
{
	(void)state;
	assert_refused("-frobnicate: unknown option", "-frobnicate", NULL);
	assert_refused("--frobnicate: unknown option", "--frobnicate=3", NULL);
	assert_refused("-samples: unknown option", "-samples", "99", NULL);
	assert_refused("output.txt: not an option", "output.txt", NULL);
	assert_refused("-: not an option", "-", NULL);
	assert_refused("--: not an option", "--", NULL);
	assert_refused("not an option", "", NULL);
	assert_refused("---pid: unknown option", "---pid", "1", NULL);
	assert_refused("-PID: unknown option", "-PID", "1", NULL);
}

static void what_samples_nothing_takes_no_destinations_for_samples(void **state)
{
	static const char open[] = "-open=x.folded", upload[] = "-upload-symbols=libfoo.so";
	static const char collector[] = "-collection-agent=host";

	(void)state;
	assert_refused("leave out -output", open, "-output=x.txt", NULL);
	assert_refused("leave out -output", "-doctor", "-output=x.txt", NULL);
	assert_refused("leave out -output", upload, collector, "-output=x.txt", NULL);
	assert_refused("leave out -collection-agent", open, collector, NULL);
	assert_refused("leave out -collection-agent", "-doctor", collector, NULL);
	assert_refused("leave out -receive", open, "-receive=127.0.0.1:4317", NULL);
	assert_refused("leave out -receive", upload, collector, "-receive=127.0.0.1:4317", NULL);
	assert_refused("leave out -viewer", "-doctor", "-viewer=127.0.0.1:0", NULL);
	assert_refused("leave out -viewer", upload, collector, "-viewer=127.0.0.1:0", NULL);
	assert_refused("leave out -doctor", "-doctor", open, NULL);
	assert_refused("leave out -doctor", "-doctor", upload, collector, NULL);
	assert_refused("leave out -open", open, upload, collector, NULL);
}

static void uploads_add_up_and_need_a_receiver(void **state)
{
	struct options options;

	(void)state;
	options = parse("-upload-symbols=a.so", "-upload-symbols=b.so", "-collection-agent=host",
			NULL);
	assert_int_equal(options.upload_count, 2);
	assert_string_equal(options.uploads[0], "a.so");
	assert_string_equal(options.uploads[1], "b.so");
	options_deinit(&options);
	assert_refused("give -collection-agent", "-upload-symbols=a.so", NULL);
	assert_refused("given twice", "-upload-symbols=a.so", "-upload-symbols=a.so", NULL);
	assert_refused("give an ELF file", "-upload-symbols=", NULL);
}

static void long_unknown_options_are_cut_in_the_error(void **state)
{
	char argument[1000];

	(void)state;
	memset(argument, 'x', sizeof(argument));
	argument[0] = '-';
	argument[sizeof(argument) - 1] = '\0';
	assert_refused("x: unknown option; -help lists all", argument, NULL);
	assert_true(strlen(error_text()) < 120);
	assert_refused("x: not an option", argument + 1, NULL);
	assert_refused("give pids", "-pid", argument + 1, NULL);
}

static void an_option_without_its_value_is_refused(void **state)
{
	(void)state;
	assert_refused("-output: needs a value: -output PATH", "-output", NULL);
	assert_refused("-pid: needs a value", "-duration", "5s", "--pid", NULL);
}

static void help_and_version_end_the_parsing(void **state)
{
	struct options options = parse("-help", "-frobnicate", NULL);

	(void)state;
	assert_int_equal(options.action, OPTIONS_SHOW_HELP);
	options_deinit(&options);
	options = parse("--version", "-frobnicate", NULL);
	assert_int_equal(options.action, OPTIONS_SHOW_VERSION);
	options_deinit(&options);
	options = parse("-help=false", NULL);
	assert_int_equal(options.action, OPTIONS_RUN);
	options_deinit(&options);
	assert_refused("give true or false", "-help=maybe", NULL);
	assert_refused("unknown option", "-frobnicate", "-help", NULL);
}

static void the_environment_sets_every_option(void **state)
{
	struct options options;

	(void)state;
	setenv("ALLFRAMES_OUTPUT", "e.txt", 1);
	setenv("ALLFRAMES_PID", "1", 1);
	setenv("ALLFRAMES_COMM", "bash", 1);
	setenv("ALLFRAMES_CPUS", "0", 1);
	setenv("ALLFRAMES_SAMPLES_PER_SECOND", "97", 1);
	setenv("ALLFRAMES_DURATION", "5s", 1);
	setenv("ALLFRAMES_PROBABILISTIC_THRESHOLD", "50", 1);
	setenv("ALLFRAMES_PROBABILISTIC_INTERVAL", "5s", 1);
	setenv("ALLFRAMES_PROBABILISTIC_SEED", "3", 1);
	setenv("ALLFRAMES_TAGS", "a:b", 1);
	setenv("ALLFRAMES_TRACERS", "native", 1);
	setenv("ALLFRAMES_MAX_MAP_MEMORY", "8M", 1);
	setenv("ALLFRAMES_CACHE_DIR", "/c", 1);
	setenv("ALLFRAMES_LOG_LEVEL", "debug", 1);
	options = parse(NULL);
	assert_int_equal(options.output_count, 1);
	assert_string_equal(options.outputs[0], "e.txt");
	assert_int_equal(options.pid_count, 1);
	assert_string_equal(options.comm, "bash");
	assert_int_equal(options.cpu_count, 1);
	assert_int_equal(options.samples_per_second, 97);
	assert_true(options.duration_ns == 5 * NS_PER_SECOND);
	assert_int_equal(options.probabilistic_threshold, 50);
	assert_true(options.probabilistic_interval_ns == 5 * NS_PER_SECOND);
	assert_int_equal(options.probabilistic_seed, 3);
	assert_int_equal(options.tag_count, 1);
	assert_int_equal(options.max_map_memory_bytes, 8 << 20);
	assert_string_equal(options.cache_dir, "/c");
	assert_int_equal(options.log_level, LOG_DEBUG);
	options_deinit(&options);

	setenv("ALLFRAMES_VERSION", "1", 1);
	options = parse(NULL);
	assert_int_equal(options.action, OPTIONS_SHOW_VERSION);
	options_deinit(&options);
	unsetenv("ALLFRAMES_VERSION");
	setenv("ALLFRAMES_HELP", "true", 1);
	options = parse(NULL);
	assert_int_equal(options.action, OPTIONS_SHOW_HELP);
	options_deinit(&options);
}

static void the_command_line_wins_over_the_environment(void **state)
{
	struct options options;

	(void)state;
	setenv("ALLFRAMES_OUTPUT", "environment.txt", 1);
	setenv("ALLFRAMES_SAMPLES_PER_SECOND", "not even a number", 1);
	options = parse("-output", "argument.txt", "-samples-per-second=11", NULL);
	assert_int_equal(options.output_count, 1);
	assert_string_equal(options.outputs[0], "argument.txt");
	assert_int_equal(options.samples_per_second, 11);
	options_deinit(&options);
}

static void wrong_values_in_the_environment_are_refused_by_its_names(void **state)
{
	(void)state;
	setenv("ALLFRAMES_MAX_MAP_MEMORY", "1", 1);
	assert_refused("ALLFRAMES_MAX_MAP_MEMORY=1: give a size", NULL);
	unsetenv("ALLFRAMES_MAX_MAP_MEMORY");
	setenv("ALLFRAMES_CGROUP", "/tmp", 1);
	assert_refused("ALLFRAMES_CGROUP=/tmp: not a cgroup", NULL);
}

static void empty_and_foreign_variables_are_ignored(void **state)
{
	struct options options;

	(void)state;
	setenv("ALLFRAMES_PID", "", 1);
	setenv("ALLFRAMES_PORT", "tcp://10.0.0.1:7171", 1);
	options = parse(NULL);
	assert_int_equal(options.pid_count, 0);
	options_deinit(&options);
}

/* The text of -help, which the caller frees. */
static char *help_text(void)
{
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	options_print_help(file);
	fclose(file);
	return text;
}

static void help_names_every_option_within_80_columns(void **state)
{
	static const char *const names[] = {
		"-output PATH",
		"-pid N,N",
		"-comm NAME",
		"-cgroup PATH",
		"-cpus LIST",
		"-samples-per-second N  (19)",
		"-duration D",
		"-probabilistic-threshold N  (100)",
		"-probabilistic-interval D  (1m)",
		"-probabilistic-seed N",
		"-tags K:V,K:V",
		"-tracers LIST  (all)",
		"-max-map-memory SIZE  (256M)",
		"-cache-dir DIR",
		"-log-level LEVEL  (info)",
		"-version",
		"-help",
		"-collection-agent",
		"-disable-tls",
		"-tls-ca",
		"-tls-cert",
		"-tls-key",
		"-header",
		"-reporter-interval",
		"-reporter-jitter",
		"-resource-grouping",
		"-with-cpu",
		"-symbolize HOW  (none)",
		"-with-goroutine-id",
		"Default: the system's.",
		"Exit status",
	};
	char *text = help_text();

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strstr(text, names[i]))
			fail_msg("-help does not tell of %s", names[i]);
	}
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 80);
	free(text);
}

static void help_has_no_marks_and_nothing_that_only_the_document_says(void **state)
{
	char *text = help_text();

	(void)state;
	assert_null(strchr(text, '`'));
	assert_null(strstr(text, "]("));
	assert_non_null(strstr(text, "(/proc/PID/comm). Default: all.\n"));
	assert_null(strstr(text, "15 bytes"));
	free(text);
}

static void an_option_has_one_text_for_its_default(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *option = &option_table[i];

		if (option->initial && option->otherwise)
			fail_msg("-%s has two defaults", option->name);
		/* -help has a buffer for it. */
		if (option->otherwise)
			assert_in_range(strlen(option->otherwise), 1, 200);
	}
}

static void deinit_takes_null_and_what_is_empty(void **state)
{
	struct options options = { 0 };

	(void)state;
	options_deinit(NULL);
	options_deinit(&options);
	options_deinit(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		option_test(without_arguments_the_defaults_hold),
		option_test(one_dash_or_two_equals_sign_or_next_argument_mean_the_same),
		option_test(a_value_may_hold_dashes_and_equals_signs),
		option_test(the_last_use_of_an_option_wins),
		option_test(what_is_no_option_is_refused),
		option_test(what_samples_nothing_takes_no_destinations_for_samples),
		option_test(uploads_add_up_and_need_a_receiver),
		option_test(long_unknown_options_are_cut_in_the_error),
		option_test(an_option_without_its_value_is_refused),
		option_test(help_and_version_end_the_parsing),
		option_test(the_environment_sets_every_option),
		option_test(the_command_line_wins_over_the_environment),
		option_test(wrong_values_in_the_environment_are_refused_by_its_names),
		option_test(empty_and_foreign_variables_are_ignored),
		option_test(help_names_every_option_within_80_columns),
		option_test(help_has_no_marks_and_nothing_that_only_the_document_says),
		option_test(an_option_has_one_text_for_its_default),
		option_test(deinit_takes_null_and_what_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
