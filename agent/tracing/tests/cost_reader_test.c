/* SPDX-License-Identifier: Apache-2.0 */
/* Live: what the programs of -accounting count is what the kernel counts, by tracepoints of both kinds. */
#include "agent/tracing/cost_reader.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "agent/tracing/tests/live_programs.h"
#include "lib/base/clock.h"

enum {
	PAGE = 4096,
	FAULTS = 2000,
	SWITCHES = 200,
	CPUS_MAX = 1024,
};

/* The unit of times in /proc/stat. */
#define TICK_NS (10 * NS_PER_MS)

/* The events of the tests, in place of the CPU's own. The last two there are not. */
enum {
	PAGE_FAULTS,
	CONTEXT_SWITCHES,
	TASK_CLOCK,
};

static const struct perf_event_attr software_events[COST_COUNTER_COUNT] = {
	[PAGE_FAULTS] = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS },
	[CONTEXT_SWITCHES] = { .type = PERF_TYPE_SOFTWARE,
			       .config = PERF_COUNT_SW_CONTEXT_SWITCHES },
	[TASK_CLOCK] = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_MAX },
	{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_MAX },
};

/* The rows that a test has read. */
struct read_costs {
	uint32_t pid;
	/* The rows of that process, added up; and how many there were. */
	struct cost_row sum;
	uint32_t row_count;
	uint64_t run_time_ns[CPUS_MAX];
	uint64_t wall_ns[CPUS_MAX];
	uint64_t unfitted;
};

static void take_row(void *context, uint32_t cpu, const struct cost_row *row, bool is_idle)
{
	struct read_costs *costs = context;

	costs->run_time_ns[cpu % CPUS_MAX] += row->run_time_ns;
	if (!is_idle && !row->key.id)
		costs->unfitted += row->run_count;
	if (row->key.pid != costs->pid || is_idle || !row->key.id)
		return;
	costs->row_count++;
	costs->sum.run_time_ns += row->run_time_ns;
	costs->sum.run_count += row->run_count;
	costs->sum.key = row->key;
	/* The row of the CPU where it ended has the last name. */
	if (row->flags & COST_ENDED || !(costs->sum.flags & COST_ENDED))
		memcpy(costs->sum.comm, row->comm, sizeof(row->comm));
	costs->sum.flags |= row->flags;
	for (int i = 0; i < COST_COUNTER_COUNT; i++) {
		costs->sum.counters[i].count += row->counters[i].count;
		costs->sum.counters[i].counted_ns += row->counters[i].counted_ns;
	}
}

static void take_time(void *context, uint32_t cpu, uint64_t wall_ns)
{
	struct read_costs *costs = context;

	costs->wall_ns[cpu % CPUS_MAX] += wall_ns;
}

struct fixture {
	struct bpf_loader *loader;
	struct cost_reader *reader;
};

static void begin(struct fixture *f, struct cost_reader_options reader_options)
{
	const struct bpf_loader_options options = live_options();
	int err;

	f->loader = live_loader(&options);
	reader_options.config = bpf_loader_config(f->loader);
	err = cost_reader_create(&reader_options, &f->reader);
	if (err)
		print_message("%s\n", error_text());
	assert_int_equal(err, 0);
}

static void end(struct fixture *f)
{
	cost_reader_destroy(f->reader);
	bpf_loader_destroy(f->loader);
}

static void read_into(struct fixture *f, struct read_costs *costs)
{
	const struct cost_sink sink = { take_row, take_time, costs };

	assert_int_equal(cost_reader_read(f->reader, &sink), 0);
}

static uint64_t process_cpu_ns(pid_t pid)
{
	struct timespec now;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/*
 * Time of all CPUs that the hypervisor gave to others, rounded down to ticks of a CPU. The kernel leaves it out of the CPU time of
 * processes, and it is in the costs.
 */
static uint64_t stolen_ns(void)
{
	FILE *file = fopen("/proc/stat", "r");
	unsigned long long ticks = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks), 1);
	fclose(file);
	return ticks * TICK_NS;
}

static void sleep_ms(uint32_t ms)
{
	const struct timespec pause = clock_timespec(ms * NS_PER_MS);

	nanosleep(&pause, NULL);
}

/* A child that computes until it is killed, without children of its own. */
static pid_t spin(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile uint64_t count = 0;; count++)
			;
	}
	return child;
}

static void check_running_task(bool is_raw)
{
	static struct read_costs costs;
	struct fixture f;
	pid_t child = spin();
	uint64_t before_ns, after_ns, last_ns, wall_ns, stolen_before_ns = stolen_ns();

	costs = (struct read_costs){ .pid = (uint32_t)child };
	begin(&f, (struct cost_reader_options){ .is_raw = is_raw });
	sleep_ms(50);
	/* The time before is read, and dropped. */
	wall_ns = clock_monotonic_ns();
	before_ns = process_cpu_ns(child);
	read_into(&f, &costs);
	costs = (struct read_costs){ .pid = (uint32_t)child };
	after_ns = process_cpu_ns(child);
	sleep_ms(500);
	last_ns = process_cpu_ns(child);
	read_into(&f, &costs);
	wall_ns = clock_monotonic_ns() - wall_ns;
	/* It is between what the kernel has from the end of the one read to the begin of the other, and from begin to end. */
	assert_true(costs.sum.run_time_ns > (last_ns - after_ns) * 99 / 100);
	assert_true(costs.sum.run_time_ns < (process_cpu_ns(child) - before_ns) * 101 / 100 +
						    stolen_ns() - stolen_before_ns + 2 * TICK_NS);
	assert_int_equal(costs.sum.flags, 0);
	assert_true(costs.row_count > 0);
	/* Nothing is lost, and nothing is counted twice: exactly all of the time. */
	for (int cpu = 0; cpu < CPUS_MAX; cpu++) {
		assert_int_equal(costs.run_time_ns[cpu], costs.wall_ns[cpu]);
		assert_true(costs.wall_ns[cpu] <= wall_ns);
	}
	assert_true(costs.wall_ns[0] > 500 * NS_PER_MS);
	live_kill(child);
	end(&f);
}

static void a_task_that_runs_has_its_time_so_far(void **state)
{
	(void)state;
	check_running_task(false);
}

static void raw_tracepoints_count_the_same(void **state)
{
	(void)state;
	check_running_task(true);
}

/* Touches FAULTS new pages and gives the CPU away SWITCHES times. */
static void fault_and_sleep(void)
{
	const size_t bytes = (size_t)FAULTS * PAGE;
	volatile char *pages =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise((void *)pages, bytes, MADV_NOHUGEPAGE))
		_exit(1);
	for (size_t i = 0; i < bytes; i += PAGE)
		pages[i] = 1;
	for (int i = 0; i < SWITCHES; i++)
		usleep(100);
	_exit(0);
}

/* @with_event_times: as on a machine with fewer counters than events. */
static void check_counters(bool with_event_times)
{
	static struct read_costs costs;
	struct cost_counter *counters = costs.sum.counters;
	struct rusage usage;
	struct fixture f;
	pid_t child;

	begin(&f, (struct cost_reader_options){ .events = software_events,
						.with_event_times = with_event_times });
	/* The last one is not there, and that is no error. */
	assert_int_equal(cost_reader_sources(f.reader) / COST_FIRST_COUNTER, 7);
	child = fork();
	if (!child)
		fault_and_sleep();
	assert_int_equal(wait4(child, NULL, 0, &usage), child);
	costs = (struct read_costs){ .pid = (uint32_t)child };
	sleep_ms(20);
	read_into(&f, &costs);
	assert_int_equal(costs.sum.flags, COST_ENDED);
	/* Also the faults of its fork and of its end, which rusage does not have all. */
	assert_in_range(counters[PAGE_FAULTS].count, FAULTS, FAULTS + 400);
	assert_in_range(counters[PAGE_FAULTS].count, usage.ru_minflt, usage.ru_minflt + 30);
	/*
	 * The kernel counts a switch when our program has run, so it is counted for the task that comes; and so is one before it that the
	 * program has missed.
	 */
	assert_in_range(counters[CONTEXT_SWITCHES].count, SWITCHES,
			usage.ru_nvcsw + usage.ru_nivcsw + 2 +
				cost_reader_missed_switches(f.reader));
	assert_true(counters[TASK_CLOCK].count > costs.sum.run_time_ns * 97 / 100);
	assert_true(counters[TASK_CLOCK].count < costs.sum.run_time_ns * 103 / 100);
	/* They counted all the time. */
	assert_int_equal(counters[PAGE_FAULTS].counted_ns, costs.sum.run_time_ns);
	assert_int_equal(counters[3].count, 0);
	end(&f);
}

static void counters_are_those_of_the_process(void **state)
{
	(void)state;
	check_counters(false);
}

static void counters_are_the_same_with_the_times_of_events(void **state)
{
	(void)state;
	check_counters(true);
}

static void a_process_that_has_ended_is_kept_until_it_is_read(void **state)
{
	static struct read_costs costs;
	struct fixture f;
	pid_t child;

	(void)state;
	begin(&f, (struct cost_reader_options){ 0 });
	child = fork();
	if (!child) {
		prctl(PR_SET_NAME, "renamed");
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	sleep_ms(20);
	costs = (struct read_costs){ .pid = (uint32_t)child };
	read_into(&f, &costs);
	assert_int_equal(costs.sum.flags, COST_ENDED);
	assert_string_equal(costs.sum.comm, "renamed");
	assert_true(costs.sum.run_time_ns > 0);
	costs = (struct read_costs){ .pid = (uint32_t)child };
	read_into(&f, &costs);
	assert_int_equal(costs.row_count, 0);
	end(&f);
}

static void processes_without_room_are_counted_together(void **state)
{
	enum { TOO_MANY = 500 };
	static struct read_costs costs;
	cpu_set_t all, first;
	struct fixture f;

	(void)state;
	begin(&f, (struct cost_reader_options){ 0 });
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	assert_int_equal(sched_setaffinity(0, sizeof(first), &first), 0);
	/* Nobody reads, so the table of the CPU fills up. */
	for (uint32_t i = 0; i < COST_ROWS_MAX + TOO_MANY; i++) {
		/* A fork with sanitizers takes long. */
		pid_t child = vfork();

		if (!child)
			_exit(0);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_true(cost_reader_is_filling(f.reader));
	costs = (struct read_costs){ .pid = (uint32_t)getpid() };
	read_into(&f, &costs);
	assert_true(costs.unfitted >= TOO_MANY);
	for (int cpu = 0; cpu < CPUS_MAX; cpu++)
		assert_int_equal(costs.run_time_ns[cpu], costs.wall_ns[cpu]);
	assert_false(cost_reader_is_filling(f.reader));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_that_runs_has_its_time_so_far),
		cmocka_unit_test(raw_tracepoints_count_the_same),
		cmocka_unit_test(counters_are_those_of_the_process),
		cmocka_unit_test(counters_are_the_same_with_the_times_of_events),
		cmocka_unit_test(a_process_that_has_ended_is_kept_until_it_is_read),
		cmocka_unit_test(processes_without_room_are_counted_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
