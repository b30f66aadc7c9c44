/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: which forks the real programs unwind with their parent's table. Parent and fork are this
 * program, so that the parent's table would do for all that is known of them without the conditions
 * of find_parent() in ebpf/sample_entry.bpf.c; each test makes a fork that one of them is for.
 *
 * One has none: exec ids differ only where the open files do. It is a second look at the same.
 */
#include "agent/tracing/bpf_maps.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "agent/tracing/event_reader.h"
#include "agent/tracing/perf_sampler.h"
#include "agent/tracing/tests/live_programs.h"
#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"

enum {
	RATE = 1999,
	/* Id of an executable without rows, whose frames show which table was used. */
	TABLE_EXECUTABLE_ID = 7 << 16 | 1,
	SAMPLES_MIN = 20,
	/* On a machine that is busy with other things a fork gets few samples while it is new. */
	TRIES_MAX = 6,
	HEAR_MS = 60000,
	PAGE_BYTES = 4096,
};

/* As long as a fork is new. */
#define NEW_NS NS_PER_SECOND
#define OBSERVED_NS (NEW_NS + 300 * NS_PER_MS)

struct seen {
	/* Unwound with the parent's table, and sent to be unwound in user space. */
	uint64_t unwound, first;
};

struct session {
	struct bpf_loader *loader;
	struct bpf_maps *maps;
	struct event_reader *reader;
	struct perf_sampler *sampler;
	/* By which processes tell that they are there. */
	int told[2];
	/* Whose samples count, and from when on. */
	uint32_t fork;
	uint64_t since_ns;
	struct seen as_new, as_old;
	uint64_t wrong;
};

static void on_sample(void *context, const struct trace_record *record, size_t bytes)
{
	struct session *session = context;
	const uint64_t *words = (const uint64_t *)(record + 1) + record->kernel_word_count;
	bool is_new = record->time_ns - record->identity.start_time_ns <= NEW_NS;
	struct seen *seen = is_new ? &session->as_new : &session->as_old;

	(void)bytes;
	if (record->pid != session->fork || record->time_ns < session->since_ns)
		return;
	if (record->type == RECORD_DEFERRED)
		seen->first++;
	else if (record->flags & RECORD_PARENT_ENTRY &&
		 record->word_count >= record->kernel_word_count + 2 &&
		 words[1] == TABLE_EXECUTABLE_ID)
		seen->unwound++;
	else
		session->wrong++;
}

static void on_news_end(void *context, uint64_t time_ns)
{
	(void)context;
	(void)time_ns;
}

static void on_process_event(void *context, const struct process_event *process_event)
{
	(void)context;
	(void)process_event;
}

static int start_session(void **state)
{
	static struct session session;
	const struct event_handler handler = { .context = &session,
					       .sample = on_sample,
					       .process_event = on_process_event,
					       .news_end = on_news_end };
	struct bpf_loader_options options = live_options();
	struct perf_sampler_options sampler_options = { .samples_per_second = RATE };
	const struct bpf_fds *fds;

	session.loader = live_loader(&options);
	fds = bpf_loader_fds(session.loader);
	sampler_options.program_fd = fds->sample_entry;
	assert_int_equal(bpf_maps_create(fds, &session.maps), 0);
	assert_int_equal(event_reader_create(fds, NULL, &handler, &session.reader), 0);
	assert_int_equal(perf_sampler_create(&sampler_options, &session.sampler), 0);
	assert_int_equal(pipe(session.told), 0);
	(void)setpriority(PRIO_PROCESS, 0, -19);
	*state = &session;
	return 0;
}

static int end_session(void **state)
{
	struct session *session = *state;

	close(session->told[0]);
	close(session->told[1]);
	perf_sampler_destroy(session->sampler);
	event_reader_destroy(session->reader);
	bpf_maps_destroy(session->maps);
	bpf_loader_destroy(session->loader);
	return 0;
}

/* --- what the processes do --- */

static void tell(int fd)
{
	pid_t pid = getpid();

	if (write(fd, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
}

static void compute(int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tell(fd);
	for (volatile uint64_t count = 0;; count++)
		;
}

/* This program again. */
static void exec_role(const char *role, int fd)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", fd);
	execl("/proc/self/exe", "fork_unwinds_test", role, number, NULL);
	_exit(1);
}

static void wait_to_be_adopted(int fd)
{
	pid_t reaper = getppid();

	if (fork())
		_exit(0);
	while (getppid() != reaper)
		usleep(1000);
	compute(fd);
}

static void run_role(const char *role, int fd)
{
	if (!strcmp(role, "compute"))
		compute(fd);
	if (!strcmp(role, "orphan"))
		wait_to_be_adopted(fd);
	tell(fd);
	for (;;)
		pause();
}

static void change_nothing(int fd)
{
	(void)fd;
}

static void map_code(int fd)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)fd;
	if (mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
		_exit(1);
}

static void exec_itself(int fd)
{
	exec_role("compute", fd);
}

/* --- the tests --- */

static pid_t hear(const struct session *session)
{
	struct pollfd poll_fd = { .fd = session->told[0], .events = POLLIN };
	pid_t pid;

	assert_int_equal(poll(&poll_fd, 1, HEAR_MS), 1);
	assert_int_equal(read(session->told[0], &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

/* All of its memory is of one file. */
static void publish(struct session *session, pid_t pid, uint32_t exec_id_change)
{
	const struct mapping_row row = {
		.start = PAGE_BYTES,
		.end = 0x7ffffffff000,
		.executable_id = TABLE_EXECUTABLE_ID,
	};
	struct map_writer *writer = bpf_maps_writer(session->maps);
	struct process_identity identity = live_identity(session->loader, (uint32_t)pid);

	identity.exec_id += exec_id_change;
	assert_int_equal(writer->ops->publish_process(writer, (uint32_t)pid, &identity, &row, 1,
						      NULL, 0),
			 0);
}

/* Counts samples of the fork that tells next, as long as it is new and somewhat longer. */
static void observe(struct session *session)
{
	assert_int_equal(perf_sampler_enable(session->sampler), 0);
	session->fork = (uint32_t)hear(session);
	session->since_ns = clock_monotonic_ns();
	for (uint64_t end_ns = session->since_ns + OBSERVED_NS; clock_monotonic_ns() < end_ns;) {
		usleep(10000);
		event_reader_drain(session->reader);
	}
	assert_int_equal(perf_sampler_disable(session->sampler), 0);
	event_reader_drain(session->reader);
}

static void forget(struct session *session, pid_t parent)
{
	struct map_writer *writer = bpf_maps_writer(session->maps);

	writer->ops->retire_process(writer, (uint32_t)parent);
	session->fork = 0;
	live_kill(parent);
}

/* A parent that is published, and then forks a child that does @prepare and computes. */
static void observe_fork(struct session *session, void (*prepare)(int fd), uint32_t exec_id_change)
{
	int go[2];
	pid_t parent;
	char byte = 0;

	assert_int_equal(pipe(go), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &byte, 1) == 1 && !fork()) {
			prepare(session->told[1]);
			compute(session->told[1]);
		}
		for (;;)
			pause();
	}
	publish(session, parent, exec_id_change);
	assert_int_equal(write(go[1], &byte, 1), 1);
	observe(session);
	forget(session, parent);
	close(go[0]);
	close(go[1]);
}

/*
 * A fork that is left to a process with the same number of execs behind it, and as much code: to
 * the same program, which another exec began.
 */
static void observe_orphan(struct session *session)
{
	int go[2];
	pid_t reaper;
	char byte = 0;

	assert_int_equal(pipe(go), 0);
	reaper = fork();
	assert_true(reaper >= 0);
	if (!reaper) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		if (!fork()) {
			if (read(go[0], &byte, 1) == 1)
				exec_role("orphan", session->told[1]);
			_exit(1);
		}
		exec_role("wait", session->told[1]);
	}
	assert_int_equal(hear(session), reaper);
	publish(session, reaper, 0);
	assert_int_equal(write(go[1], &byte, 1), 1);
	observe(session);
	forget(session, reaper);
	close(go[0]);
	close(go[1]);
}

static void begin(struct session *session)
{
	session->as_new = session->as_old = (struct seen){ 0 };
	session->wrong = 0;
}

static void print_seen(const struct session *session)
{
	print_message("unwound %llu, then %llu; sent first %llu, then %llu; wrong %llu\n",
		      (unsigned long long)session->as_new.unwound,
		      (unsigned long long)session->as_old.unwound,
		      (unsigned long long)session->as_new.first,
		      (unsigned long long)session->as_old.first,
		      (unsigned long long)session->wrong);
}

static void assert_never_unwound(const struct session *session)
{
	print_seen(session);
	assert_int_equal(session->as_new.unwound + session->as_old.unwound + session->wrong, 0);
	assert_true(session->as_new.first >= SAMPLES_MIN);
}

static void a_fork_is_unwound_with_its_parents_table_while_it_is_new(void **state)
{
	struct session *session = *state;

	begin(session);
	for (int i = 0; i < TRIES_MAX && (session->as_new.unwound < SAMPLES_MIN ||
					  session->as_old.first < SAMPLES_MIN);
	     i++)
		observe_fork(session, change_nothing, 0);
	print_seen(session);
	assert_int_equal(session->as_new.first + session->as_old.unwound + session->wrong, 0);
	assert_true(session->as_new.unwound >= SAMPLES_MIN);
	assert_true(session->as_old.first >= SAMPLES_MIN);
}

static void a_fork_that_has_mapped_more_code_is_not(void **state)
{
	struct session *session = *state;

	begin(session);
	for (int i = 0; i < TRIES_MAX && session->as_new.first < SAMPLES_MIN; i++)
		observe_fork(session, map_code, 0);
	assert_never_unwound(session);
}

static void a_fork_that_has_executed_the_same_program_again_is_not(void **state)
{
	struct session *session = *state;

	begin(session);
	for (int i = 0; i < TRIES_MAX && session->as_new.first < SAMPLES_MIN; i++)
		observe_fork(session, exec_itself, 0);
	assert_never_unwound(session);
}

static void a_fork_left_to_the_same_program_of_another_exec_is_not(void **state)
{
	struct session *session = *state;

	begin(session);
	for (int i = 0; i < TRIES_MAX && session->as_new.first < SAMPLES_MIN; i++)
		observe_orphan(session);
	assert_never_unwound(session);
}

static void a_fork_whose_parents_table_is_of_another_program_is_not(void **state)
{
	struct session *session = *state;

	begin(session);
	for (int i = 0; i < TRIES_MAX && session->as_new.first < SAMPLES_MIN; i++)
		observe_fork(session, change_nothing, 1);
	assert_never_unwound(session);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fork_is_unwound_with_its_parents_table_while_it_is_new),
		cmocka_unit_test(a_fork_that_has_mapped_more_code_is_not),
		cmocka_unit_test(a_fork_that_has_executed_the_same_program_again_is_not),
		cmocka_unit_test(a_fork_left_to_the_same_program_of_another_exec_is_not),
		cmocka_unit_test(a_fork_whose_parents_table_is_of_another_program_is_not),
	};

	if (argc == 3)
		run_role(argv[1], atoi(argv[2]));
	return cmocka_run_group_tests(tests, start_session, end_session);
}
