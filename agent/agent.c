// SPDX-License-Identifier: Apache-2.0
/*
 * The wiring. struct agent has all parts in the order of their creation; agent_deinit() destroys them in the
 * opposite order. The threads are those of processes/, the ring thread that is started here, the thread that
 * waits for signals, and the caller's, which keeps the time.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/accounting.h"
#include "agent/command.h"
#include "agent/command_language.h"
#include "agent/deferred_unwinder.h"
#include "agent/destinations.h"
#include "agent/language_loading.h"
#include "agent/missed_ticks.h"
#include "agent/native_names.h"
#include "agent/option_values.h"
#include "agent/options.h"
#include "agent/privileges.h"
#include "agent/probabilistic.h"
#include "agent/process_setup.h"
#include "agent/processes/kernel_symbols.h"
#include "agent/processes/process_manager.h"
#include "agent/progress.h"
#include "agent/runtimes/elf_hosts.h"
#include "agent/runtimes/file_hosts.h"
#include "agent/runtimes/proc_hosts.h"
#include "agent/runtimes/runtime_hosts.h"
#include "agent/start_line.h"
#include "agent/start_priority.h"
#include "agent/start_warnings.h"
#include "agent/stop_signal.h"
#include "agent/tick_classes.h"
#include "agent/top/terminal_guard.h"
#include "agent/tracing/bpf_loader.h"
#include "agent/tracing/bpf_maps.h"
#include "agent/tracing/bpf_metrics.h"
#include "agent/tracing/event_reader.h"
#include "agent/tracing/perf_sampler.h"
#include "agent/tracing/side_band.h"
#include "agent/tracing/task_list.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/file_cache.h"
#include "lib/base/hash128.h"
#include "lib/base/heap.h"
#include "lib/base/launcher.h"
#include "lib/base/log.h"
#include "lib/base/text_builder.h"
#include "lib/host/proc_info.h"
#include "lib/model/metrics.h"
#include "reporter/summary.h"
#include "stackdeltas/delta_cache.h"

enum {
	DELTA_CACHE_MAX_BYTES = 512 << 20,
};

#define TICK_NS NS_PER_SECOND
#define NAMES_NS (NS_PER_SECOND / 5)
/* It reads the counts of each CPU and /proc/stat. */
#define SKIPPED_NS (10 * NS_PER_SECOND)
/*
 * How long the start line waits for the processes that run already; less with a page, at which a user is
 * looking, and with a duration, which has begun.
 */
#define LOAD_TIMEOUT_NS (10 * NS_PER_SECOND)
#define SHORT_LOAD_TIMEOUT_NS (1500 * NS_PER_MS)
#define START_LOOK_NS (20 * NS_PER_MS)
/* How long sampling waits for them. */
#define FIRST_LOAD_NS (2 * NS_PER_SECOND)
/* Time after the stop for reading the debug data of sampled binaries; then the outputs are written. */
#define NAMES_TIMEOUT_NS (3 * NS_PER_SECOND)
/* With process_manager_stop()'s 2 s and the outputs a normal stop stays under 5 s. */
#define FLUSH_TIMEOUT_NS (1 * NS_PER_SECOND)
/*
 * Time after the stop for sending the rest; the outputs are written meanwhile. Cancelling and the end of gRPC
 * take 0.3 s more at most.
 */
#define SEND_TIMEOUT_NS (4200 * NS_PER_MS)

/* Owner: the thread in agent_run(). Parts that other threads use are documented where they are passed on. */
struct agent {
	const struct options *options;
	/* NULL if no command is profiled. */
	struct command *command;
	struct terminal_guard guard;
	struct stop_signal stop;
	bool has_stop;
	struct start_priority priority;
	/* The start line was printed. */
	bool is_started;
	struct progress progress;
	struct native_names *names;
	struct destinations destinations;
	int cgroup_fd;
	struct bpf_loader *loader;
	struct language_loading languages;
	struct bpf_maps *maps;
	struct side_band *side_band;
	struct perf_sampler *sampler;
	/* NULL without -accounting. */
	struct accounting *accounting;
	struct kernel_symbols *kernel_symbols;
	struct delta_cache *delta_cache;
	struct deferred_unwinder *deferred_unwinder;
	struct runtime_hosts *runtimes;
	struct file_hosts *files;
	struct proc_hosts *proc;
	struct elf_hosts *parsers;
	struct process_manager *processes;
	struct event_reader *reader;
	struct probabilistic probabilistic;
	struct tick_clock tick_clock;
	/* When skipped ticks are counted next, for the metrics. */
	uint64_t next_skipped_ns;
	/* The time of sampling. */
	uint64_t start_ns;
	uint64_t start_realtime_ns;
	uint64_t end_ns;
	/* End of the duration, counted from the start of sampling; UINT64_MAX: there is none. */
	uint64_t deadline_ns;
};

static void agent_deinit(struct agent *agent)
{
	start_priority_end(&agent->priority);
	language_loading_stop(&agent->languages);
	tick_clock_deinit(&agent->tick_clock);
	event_reader_stop(agent->reader);
	event_reader_destroy(agent->reader);
	process_manager_destroy(agent->processes);
	deferred_unwinder_destroy(agent->deferred_unwinder);
	runtime_hosts_destroy(agent->runtimes);
	proc_hosts_destroy(agent->proc);
	delta_cache_destroy(agent->delta_cache);
	kernel_symbols_destroy(agent->kernel_symbols);
	perf_sampler_destroy(agent->sampler);
	side_band_destroy(agent->side_band);
	bpf_maps_destroy(agent->maps);
	bpf_loader_destroy(agent->loader);
	close_fd(&agent->cgroup_fd);
	destinations_deinit(&agent->destinations);
	/* The page asks for costs until here. */
	accounting_destroy(agent->accounting);
	/* A thread that is left uses it until the program ends. */
	if (native_names_destroy(agent->names))
		elf_hosts_destroy(agent->parsers);
	/* Binaries may hold files until here. */
	file_hosts_destroy(agent->files);
	if (agent->has_stop)
		stop_signal_deinit(&agent->stop);
	launcher_stop();
	terminal_guard_end(&agent->guard);
}

/* Logs the thread's last error text and returns the exit status for it. */
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

/* -EPERM means a directory that others could write to, which is a wrong option and no lack of privilege. */
static int cache_error(int error)
{
	return error == -EPERM ? -EINVAL : error;
}

/* Sets the seed of content hashes, before anything is hashed. Its file and the directory may have to be made. */
static int init_seed(const struct options *options)
{
	uint64_t seed;
	int error = options->cache_dir ? cache_error(file_cache_seed(options->cache_dir, &seed)) :
					 0;

	if (!error && options->cache_dir)
		hash128_seed_content(seed);
	return error;
}

static int init_names(struct agent *agent)
{
	return cache_error(
		native_names_create(agent->options, elf_hosts_home(agent->parsers), &agent->names));
}

static int init_destinations(struct agent *agent)
{
	return destinations_init(&agent->destinations, agent->options, agent->names, &agent->stop);
}

/* Makes the parts in user space, which need no privileges. */
static int init_user_side(struct agent *agent)
{
	const struct options *options = agent->options;
	int error;

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
	const struct cgroup_location *cgroup = agent->options->cgroup;
	const char *path = cgroup ? cgroup->path : NULL;

	if (!path)
		return 0;
	agent->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return agent->cgroup_fd < 0 ? fail_errno(-errno, "cannot open the cgroup %s", path) : 0;
}

static int init_kernel_side(struct agent *agent)
{
	const struct options *options = agent->options;
	const uint32_t command_pid = agent->command ? (uint32_t)agent->command->pid : 0;
	const struct bpf_loader_options loader_options = {
		.samples_per_second = options->samples_per_second,
		.cpu_count = sysconf(_SC_NPROCESSORS_CONF),
		.map_memory_bytes = options->max_map_memory_bytes,
		.pids = agent->command ? &command_pid : options->pids,
		.pid_count = agent->command ? 1 : options->pid_count,
		.follows_children = agent->command,
		.comms = (const char(*)[COMM_BYTES])options->comms,
		.comm_count = options->comm_count,
		.cgroup_fd = agent->cgroup_fd,
		.cgroup_controller = options->cgroup ? options->cgroup->controller : NULL,
		.has_user = options->has_user,
		.user = options->user,
		.with_task_ids = options->with_task_ids,
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

/*
 * To be called early, so that its process starts while the kernel programs are loaded; the first syncs would
 * wait for it.
 */
static int init_proc_hosts(struct agent *agent)
{
	const struct proc_hosts_options options = { .proc_root = "/proc" };

	const struct elf_hosts_options elf_options = { 0 };
	int error = proc_hosts_create(&options, &agent->proc);

	return error ? error : elf_hosts_create(&elf_options, &agent->parsers);
}

/* Only called once there are processes, since these request runtimes and files. */
static void runtimes_lost(void *context, uint32_t pid)
{
	struct agent *agent = context;

	process_manager_runtimes_lost(agent->processes, pid);
}

static void files_lost(void *context)
{
	process_manager_files_lost(((struct agent *)context)->processes);
}

static int init_hosts(struct agent *agent, uint32_t languages)
{
	const struct runtime_hosts_options options = {
		.languages = languages,
		.lost = runtimes_lost,
		.context = agent,
	};
	const struct file_hosts_options file_options = { .lost = files_lost, .context = agent };
	int error = runtime_hosts_create(&options, &agent->runtimes);

	return error ? error : file_hosts_create(&file_options, &agent->files);
}

static void runtime_found(void *context, uint32_t language)
{
	struct agent *agent = context;

	language_loading_want(&agent->languages, language);
}

/* Whether the process has one of the names that are selected. */
static bool has_selected_comm(const struct options *options, uint32_t pid)
{
	char comm[PROC_COMM_MAX_BYTES];

	if (proc_comm("/proc", (pid_t)pid, comm))
		return false;
	for (uint32_t i = 0; i < options->comm_count; i++) {
		if (!strcmp(options->comms[i], comm))
			return true;
	}
	return false;
}

/*
 * For sync_loop.h. The kernel side judges each sample; the name of a process may change. What a command starts is not known
 * by its pid.
 */
static bool is_selected(void *context, uint32_t pid, bool is_new)
{
	const struct agent *agent = context;
	const struct options *options = agent->options;

	if (agent->command)
		return true;
	if (options->pid_count && !option_list_has(options->pids, options->pid_count, pid))
		return false;
	return is_new || !options->comm_count || has_selected_comm(options, pid);
}

/* Wants the unwinders that the command will need, which is not started before they are loaded. */
static void want_languages(struct agent *agent)
{
	uint32_t languages = agent->options->tracers &
			     command_languages(agent->command->arguments[0], getenv("PATH"));

	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		if (languages & 1U << i)
			language_loading_want(&agent->languages, i);
	}
}

/* Connects the kernel side to processes/, and starts the sync of all running processes and the loading of languages. */
static int start_processes(struct agent *agent)
{
	struct process_manager_config config = {
		.writer = bpf_maps_writer(agent->maps),
		.reporter = destinations_reporter(&agent->destinations),
		.proc_root = "/proc",
		.delta_cache = agent->delta_cache,
		.kernel_symbols = agent->kernel_symbols,
		.probe = agent->options->tracers ? languages_probe : NULL,
		.copies_stacks = languages_copy_stacks,
		.languages = agent->options->tracers |
			     (agent->options->with_signatures ? LANGUAGES_WITH_SIGNATURES : 0),
		.runtime_found = runtime_found,
		.is_selected = is_selected,
		.context = agent,
		.samples_per_second = agent->options->samples_per_second,
		.fold_runtime_frames = agent->options->fold_runtime_frames,
		.copies_code = bpf_loader_uses_code_copies(agent->loader),
	};
	_cleanup_(free_pointer) struct task_snapshot *tasks = NULL;
	struct event_handler handler;
	uint32_t task_count = 0;
	int error;

	error = deferred_unwinder_create(&agent->deferred_unwinder);
	if (error)
		return error;
	config.user_unwinder = deferred_unwinder_interface(agent->deferred_unwinder);
	error = init_hosts(agent, config.languages);
	if (error)
		return error;
	config.home = runtime_hosts_home(agent->runtimes);
	config.files = file_hosts_home(agent->files);
	config.parser = elf_hosts_home(agent->parsers);
	config.reads = proc_hosts_home(agent->proc, PROC_SYNC);
	config.load_reads = proc_hosts_home(agent->proc, PROC_LOAD);
	error = process_manager_create(&config, &agent->processes);
	if (error)
		return error;
	process_manager_handler(agent->processes, &handler);
	error = event_reader_create(bpf_loader_fds(agent->loader), agent->side_band, &handler,
				    &agent->reader);
	if (error)
		return error;
	error = event_reader_start(agent->reader);
	if (error)
		return error;
	/* Nothing that runs already belongs to a command. */
	if (!agent->command)
		error = task_list_read(agent->loader, &tasks, &task_count);
	if (error)
		return error;
	/* First: the threads that start next call runtime_found(). */
	error = language_loading_start(&agent->languages, agent->loader);
	if (!error && agent->command)
		want_languages(agent);
	return error ? error : process_manager_start(agent->processes, tasks, task_count);
}

/* Whether the tables of the processes that run already are loaded, and the unwinders of their languages. */
static bool is_loaded(struct agent *agent)
{
	return !process_manager_wait_loaded(agent->processes, 0) &&
	       language_loading_is_done(&agent->languages);
}

/*
 * On an idle machine everything is loaded before the first sample. On a busy one sampling cannot wait so long,
 * and samples that need tables wait for these. But of selected processes every sample must be complete.
 */
static void wait_before_sampling(struct agent *agent)
{
	uint64_t wait_ns = options_are_selective(agent->options) ? LOAD_TIMEOUT_NS : FIRST_LOAD_NS;
	uint64_t now_ns = clock_monotonic_ns(), deadline_ns = now_ns + wait_ns;

	for (; now_ns < deadline_ns && !is_loaded(agent); now_ns = clock_monotonic_ns())
		if (stop_signal_wait(&agent->stop, now_ns + START_LOOK_NS))
			return;
}

/* Whether the wait of the start line is over. It is printed by the end of the duration. */
static bool is_start_over(struct agent *agent, uint64_t now_ns)
{
	const struct options *options = agent->options;
	uint64_t wait_ns = options_have_page(options) || options->duration_ns ?
				   SHORT_LOAD_TIMEOUT_NS :
				   LOAD_TIMEOUT_NS;

	return agent->command || now_ns >= agent->start_ns + wait_ns ||
	       now_ns >= agent->deadline_ns || is_loaded(agent);
}

/* Prints the start line when everything is loaded; returns the time of the next check. */
static uint64_t next_start_look(struct agent *agent, uint64_t now_ns)
{
	if (agent->is_started)
		return UINT64_MAX;
	agent->is_started = is_start_over(agent, now_ns);
	if (!agent->is_started)
		return now_ns + START_LOOK_NS;
	log_debug("%llu processes and %llu executables loaded in %llu ms",
		  (unsigned long long)metrics_read(METRIC_PROCESSES),
		  (unsigned long long)metrics_read(METRIC_EXECUTABLES_LOADED),
		  (unsigned long long)((now_ns - agent->start_ns) / NS_PER_MS));
	start_line_log(agent->options, &agent->destinations,
		       perf_sampler_cpu_count(agent->sampler));
	return UINT64_MAX;
}

/* Logs the @error of starting or stopping the tick clock. */
static void log_tick_clock(int error)
{
	if (error)
		log_debug("%s; ticks that no CPU took count as skipped", error_text());
}

static int stop_sampling(struct agent *agent)
{
	int error = perf_sampler_disable(agent->sampler);

	bpf_loader_stop_origins(agent->loader);
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
	bpf_loader_start_origins(agent->loader);
	log_tick_clock(tick_clock_start(&agent->tick_clock));
	return perf_sampler_enable(agent->sampler);
}

/* Updates the kernel's counters, the ages of the oldest waiting records and the lengths of queues. */
static void update_counters(struct agent *agent, uint64_t now_ns)
{
	const struct bpf_fds *fds = bpf_loader_fds(agent->loader);
	bool has_metrics = agent->destinations.metrics ||
			   agent->options->collector.metrics_interval_ns;
	uint64_t names_waiting, changes;

	process_manager_note_delays(agent->processes);
	native_names_progress(agent->names, &names_waiting, &changes);
	metrics_set(METRIC_NAMES_WAITING, names_waiting);
	if ((agent->destinations.viewer || has_metrics) && bpf_metrics_update(fds))
		log_debug("%s; the counters of page and metrics are old", error_text());
	destinations_note_update(&agent->destinations, now_ns);
	if (!has_metrics || now_ns < agent->next_skipped_ns)
		return;
	agent->next_skipped_ns = now_ns + SKIPPED_NS;
	if (tick_classes_note_skipped(fds, agent->sampler, &agent->tick_clock,
				      agent->options->samples_per_second))
		log_debug("%s; the count of skipped samples is old", error_text());
}

static int start_sampling(struct agent *agent)
{
	const struct options *options = agent->options;
	int error;

	if (options->accounting) {
		error = accounting_create(bpf_loader_config(agent->loader), options->energy_file,
					  agent->destinations.weigher, &agent->accounting);
		if (error)
			return error;
		agent->destinations.accounting = agent->accounting;
	}
	probabilistic_init(&agent->probabilistic, options->probabilistic_threshold,
			   options->probabilistic_interval_ns,
			   options->has_probabilistic_seed ? &options->probabilistic_seed : NULL);
	destinations_note_update(&agent->destinations, clock_monotonic_ns());
	error = destinations_start(&agent->destinations);
	if (error)
		return error;
	agent->start_realtime_ns = clock_realtime_ns();
	agent->start_ns = clock_monotonic_ns();
	agent->deadline_ns = options->duration_ns ? agent->start_ns + options->duration_ns :
						    UINT64_MAX;
	probabilistic_tick(&agent->probabilistic, agent->start_ns);
	log_debug("sampling begins");
	return switch_sampling(agent);
}

/* Keeps the time until the duration is over or a signal comes. */
static int keep_time(struct agent *agent)
{
	uint64_t next_tick_ns, next_names_ns, next_trim_ns, now_ns;
	int error;

	now_ns = next_tick_ns = next_trim_ns = clock_monotonic_ns();
	next_names_ns = now_ns + NAMES_NS;
	while (now_ns < agent->deadline_ns) {
		uint64_t wake_ns;

		if (probabilistic_tick(&agent->probabilistic, now_ns)) {
			error = switch_sampling(agent);
			if (error)
				return error;
		}
		wake_ns = next_start_look(agent, now_ns);
		if (now_ns >= next_tick_ns) {
			if (perf_sampler_tick(agent->sampler))
				log_warn("%s; trying again", error_text());
			update_counters(agent, now_ns);
			if (agent->is_started)
				progress_show(&agent->progress, now_ns);
			next_tick_ns = now_ns + TICK_NS;
		}
		/* This runs often, so that names are made before the files of ended programs are closed. */
		if (now_ns >= next_names_ns) {
			native_names_tick(agent->names);
			accounting_tick(agent->accounting, now_ns);
			next_names_ns = now_ns + NAMES_NS;
		}
		heap_trim(now_ns, &next_trim_ns);
		if (next_tick_ns < wake_ns)
			wake_ns = next_tick_ns;
		if (agent->deadline_ns < wake_ns)
			wake_ns = agent->deadline_ns;
		if (next_names_ns < wake_ns)
			wake_ns = next_names_ns;
		if (agent->probabilistic.next_draw_ns < wake_ns)
			wake_ns = agent->probabilistic.next_draw_ns;
		if (stop_signal_wait(&agent->stop, wake_ns))
			break;
		now_ns = clock_monotonic_ns();
	}
	if (now_ns >= agent->deadline_ns)
		next_start_look(agent, now_ns);
	return 0;
}

static int sample(struct agent *agent)
{
	int error;

	wait_before_sampling(agent);
	error = start_sampling(agent);
	start_priority_end(&agent->priority);
	if (!error && agent->command) {
		next_start_look(agent, agent->start_ns);
		command_start(agent->command);
	}
	progress_init(&agent->progress, agent->options, &agent->destinations.counter,
		      agent->start_ns);
	if (!error)
		error = keep_time(agent);
	log_show_status(NULL);
	if (!error)
		error = stop_sampling(agent);
	agent->end_ns = clock_monotonic_ns();
	accounting_finish(agent->accounting);
	return error;
}

/* Reports all remaining samples, and copies the counters to the metrics. */
static void finish_sampling(struct agent *agent)
{
	event_reader_stop(agent->reader);
	/* Samples that still wait for rows are reported without them. */
	if (process_manager_flush(agent->processes, FLUSH_TIMEOUT_NS))
		log_debug("samples: %s", error_text());
	process_manager_stop(agent->processes);
	destinations_weigh_rest(&agent->destinations);
	if (tick_classes_count(bpf_loader_fds(agent->loader), agent->sampler, &agent->tick_clock,
			       agent->options->samples_per_second))
		log_warn("%s; the summary lacks the kernel's counters", error_text());
}

/* Prints the report of -doctor. */
static int print_diagnosis(struct agent *agent)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	struct metrics_snapshot metrics;
	struct run_summary summary;
	int error;

	metrics_take_snapshot(&metrics);
	run_summary_collect(&summary, &agent->destinations.counter.totals, &metrics);
	doctor_append_kernel(&text, bpf_loader_features(agent->loader));
	accounting_append_check(bpf_loader_config(agent->loader), &text);
	doctor_append_sampling(&text, &summary);
	process_manager_list_runtimes(agent->processes, doctor_take_runtime,
				      agent->destinations.doctor);
	error = doctor_append_findings(agent->destinations.doctor, &text);
	fputs(text_builder_text(&text), stdout);
	return error;
}

static void append_summary(const struct agent *agent, struct text_builder *text)
{
	struct metrics_snapshot metrics;
	struct run_summary summary;

	metrics_take_snapshot(&metrics);
	run_summary_collect(&summary, &agent->destinations.counter.totals, &metrics);
	run_summary_append(&summary, text);
}

static void log_metrics(void)
{
	struct metrics_snapshot metrics;

	metrics_take_snapshot(&metrics);
	for (enum metric metric = 0; metric < METRIC_COUNT; metric++)
		if (metrics.values[metric])
			log_debug("%s: %llu %s", metric_describe(metric)->name,
				  (unsigned long long)metrics.values[metric],
				  metric_describe(metric)->unit);
}

/* A report has the summary itself, but not what was sent. */
static void log_summary(const struct agent *agent)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };

	log_metrics();
	if (agent->options->report && !agent->destinations.otlp)
		return;
	append_summary(agent, &text);
	destinations_append_summary(&agent->destinations, &text);
	log_info("%s", text_builder_text(&text));
}

static int report(struct agent *agent)
{
	_cleanup_(text_builder_deinit) struct text_builder subject = { 0 }, quality = { 0 };
	struct sampling_period period = {
		.start_realtime_ns = agent->start_realtime_ns,
		.start_monotonic_ns = agent->start_ns,
		.duration_ns = agent->end_ns - agent->start_ns,
	};
	int error;

	start_line_append_subject(agent->options, &subject);
	append_summary(agent, &quality);
	period.subject = text_builder_text(&subject);
	period.quality = text_builder_text(&quality);
	period.costs = accounting_table(agent->accounting);
	destinations_begin_stop(&agent->destinations, agent->end_ns + SEND_TIMEOUT_NS);
	if (agent->destinations.samples || agent->destinations.doctor)
		native_names_wait(agent->names, agent->end_ns + NAMES_TIMEOUT_NS);
	if (agent->destinations.doctor)
		return print_diagnosis(agent);
	error = destinations_finish(&agent->destinations, &period,
				    native_names_local(agent->names));
	log_summary(agent);
	return error;
}

/* To be called before any thread is started. */
static int drop_privileges(const struct options *options, int command_fd)
{
	int error = init_seed(options);

	if (!error)
		error = privileges_start_launcher(options);
	/* A command is forked already, while it could get all rights of the user. */
	return error ? error : privileges_drop(options, command_fd);
}

/* Waits for the command. Returns its status; that of the agent if it is 0. */
static int end_of_command(struct agent *agent, int status)
{
	int command_status = agent->command ? command_wait(agent->command) : 0;

	return command_status ? command_status : status;
}

int agent_run(const struct options *options, struct command *command)
{
	_cleanup_(agent_deinit) struct agent agent = {
		.options = options,
		.command = command->pid ? command : NULL,
		.cgroup_fd = -1,
	};
	static int (*const steps[])(struct agent * agent) = {
		init_proc_hosts,  init_names,	  init_destinations, open_cgroup,
		init_kernel_side, init_user_side, start_processes,
	};
	int error;

	heap_limit();
	warn_of_missing_comms(options, "/proc");
	error = process_check_descriptors();
	if (!error && options->top)
		error = terminal_guard_start(&agent.guard);
	if (!error)
		error = drop_privileges(options, command->pid_fd);
	if (!error)
		error = stop_signal_init(&agent.stop, EXIT_STATUS_FAILED, command->pid_fd);
	if (error)
		return report_failure(options, error);
	agent.has_stop = true;
	start_priority_begin(&agent.priority, START_PRIORITY_NS);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		error = steps[i](&agent);
		if (error)
			return report_failure(options, error);
	}
	error = sample(&agent);
	if (error)
		return report_failure(options, error);
	finish_sampling(&agent);
	if (agent.command && command_was_refused(agent.command)) {
		log_error("%s", error_text());
		return command_wait(agent.command);
	}
	error = report(&agent);
	return end_of_command(&agent, error ? EXIT_STATUS_FAILED : EXIT_STATUS_DONE);
}
