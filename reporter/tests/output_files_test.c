/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/output_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* cmocka has a macro `fail`, which is also a function in lib/base/error.h. */
#undef fail
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build/proto/otlp_profiles.pb-c.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "reporter/tests/fixture.h"

static const struct profile_info info = { .samples_per_second = 99 };

/* Each test has its own directory, which is also the current one. */
static char directory[] = "/tmp/output_files_test.XXXXXX";
static struct fixture fixture;

static int setup(void **state)
{
	(void)state;
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	fixture_init(&fixture);
	/* Failures are tested here, so their messages are not shown. */
	log_set_level(LOG_ERROR);
	return 0;
}

/* The number of entries of the directory, without . and .. */
static int count_entries(const char *path)
{
	DIR *entries = opendir(path);
	int count = 0;

	while (readdir(entries))
		count++;
	closedir(entries);
	return count - 2;
}

static int teardown(void **state)
{
	_cleanup_(free_pointer) char *command = NULL;

	(void)state;
	fixture_deinit(&fixture);
	assert_int_equal(chdir("/"), 0);
	assert_true(asprintf(&command, "rm -rf %s", directory) > 0);
	return system(command);
}

static int write_all(struct output_files *files)
{
	return output_files_write(files, fixture_snapshot(&fixture), &info, &fixture.lookup);
}

static int init_one(struct output_files *files, const char *path)
{
	return output_files_init(files, &path, 1);
}

/*
 * Writes all files with standard output or error (@fd) redirected to a file, and returns its
 * contents.
 */
static char *capture(int fd, struct output_files *files, int *err)
{
	static char text[65536];
	int saved = dup(fd);
	int file = open("captured", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ssize_t bytes;

	fflush(NULL);
	dup2(file, fd);
	*err = write_all(files);
	dup2(saved, fd);
	bytes = pread(file, text, sizeof(text) - 1, 0);
	text[bytes > 0 ? bytes : 0] = '\0';
	close(saved);
	close(file);
	unlink("captured");
	return text;
}

static char *read_text(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY);
	ssize_t bytes = read(fd, text, sizeof(text) - 1);

	assert_true(bytes >= 0);
	text[bytes] = '\0';
	close(fd);
	return text;
}

static void the_suffix_chooses_the_format(void **state)
{
	enum output_format format;

	(void)state;
	assert_int_equal(output_format_of_path("/x/y.pb.gz", &format), 0);
	assert_int_equal(format, OUTPUT_PPROF);
	assert_int_equal(output_format_of_path("y.folded", &format), 0);
	assert_int_equal(format, OUTPUT_FOLDED);
	assert_int_equal(output_format_of_path("y.folded.txt", &format), 0);
	assert_int_equal(format, OUTPUT_STACK_TABLE);
	assert_int_equal(output_format_of_path("-", &format), 0);
	assert_int_equal(format, OUTPUT_FOLDED);
	assert_int_equal(output_format_of_path("x.otlp", &format), 0);
	assert_int_equal(format, OUTPUT_OTLP);
	assert_int_equal(output_format_of_path("y.pb", &format), -EINVAL);
	assert_non_null(strstr(error_text(), "y.pb"));
	assert_non_null(strstr(error_text(), ".folded"));
	assert_int_equal(output_format_of_path("", &format), -EINVAL);
}

static void several_outputs_are_written_and_nothing_else_is_left(void **state)
{
	const char *paths[] = { "a.pb.gz", "sub/b.folded", "c.txt" };
	struct output_files files;
	struct stat status;

	(void)state;
	mkdir("sub", 0755);
	fixture_report_all_kinds(&fixture);
	assert_int_equal(output_files_init(&files, paths, 3), 0);
	/* Nothing is there before the end: a killed agent leaves nothing. */
	assert_int_equal(count_entries("."), 1);
	assert_int_equal(count_entries("sub"), 0);
	assert_int_equal(write_all(&files), 0);
	assert_int_equal(count_entries("."), 3);
	assert_int_equal(count_entries("sub"), 1);
	assert_int_equal(strncmp(read_text("sub/b.folded"), "prog;main;", 10), 0);
	assert_int_equal(strncmp(read_text("c.txt"), "41.2% prog;main;", 16), 0);
	assert_memory_equal(read_text("a.pb.gz"), "\x1f\x8b", 2);
	assert_int_equal(stat("a.pb.gz", &status), 0);
	assert_true(S_ISREG(status.st_mode));
	output_files_deinit(&files);
	output_files_deinit(&files);
}

static void only_otlp_needs_the_times_of_samples(void **state)
{
	const char *paths[] = { "a.pb.gz", "b.folded", "c.txt", "d.otlp" };
	struct output_files files;

	(void)state;
	assert_int_equal(output_files_init(&files, paths, 3), 0);
	assert_false(output_files_need_times(&files));
	output_files_deinit(&files);
	assert_int_equal(output_files_init(&files, paths, 4), 0);
	assert_true(output_files_need_times(&files));
	output_files_deinit(&files);
}

static void otlp_has_the_attributes_and_the_clock_of_the_run(void **state)
{
	const struct otlp_attribute attribute = { "zone", "north" };
	const struct otlp_options options = { .attributes = &attribute, .attribute_count = 1 };
	const struct profile_info run = {
		.samples_per_second = 20,
		.start_time_ns = 1700000000000000000,
		.start_monotonic_ns = 1000000,
		.duration_ns = 5000000000,
	};
	Opentelemetry__Proto__Profiles__V1development__ProfilesData *data;
	Opentelemetry__Proto__Profiles__V1development__Profile *profile;
	struct output_files files;
	struct stat status;

	(void)state;
	sample_store_destroy(fixture.store);
	fixture.store = sample_store_create(&(struct sample_store_options){ .keeps_times = true });
	fixture_report_all_kinds(&fixture);
	assert_int_equal(init_one(&files, "a.otlp"), 0);
	files.otlp = &options;
	assert_int_equal(output_files_write(&files, fixture_snapshot(&fixture), &run, NULL), 0);
	output_files_deinit(&files);
	assert_int_equal(stat("a.otlp", &status), 0);
	data = opentelemetry__proto__profiles__v1development__profiles_data__unpack(
		NULL, status.st_size, (uint8_t *)read_text("a.otlp"));
	assert_non_null(data);
	profile = data->resource_profiles[0]->scope_profiles[0]->profiles[0];
	assert_int_equal(profile->period, 50000000);
	/* The fixture's samples have clock time 0, 1 ms before the start. */
	assert_int_equal(profile->time_unix_nano, 1699999999999000000);
	assert_int_equal(profile->duration_nano, 5001000000);
	assert_string_equal(data->resource_profiles[0]->resource->attributes[1]->key, "zone");
	opentelemetry__proto__profiles__v1development__profiles_data__free_unpacked(data, NULL);
}

static void a_file_that_is_there_is_replaced_and_a_link_not_followed(void **state)
{
	struct output_files files;
	struct stat status;
	int fd = open("victim", O_WRONLY | O_CREAT, 0600);

	(void)state;
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);
	assert_int_equal(symlink("victim", "a.folded"), 0);
	fixture_report_all_kinds(&fixture);
	assert_int_equal(init_one(&files, "a.folded"), 0);
	assert_string_equal(read_text("a.folded"), "old");
	assert_int_equal(write_all(&files), 0);
	assert_string_equal(read_text("victim"), "old");
	assert_int_equal(lstat("a.folded", &status), 0);
	assert_true(S_ISREG(status.st_mode));
	output_files_deinit(&files);
}

static void standard_output_gets_folded_stacks_for_a_dash(void **state)
{
	struct output_files files;
	char *text;
	int err;

	(void)state;
	REPORT(&fixture, "p", 1, 3, native_frame(fixture.prog, 0x1000, 0));
	assert_int_equal(init_one(&files, "-"), 0);
	text = capture(STDOUT_FILENO, &files, &err);
	assert_int_equal(err, 0);
	assert_string_equal(text, "p;main 3\n");
	output_files_deinit(&files);
}

static void paths_that_cannot_be_written_are_refused_at_the_start(void **state)
{
	struct output_files files;

	(void)state;
	mkdir("d.txt", 0755);
	assert_int_equal(init_one(&files, "none/a.txt"), -EINVAL);
	assert_string_equal(error_text(), "-output none/a.txt: no file can be made there: "
					  "No such file or directory");
	assert_int_equal(init_one(&files, "d.txt"), -EINVAL);
	assert_string_equal(error_text(), "-output d.txt: is a directory");
	assert_int_equal(init_one(&files, "/proc/a.txt"), -EINVAL);
	assert_int_equal(init_one(&files, "a.png"), -EINVAL);
	assert_int_equal(count_entries("."), 1);
}

static void one_that_fails_leaves_the_others(void **state)
{
	const char *paths[] = { "gone/a.folded", "b.folded" };
	struct output_files files;
	char *text;
	int err;

	(void)state;
	mkdir("gone", 0755);
	fixture_report_all_kinds(&fixture);
	assert_int_equal(output_files_init(&files, paths, 2), 0);
	rmdir("gone");
	text = capture(STDERR_FILENO, &files, &err);
	assert_int_equal(err, -ENOENT);
	assert_string_equal(text, "error: gone/a.folded: No such file or directory; "
				  "the output is not written\n");
	assert_int_equal(count_entries("."), 1);
	assert_int_equal(strncmp(read_text("b.folded"), "prog;main;", 10), 0);
	output_files_deinit(&files);
}

static void report_many_stacks(void)
{
	for (uint32_t i = 0; i < 500; i++)
		REPORT(&fixture, "p", i, 1, native_frame(fixture.stripped, i, 0));
}

static void a_write_that_fails_is_told_and_leaves_no_file(void **state)
{
	static const char *const paths[] = { "a.pb.gz", "a.folded", "a.txt" };
	const struct rlimit small = { .rlim_cur = 1000, .rlim_max = RLIM_INFINITY };
	const struct rlimit none = { .rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY };
	struct output_files files;
	int err;

	(void)state;
	report_many_stacks();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(output_files_init(&files, paths, 3), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	capture(STDERR_FILENO, &files, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(err, -EFBIG);
	assert_int_equal(count_entries("."), 0);
	output_files_deinit(&files);
}

static void a_full_disk_is_told_and_left_clean(void **state)
{
	const char *paths[] = { "full/a.folded", "b.folded" };
	struct output_files files;
	char *text;
	int err;

	(void)state;
	mkdir("full", 0755);
	if (mount("none", "full", "tmpfs", 0, "size=4096")) {
		print_message("# no right to mount a small tmpfs\n");
		skip();
	}
	report_many_stacks();
	assert_int_equal(output_files_init(&files, paths, 2), 0);
	text = capture(STDERR_FILENO, &files, &err);
	assert_int_equal(count_entries("full"), 0);
	umount2("full", MNT_DETACH);
	assert_int_equal(err, -ENOSPC);
	assert_non_null(strstr(text, "full/a.folded: No space left on device"));
	assert_int_equal(access("b.folded", R_OK), 0);
	output_files_deinit(&files);
}

static void a_reader_of_standard_output_that_went_away_is_told(void **state)
{
	struct output_files files;
	int saved = dup(STDOUT_FILENO);
	int ends[2], err;

	(void)state;
	report_many_stacks();
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(init_one(&files, "-"), 0);
	fflush(NULL);
	dup2(ends[1], STDOUT_FILENO);
	capture(STDERR_FILENO, &files, &err);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(ends[1]);
	assert_int_equal(err, -EPIPE);
	output_files_deinit(&files);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_suffix_chooses_the_format),
		TEST(several_outputs_are_written_and_nothing_else_is_left),
		TEST(only_otlp_needs_the_times_of_samples),
		TEST(otlp_has_the_attributes_and_the_clock_of_the_run),
		TEST(a_file_that_is_there_is_replaced_and_a_link_not_followed),
		TEST(standard_output_gets_folded_stacks_for_a_dash),
		TEST(paths_that_cannot_be_written_are_refused_at_the_start),
		TEST(one_that_fails_leaves_the_others),
		TEST(a_write_that_fails_is_told_and_leaves_no_file),
		TEST(a_full_disk_is_told_and_left_clean),
		TEST(a_reader_of_standard_output_that_went_away_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
