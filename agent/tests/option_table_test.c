// SPDX-License-Identifier: Apache-2.0
#include "agent/tests/parse_options.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "ebpf/abi/config.h"
#include "interpreters/registry.h"
#include "lib/base/clock.h"
#include "lib/model/origins.h"

static void outputs_add_up(void **state)
{
	struct options options =
		parse("-output", "a.folded", "-output", "b.pb.gz", "-output", "-", NULL);

	(void)state;
	assert_int_equal(options.output_count, 3);
	assert_string_equal(options.outputs[0], "a.folded");
	assert_string_equal(options.outputs[1], "b.pb.gz");
	assert_string_equal(options.outputs[2], "-");
	options_deinit(&options);
}

static void wrong_outputs_are_refused(void **state)
{
	(void)state;
	assert_refused("give a path", "-output=", NULL);
	assert_refused("given twice", "-output", "a.txt", "-output", "a.txt", NULL);
	assert_refused("at most 16", "-output=1", "-output=2", "-output=3", "-output=4",
		       "-output=5", "-output=6", "-output=7", "-output=8", "-output=9",
		       "-output=10", "-output=11", "-output=12", "-output=13", "-output=14",
		       "-output=15", "-output=16", "-output=17", NULL);
}

static void pids_are_those_of_running_processes(void **state)
{
	char text[64];
	struct options options;

	(void)state;
	snprintf(text, sizeof(text), "%d,1,%d", (int)getpid(), (int)getpid());
	options = parse("-pid", text, NULL);
	assert_int_equal(options.pid_count, 2);
	assert_int_equal(options.pids[0], 1);
	assert_int_equal(options.pids[1], getpid());
	options_deinit(&options);

	assert_refused("there is no process 4194304", "-pid", "4194304", NULL);
	assert_refused("give pids", "-pid", "0", NULL);
	assert_refused("give pids", "-pid", "4194305", NULL);
	assert_refused("give pids", "-pid", "1-3", NULL);
	assert_refused("give pids", "-pid", "", NULL);
	assert_refused("give pids", "-pid", "self", NULL);
}

static void *say_thread_id(void *argument)
{
	int *ends = argument;
	pid_t tid = gettid();
	char byte;

	/* Stays until the test has closed its end of the second pipe. */
	assert_int_equal(write(ends[0], &tid, sizeof(tid)), sizeof(tid));
	assert_int_equal(read(ends[1], &byte, 1), 0);
	return NULL;
}

static void a_thread_is_refused_by_its_process(void **state)
{
	int answer[2], end[2], ends[2];
	pthread_t thread;
	char text[16];
	char why[64];
	pid_t tid;

	(void)state;
	assert_int_equal(pipe(answer), 0);
	assert_int_equal(pipe(end), 0);
	ends[0] = answer[1];
	ends[1] = end[0];
	assert_int_equal(pthread_create(&thread, NULL, say_thread_id, ends), 0);
	assert_int_equal(read(answer[0], &tid, sizeof(tid)), sizeof(tid));
	snprintf(text, sizeof(text), "%d", tid);
	snprintf(why, sizeof(why), "%d is a thread of process %d; give that pid", tid, getpid());
	assert_refused(why, "-pid", text, NULL);
	close(end[1]);
	pthread_join(thread, NULL);
	close(end[0]);
	close(answer[0]);
	close(answer[1]);
}

static void too_many_pids_are_refused(void **state)
{
	char text[8 * (SELECTED_PIDS_MAX + 1)];
	size_t length = 0;

	(void)state;
	for (int i = 0; i <= SELECTED_PIDS_MAX; i++)
		length +=
			snprintf(text + length, sizeof(text) - length, "%s%d", i ? "," : "", i + 1);
	assert_refused("at most 1024 pids", "-pid", text, NULL);
}

static void a_comm_has_1_to_15_bytes(void **state)
{
	struct options options = parse("-comm", "exactly15bytes!,sh", NULL);
	char text[3 * SELECTED_COMMS_MAX + 3] = "sh";

	(void)state;
	assert_int_equal(options.comm_count, 2);
	assert_string_equal(options.comms[0], "exactly15bytes!");
	/* The kernel compares all bytes. */
	assert_memory_equal(options.comms[1], "sh\0\0\0\0\0\0\0\0\0\0\0\0\0", COMM_BYTES);
	options_deinit(&options);
	options = parse("-comm", "a,b", "-comm", "c", NULL);
	assert_int_equal(options.comm_count, 1);
	assert_string_equal(options.comms[0], "c");
	options_deinit(&options);
	assert_refused("give names of 1 to 15 bytes", "-comm", "exactly16bytes!!", NULL);
	assert_refused("give names of 1 to 15 bytes", "-comm", "", NULL);
	assert_refused("give names of 1 to 15 bytes", "-comm", "a,,b", NULL);
	assert_refused("give names of 1 to 15 bytes", "-comm", "a,", NULL);
	for (int i = 0; i < SELECTED_COMMS_MAX; i++)
		strcat(text, ",sh");
	assert_refused("give at most 64 names", "-comm", text, NULL);
}

static void a_cgroup_is_a_directory_of_a_cgroup_file_system(void **state)
{
	(void)state;
	assert_refused("No such file", "-cgroup", "/nonexistent", NULL);
	assert_refused("not a cgroup", "-cgroup", "/tmp", NULL);
	assert_refused("No such file", "-cgroup", "", NULL);
}

static void a_cgroup_v2_directory_is_taken(void **state)
{
	struct statfs file_system;
	const char *root = "/sys/fs/cgroup";
	char file[64];
	struct options options;

	(void)state;
	if (statfs(root, &file_system) || file_system.f_type != 0x63677270) {
		root = "/sys/fs/cgroup/unified";
		if (statfs(root, &file_system) || file_system.f_type != 0x63677270) {
			print_message("no cgroup v2 file system is mounted here\n");
			skip();
		}
	}
	options = parse("-cgroup", root, NULL);
	assert_string_equal(options.cgroup->path, root);
	assert_string_equal(options.cgroup->controller, "");
	options_deinit(&options);
	snprintf(file, sizeof(file), "%s/cgroup.controllers", root);
	assert_refused("not a cgroup", "-cgroup", file, NULL);
}

static void only_one_option_names_a_cgroup(void **state)
{
	const char *root = access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/unified" :
									 "/sys/fs/cgroup";
	struct options options;

	(void)state;
	assert_refused("no running container", "-container", "no-such-container", NULL);
	assert_refused("no running container", "-container", "", NULL);
	assert_refused("no unit of this name", "-unit", "no-such-unit", NULL);
	assert_refused("no unit of this name", "-unit", "a/b.service", NULL);
	if (access(root, F_OK))
		return;
	/* The last use of the same option wins. */
	options = parse("-cgroup", root, "-cgroup", root, NULL);
	assert_string_equal(options.cgroup->path, root);
	options_deinit(&options);
}

static void a_user_is_a_name_or_a_number(void **state)
{
	struct options options = parse("-user", "root", NULL);

	(void)state;
	assert_true(options.has_user);
	assert_int_equal(options.user, 0);
	options_deinit(&options);
	options = parse("-user", "4711", NULL);
	assert_int_equal(options.user, 4711);
	options_deinit(&options);
	assert_refused("there is no such user", "-user", "no-such-user-here", NULL);
	assert_refused("there is no such user", "-user", "", NULL);
	assert_refused("there is no such user", "-user", "4294967295", NULL);
}

static void cpus_are_those_of_the_machine(void **state)
{
	struct options options = parse("-cpus", "0", NULL);
	long count = sysconf(_SC_NPROCESSORS_CONF);
	char text[32];

	(void)state;
	assert_int_equal(options.cpu_count, 1);
	assert_int_equal(options.cpus[0], 0);
	options_deinit(&options);

	snprintf(text, sizeof(text), "0-%ld", count - 1);
	options = parse("-cpus", text, NULL);
	assert_int_equal(options.cpu_count, count);
	assert_int_equal(options.cpus[count - 1], count - 1);
	options_deinit(&options);

	snprintf(text, sizeof(text), "%ld", count);
	assert_refused("this machine has 0 to", "-cpus", text, NULL);
	assert_refused("give CPUs", "-cpus", "all", NULL);
	assert_refused("give CPUs", "-cpus", "", NULL);
	assert_refused("give CPUs", "-cpus", "1-0", NULL);
}

static void samples_per_second_have_bounds(void **state)
{
	struct options options = parse("-samples-per-second=10000", NULL);

	(void)state;
	assert_int_equal(options.samples_per_second, 10000);
	options_deinit(&options);
	options = parse("-samples-per-second=1", NULL);
	assert_int_equal(options.samples_per_second, 1);
	options_deinit(&options);
	assert_refused("-samples-per-second 0: give a number from 1 to 10000",
		       "-samples-per-second", "0", NULL);
	assert_refused("from 1 to 10000", "-samples-per-second", "10001", NULL);
	assert_refused("from 1 to 10000", "-samples-per-second", "99.5", NULL);
	assert_refused("from 1 to 10000", "-samples-per-second", "4294967297", NULL);
}

static void a_duration_has_a_unit_and_bounds(void **state)
{
	struct options options = parse("-duration=2m30s", NULL);

	(void)state;
	assert_true(options.duration_ns == 150 * NS_PER_SECOND);
	options_deinit(&options);
	assert_refused("-duration 10: give a duration such as", "-duration", "10", NULL);
	assert_refused("from 1ms to 8784h", "-duration", "0s", NULL);
	assert_refused("from 1ms to 8784h", "-duration", "8785h", NULL);
}

static void probabilistic_options_have_bounds(void **state)
{
	struct options options = parse("-probabilistic-threshold", "25", "-probabilistic-interval",
				       "50ms", "-probabilistic-seed", "18446744073709551615", NULL);

	(void)state;
	assert_int_equal(options.probabilistic_threshold, 25);
	assert_true(options.probabilistic_interval_ns == 50 * NS_PER_MS);
	assert_true(options.has_probabilistic_seed);
	assert_true(options.probabilistic_seed == UINT64_MAX);
	options_deinit(&options);
	assert_refused("from 1 to 100", "-probabilistic-threshold", "0", NULL);
	assert_refused("from 1 to 100", "-probabilistic-threshold", "101", NULL);
	assert_refused("from 10ms to 24h", "-probabilistic-interval", "9ms", NULL);
	assert_refused("from 10ms to 24h", "-probabilistic-interval", "25h", NULL);
	assert_refused("give a number", "-probabilistic-seed", "-1", NULL);
	assert_refused("give a number", "-probabilistic-seed", "18446744073709551616", NULL);
}

static void tags_are_keys_and_values(void **state)
{
	struct options options = parse("-tags", "env:prod,host.name:a b:c,k8s/x:y=z", NULL);

	(void)state;
	assert_int_equal(options.tag_count, 3);
	assert_string_equal(options.tags[0].key, "env");
	assert_string_equal(options.tags[0].value, "prod");
	assert_string_equal(options.tags[1].key, "host.name");
	assert_string_equal(options.tags[1].value, "a b:c");
	assert_string_equal(options.tags[2].key, "k8s/x");
	assert_string_equal(options.tags[2].value, "y=z");
	options_deinit(&options);
}

static void wrong_tags_are_refused(void **state)
{
	char text[1024] = "";

	(void)state;
	assert_refused("not of the form key:value", "-tags", "", NULL);
	assert_refused("'env' is not of the form", "-tags", "env", NULL);
	assert_refused("not of the form", "-tags", "a:1,,b:2", NULL);
	assert_refused("give keys of", "-tags", ":value", NULL);
	assert_refused("give keys of", "-tags", "a b:value", NULL);
	assert_refused("give keys of", "-tags", ".a:value", NULL);
	assert_refused("give keys of", "-tags", "\xc3\xa4:value", NULL);
	assert_refused("give values of", "-tags", "a:", NULL);
	assert_refused("give values of", "-tags", "a:b\nc", NULL);
	assert_refused("key a given twice", "-tags", "a:1,b:2,a:3", NULL);

	memset(text, 'k', 64);
	strcpy(text + 64, ":v");
	assert_refused("give keys of", "-tags", text, NULL);
	strcpy(text, "k:");
	memset(text + 2, 'v', 256);
	text[258] = '\0';
	assert_refused("give values of", "-tags", text, NULL);
	text[0] = '\0';
	for (int i = 0; i < 65; i++)
		sprintf(text + strlen(text), "%sk%d:v", i ? "," : "", i);
	assert_refused("at most 64 tags", "-tags", text, NULL);
}

static uint32_t parse_tracers(char *text)
{
	struct options options = parse("-tracers", text, NULL);
	uint32_t tracers = options.tracers;

	options_deinit(&options);
	return tracers;
}

static void tracers_are_native_all_or_languages(void **state)
{
	const struct language *language;
	struct options options;
	char text[64];

	(void)state;
	options = parse(NULL);
	assert_int_equal(options.tracers, LANGUAGES_ALL);
	options_deinit(&options);
	assert_int_equal(parse_tracers("all"), LANGUAGES_ALL);
	assert_int_equal(parse_tracers("native"), 0);
	for (uint32_t i = 0; (language = language_at(i)); i++) {
		snprintf(text, sizeof(text), "%s", language->id->name);
		assert_int_equal(parse_tracers(text), 1U << i);
		snprintf(text, sizeof(text), "native,%s", language->id->name);
		assert_int_equal(parse_tracers(text), 1U << i);
	}
	assert_refused("give all, or a list of: native", "-tracers", "cobol", NULL);
	assert_refused("give all, or a list of: native", "-tracers", "native,cobol", NULL);
	assert_refused("give all, or a list of: native", "-tracers", "native,", NULL);
	assert_refused("give all, or a list of: native", "-tracers", "", NULL);
}

static void the_switches_of_interpreted_frames_are_off_by_default(void **state)
{
	struct options options = parse(NULL);

	(void)state;
	assert_false(options.fold_runtime_frames);
	assert_false(options.with_lines);
	assert_false(options.with_processes);
	assert_false(options.with_signatures);
	assert_false(options.with_task_ids);
	options_deinit(&options);
	options = parse("-fold-runtime-frames", "-with-lines", "-with-processes",
			"-with-signatures", "-with-goroutine-id", NULL);
	assert_true(options.fold_runtime_frames);
	assert_true(options.with_lines);
	assert_true(options.with_processes);
	assert_true(options.with_signatures);
	assert_true(options.with_task_ids);
	options_deinit(&options);
}

static void costs_come_with_a_report(void **state)
{
	struct options options = parse("-viewer=127.0.0.1:7000", NULL);

	(void)state;
	assert_false(options.accounting);
	assert_int_equal(options.report, REPORT_NONE);
	options_deinit(&options);
	options = parse("-viewer=127.0.0.1:7000", "-accounting", NULL);
	assert_true(options.accounting);
	assert_int_equal(options.report, REPORT_TO_OUTPUT);
	options_deinit(&options);
	options = parse("-accounting", "-duration=3s", "-json", "-report", NULL);
	assert_int_equal(options.report, REPORT_TO_OUTPUT);
	assert_true(options.json);
	options_deinit(&options);
}

static void a_weight_turns_costs_on(void **state)
{
	struct options options = parse("-viewer=127.0.0.1:7000", "-weight=runs", NULL);

	(void)state;
	assert_true(options.accounting);
	assert_int_equal(options.weight, WEIGHT_RUNS);
	assert_true(options_show_weight(&options));
	options_deinit(&options);
	options = parse("-weight=run-time", "-type=run-time/nanoseconds", NULL);
	assert_true(options_show_weight(&options));
	options_deinit(&options);
	options = parse("-weight=run-time", "-type=samples", NULL);
	assert_int_equal(options.weight, WEIGHT_RUN_TIME);
	assert_false(options_show_weight(&options));
	options_deinit(&options);
	options = parse("-accounting", NULL);
	assert_int_equal(options.weight, 0);
	assert_false(options_show_weight(&options));
	options_deinit(&options);
	assert_refused("run-time, runs, ", "-weight", "watts", NULL);
	assert_refused("there are samples and runs", "-weight", "runs", "-type", "run", NULL);
	assert_refused("leave out -weight", "-open", "x.pb.gz", "-weight", "runs", NULL);
}

static void map_memory_is_rounded_down_to_slabs(void **state)
{
	struct options options = parse("-max-map-memory=3M", NULL);

	(void)state;
	assert_int_equal(options.max_map_memory_bytes, 2 << 20);
	options_deinit(&options);
	options = parse("-max-map-memory=2G", NULL);
	assert_true(options.max_map_memory_bytes == 2ULL << 30);
	options_deinit(&options);
	assert_refused("from 2M to 2048M", "-max-map-memory", "2047K", NULL);
	assert_refused("from 2M to 2048M", "-max-map-memory", "2049M", NULL);
	assert_refused("from 2M to 2048M", "-max-map-memory", "lots", NULL);
}

static void a_cache_directory_is_a_path(void **state)
{
	struct options options = parse("-cache-dir", "/var/cache/allframes", NULL);

	(void)state;
	assert_string_equal(options.cache_dir, "/var/cache/allframes");
	options_deinit(&options);
	assert_refused("give a path", "-cache-dir", "", NULL);
}

static void log_levels_have_names(void **state)
{
	static char *const arguments[] = { "-log-level=error", "-log-level=warn", "-log-level=info",
					   "-log-level=debug" };

	(void)state;
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		struct options options = parse(arguments[i], NULL);

		assert_int_equal(options.log_level, LOG_ERROR + i);
		options_deinit(&options);
	}
	assert_refused("give error, warn, info or debug", "-log-level", "trace", NULL);
	assert_refused("give error, warn, info or debug", "-log-level", "2", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		option_test(outputs_add_up),
		option_test(wrong_outputs_are_refused),
		option_test(pids_are_those_of_running_processes),
		option_test(a_thread_is_refused_by_its_process),
		option_test(too_many_pids_are_refused),
		option_test(a_comm_has_1_to_15_bytes),
		option_test(a_cgroup_is_a_directory_of_a_cgroup_file_system),
		option_test(a_cgroup_v2_directory_is_taken),
		option_test(only_one_option_names_a_cgroup),
		option_test(a_user_is_a_name_or_a_number),
		option_test(cpus_are_those_of_the_machine),
		option_test(samples_per_second_have_bounds),
		option_test(a_duration_has_a_unit_and_bounds),
		option_test(probabilistic_options_have_bounds),
		option_test(tags_are_keys_and_values),
		option_test(wrong_tags_are_refused),
		option_test(tracers_are_native_all_or_languages),
		option_test(the_switches_of_interpreted_frames_are_off_by_default),
		option_test(costs_come_with_a_report),
		option_test(a_weight_turns_costs_on),
		option_test(map_memory_is_rounded_down_to_slabs),
		option_test(a_cache_directory_is_a_path),
		option_test(log_levels_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
