/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: samples, process events and the side-band of real programs, handed out by a ring thread. And the
 * shapes of records, by hand.
 */
#include "agent/tracing/event_reader.h"

#include <bpf/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "agent/tracing/perf_sampler.h"
#include "agent/tracing/tests/live_programs.h"
#include "lib/base/clock.h"
#include "lib/model/metrics.h"

enum { RATE = 997, LOG_MAX = 200000 };

#define WAIT_NS (60 * NS_PER_SECOND)

enum kind {
	KIND_SAMPLE,
	KIND_PROCESS_EVENT,
	KIND_MAPPING,
};

/* A record that was handed out; records are in that order. */
struct entry {
	enum kind kind;
	uint32_t pid;
	uint32_t type;
	uint64_t time_ns;
};

struct session {
	struct bpf_loader *loader;
	struct side_band *side_band;
	struct perf_sampler *sampler;
	struct event_reader *reader;
	struct entry *log;
	uint32_t count;
	/* A handler that takes its time: more is written while a round is under way. */
	bool is_slow;
};

static uint32_t log_count(const struct session *session)
{
	return __atomic_load_n(&session->count, __ATOMIC_ACQUIRE);
}

static void add(struct session *session, struct entry entry)
{
	if (session->count == LOG_MAX)
		return;
	session->log[session->count] = entry;
	__atomic_store_n(&session->count, session->count + 1, __ATOMIC_RELEASE);
}

static void on_sample(void *context, const struct trace_record *record, size_t bytes)
{
	assert_true(bytes >= sizeof(*record));
	add(context, (struct entry){ KIND_SAMPLE, record->pid, record->type, record->time_ns });
}

static void on_news_end(void *context, uint64_t time_ns)
{
	(void)context;
	(void)time_ns;
}

static void on_process_event(void *context, const struct process_event *process_event)
{
	add(context,
	    (struct entry){ KIND_PROCESS_EVENT, process_event->pid, process_event->type, 0 });
}

static void on_side_band(void *context, const struct side_band_event *event)
{
	const struct session *session = context;

	if (session->is_slow)
		usleep(2000);
	if (event->type == SIDE_BAND_MAPPING)
		add(context,
		    (struct entry){ KIND_MAPPING, event->pid, event->type, event->time_ns });
}

static int set_up(void **state)
{
	struct session *session = calloc(1, sizeof(*session));

	session->log = calloc(LOG_MAX, sizeof(*session->log));
	*state = session;
	return 0;
}

/* In the test itself and not in set_up(), since it may skip. Nothing is sampled. */
static struct session *start_without_samples(void **state)
{
	struct session *session = *state;
	struct bpf_loader_options options = live_options();
	const struct event_handler handler = { session, on_sample, on_process_event, on_news_end,
					       on_side_band };
	struct perf_sampler_options sampler_options = { .samples_per_second = RATE };

	session->loader = live_loader(&options);
	sampler_options.program_fd = bpf_loader_fds(session->loader)->sample_entry;
	assert_int_equal(side_band_create(&session->side_band), 0);
	assert_int_equal(perf_sampler_create(&sampler_options, &session->sampler), 0);
	assert_int_equal(event_reader_create(bpf_loader_fds(session->loader), session->side_band,
					     &handler, &session->reader),
			 0);
	assert_int_equal(event_reader_start(session->reader), 0);
	return session;
}

static struct session *start(void **state)
{
	struct session *session = start_without_samples(state);

	assert_int_equal(perf_sampler_enable(session->sampler), 0);
	return session;
}

static void stop(struct session *session)
{
	assert_int_equal(perf_sampler_disable(session->sampler), 0);
	event_reader_stop(session->reader);
}

static int tear_down(void **state)
{
	struct session *session = *state;

	event_reader_destroy(session->reader);
	perf_sampler_destroy(session->sampler);
	side_band_destroy(session->side_band);
	bpf_loader_destroy(session->loader);
	free(session->log);
	free(session);
	return 0;
}

static int find(const struct session *session, enum kind kind, uint32_t pid, uint32_t type)
{
	for (uint32_t i = 0; i < session->count; i++) {
		const struct entry *entry = &session->log[i];

		if (entry->kind == kind && entry->pid == pid && (!type || entry->type == type))
			return (int)i;
	}
	return -1;
}

/* How many there are of these. */
static uint32_t count_of(const struct session *session, enum kind kind, uint32_t pid)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < log_count(session); i++)
		count += session->log[i].kind == kind && session->log[i].pid == pid;
	return count;
}

/* Until @wanted of these have been handed out, or nothing more may be. */
static void wait_for(const struct session *session, enum kind kind, uint32_t pid, uint32_t wanted)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;

	while (count_of(session, kind, pid) < wanted && log_count(session) < LOG_MAX &&
	       clock_monotonic_ns() < end_ns)
		usleep(10000);
}

static void a_busy_process_is_seen_by_samples_and_a_process_event(void **state)
{
	struct session *session = start(state);
	uint32_t child = (uint32_t)live_busy_child();

	wait_for(session, KIND_SAMPLE, child, 1);
	wait_for(session, KIND_PROCESS_EVENT, child, 1);
	live_kill((pid_t)child);
	stop(session);
	assert_true(find(session, KIND_SAMPLE, child, 0) >= 0);
	assert_true(find(session, KIND_PROCESS_EVENT, child, PROCESS_EVENT_UNKNOWN_PROCESS) >= 0);
	assert_true(find(session, KIND_PROCESS_EVENT, child, PROCESS_EVENT_EXIT) >= 0);
	assert_int_equal(metrics_read(METRIC_SAMPLES_MALFORMED), 0);
}

static void exec_and_exit_are_told_at_once(void **state)
{
	struct session *session = start(state);
	pid_t child = fork();

	if (!child) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	stop(session);
	assert_true(find(session, KIND_PROCESS_EVENT, (uint32_t)child, PROCESS_EVENT_EXEC) >= 0);
	assert_true(find(session, KIND_PROCESS_EVENT, (uint32_t)child, PROCESS_EVENT_EXIT) >
		    find(session, KIND_PROCESS_EVENT, (uint32_t)child, PROCESS_EVENT_EXEC));
}

/* A child that ends when @end_pipe is closed. */
static pid_t waiting_child(const int end_pipe[2])
{
	pid_t child = fork();
	char byte;

	if (child)
		return child;
	close(end_pipe[1]);
	(void)!read(end_pipe[0], &byte, 1);
	_exit(0);
}

/* User space knows a fork that runs its parent's program only if it was sampled. */
static void the_end_of_a_fork_is_an_event_only_if_user_space_may_know_it(void **state)
{
	struct session *session = start_without_samples(state);
	const struct bpf_fds *fds = bpf_loader_fds(session->loader);
	const struct process_entry entry = { 0 };
	const struct notified notified = { 0 };
	pid_t unknown, published, reported;
	int end_pipe[2];

	assert_int_equal(pipe(end_pipe), 0);
	unknown = waiting_child(end_pipe);
	published = waiting_child(end_pipe);
	reported = waiting_child(end_pipe);
	assert_int_equal(bpf_map_update_elem(fds->processes, &published, &entry, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(fds->notified, &reported, &notified, BPF_ANY), 0);
	close(end_pipe[0]);
	close(end_pipe[1]);
	waitpid(unknown, NULL, 0);
	waitpid(published, NULL, 0);
	waitpid(reported, NULL, 0);
	stop(session);
	assert_true(find(session, KIND_PROCESS_EVENT, (uint32_t)published, PROCESS_EVENT_EXIT) >=
		    0);
	assert_true(find(session, KIND_PROCESS_EVENT, (uint32_t)reported, PROCESS_EVENT_EXIT) >= 0);
	assert_int_equal(find(session, KIND_PROCESS_EVENT, (uint32_t)unknown, 0), -1);
}

/* Makes an executable mapping every few milliseconds, and computes in between. */
static pid_t mapping_child(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		uint64_t until_ns = clock_monotonic_ns() + 3 * NS_PER_MS;
		void *code =
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		while (clock_monotonic_ns() < until_ns)
			;
		munmap(code, 4096);
	}
}

static void a_mapping_is_handed_out_before_the_samples_taken_after_it(void **state)
{
	struct session *session = *state;
	uint32_t child, mappings = 0, samples = 0;
	uint64_t newest_sample_ns = 0;

	session->is_slow = true;
	start(state);
	child = (uint32_t)mapping_child();
	wait_for(session, KIND_MAPPING, child, 21);
	wait_for(session, KIND_SAMPLE, child, 21);
	live_kill((pid_t)child);
	stop(session);
	for (uint32_t i = 0; i < session->count; i++) {
		const struct entry *entry = &session->log[i];

		if (entry->pid != child)
			continue;
		if (entry->kind == KIND_SAMPLE) {
			samples++;
			if (entry->time_ns > newest_sample_ns)
				newest_sample_ns = entry->time_ns;
		} else if (entry->kind == KIND_MAPPING) {
			mappings++;
			/* No sample that is newer came before. */
			assert_true(entry->time_ns > newest_sample_ns);
		}
	}
	assert_true(mappings > 20);
	assert_true(samples > 20);
}

/* Until the child's process has had so much of a CPU. */
static void run_for_ms(uint32_t child, uint64_t ms)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	struct timespec used = { 0 };
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid((pid_t)child, &clock), 0);
	while ((uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec < ms * NS_PER_MS &&
	       clock_monotonic_ns() < end_ns) {
		usleep(10000);
		assert_int_equal(clock_gettime(clock, &used), 0);
	}
}

static void without_a_thread_a_drain_hands_out_all(void **state)
{
	struct session *session = start(state);
	uint32_t child;

	stop(session);
	session->count = 0;
	child = (uint32_t)live_busy_child();
	assert_int_equal(perf_sampler_enable(session->sampler), 0);
	run_for_ms(child, 20);
	live_kill((pid_t)child);
	assert_int_equal(perf_sampler_disable(session->sampler), 0);
	assert_int_equal(session->count, 0);
	event_reader_drain(session->reader);
	assert_true(find(session, KIND_SAMPLE, child, 0) >= 0);
	session->count = 0;
	event_reader_drain(session->reader);
	assert_int_equal(find(session, KIND_SAMPLE, child, 0), -1);
}

struct labelled {
	struct trace_record record;
	uint64_t words[2];
	struct sample_label labels[LABEL_SLOTS_MAX + 1];
};

/* A record of two words and @count labels, the first of which is a goroutine's id. */
static struct labelled make_labelled(uint32_t count)
{
	struct labelled record = {
		.record = {
			.type = RECORD_TRACE,
			.word_count = 2,
			.label_bytes = count * sizeof(struct sample_label),
		},
		.labels = { { .value_bytes = sizeof(uint64_t) } },
	};

	for (uint32_t i = 1; i < count; i++) {
		record.labels[i].key_bytes = LABEL_KEY_MAX_BYTES;
		record.labels[i].value_bytes = LABEL_VALUE_MAX_BYTES;
	}
	return record;
}

static bool is_well_formed(const struct labelled *record)
{
	return event_reader_is_well_formed(&record->record, offsetof(struct labelled, labels) +
								    record->record.label_bytes);
}

static void labels_of_no_proper_shape_are_told(void **state)
{
	struct labelled record;

	(void)state;
	for (uint32_t count = 0; count <= LABEL_SLOTS_MAX; count++) {
		record = make_labelled(count);
		assert_true(is_well_formed(&record));
		assert_false(event_reader_is_well_formed(&record.record,
							 offsetof(struct labelled, labels) +
								 record.record.label_bytes + 8));
	}
	record = make_labelled(LABEL_SLOTS_MAX + 1);
	assert_false(is_well_formed(&record));
	record = make_labelled(2);
	record.record.label_bytes -= 8;
	assert_false(is_well_formed(&record));
	record = make_labelled(2);
	record.labels[1].key_bytes++;
	assert_false(is_well_formed(&record));
	record = make_labelled(2);
	record.labels[1].value_bytes++;
	assert_false(is_well_formed(&record));
	record = make_labelled(2);
	record.labels[0].value_bytes--;
	assert_false(is_well_formed(&record));
}

static void records_of_an_unknown_origin_are_told(void **state)
{
	struct labelled record = make_labelled(0);

	(void)state;
	record.record.origin = ORIGIN_COUNT - 1;
	assert_true(is_well_formed(&record));
	record.record.origin = ORIGIN_COUNT;
	assert_false(is_well_formed(&record));
}

#define LIVE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_of_no_proper_shape_are_told),
		cmocka_unit_test(records_of_an_unknown_origin_are_told),
		LIVE_TEST(a_busy_process_is_seen_by_samples_and_a_process_event),
		LIVE_TEST(exec_and_exit_are_told_at_once),
		LIVE_TEST(the_end_of_a_fork_is_an_event_only_if_user_space_may_know_it),
		LIVE_TEST(a_mapping_is_handed_out_before_the_samples_taken_after_it),
		LIVE_TEST(without_a_thread_a_drain_hands_out_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
