// SPDX-License-Identifier: Apache-2.0
#include "agent/tests/parse_options.h"

#include <fcntl.h>

#include "agent/option_help.h"
#include "agent/option_table.h"
#include "lib/base/clock.h"

static void without_arguments_the_defaults_hold(void **state)
{
	struct options options = parse(NULL);

	(void)state;
	assert_int_equal(options.action, OPTIONS_RUN);
	assert_int_equal(options.output_count, 0);
	assert_int_equal(options.pid_count, 0);
	assert_int_equal(options.comm_count, 0);
	assert_null(options.cgroup);
	assert_int_equal(options.cpu_count, 0);
	assert_int_equal(options.samples_per_second, 19);
	assert_int_equal(options.duration_ns, 0);
	assert_int_equal(options.probabilistic_threshold, 100);
	assert_true(options.probabilistic_interval_ns == 60 * NS_PER_SECOND);
	assert_false(options.has_probabilistic_seed);
	assert_int_equal(options.tag_count, 0);
	assert_int_equal(options.max_map_memory_bytes, 256 << 20);
	assert_int_equal(options.viewer.history_bytes, 128 << 20);
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
	assert_string_equal(options.comms[0], "-x");
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
	assert_string_equal(options.comms[0], "bash");
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
	options_print_help(file, "allframes");
	fclose(file);
	return text;
}

static void help_has_each_option_in_fewer_than_100_lines_of_80_columns(void **state)
{
	char *text = help_text();
	uint32_t line_count = 0;

	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *option = &option_table[i];
		char start[64];

		snprintf(start, sizeof(start), "\n  -%s%s%s", option->name,
			 option->value_name ? " " : "",
			 option->value_name ? option->value_name : "");
		if (!strstr(text, start) || !option->brief || !strstr(text, option->brief))
			fail_msg("-help does not tell of -%s", option->name);
		assert_in_range(strlen(option->brief), 1, OPTION_BRIEF_MAX);
	}
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		assert_in_range(strcspn(line, "\n"), 0, 80);
		line_count++;
	}
	assert_in_range(line_count, option_count, 99);
	assert_null(strchr(text, '`'));
	assert_non_null(strstr(text, "-samples-per-second N, -F"));
	assert_non_null(strstr(text, " languages to unwind; native: none (all)\n"));
	free(text);
}

static void help_begins_with_four_examples_and_what_a_newcomer_needs(void **state)
{
	char *text = help_text();
	const char *at = text;
	uint32_t example_count = 0;

	(void)state;
	for (; (at = strstr(at, "\n  allframes ")); at++)
		example_count++;
	assert_int_equal(example_count, 4);
	assert_true(strstr(text, "allframes -- ") < strstr(text, "  -pid N,N"));
	assert_true(strstr(text, "  -pid N,N") < strstr(text, "  -output PATH"));
	assert_true(strstr(text, "  -output PATH") < strstr(text, "  -collection-agent"));
	free(text);
}

static void a_letter_stands_for_an_option(void **state)
{
	struct options options = parse("-F", "99", "-o=a.txt", "-p", "1", NULL);

	(void)state;
	assert_int_equal(options.samples_per_second, 99);
	assert_string_equal(options.outputs[0], "a.txt");
	assert_int_equal(options.pids[0], 1);
	options_deinit(&options);
	options = parse("-h", NULL);
	assert_int_equal(options.action, OPTIONS_SHOW_HELP);
	options_deinit(&options);
	options = parse("-v", NULL);
	assert_int_equal(options.action, OPTIONS_SHOW_VERSION);
	options_deinit(&options);
	assert_refused("-samples-per-second: needs a value", "-F", NULL);
	assert_refused("-x: unknown option", "-x", NULL);
}

static void a_misspelt_option_is_guessed(void **state)
{
	(void)state;
	assert_refused("-pdi: unknown option; did you mean -pid?", "-pdi", "1", NULL);
	assert_refused("-outptu: unknown option; did you mean -output?", "-outptu", "x", NULL);
	assert_refused("--durration: unknown option; did you mean -duration?", "--durration=5s",
		       NULL);
	assert_refused("-samples: unknown option; did you mean -samples-per-second?", "-samples",
		       NULL);
	assert_refused("-colection-agent: unknown option; did you mean -collection-agent?",
		       "-colection-agent", "x", NULL);
	assert_refused("-smaples: unknown option; did you mean -samples-per-second?", "-smaples",
		       "5", NULL);
	assert_refused("-callgrind: unknown option; -help lists all", "-callgrind", NULL);
}

/* The lines that standard error gets while the variable @name is set and nothing else; the caller frees them. */
static char *warnings_of_variable(const char *name)
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	char *text = calloc(1, 512);
	struct options options;

	assert_non_null(file);
	assert_non_null(text);
	setenv(name, "1", 1);
	dup2(fileno(file), STDERR_FILENO);
	options = parse(NULL);
	dup2(before, STDERR_FILENO);
	close(before);
	unsetenv(name);
	options_deinit(&options);
	assert_true(pread(fileno(file), text, 511, 0) >= 0);
	fclose(file);
	return text;
}

static void a_misspelt_variable_is_warned_of(void **state)
{
	char *text = warnings_of_variable("ALLFRAMES_SAMPLE_PER_SECOND");

	(void)state;
	assert_non_null(strstr(text, "ALLFRAMES_SAMPLE_PER_SECOND is not used; did you mean "
				     "ALLFRAMES_SAMPLES_PER_SECOND?"));
	free(text);
	text = warnings_of_variable("ALLFRAMES_SMAPLES");
	assert_non_null(strstr(text, "ALLFRAMES_SMAPLES is not used; did you mean "
				     "ALLFRAMES_SAMPLES_PER_SECOND?"));
	free(text);
	/* Kubernetes sets such ones for a service with this name. */
	text = warnings_of_variable("ALLFRAMES_SERVICE_HOST");
	assert_string_equal(text, "");
	free(text);
}

static void what_stands_behind_two_dashes_is_a_command(void **state)
{
	struct options options = parse("-F", "19", "--", "make", NULL);

	(void)state;
	assert_int_equal(options.samples_per_second, 19);
	options_deinit(&options);
	options = parse("--", "make", "-j", "-pid", NULL);
	assert_int_equal(options.samples_per_second, 99);
	assert_string_equal(options.command[0], "make");
	assert_string_equal(options.command[2], "-pid");
	assert_null(options.command[3]);
	assert_int_equal(options.pid_count, 0);
	assert_null(options.run_as);
	options_deinit(&options);
	options = parse("-run-as", "nobody", "--", "--", NULL);
	assert_string_equal(options.command[0], "--");
	assert_string_equal(options.run_as, "nobody");
	options_deinit(&options);
	assert_refused("--: needs a command", "--", NULL);
	assert_refused("--: needs a command", "-F", "99", "--", "", NULL);
	assert_refused("leave out -pid", "-pid", "1", "--", "make", NULL);
	assert_refused("leave out the command", "-open=x.folded", "--", "make", NULL);
	assert_refused("-run-as: there is no command", "-run-as", "nobody", NULL);
	assert_refused(
		"make: not an option; options start with a dash (-help lists them), and a command to "
		"profile stands behind --",
		"make", NULL);
}

/* Standard output of a test may be a terminal. */
static struct options parse_without_terminal(const char *first, const char *second)
{
	int before = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
	struct options options;

	fflush(stdout);
	dup2(null, STDOUT_FILENO);
	options = parse(first, second, NULL);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(null);
	return options;
}

static void a_command_is_reported_unless_there_is_another_destination(void **state)
{
	struct options options = parse_without_terminal("--", "make");

	(void)state;
	assert_int_equal(options.report, REPORT_TO_ERROR);
	assert_false(options_have_page(&options));
	options_deinit(&options);
	options = parse("-report", "--", "make", NULL);
	assert_int_equal(options.report, REPORT_TO_OUTPUT);
	assert_false(options_have_page(&options));
	options_deinit(&options);
	options = parse("-output", "a.txt", "--", "make", NULL);
	assert_int_equal(options.report, REPORT_NONE);
	assert_false(options_have_page(&options));
	options_deinit(&options);
	options = parse("-viewer", "127.0.0.1:0", "--", "make", NULL);
	assert_int_equal(options.report, REPORT_NONE);
	assert_true(options_have_page(&options));
	options_deinit(&options);
	options = parse_without_terminal("-duration=5s", NULL);
	assert_int_equal(options.report, REPORT_NONE);
	assert_true(options_have_page(&options));
	options_deinit(&options);
	options = parse("-report", "-duration=5s", NULL);
	assert_int_equal(options.report, REPORT_TO_OUTPUT);
	assert_false(options_have_page(&options));
	options_deinit(&options);
	assert_refused("leave out -report", "-doctor", "-report", NULL);
}

static void a_file_is_reported_in_the_values_that_are_chosen(void **state)
{
	struct options options =
		parse("-open=a.pb.gz", "-report", "-json", "-type=inuse_space", NULL);

	(void)state;
	assert_int_equal(options.report, REPORT_TO_OUTPUT);
	assert_true(options.json);
	assert_string_equal(options.value_type, "inuse_space");
	options_deinit(&options);
	assert_refused("leave out -viewer", "-open=a.pb.gz", "-report", "-viewer=127.0.0.1:0",
		       NULL);
	assert_refused("-json: it is for -report and -dump", "-json", NULL);
	assert_refused("-type: it is for -open, -diff and -weight", "-type=cpu", NULL);
}

static void an_option_has_one_text_for_its_default(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct option *option = &option_table[i];

		if (option->initial && option->otherwise)
			fail_msg("-%s has two defaults", option->name);
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
		option_test(help_has_each_option_in_fewer_than_100_lines_of_80_columns),
		option_test(help_begins_with_four_examples_and_what_a_newcomer_needs),
		option_test(a_letter_stands_for_an_option),
		option_test(a_misspelt_option_is_guessed),
		option_test(a_misspelt_variable_is_warned_of),
		option_test(what_stands_behind_two_dashes_is_a_command),
		option_test(a_command_is_reported_unless_there_is_another_destination),
		option_test(a_file_is_reported_in_the_values_that_are_chosen),
		option_test(an_option_has_one_text_for_its_default),
		option_test(deinit_takes_null_and_what_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
