/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/tests/fakes.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/processes/process_manager.h"
#include "agent/runtimes/tests/local_files.h"
#include "agent/runtimes/tests/local_home.h"
#include "agent/runtimes/tests/local_proc.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"

struct fixture {
	struct fake_writer writer;
	struct fake_reporter reporter;
	struct local_home home;
	struct local_files files;
	struct local_proc reads;
	struct process_manager *manager;
	struct event_handler handler;
};

/* Kind of the frames that sample() adds. */
static uint8_t sample_kind;

static int set_up_with(void **state, const char *proc_root)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct process_manager_config config = {
		.proc_root = proc_root,
		.probe = fake_probe,
	};

	metrics_reset();
	fake_language_init("/sleep");
	sample_kind = FRAME_NATIVE;
	fake_writer_init(&fixture->writer);
	fake_reporter_init(&fixture->reporter);
	local_home_init(&fixture->home);
	config.home = &fixture->home.home;
	local_files_init(&fixture->files, proc_root);
	config.files = &fixture->files.home;
	local_proc_init(&fixture->reads, proc_root);
	config.reads = config.load_reads = &fixture->reads.home;
	config.writer = &fixture->writer.writer;
	config.reporter = &fixture->reporter.reporter;
	assert_int_equal(process_manager_create(&config, &fixture->manager), 0);
	process_manager_handler(fixture->manager, &fixture->handler);
	*state = fixture;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, "/proc");
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	process_manager_destroy(fixture->manager);
	local_home_deinit(&fixture->home);
	local_files_deinit(&fixture->files);
	fake_reporter_deinit(&fixture->reporter);
	free(fixture);
	return 0;
}

static bool wait_for(struct fixture *fixture, bool (*is_so)(struct fixture *fixture, uint32_t pid),
		     uint32_t pid)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	/* Generous: nothing here is about speed. */
	for (uint32_t i = 0; i < 5000; i++) {
		if (is_so(fixture, pid))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool is_published(struct fixture *fixture, uint32_t pid)
{
	return fake_published(&fixture->writer, pid, NULL);
}

static bool has_runtime(struct fixture *fixture, uint32_t pid)
{
	struct fake_entry entry;

	return fake_published(&fixture->writer, pid, &entry) && entry.runtime_count == 1;
}

static bool is_not_published(struct fixture *fixture, uint32_t pid)
{
	return !fake_published(&fixture->writer, pid, NULL);
}

static bool runs_sleep(pid_t pid)
{
	char command[128];

	snprintf(command, sizeof(command), "grep -q 'r-xp .*/sleep' /proc/%d/maps", pid);
	return !system(command);
}

/* Exec events come when the new program is loaded. */
static pid_t start_sleep(void)
{
	pid_t pid = fork();

	if (!pid) {
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	for (uint32_t i = 0; i < 1000 && !runs_sleep(pid); i++)
		;
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void send_process_event(struct fixture *fixture, enum process_event_type type, uint32_t pid,
			       uint64_t exec_id)
{
	const struct process_event process_event = {
		.type = type,
		.pid = pid,
		.identity = { 100, exec_id },
	};

	fixture->handler.process_event(fixture->handler.context, &process_event);
	fixture->handler.news_end(fixture->handler.context, clock_monotonic_ns());
}

static void sample(struct fixture *fixture, uint32_t pid, uint64_t address, uint64_t id)
{
	struct {
		struct trace_record head;
		uint64_t words[2];
	} record = {
		.head = {
			.time_ns = clock_monotonic_ns(),
			.pid = pid,
			.tid = pid + 1,
			.identity = { 100, 1 },
			.word_count = 2,
			.type = RECORD_TRACE,
			.flags = RECORD_REACHED_END,
			.comm = "thread",
			.process_comm = "sleep",
		},
		.words = { frame_word(sample_kind, 0, address), id },
	};

	fixture->handler.sample(fixture->handler.context, &record.head, sizeof(record));
}

static const char *sample_interpreted(struct fixture *fixture, uint32_t pid, uint32_t fingerprint)
{
	const uint64_t word = (uint64_t)3 << 32 | fingerprint;

	sample(fixture, pid, 0x40, word);
	assert_int_equal(process_manager_flush(fixture->manager, 20 * NS_PER_SECOND), 0);
	return trace_frame(fixture->reporter.last, 0).function;
}

static void a_runtime_is_attached_to_and_its_frames_named(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = start_sleep();
	struct task_snapshot task = { .pid = pid, .identity = { 100, 1 } };
	struct fake_entry entry;

	sample_kind = FAKE_KIND;
	assert_int_equal(process_manager_start(fixture->manager, &task, 1), 0);
	/* All that is there at the start is attached to before the wait is over. */
	assert_int_equal(process_manager_wait_loaded(fixture->manager, 20 * NS_PER_SECOND), 0);
	assert_true(wait_for(fixture, has_runtime, pid));
	assert_true(fake_published(&fixture->writer, pid, &entry));
	assert_int_equal(entry.runtimes[0].language, FAKE_KIND);
	assert_int_equal(entry.first_words[0], pid);
	assert_string_equal(sample_interpreted(fixture, pid, 77), "f40");
	assert_string_equal(sample_interpreted(fixture, pid, 78), "[fake: no name]");
	end_process(pid);
	process_manager_destroy(fixture->manager);
	fixture->manager = NULL;
	assert_int_equal(fake_language.attach_count, 1);
	assert_int_equal(fake_language.detach_count, 1);
	assert_int_equal(fake_language.release_count, 1);
}

static void a_runtime_that_is_not_ready_is_attached_to_when_it_is(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = start_sleep();
	struct task_snapshot task = { .pid = pid, .identity = { 100, 1 } };

	fake_language.attach_err = -EAGAIN;
	assert_int_equal(process_manager_start(fixture->manager, &task, 1), 0);
	while (__atomic_load_n(&fake_language.attach_count, __ATOMIC_RELAXED) < 3)
		usleep(1000);
	assert_false(has_runtime(fixture, pid));
	__atomic_store_n(&fake_language.attach_err, 0, __ATOMIC_RELAXED);
	assert_true(wait_for(fixture, has_runtime, pid));
	end_process(pid);
}

static void the_processes_of_the_start_are_published_and_loaded(void **state)
{
	struct fixture *fixture = *state;
	struct task_snapshot tasks[2] = {
		{ .pid = getpid(), .identity = { 100, 1 } },
		{ .pid = 2, .identity = { 1, 0 }, .is_kernel_thread = 1 },
	};
	struct fake_entry entry;
	uint32_t loaded_count = 0;

	assert_int_equal(process_manager_start(fixture->manager, tasks, 2), 0);
	assert_int_equal(process_manager_wait_loaded(fixture->manager, 20 * NS_PER_SECOND), 0);
	assert_true(fake_published(&fixture->writer, getpid(), &entry));
	assert_false(fake_published(&fixture->writer, 2, NULL));
	assert_int_equal(entry.identity.exec_id, 1);
	for (uint32_t i = 0; i < entry.count; i++)
		loaded_count += fake_has_executable(&fixture->writer, entry.rows[i].executable_id);
	/* Large files such as this program are put off until a sample comes to them. */
	assert_true(loaded_count > 3);
}

static void a_process_is_followed_from_its_exec_to_its_end(void **state)
{
	struct fixture *fixture = *state;
	struct fake_entry entry;
	pid_t pid = start_sleep();

	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	send_process_event(fixture, PROCESS_EVENT_EXEC, pid, 1);
	assert_true(wait_for(fixture, is_published, pid));
	assert_int_equal(process_manager_wait_loaded(fixture->manager, 20 * NS_PER_SECOND), 0);
	assert_true(fake_published(&fixture->writer, pid, &entry));
	sample(fixture, pid, 0x1234, entry.rows[0].executable_id);
	assert_int_equal(process_manager_flush(fixture->manager, 5 * NS_PER_SECOND), 0);
	assert_int_equal(fixture->reporter.count, 1);
	assert_string_equal(fixture->reporter.process_comm, "sleep");
	assert_non_null(strstr(fixture->reporter.path, "sleep"));
	end_process(pid);
	send_process_event(fixture, PROCESS_EVENT_EXIT, pid, 1);
	assert_true(wait_for(fixture, is_not_published, pid));
	/* A sample that was on its way still has its names. */
	sample(fixture, pid, 0x5678, entry.rows[0].executable_id);
	assert_int_equal(process_manager_flush(fixture->manager, 5 * NS_PER_SECOND), 0);
	assert_int_equal(fixture->reporter.count, 2);
	assert_string_equal(fixture->reporter.process_comm, "sleep");
	assert_non_null(trace_frame(fixture->reporter.last, 0).binary);
}

static void a_mapping_of_a_known_process_is_followed(void **state)
{
	struct fixture *fixture = *state;
	struct side_band_event event = {
		.type = SIDE_BAND_MAPPING,
		.start = 0x1000,
		.length = 0x1000,
		.path = "//anon",
	};
	const struct timespec pause = { .tv_nsec = 2000000 };
	pid_t pid = start_sleep();
	uint64_t syncs;

	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, pid, 1);
	assert_true(wait_for(fixture, is_published, pid));
	syncs = metrics_read(METRIC_PROCESS_SYNCS);
	event.pid = pid;
	event.time_ns = clock_monotonic_ns();
	fixture->handler.side_band(fixture->handler.context, &event);
	for (uint32_t i = 0; i < 5000 && metrics_read(METRIC_PROCESS_SYNCS) == syncs; i++)
		nanosleep(&pause, NULL);
	assert_true(metrics_read(METRIC_PROCESS_SYNCS) > syncs);
	end_process(pid);
}

static void a_fork_that_died_at_once_is_no_error(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, pid, 1);
	sample(fixture, pid, 0x1234, EXECUTABLE_ID_ANONYMOUS);
	assert_int_equal(process_manager_flush(fixture->manager, 5 * NS_PER_SECOND), 0);
	assert_int_equal(fixture->reporter.count, 1);
	assert_false(is_published(fixture, pid));
}

static void when_the_queue_is_full_the_oldest_samples_go_and_are_counted(void **state)
{
	struct fixture *fixture = *state;
	uint32_t count = 100000;

	/* Before the start nobody takes them out. */
	for (uint32_t i = 0; i < count; i++)
		sample(fixture, 1, i, EXECUTABLE_ID_ANONYMOUS);
	assert_true(metrics_read(METRIC_SAMPLES_DROPPED) > 0);
	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	assert_int_equal(process_manager_flush(fixture->manager, 60 * NS_PER_SECOND), 0);
	assert_int_equal(fixture->reporter.count + metrics_read(METRIC_SAMPLES_DROPPED), count);
	assert_int_equal(trace_frame(fixture->reporter.last, 0).address, count - 1);
}

static void samples_that_are_left_at_the_stop_count_as_dropped(void **state)
{
	struct fixture *fixture = *state;
	uint32_t count = 20000;

	for (uint32_t i = 0; i < count; i++)
		sample(fixture, 1, i, EXECUTABLE_ID_ANONYMOUS);
	assert_int_equal(metrics_read(METRIC_SAMPLES_DROPPED), 0);
	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	process_manager_stop(fixture->manager);
	assert_int_equal(fixture->reporter.count + metrics_read(METRIC_SAMPLES_DROPPED), count);
	process_manager_stop(fixture->manager);
	assert_int_equal(fixture->reporter.count + metrics_read(METRIC_SAMPLES_DROPPED), count);
}

static uint64_t age(struct fixture *fixture, enum metric metric)
{
	process_manager_note_delays(fixture->manager);
	return metrics_read(metric);
}

static bool has_aged_sample(struct fixture *fixture, uint32_t ms)
{
	return age(fixture, METRIC_OLDEST_SAMPLE_AGE) >= ms;
}

static bool has_aged_event(struct fixture *fixture, uint32_t ms)
{
	return age(fixture, METRIC_OLDEST_EVENT_AGE) >= ms;
}

static bool waits_for_nothing(struct fixture *fixture, uint32_t ms)
{
	(void)ms;
	return !age(fixture, METRIC_OLDEST_SAMPLE_AGE) && !age(fixture, METRIC_OLDEST_EVENT_AGE);
}

static void what_waits_has_an_age_until_it_is_done(void **state)
{
	struct fixture *fixture = *state;
	pid_t pid = start_sleep();

	assert_true(waits_for_nothing(fixture, 0));
	assert_int_equal(metrics_read(METRIC_SAMPLES_WAITING), 0);
	/* Before the start nobody takes them out. */
	sample(fixture, 1, 1, EXECUTABLE_ID_ANONYMOUS);
	assert_true(wait_for(fixture, has_aged_sample, 20));
	assert_int_equal(age(fixture, METRIC_OLDEST_EVENT_AGE), 0);
	assert_int_equal(metrics_read(METRIC_SAMPLES_WAITING), 1);
	assert_int_equal(metrics_read(METRIC_EVENTS_WAITING), 0);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, pid, 1);
	assert_true(wait_for(fixture, has_aged_event, 20));
	assert_int_equal(metrics_read(METRIC_EVENTS_WAITING), 1);
	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	assert_true(wait_for(fixture, waits_for_nothing, 0));
	end_process(pid);
}

static int report_blocked;

/* Holds the work thread up, as memory that hangs does. */
static void report_when_let(struct reporter *reporter, const struct sample_event *event)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)reporter, (void)event;
	while (__atomic_load_n(&report_blocked, __ATOMIC_ACQUIRE))
		nanosleep(&pause, NULL);
}

static void a_sample_that_holds_the_work_thread_up_waits_too(void **state)
{
	static const struct reporter_ops blocking = { .report = report_when_let };
	struct fixture *fixture = *state;
	bool has_aged;

	fixture->reporter.reporter.ops = &blocking;
	report_blocked = 1;
	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	sample(fixture, 1, 1, EXECUTABLE_ID_ANONYMOUS);
	/* The queue is empty then. */
	has_aged = wait_for(fixture, has_aged_sample, 100);
	__atomic_store_n(&report_blocked, 0, __ATOMIC_RELEASE);
	assert_true(has_aged);
	assert_true(wait_for(fixture, waits_for_nothing, 0));
	assert_int_equal(process_manager_flush(fixture->manager, 20 * NS_PER_SECOND), 0);
}

static void process_events_that_do_not_fit_end_in_a_sync_of_everything(void **state)
{
	struct fixture *fixture = *state;
	uint32_t own = getpid();

	for (uint32_t i = 0; i < 40000; i++)
		send_process_event(fixture, PROCESS_EVENT_EXEC, 100000 + i, 1);
	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, own, 1);
	assert_true(wait_for(fixture, is_published, own));
	/* More than the one process event above. */
	assert_int_equal(process_manager_flush(fixture->manager, NS_PER_SECOND), 0);
	assert_true(fixture->writer.rearm_count > 1);
}

static bool has_one_row(struct fixture *fixture, uint32_t pid)
{
	struct fake_entry entry;

	return fake_published(&fixture->writer, pid, &entry) && entry.count == 1;
}

static void a_file_of_which_nobody_knows_the_file_system_is_opened_all_the_same(void **state)
{
	struct fixture *fixture;
	struct fake_proc proc;
	struct stat status;
	char maps[128];

	fake_proc_init(&proc);
	/* No mountinfo at all. */
	assert_int_equal(stat("/bin/ls", &status), 0);
	snprintf(maps, sizeof(maps), "400000-401000 r-xp 00000000 ff:ff %lu /bin/ls\n",
		 (unsigned long)status.st_ino);
	fake_proc_write(&proc, 7, "maps", maps);
	fake_proc_link(&proc, 7, "map_files/400000-401000", "/bin/ls");
	set_up_with(state, proc.root);
	fixture = *state;
	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	send_process_event(fixture, PROCESS_EVENT_UNKNOWN_PROCESS, 7, 1);
	assert_true(wait_for(fixture, has_one_row, 7));
	tear_down(state);
	fake_proc_deinit(&proc);
}

static void it_can_be_destroyed_without_ever_having_started(void **state)
{
	struct fixture *fixture = *state;

	send_process_event(fixture, PROCESS_EVENT_EXEC, getpid(), 1);
	sample(fixture, 1, 1, EXECUTABLE_ID_ANONYMOUS);
}

static void after_the_stop_events_are_dropped(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(process_manager_start(fixture->manager, NULL, 0), 0);
	process_manager_stop(fixture->manager);
	send_process_event(fixture, PROCESS_EVENT_EXEC, getpid(), 1);
	sample(fixture, 1, 1, EXECUTABLE_ID_ANONYMOUS);
	assert_int_equal(metrics_read(METRIC_SAMPLES_DROPPED), 1);
	assert_int_equal(process_manager_flush(fixture->manager, NS_PER_SECOND), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_processes_of_the_start_are_published_and_loaded),
		TEST(a_runtime_is_attached_to_and_its_frames_named),
		TEST(a_runtime_that_is_not_ready_is_attached_to_when_it_is),
		TEST(a_process_is_followed_from_its_exec_to_its_end),
		TEST(a_mapping_of_a_known_process_is_followed),
		TEST(a_fork_that_died_at_once_is_no_error),
		TEST(when_the_queue_is_full_the_oldest_samples_go_and_are_counted),
		TEST(samples_that_are_left_at_the_stop_count_as_dropped),
		TEST(what_waits_has_an_age_until_it_is_done),
		TEST(a_sample_that_holds_the_work_thread_up_waits_too),
		TEST(process_events_that_do_not_fit_end_in_a_sync_of_everything),
		cmocka_unit_test(
			a_file_of_which_nobody_knows_the_file_system_is_opened_all_the_same),
		TEST(it_can_be_destroyed_without_ever_having_started),
		TEST(after_the_stop_events_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
