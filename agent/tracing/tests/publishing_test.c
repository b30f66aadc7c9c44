/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: the real programs unwind a child's deep stack while its tables are published, replaced and
 * retired as fast as can be, into space that is used again and again. Each version of the child's
 * executable lies at other addresses, and its rows use the other one of two rules, so that an unwind
 * that saw parts of two versions gives itself away.
 */
#include "agent/tracing/bpf_maps.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "agent/tracing/event_reader.h"
#include "agent/tracing/perf_sampler.h"
#include "agent/tracing/tests/live_programs.h"
#include "ebpf/abi/frame.h"
#include "lib/base/clock.h"
#include "lib/model/stack_deltas.h"

enum {
	RATE = 1999,
	DEPTH = 400,
	/* Bytes of text on both sides of the function, whole pages of rows. */
	MARGIN_BYTES = 64 << 10,
	TEXT_BYTES = 2 * MARGIN_BYTES,
	PAGE_COUNT = TEXT_BYTES >> UNWIND_PAGE_SHIFT,
	SLOTS = 3,
	UNWINDS_MIN = 100,
};

struct session {
	uint32_t pid;
	/* First address of the mapping. */
	uint64_t start;
	uint64_t good, between, wrong;
};

/* Shared with the child. */
static volatile struct {
	bool is_deep;
	bool is_over;
} * child_state;

/*
 * Begins with a frame pointer, as all our code; the last one computes until it is killed. Two calls
 * in turn, because the unwind keeps the rule of the last address.
 */
static __attribute__((noinline, no_sanitize("address", "undefined"))) uint64_t deep(uint32_t depth)
{
	volatile uint64_t count = 0;

	if (depth % 2)
		return deep(depth - 1) + count;
	if (depth)
		return deep(depth - 1) * 3 + count;
	child_state->is_deep = true;
	while (!child_state->is_over)
		count++;
	return count;
}

static uint64_t version_id(uint64_t version)
{
	return version << 16 | version % SLOTS;
}

/* Where the mapping's first byte lies in this version of the file. */
static uint64_t version_text(uint64_t version)
{
	return 0x100000 * (1 + version % 64);
}

static bool is_in_text(uint64_t address, uint64_t version)
{
	return address >= version_text(version) && address < version_text(version) + TEXT_BYTES;
}

/* Native frames of one version all the way, then the functions outside the mapping. */
static bool is_of_one_version(const uint64_t *words, uint32_t count)
{
	uint64_t version = words[1] >> 16;

	for (uint32_t i = 0; i + 1 < count; i += 2) {
		if (frame_kind(words[i]) != FRAME_NATIVE || words[i + 1] != version_id(version) ||
		    !is_in_text(frame_address(words[i]), version))
			return false;
	}
	return count > 2 * DEPTH && count % 2 && frame_kind(words[count - 1]) == FRAME_ERROR &&
	       frame_flags(words[count - 1]) == UNWIND_NO_MAPPING;
}

static void on_sample(void *context, const struct trace_record *record, size_t bytes)
{
	struct session *session = context;
	const uint64_t *words = (const uint64_t *)(record + 1) + record->kernel_word_count;
	uint32_t count = record->word_count - record->kernel_word_count;

	(void)bytes;
	if (record->pid != session->pid || record->type != RECORD_TRACE)
		return;
	/* The mapping is known, its executable just retired. */
	if (count == 3 && frame_flags(words[2]) == UNWIND_NOT_LOADED)
		session->between++;
	else if (count >= 2 && is_of_one_version(words, count))
		session->good++;
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

static void publish_version(struct map_writer *writer, const struct session *session,
			    const struct process_identity *identity, uint64_t version)
{
	static struct cell rows[PAGE_COUNT * 3 / CELL_BYTES + 2];
	static uint32_t page_index[PAGE_COUNT + 1];
	/* Not that of the version before the last, whose cells this one is likely to get. */
	const uint32_t used_rule = version / 2 % 2;
	struct unwind_rule rules[2] = { 0 };
	const struct stack_deltas deltas = {
		.text_start = version_text(version),
		.page_count = PAGE_COUNT,
		.row_count = PAGE_COUNT,
		.rule_count = 2,
		.page_index = page_index,
		.rows = rows,
		.rules = rules,
	};
	/* Tables of various lengths, so that the runs of cells move about. */
	const uint32_t before = version % 5;
	struct mapping_row mappings[6];

	/* Behind push %rbp; mov %rsp, %rbp. */
	rules[used_rule] = (struct unwind_rule){
		.cfa = CFA_FP,
		.cfa_offset = 16,
		.ra = SAVED_AT_CFA,
		.ra_offset = -8,
		.fp = SAVED_AT_CFA,
		.fp_offset = -16,
	};
	for (uint32_t i = 0; i <= PAGE_COUNT; i++)
		page_index[i] = i;
	for (uint32_t i = 0; i < PAGE_COUNT; i++)
		stack_deltas_rule_ids(&deltas)[i] = used_rule;
	for (uint32_t i = 0; i < before; i++)
		mappings[i] = (struct mapping_row){
			.start = 0x1000 * (i + 1),
			.end = 0x1000 * (i + 2),
			.executable_id = EXECUTABLE_ID_ANONYMOUS,
		};
	mappings[before] = (struct mapping_row){
		.start = session->start,
		.end = session->start + TEXT_BYTES,
		.bias = session->start - version_text(version),
		.executable_id = version_id(version),
	};
	assert_int_equal(writer->ops->publish_executable(writer, version_id(version), &deltas), 0);
	assert_int_equal(writer->ops->publish_process(writer, session->pid, identity, mappings,
						      before + 1, NULL, 0),
			 0);
}

/* The unwind and the writer only meet if they run on different CPUs. */
static void run_on_cpu(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

static pid_t deep_child(void)
{
	void *shared = mmap(NULL, sizeof(*child_state), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	assert_ptr_not_equal(shared, MAP_FAILED);
	child_state = shared;
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_on_cpu(1);
		deep(DEPTH);
	}
	while (!child_state->is_deep)
		usleep(1000);
	return child;
}

/* For two seconds, and until there are enough unwinds where other programs have most of the CPU. */
static bool is_more_wanted(const struct session *session, uint64_t start_ns)
{
	uint64_t passed_ns = clock_monotonic_ns() - start_ns;

	return passed_ns < 2 * NS_PER_SECOND ||
	       (session->good <= UNWINDS_MIN && passed_ns < 60 * NS_PER_SECOND);
}

static void no_unwind_mixes_two_versions(void **state)
{
	struct bpf_loader_options options = live_options();
	struct bpf_loader *loader = live_loader(&options);
	const struct bpf_fds *fds = bpf_loader_fds(loader);
	const struct perf_sampler_options sampler_options = {
		.program_fd = fds->sample_entry,
		.samples_per_second = RATE,
	};
	struct session session = { .start = (uintptr_t)deep - MARGIN_BYTES };
	const struct event_handler handler = { .context = &session,
					       .sample = on_sample,
					       .process_event = on_process_event,
					       .news_end = on_news_end };
	struct perf_sampler *sampler;
	struct event_reader *reader;
	struct process_identity identity;
	struct map_writer *writer;
	struct bpf_maps *maps;
	uint64_t start_ns;

	(void)state;
#ifndef __x86_64__
	/* The rule for frame pointers is that of x86-64. */
	skip();
#endif
	assert_int_equal(bpf_maps_create(fds, &maps), 0);
	writer = bpf_maps_writer(maps);
	assert_int_equal(event_reader_create(fds, NULL, &handler, &reader), 0);
	assert_int_equal(perf_sampler_create(&sampler_options, &sampler), 0);
	session.pid = (uint32_t)deep_child();
	run_on_cpu(0);
	identity = live_identity(loader, session.pid);
	assert_int_equal(perf_sampler_enable(sampler), 0);
	start_ns = clock_monotonic_ns();
	for (uint64_t version = 1; is_more_wanted(&session, start_ns); version++) {
		publish_version(writer, &session, &identity, version);
		/* The slot of the next version but one comes free. */
		if (version > 1)
			writer->ops->retire_executable(writer, version_id(version - 1));
		if (version % 7 == 0)
			writer->ops->retire_process(writer, session.pid);
		/* Waiting takes most of the time, and is not what is tested. */
		if (version % 301 == 0) {
			assert_int_equal(writer->ops->wait_retired(writer), 0);
			event_reader_drain(reader);
		}
	}
	assert_int_equal(perf_sampler_disable(sampler), 0);
	event_reader_drain(reader);
	live_kill((pid_t)session.pid);
	print_message("%llu unwinds in one version, %llu between two\n",
		      (unsigned long long)session.good, (unsigned long long)session.between);
	assert_int_equal(session.wrong, 0);
	assert_true(session.good > UNWINDS_MIN);
	perf_sampler_destroy(sampler);
	event_reader_destroy(reader);
	bpf_maps_destroy(maps);
	bpf_loader_destroy(loader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_unwind_mixes_two_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
