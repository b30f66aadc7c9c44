/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/cost_reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/tracing/cpu_events.h"
#include "agent/tracing/cpu_list.h"
#include "agent/tracing/perf_event.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

/* Generated; needs struct agent_config and struct cost_config. */
#include "build/ebpf/costs.skel.h"

enum {
	/** Memory of the rows of all CPUs, on machines with so many that tables of COST_ROWS_MAX rows would take more. */
	ROWS_MAX_BYTES = 32 << 20,
};

/* Where the wait for a grace period is refused: far longer than the few instructions of a program take. */
#define PROGRAM_NS (20 * NS_PER_MS)

/* Programs that count the same in different kernels, in the order of the tries. Offsets of fields of the skeleton's struct. */
struct alternatives {
	enum cost_source source;
	size_t programs[6];
};

#define PROGRAM(name) offsetof(struct costs, progs.name)

static const struct alternatives page_programs[] = {
	{ COST_PAGE_READS,
	  { PROGRAM(cost_reads), PROGRAM(cost_reads_raw), PROGRAM(cost_mark_folio),
	    PROGRAM(cost_mark_page), PROGRAM(cost_probe_folio), PROGRAM(cost_probe_page) } },
	{ COST_PAGE_WRITES,
	  { PROGRAM(cost_writes), PROGRAM(cost_writes_raw), PROGRAM(cost_page_writes),
	    PROGRAM(cost_page_writes_raw) } },
};

enum {
	PAGE_PROGRAM_COUNT = sizeof(page_programs) / sizeof(page_programs[0]),
};

/* The events of one counter on all CPUs. */
struct counter_events {
	struct cpu_events events;
	/* The map cost_events, and the number of the counter. */
	int map_fd;
	uint32_t counter;
};

struct cost_reader {
	struct costs *skeleton;
	/* Counters that the machine does not have are empty. */
	struct counter_events counters[COST_COUNTER_COUNT];
	/* The programs for the page cache, with the maps of the first; NULL if the kernel has none. */
	struct costs *page_skeletons[PAGE_PROGRAM_COUNT];
	/* Bits of enum cost_source. */
	uint32_t sources;
	uint32_t cpu_count;
	uint32_t row_count;
	/* Mapped. */
	const struct cost_cpu *cpus;
	size_t cpus_bytes;
	/* By CPU: whether it was online at the last read. */
	bool *was_online;
	bool *is_online;
};

/* By enum cost_counter_index. */
static const struct perf_event_attr own_events[COST_COUNTER_COUNT] = {
	[COST_CYCLES] = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
	[COST_REFERENCE_CYCLES] = { .type = PERF_TYPE_HARDWARE,
				    .config = PERF_COUNT_HW_REF_CPU_CYCLES },
	[COST_INSTRUCTIONS] = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS },
	[COST_CACHE_MISSES] = { .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CACHE_MISSES },
	[COST_PAGE_FAULTS] = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS },
};

/* --- counters --- */

static int event_opened(void *context, struct cpu_event *event)
{
	const struct counter_events *counter = context;
	uint32_t key = event->cpu * COST_COUNTER_COUNT + counter->counter;

	if (bpf_map_update_elem(counter->map_fd, &key, &event->fd, BPF_ANY))
		return fail_errno(-errno, "cannot count on CPU %u", event->cpu);
	return 0;
}

static void event_closing(void *context, struct cpu_event *event)
{
	const struct counter_events *counter = context;
	uint32_t key = event->cpu * COST_COUNTER_COUNT + counter->counter;

	bpf_map_delete_elem(counter->map_fd, &key);
}

static const struct cpu_events_ops event_ops = {
	.opened = event_opened,
	.closing = event_closing,
};

/* Finds out which events the machine has, by opening each on one CPU. Returns a bit for each. */
static uint32_t find_counters(const struct perf_event_attr *events)
{
	_cleanup_(cpu_list_deinit) struct cpu_list online = { 0 };
	uint32_t counters = 0;

	if (cpu_list_read_online(&online) || !online.count)
		return 0;
	for (uint32_t i = 0; i < COST_COUNTER_COUNT; i++) {
		struct perf_event_attr attributes = events[i];
		_cleanup_(close_fd) int fd = -1;

		attributes.size = sizeof(attributes);
		fd = perf_event_open_on_cpu(&attributes, online.cpus[0]);
		if (fd >= 0)
			counters |= 1U << i;
		else
			log_debug("-accounting: no counter %u: %s", i, error_text());
	}
	return counters;
}

/* Opens the events on all CPUs; 0 or the first error. */
static int follow_counters(struct cost_reader *reader)
{
	int result = 0;

	for (uint32_t i = 0; i < COST_COUNTER_COUNT; i++) {
		int err = reader->counters[i].events.ops ?
				  cpu_events_follow(&reader->counters[i].events) :
				  0;

		result = result ? result : err;
	}
	return result;
}

static int open_counters(struct cost_reader *reader, const struct perf_event_attr *events,
			 uint32_t counters)
{
	for (uint32_t i = 0; i < COST_COUNTER_COUNT; i++) {
		struct counter_events *counter = &reader->counters[i];

		if (!(counters & 1U << i))
			continue;
		counter->map_fd = bpf_map__fd(reader->skeleton->maps.cost_events);
		counter->counter = i;
		counter->events.ops = &event_ops;
		counter->events.context = counter;
		counter->events.attributes = events[i];
		counter->events.attributes.size = sizeof(events[i]);
		cpu_events_set_running(&counter->events, true);
		reader->sources |= COST_FIRST_COUNTER << i;
	}
	return follow_counters(reader);
}

/* --- loading --- */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

/* Rows of a table: fewer on machines with many CPUs. */
static uint32_t rows_of_table(uint32_t cpu_count)
{
	uint32_t count = COST_ROWS_MAX;

	while (count > COST_ROWS_MIN &&
	       (uint64_t)count * cpu_count * COST_TABLES_PER_CPU * sizeof(struct cost_row) >
		       ROWS_MAX_BYTES)
		count /= 2;
	return count;
}

/* @counters has a bit for each counter. */
static int configure(struct costs *skeleton, const struct cost_reader_options *options,
		     uint32_t cpu_count, uint32_t counters)
{
	const uint32_t row_count = rows_of_table(cpu_count);
	const uint32_t table_count = cpu_count * COST_TABLES_PER_CPU;
	int err;

	skeleton->rodata->config = *options->config;
	skeleton->rodata->cost_config = (struct cost_config){
		.row_count = row_count,
		.bucket_count = row_count / 2,
		.counters = counters,
		.shared_counters = options->with_event_times ? counters : 0,
	};
	err = bpf_map__set_max_entries(skeleton->maps.cost_cpus, cpu_count);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.cost_rows, table_count * row_count);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.cost_index,
					       table_count * row_count / 2);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.cost_events,
					       cpu_count * COST_COUNTER_COUNT);
	return err;
}

/* Selects the programs to load: those that count run time and softirqs. */
static void select_programs(struct costs *skeleton, bool is_raw)
{
	const struct bpf_program *typed[] = { skeleton->progs.cost_switch,
					      skeleton->progs.cost_softirq };
	const struct bpf_program *raw[] = { skeleton->progs.cost_switch_raw,
					    skeleton->progs.cost_softirq_raw };
	const struct bpf_program *const *wanted = is_raw ? raw : typed;
	struct bpf_program *program;

	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, program == wanted[0] || program == wanted[1] ||
							   program == skeleton->progs.cost_tick);
	bpf_program__set_autoattach(skeleton->progs.cost_tick, false);
}

/* Loads and attaches the programs that were selected; then they count. Destroys @skeleton after an error, also after @err. */
static int start(struct costs *skeleton, int err)
{
	if (!err)
		err = costs__load(skeleton);
	if (!err)
		err = costs__attach(skeleton);
	if (err)
		costs__destroy(skeleton);
	return err;
}

/* Opens, loads and attaches the programs for typed or raw tracepoints; in the end @skeleton counts. */
static int load(const struct cost_reader_options *options, uint32_t cpu_count, uint32_t counters,
		bool is_raw, struct costs **out)
{
	struct costs *skeleton = costs__open();
	int err;

	if (!skeleton)
		return fail_errno(-errno, "cannot open the programs of -accounting");
	select_programs(skeleton, is_raw);
	err = start(skeleton, configure(skeleton, options, cpu_count, counters));
	if (err)
		return fail_errno(err, "cannot load the programs of -accounting");
	*out = skeleton;
	return 0;
}

static int load_either(const struct cost_reader_options *options, uint32_t cpu_count,
		       uint32_t counters, struct costs **skeleton)
{
	int err = options->is_raw ? -EOPNOTSUPP :
				    load(options, cpu_count, counters, false, skeleton);

	if (!err || err == -ENOMEM)
		return err;
	if (!options->is_raw)
		log_debug("%s; trying raw tracepoints", error_text());
	return load(options, cpu_count, counters, true, skeleton);
}

/* Loads and attaches only the program at @offset of the skeleton's struct, with the maps of @reader. NULL if the kernel refuses it. */
static struct costs *load_alone(const struct cost_reader *reader, size_t offset)
{
	struct costs *skeleton = costs__open();
	struct bpf_program *program, *wanted;
	struct bpf_map *map;
	int err = 0;

	if (!skeleton)
		return NULL;
	wanted = *(struct bpf_program **)((char *)skeleton + offset);
	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, program == wanted);
	bpf_object__for_each_map(map, skeleton->obj)
	{
		const struct bpf_map *shared =
			bpf_object__find_map_by_name(reader->skeleton->obj, bpf_map__name(map));

		if (!err)
			err = bpf_map__reuse_fd(map, bpf_map__fd(shared));
	}
	return start(skeleton, err) ? NULL : skeleton;
}

static void load_page_programs(struct cost_reader *reader)
{
	for (size_t i = 0; i < PAGE_PROGRAM_COUNT; i++) {
		const struct alternatives *from = &page_programs[i];

		for (size_t j = 0;
		     !reader->page_skeletons[i] &&
		     j < sizeof(from->programs) / sizeof(from->programs[0]) && from->programs[j];
		     j++)
			reader->page_skeletons[i] = load_alone(reader, from->programs[j]);
		if (reader->page_skeletons[i])
			reader->sources |= from->source;
	}
}

/*
 * Runs cost_tick on @cpu, which interrupts what runs there. -ENXIO: the CPU is offline.
 */
static int tick(const struct cost_reader *reader, uint32_t cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

	return bpf_prog_test_run_opts(bpf_program__fd(reader->skeleton->progs.cost_tick), &options);
}

static int tick_all(struct cost_reader *reader)
{
	for (uint32_t cpu = 0; cpu < reader->cpu_count; cpu++) {
		int err = tick(reader, cpu);

		if (err && err != -ENXIO)
			return fail_errno(err, "cannot account the task that runs on CPU %u", cpu);
		reader->is_online[cpu] = !err;
	}
	return 0;
}

static int init(struct cost_reader *reader, const struct cost_reader_options *options)
{
	const struct perf_event_attr *events = options->events ? options->events : own_events;
	uint32_t counters = find_counters(events);
	int cpu_count = cpu_list_count_numbers(), err;
	void *pages;

	if (!options->events && !options->with_page_faults)
		counters &= ~(1U << COST_PAGE_FAULTS);
	if (cpu_count < 0)
		return cpu_count;
	reader->cpu_count = (uint32_t)cpu_count;
	reader->was_online = calloc((size_t)cpu_count, sizeof(bool));
	reader->is_online = calloc((size_t)cpu_count, sizeof(bool));
	if (!reader->was_online || !reader->is_online)
		return -ENOMEM;
	err = load_either(options, reader->cpu_count, counters, &reader->skeleton);
	if (err && counters) {
		log_warn("%s; trying without hardware counters", error_text());
		counters = 0;
		err = load_either(options, reader->cpu_count, counters, &reader->skeleton);
	}
	if (err)
		return err;
	reader->row_count = reader->skeleton->rodata->cost_config.row_count;
	reader->cpus_bytes = whole_pages(reader->cpu_count * sizeof(struct cost_cpu));
	pages = mmap(NULL, reader->cpus_bytes, PROT_READ, MAP_SHARED,
		     bpf_map__fd(reader->skeleton->maps.cost_cpus), 0);
	if (pages == MAP_FAILED)
		return fail_errno(-errno, "cannot map the state of -accounting");
	reader->cpus = pages;
	load_page_programs(reader);
	err = open_counters(reader, events, counters);
	if (err)
		return err;
	/* The programs count from a CPU's first tick on. */
	err = tick_all(reader);
	if (!err)
		memcpy(reader->was_online, reader->is_online, reader->cpu_count * sizeof(bool));
	return err;
}

int cost_reader_create(const struct cost_reader_options *options, struct cost_reader **out)
{
	struct cost_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	err = init(reader, options);
	if (err) {
		cost_reader_destroy(reader);
		return err;
	}
	*out = reader;
	return 0;
}

void cost_reader_destroy(struct cost_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t i = 0; i < COST_COUNTER_COUNT; i++)
		if (reader->counters[i].events.ops)
			cpu_events_deinit(&reader->counters[i].events);
	if (reader->cpus)
		munmap((void *)reader->cpus, reader->cpus_bytes);
	for (size_t i = 0; i < PAGE_PROGRAM_COUNT; i++)
		costs__destroy(reader->page_skeletons[i]);
	costs__destroy(reader->skeleton);
	free(reader->was_online);
	free(reader->is_online);
	free(reader);
}

uint32_t cost_reader_sources(const struct cost_reader *reader)
{
	return reader->sources;
}

uint64_t cost_reader_missed_switches(const struct cost_reader *reader)
{
	uint64_t count = 0;

	for (uint32_t cpu = 0; cpu < reader->cpu_count; cpu++)
		count += __atomic_load_n(&reader->cpus[cpu].missed_switches, __ATOMIC_RELAXED);
	return count;
}

bool cost_reader_is_filling(const struct cost_reader *reader)
{
	for (uint32_t cpu = 0; cpu < reader->cpu_count; cpu++)
		if (__atomic_load_n(&reader->cpus[cpu].row_count, __ATOMIC_RELAXED) >
		    reader->row_count / 4)
			return true;
	return false;
}

/* Waits until no program can still write to a finished table. */
static void wait_for_programs(void)
{
	const struct timespec pause = clock_timespec(PROGRAM_NS);

	/* It waits for an RCU grace period, and is refused with nohz_full. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&pause, NULL);
}

/* @row, its counters counted for @parts of their times. */
static struct cost_row in_parts(const struct cost_row *row, const uint16_t *parts)
{
	struct cost_row result = *row;

	for (int i = 0; i < COST_COUNTER_COUNT; i++)
		result.counters[i].counted_ns =
			result.counters[i].counted_ns * parts[i] / COST_WHOLE;
	return result;
}

/* Hands the rows of the finished table of @cpu to @sink. */
static void take_rows(const struct cost_reader *reader, uint32_t number,
		      const struct cost_row *rows, const struct cost_sink *sink)
{
	const struct cost_cpu *cpu = &reader->cpus[number];
	uint64_t wall_ns = cpu->finished_end_ns - cpu->finished_begin_ns;
	uint32_t row_count = cpu->finished_row_count;

	if (row_count > reader->row_count)
		row_count = reader->row_count;
	for (uint32_t i = 0; i < row_count; i++) {
		const struct cost_row row = in_parts(&rows[i], cpu->counted_parts);

		/* The idle task was the last one before the CPU went offline, and that time is none of its own. */
		if (i == COST_ROW_IDLE && !reader->was_online[number])
			wall_ns -= row.run_time_ns;
		else if (row.run_count || row.run_time_ns)
			sink->take_row(sink->context, number, &row, i == COST_ROW_IDLE);
	}
	sink->take_time(sink->context, number, wall_ns);
}

static int read_table(const struct cost_reader *reader, uint32_t number,
		      const struct cost_sink *sink)
{
	const struct cost_cpu *cpu = &reader->cpus[number];
	uint64_t offset =
		(uint64_t)cpu->finished_table * reader->row_count * sizeof(struct cost_row);
	uint64_t first_page = offset / page_bytes() * page_bytes();
	size_t bytes;
	uint8_t *pages;

	/* The CPU came online since the last read. */
	if (!cpu->finished_row_count)
		return 0;
	bytes = whole_pages(offset - first_page +
			    cpu->finished_row_count * sizeof(struct cost_row));
	/* Pages that stay mapped would count as the agent's own memory. */
	pages = mmap(NULL, bytes, PROT_READ, MAP_SHARED,
		     bpf_map__fd(reader->skeleton->maps.cost_rows), (off_t)first_page);
	if (pages == MAP_FAILED)
		return fail_errno(-errno, "cannot map the costs of CPU %u", number);
	take_rows(reader, number, (const struct cost_row *)(pages + (offset - first_page)), sink);
	munmap(pages, bytes);
	return 0;
}

int cost_reader_read(struct cost_reader *reader, const struct cost_sink *sink)
{
	int result = follow_counters(reader), err = tick_all(reader);

	if (err)
		return err;
	wait_for_programs();
	for (uint32_t cpu = 0; cpu < reader->cpu_count; cpu++) {
		err = reader->is_online[cpu] ? read_table(reader, cpu, sink) : 0;
		result = result ? result : err;
		reader->was_online[cpu] = reader->is_online[cpu];
	}
	return result;
}
