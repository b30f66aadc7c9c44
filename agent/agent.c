// SPDX-License-Identifier: Apache-2.0
/*
 * The wiring. struct agent holds every part in the order in which they are made; agent_deinit()
 * takes them down in the opposite one. The threads are those of processes/, the ring thread that
 * is started here, the one that waits for signals, and the caller's, which keeps the time.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/file_cache.h"
#include "agent/base/hash128.h"
#include "agent/base/heap.h"
#include "agent/base/log.h"
#include "agent/base/metrics.h"
#include "agent/base/text_builder.h"
#include "agent/destinations.h"
#include "agent/first_walk.h"
#include "agent/host/kernel_symbols.h"
#include "agent/missed_ticks.h"
#include "agent/native_names.h"
#include "agent/options.h"
#include "agent/probabilistic.h"
#include "agent/processes/process_manager.h"
#include "agent/stop_signal.h"
#include "agent/tracing/bpf_loader.h"
#include "agent/tracing/bpf_maps.h"
#include "agent/tracing/bpf_metrics.h"
#include "agent/tracing/event_reader.h"
#include "agent/tracing/perf_sampler.h"
#include "agent/tracing/side_band.h"
#include "agent/tracing/task_list.h"
#include "interpreters/registry.h"
#include "reporter/summary.h"
#include "stackdeltas/delta_cache.h"

enum {
	DELTA_CACHE_MAX_BYTES = 512 << 20,
	OPEN_FILES_WANTED = 1 << 16,
};

#define TICK_NS NS_PER_SECOND
/* While somebody may wait for the first names. */
#define EARLY_NS (3 * NS_PER_SECOND)
#define EARLY_NOTICE_NS (NS_PER_SECOND / 5)
/* How long the first sample waits for the processes that run already: less where somebody looks on. */
#define LOAD_TIMEOUT_NS (10 * NS_PER_SECOND)
#define PAGE_LOAD_TIMEOUT_NS (1500 * NS_PER_MS)
/* From the stop on, for the debug data of what was sampled; then the outputs are written. */
#define NAMES_TIMEOUT_NS (3 * NS_PER_SECOND)
/* With process_manager_stop()'s 2 s and the outputs a normal stop stays under 5 s. */
#define FLUSH_TIMEOUT_NS (1 * NS_PER_SECOND)
/*
 * From the stop on, for all that is still to be sent; the outputs are written meanwhile. What is cancelled then, and
 * the end of gRPC, take 0.3 s more at most.
 */
#define SEND_TIMEOUT_NS (4200 * NS_PER_MS)

/* Owner: the thread in agent_run(); what others use is said where they are handed it. */
struct agent {
	const struct options *options;
	struct stop_signal stop;
	bool has_stop;
	struct native_names *names;
	struct destinations destinations;
	int cgroup_fd;
	struct bpf_loader *loader;
	struct bpf_maps *maps;
	struct side_band *side_band;
	struct perf_sampler *sampler;
	struct kernel_symbols *kernel_symbols;
	struct delta_cache *delta_cache;
	struct first_walk *first_walk;
	struct process_manager *processes;
	struct event_reader *reader;
	pthread_t ring_thread;
	bool has_ring_thread;
	struct probabilistic probabilistic;
	struct tick_clock tick_clock;
	/* Of sampling, the wait for the first tables left out. */
	uint64_t start_ns;
	uint64_t start_realtime_ns;
	uint64_t end_ns;
};

static void *run_ring_thread(void *argument)
{
	struct event_reader *reader = argument;

	pthread_setname_np(pthread_self(), "ring");
	if (event_reader_run(reader))
		log_error("%s; samples are lost from here on", error_text());
	return NULL;
}

static void stop_ring_thread(struct agent *agent)
{
	if (!agent->has_ring_thread)
		return;
	event_reader_stop(agent->reader);
	pthread_join(agent->ring_thread, NULL);
	agent->has_ring_thread = false;
}

static void agent_deinit(struct agent *agent)
{
	bool uses_delta_cache;

	tick_clock_deinit(&agent->tick_clock);
	stop_ring_thread(agent);
	event_reader_destroy(agent->reader);
	uses_delta_cache = !process_manager_destroy(agent->processes);
	first_walk_destroy(agent->first_walk);
	if (!uses_delta_cache)
		delta_cache_destroy(agent->delta_cache);
	kernel_symbols_destroy(agent->kernel_symbols);
	perf_sampler_destroy(agent->sampler);
	side_band_destroy(agent->side_band);
	bpf_maps_destroy(agent->maps);
	bpf_loader_destroy(agent->loader);
	close_fd(&agent->cgroup_fd);
	destinations_deinit(&agent->destinations);
	native_names_destroy(agent->names);
	if (agent->has_stop)
		stop_signal_deinit(&agent->stop);
}

/* Logs the thread's last error text and says with which status that ends the agent. */
static int report_failure(const struct options *options, int error)
{
	if (options->doctor)
		doctor_print_failure();
	log_error("%s", error_text());
	switch (error) {
	case -EPERM:
	case -EOPNOTSUPP:
		return EXIT_STATUS_UNSUPPORTED;
	case -EINVAL:
		return EXIT_STATUS_USAGE;
	default:
		return EXIT_STATUS_FAILED;
	}
}

/* Each executable keeps a descriptor, so that files deleted meanwhile still have names. */
static void raise_open_files_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= OPEN_FILES_WANTED)
		return;
	limit.rlim_cur = limit.rlim_max < OPEN_FILES_WANTED ? limit.rlim_max : OPEN_FILES_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_debug("cannot raise the limit of open files; staying with the present one");
}

/* A directory that others could write to is a wrong one, no lack of privilege. */
static int cache_error(int error)
{
	return error == -EPERM ? -EINVAL : error;
}

/* Before anything is hashed. */
static int init_seed(struct agent *agent)
{
	uint64_t seed;
	int error = agent->options->cache_dir ?
			    cache_error(file_cache_seed(agent->options->cache_dir, &seed)) :
			    0;

	if (!error && agent->options->cache_dir)
		hash128_seed_content(seed);
	return error;
}

static int init_names(struct agent *agent)
{
	return cache_error(native_names_create(agent->options, &agent->names));
}

static int init_destinations(struct agent *agent)
{
	return destinations_init(&agent->destinations, agent->options, agent->names);
}

/* What user space needs; nothing here wants privileges. */
static int init_user_side(struct agent *agent)
{
	const struct options *options = agent->options;
	int error;

	raise_open_files_limit();
	error = kernel_symbols_create(&agent->kernel_symbols, "/proc", "/sys");
	if (error)
		log_warn("%s; kernel frames will have no names", error_text());
	return options->cache_dir ?
		       cache_error(delta_cache_create(options->cache_dir, DELTA_CACHE_MAX_BYTES,
						      &agent->delta_cache)) :
		       0;
}

static int open_cgroup(struct agent *agent)
{
	const char *path = agent->options->cgroup;

	if (!path)
		return 0;
	agent->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return agent->cgroup_fd < 0 ? fail_errno(-errno, "cannot open the cgroup %s", path) : 0;
}

static int init_kernel_side(struct agent *agent)
{
	const struct options *options = agent->options;
	const struct bpf_loader_options loader_options = {
		.samples_per_second = options->samples_per_second,
		.cpu_count = sysconf(_SC_NPROCESSORS_CONF),
		.map_memory_bytes = options->max_map_memory_bytes,
		.pids = options->pids,
		.pid_count = options->pid_count,
		.comm = options->comm[0] ? options->comm : NULL,
		.cgroup_fd = agent->cgroup_fd,
		.with_goroutine_id = options->with_goroutine_id,
	};
	struct perf_sampler_options sampler_options = {
		.samples_per_second = options->samples_per_second,
		.cpus = options->cpus,
		.cpu_count = options->cpu_count,
	};
	int error, cpu_count;

	error = bpf_loader_create(&loader_options, &agent->loader);
	if (error)
		return error;
	error = bpf_maps_create(bpf_loader_fds(agent->loader), &agent->maps);
	if (error)
		return error;
	error = side_band_create(&agent->side_band);
	if (error)
		return error;
	sampler_options.program_fd = bpf_loader_fds(agent->loader)->sample_entry;
	error = perf_sampler_create(&sampler_options, &agent->sampler);
	if (error)
		return error;
	cpu_count = bpf_metrics_cpu_count();
	return cpu_count < 0 ? cpu_count :
			       tick_clock_init(&agent->tick_clock, "/proc", (uint32_t)cpu_count);
}

/* Connects the kernel side to processes/ and has all running processes read. */
static int start_processes(struct agent *agent)
{
	struct process_manager_config config = {
		.writer = bpf_maps_writer(agent->maps),
		.reporter = destinations_reporter(&agent->destinations),
		.proc_root = "/proc",
		.delta_cache = agent->delta_cache,
		.kernel_symbols = agent->kernel_symbols,
		.probe = agent->options->tracers ? interpreters_probe : NULL,
		.languages = agent->options->tracers |
			     (agent->options->with_signatures ? INTERPRETERS_WITH_SIGNATURES : 0),
		.fold_runtime_frames = agent->options->fold_runtime_frames,
	};
	_cleanup_(free_pointer) struct task_snapshot *tasks = NULL;
	struct event_handler handler;
	uint32_t task_count;
	int error;

	error = first_walk_create(&agent->first_walk);
	if (error)
		return error;
	config.first_unwinder = first_walk_unwinder(agent->first_walk);
	error = process_manager_create(&config, &agent->processes);
	if (error)
		return error;
	process_manager_handler(agent->processes, &handler);
	error = event_reader_create(bpf_loader_fds(agent->loader), agent->side_band, &handler,
				    &agent->reader);
	if (error)
		return error;
	error = pthread_create(&agent->ring_thread, NULL, run_ring_thread, agent->reader);
	if (error)
		return fail_errno(-error, "cannot start the ring thread");
	agent->has_ring_thread = true;
	error = task_list_read(agent->loader, &tasks, &task_count);
	if (error)
		return error;
	return process_manager_start(agent->processes, tasks, task_count);
}

/* True as soon as a signal to stop has come; waits for one until @deadline_ns. */
static bool wait_for_stop(struct agent *agent, uint64_t deadline_ns)
{
	struct pollfd poll_fd = { .fd = agent->stop.fd, .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	struct timespec timeout = {
		.tv_sec = left_ns / NS_PER_SECOND,
		.tv_nsec = left_ns % NS_PER_SECOND,
	};

	return ppoll(&poll_fd, 1, &timeout, NULL) > 0;
}

/* Waits for the tables of the processes that run already, but not for ever. */
static bool wait_until_loaded(struct agent *agent)
{
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t deadline_ns =
		begin_ns +
		(options_have_page(agent->options) ? PAGE_LOAD_TIMEOUT_NS : LOAD_TIMEOUT_NS);
	bool is_stopped = false;

	while (!is_stopped && clock_monotonic_ns() < deadline_ns) {
		if (!process_manager_wait_loaded(agent->processes, 50 * NS_PER_MS))
			break;
		is_stopped = wait_for_stop(agent, 0);
	}
	log_debug("%llu processes and %llu executables loaded in %llu ms",
		  (unsigned long long)metrics_read(METRIC_PROCESSES),
		  (unsigned long long)metrics_read(METRIC_EXECUTABLES_LOADED),
		  (unsigned long long)((clock_monotonic_ns() - begin_ns) / NS_PER_MS));
	return !is_stopped;
}

static void log_start(const struct agent *agent)
{
	const struct options *options = agent->options;
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	uint32_t cpu_count = perf_sampler_cpu_count(agent->sampler);

	text_builder_format(&text, "sampling %s on %u CPU%s %u times a second",
			    options->pid_count || options->comm[0] || options->cgroup ?
				    "the selected processes" :
				    "all processes",
			    cpu_count, cpu_count == 1 ? "" : "s", options->samples_per_second);
	if (options->duration_ns)
		text_builder_format(&text, " for %g s",
				    (double)options->duration_ns / NS_PER_SECOND);
	text_builder_format(&text, " to ");
	destinations_describe(&agent->destinations, &text);
	text_builder_format(&text, "; Ctrl-C or SIGTERM stops");
	log_info("%s", text_builder_text(&text));
}

/* @error of starting or stopping the clock of ticks. */
static void log_tick_clock(int error)
{
	if (error)
		log_debug("%s; ticks that no CPU took count as skipped", error_text());
}

static int stop_sampling(struct agent *agent)
{
	int error = perf_sampler_disable(agent->sampler);

	log_tick_clock(tick_clock_stop(&agent->tick_clock));
	return error;
}

static int switch_sampling(struct agent *agent)
{
	bool is_on = agent->probabilistic.is_on;

	if (agent->options->probabilistic_threshold < 100)
		log_info("probabilistic profiling: sampling is %s for this interval",
			 is_on ? "on" : "off");
	if (!is_on)
		return stop_sampling(agent);
	log_tick_clock(tick_clock_start(&agent->tick_clock));
	return perf_sampler_enable(agent->sampler);
}

static void notice_binaries(struct agent *agent)
{
	destinations_notice(&agent->destinations, agent->names);
}

/* What the page says of the kernel's counters. */
static void update_counters(const struct agent *agent)
{
	if (agent->destinations.viewer && bpf_metrics_update(bpf_loader_fds(agent->loader)))
		log_debug("%s; the page's counters are old", error_text());
}

/* What runs already has names at a page's first look: often at first, then with each tick. */
static uint64_t next_early_notice(struct agent *agent, uint64_t now_ns)
{
	if (!agent->destinations.viewer || now_ns - agent->start_ns >= EARLY_NS)
		return UINT64_MAX;
	notice_binaries(agent);
	return now_ns + EARLY_NOTICE_NS;
}

/* Keeps the time until the duration is over or a signal comes. */
static int sample(struct agent *agent)
{
	const struct options *options = agent->options;
	uint64_t next_tick_ns, next_notice_ns, next_trim_ns, deadline_ns, now_ns;
	int error;

	probabilistic_init(&agent->probabilistic, options->probabilistic_threshold,
			   options->probabilistic_interval_ns,
			   options->has_probabilistic_seed ? &options->probabilistic_seed : NULL);
	error = destinations_start(&agent->destinations);
	if (error)
		return error;
	agent->start_realtime_ns = clock_realtime_ns();
	agent->start_ns = now_ns = next_tick_ns = next_trim_ns = clock_monotonic_ns();
	next_notice_ns = now_ns + EARLY_NOTICE_NS;
	deadline_ns = options->duration_ns ? now_ns + options->duration_ns : UINT64_MAX;
	while (now_ns < deadline_ns) {
		uint64_t wake_ns;

		if (probabilistic_tick(&agent->probabilistic, now_ns)) {
			error = switch_sampling(agent);
			if (error)
				return error;
		}
		if (now_ns >= next_tick_ns) {
			if (perf_sampler_tick(agent->sampler))
				log_warn("%s; trying again", error_text());
			notice_binaries(agent);
			update_counters(agent);
			next_tick_ns = now_ns + TICK_NS;
		} else if (now_ns >= next_notice_ns) {
			next_notice_ns = next_early_notice(agent, now_ns);
		}
		heap_trim(now_ns, &next_trim_ns);
		wake_ns = next_tick_ns < deadline_ns ? next_tick_ns : deadline_ns;
		if (next_notice_ns < wake_ns)
			wake_ns = next_notice_ns;
		if (agent->probabilistic.next_draw_ns < wake_ns)
			wake_ns = agent->probabilistic.next_draw_ns;
		if (wait_for_stop(agent, wake_ns))
			break;
		now_ns = clock_monotonic_ns();
	}
	error = stop_sampling(agent);
	agent->end_ns = clock_monotonic_ns();
	return error;
}

static int count_missed_ticks(struct agent *agent)
{
	const struct bpf_fds *fds = bpf_loader_fds(agent->loader);
	uint32_t cpu_count = agent->tick_clock.cpu_count;
	_cleanup_(free_pointer) uint64_t *ticks = calloc(cpu_count, sizeof(*ticks));
	_cleanup_(free_pointer) uint64_t *runs = calloc(cpu_count, sizeof(*runs));
	_cleanup_(free_pointer) uint64_t *idle_runs = calloc(cpu_count, sizeof(*idle_runs));
	struct missed_ticks missed = { 0 };
	int error;

	if (!ticks || !runs || !idle_runs)
		return fail(-ENOMEM, "no memory for the ticks of %u CPUs", cpu_count);
	error = bpf_metrics_read_cpus(fds, COUNTER_RUNS, runs);
	if (!error)
		error = bpf_metrics_read_cpus(fds, COUNTER_IDLE, idle_runs);
	if (error)
		return error;
	perf_sampler_read_ticks(agent->sampler, ticks, cpu_count);
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		const struct cpu_ticks cpu_ticks = { ticks[cpu], runs[cpu], idle_runs[cpu] };

		missed_ticks_add(&missed, &cpu_ticks, &agent->tick_clock.total[cpu],
				 agent->options->samples_per_second);
	}
	metrics_set(METRIC_IDLE_UNSEEN, missed.idle);
	metrics_set(METRIC_TICKS_STOLEN, missed.stolen);
	metrics_set(METRIC_SAMPLES_SKIPPED, missed.skipped);
	return 0;
}

/* Brings everything that was sampled into the store, and the counters into the metrics. */
static void finish_sampling(struct agent *agent)
{
	stop_ring_thread(agent);
	if (process_manager_flush(agent->processes, FLUSH_TIMEOUT_NS))
		log_warn("samples were still being converted after %g s; they are dropped",
			 (double)FLUSH_TIMEOUT_NS / NS_PER_SECOND);
	process_manager_stop(agent->processes);
	if (bpf_metrics_update(bpf_loader_fds(agent->loader)) || count_missed_ticks(agent))
		log_warn("%s; the summary lacks the kernel's counters", error_text());
}

/* What -doctor says. */
static int print_diagnosis(struct agent *agent)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	struct metrics_snapshot metrics;
	struct run_summary summary;
	int error;

	metrics_take_snapshot(&metrics);
	run_summary_collect(&summary, &agent->destinations.counter.totals, &metrics);
	doctor_append_kernel(&text, bpf_loader_features(agent->loader));
	doctor_append_sampling(&text, &summary);
	process_manager_list_runtimes(agent->processes, doctor_take_runtime,
				      agent->destinations.doctor);
	error = doctor_append_findings(agent->destinations.doctor, &text);
	fputs(text_builder_text(&text), stdout);
	return error;
}

static void log_summary(const struct agent *agent)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	struct metrics_snapshot metrics;
	struct run_summary summary;

	metrics_take_snapshot(&metrics);
	for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
		if (metrics.values[metric])
			log_debug("%s: %llu %s", metric_describe(metric)->name,
				  (unsigned long long)metrics.values[metric],
				  metric_describe(metric)->unit);
	run_summary_collect(&summary, &agent->destinations.counter.totals, &metrics);
	run_summary_append(&summary, &text);
	destinations_append_summary(&agent->destinations, &text);
	log_info("%s", text_builder_text(&text));
}

static int report(struct agent *agent)
{
	const struct sampling_period period = {
		.start_realtime_ns = agent->start_realtime_ns,
		.start_monotonic_ns = agent->start_ns,
		.duration_ns = agent->end_ns - agent->start_ns,
	};
	int error;

	destinations_begin_stop(&agent->destinations, agent->end_ns + SEND_TIMEOUT_NS);
	if (agent->destinations.samples || agent->destinations.doctor) {
		notice_binaries(agent);
		native_names_wait(agent->names, agent->end_ns + NAMES_TIMEOUT_NS);
	}
	if (agent->destinations.doctor)
		return print_diagnosis(agent);
	error = destinations_finish(&agent->destinations, &period,
				    native_names_local(agent->names));
	log_summary(agent);
	return error;
}

int agent_run(const struct options *options)
{
	_cleanup_(agent_deinit) struct agent agent = { .options = options, .cgroup_fd = -1 };
	static int (*const steps[])(struct agent * agent) = {
		init_seed,	  init_names,	  init_destinations, open_cgroup,
		init_kernel_side, init_user_side, start_processes,
	};
	int error;

	heap_limit();
	/* A reader of -output - that went away is an error of that output, not our end. */
	signal(SIGPIPE, SIG_IGN);
	error = stop_signal_init(&agent.stop, EXIT_STATUS_FAILED);

	if (error)
		return report_failure(options, error);
	agent.has_stop = true;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		error = steps[i](&agent);
		if (error)
			return report_failure(options, error);
	}
	if (!wait_until_loaded(&agent))
		return EXIT_STATUS_DONE;
	log_start(&agent);
	error = sample(&agent);
	if (error)
		return report_failure(options, error);
	finish_sampling(&agent);
	error = report(&agent);
	return error ? EXIT_STATUS_FAILED : EXIT_STATUS_DONE;
}
