/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and threads. sync_loop decides about processes, sample_loop and trace_handler handle samples, and
 * load_threads read files; this file feeds them and shuts them down.
 */
#include "agent/processes/process_manager.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/executable_rows.h"
#include "agent/processes/kernel_symbols.h"
#include "agent/processes/load_threads.h"
#include "agent/processes/mapping_log.h"
#include "agent/processes/perf_maps.h"
#include "agent/processes/process.h"
#include "agent/processes/process_news.h"
#include "agent/processes/queue_delay.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/processes/runtimes/runtime_list.h"
#include "agent/processes/sample_loop.h"
#include "agent/processes/sync_loop.h"
#include "agent/processes/trace_handler.h"
#include "lib/base/bounded_queue.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/urgent_thread.h"
#include "lib/model/hanging_processes.h"
#include "lib/model/metrics.h"

enum {
	EVENTS_MAX = 1 << 14,
	EVENT_BATCH = 256,
	SYNC_BATCH = 8,
	/** A nice value, since maps of short-lived processes must be read at once. */
	SYNC_PRIORITY = -10,
};

#define POLL_NS (2 * NS_PER_MS)
/* By then the tables of all that ran at the start are made, also on a busy machine. */
#define STARTING_NS (20 * NS_PER_SECOND)
/* A queue whose oldest record waits longer is stalled. */
#define STALLED_NS (1 * NS_PER_SECOND)

struct process_manager {
	struct process_manager_config config;
	struct process_table table;
	struct mapping_log mapping_log;
	struct executable_cache *executables;
	struct perf_maps *perf_maps;
	struct load_threads loaders;
	struct sync_loop loop;
	struct process_news news;
	/** struct sync_event: from the ring, load and work threads to sync. */
	struct bounded_queue events;
	struct queue_delay event_delay;
	struct sample_loop samples;
	pthread_t sync_thread;
	pthread_t work_thread;
	bool has_sync_thread;
	bool has_work_thread;
	/** The last call of process_manager_note_delays(); 0: there was none. */
	uint64_t noted_ns;
	/** Owned; used by the sync thread once it runs. */
	struct task_snapshot *tasks;
	uint32_t task_count;

	/* Atomic: */
	bool is_stopping;
	bool has_lost_events;
	bool has_synced_tasks;
};

/* --- towards the sync thread --- */

static void drop_event(void *context, void *record, size_t bytes)
{
	struct process_manager *manager = context;
	struct sync_event *event = record;

	(void)bytes;
	queue_delay_drop(&manager->event_delay, event->queued_ns);
	if (event->type == EVENT_IDENTIFIED)
		executable_unref(manager->executables, event->identified.executable);
	if (event->type == EVENT_ATTACHED)
		process_runtime_unref(event->attached.runtime);
	if (event->type == EVENT_CODE_COPIED) {
		stack_deltas_deinit(&event->copied->deltas);
		free(event->copied);
	}
	__atomic_store_n(&manager->has_lost_events, true, __ATOMIC_RELEASE);
}

static void put_event(struct process_manager *manager, struct sync_event *event)
{
	event->queued_ns = clock_monotonic_ns();
	/* The sync thread has ended, so the event is dropped. */
	if (bounded_queue_put(&manager->events, event, sizeof(*event)))
		drop_event(manager, event, sizeof(*event));
}

static void push_event(struct process_manager *manager, struct sync_event *event)
{
	put_event(manager, event);
	bounded_queue_wake(&manager->events);
}

static void rows_loaded(void *context)
{
	struct sync_event event = { .type = EVENT_LOADED };

	push_event(context, &event);
}

static void file_identified(void *context, const struct file_request *request,
			    struct executable *executable)
{
	struct sync_event event = {
		.type = EVENT_IDENTIFIED,
		.identified = {
			.pid = request->pid,
			.identity = request->identity,
			.start = request->start,
			.inode = request->inode,
			.executable = executable,
		},
	};

	push_event(context, &event);
}

static void runtime_attached(void *context, const struct attach_answer *answer)
{
	struct sync_event event = { .type = EVENT_ATTACHED, .attached = *answer };

	push_event(context, &event);
}

/* Without memory the copy is lost, and requested again later. */
static void code_copied(void *context, const struct code_copy_answer *answer)
{
	struct sync_event event = { .type = EVENT_CODE_COPIED, .copied = malloc(sizeof(*answer)) };
	struct stack_deltas deltas = answer->deltas;

	if (!event.copied) {
		stack_deltas_deinit(&deltas);
		return;
	}
	*event.copied = *answer;
	push_event(context, &event);
}

static void code_hit(void *context, const struct trace_record *record, uint64_t address)
{
	struct sync_event event = {
		.type = EVENT_CODE_HIT,
		.code_hit = {
			.pid = record->pid,
			.identity = record->identity,
			.address = address,
			.is_changed = record->flags & RECORD_CODE_CHANGED,
		},
	};

	push_event(context, &event);
}

void process_manager_runtimes_lost(struct process_manager *manager, uint32_t pid)
{
	struct sync_event event = { .type = EVENT_RUNTIMES_LOST, .lost_pid = pid };

	push_event(manager, &event);
}

void process_manager_files_lost(struct process_manager *manager)
{
	struct sync_event event = { .type = EVENT_FILES_LOST };

	push_event(manager, &event);
}

static void request_attach(void *context, struct attach_request *request)
{
	struct process_manager *manager = context;

	load_threads_request_attach(&manager->loaders, request);
}

static void request_copy(void *context, struct code_copy_request *request)
{
	struct process_manager *manager = context;

	load_threads_request_copy(&manager->loaders, request);
}

static void request_load(void *context, uint64_t executable_id, bool is_remote)
{
	struct process_manager *manager = context;

	load_threads_request(&manager->loaders, executable_id, is_remote);
}

static void hurry(void *context, uint64_t executable_id)
{
	struct process_manager *manager = context;

	load_threads_hurry(&manager->loaders, executable_id);
}

static void request_names(void *context, uint32_t pid, const struct process_identity *identity)
{
	struct process_manager *manager = context;

	load_threads_request_names(&manager->loaders, pid, identity);
}

static void request_file(void *context, const struct process *process,
			 const struct proc_mapping *mapping)
{
	struct process_manager *manager = context;
	const struct file_request request = {
		.pid = process->pid,
		.identity = process->identity,
		.start = mapping->start,
		.inode = mapping->inode,
	};

	load_threads_request_file(&manager->loaders, &request, mapping);
}

/* --- from the ring thread --- */

/* end_news() wakes the sync thread once for all of them. */
static void queue_event(void *context, struct sync_event *event)
{
	put_event(context, event);
}

static void take_process_event(void *context, const struct process_event *process_event)
{
	struct process_manager *manager = context;

	process_news_take_process_event(&manager->news, process_event);
}

static void end_news(void *context, uint64_t until_ns)
{
	struct process_manager *manager = context;

	process_news_end(&manager->news, until_ns);
	bounded_queue_wake(&manager->events);
}

static void take_side_band(void *context, const struct side_band_event *event)
{
	struct process_manager *manager = context;
	struct kernel_symbols *symbols = manager->config.kernel_symbols;

	if (symbols && event->type == SIDE_BAND_KERNEL_CODE)
		kernel_symbols_note_loaded(symbols, event->start, event->length, event->path);
	if (symbols && event->type == SIDE_BAND_LOST)
		kernel_symbols_note_lost(symbols);
	if (event->type != SIDE_BAND_KERNEL_CODE)
		process_news_take_side_band(&manager->news, event);
}

static void take_sample(void *context, const struct trace_record *record, size_t bytes)
{
	struct process_manager *manager = context;

	sample_loop_add(&manager->samples, record, bytes);
}

void process_manager_handler(struct process_manager *manager, struct event_handler *handler)
{
	handler->context = manager;
	handler->sample = take_sample;
	handler->process_event = take_process_event;
	handler->news_end = end_news;
	handler->side_band = take_side_band;
}

/* --- from the load threads --- */

static void runtime_found(void *context, uint32_t language)
{
	const struct process_manager *manager = context;

	if (manager->config.runtime_found)
		manager->config.runtime_found(manager->config.context, language);
}

/* --- create and destroy --- */

static int init_parts(struct process_manager *manager)
{
	const struct process_manager_config *config = &manager->config;
	const struct executable_cache_config cache_config = {
		.proc_root = config->proc_root,
		.writer = config->writer,
		.delta_cache = config->delta_cache,
		.parser = config->parser,
		.cache_rows = config->user_unwinder,
		.starting_ns = STARTING_NS,
		.probe = config->probe,
		.copies_stacks = config->copies_stacks,
		.languages = config->languages,
		.runtime_found = runtime_found,
		.request_load = request_load,
		.hurry = hurry,
		.loaded = rows_loaded,
		.context = manager,
	};
	const struct perf_maps_config names_config = {
		.proc_root = config->proc_root,
		.files = config->files,
		.reads = config->load_reads,
		.request = request_names,
		.context = manager,
	};
	struct trace_handler_config handler_config = {
		.table = &manager->table,
		.reporter = config->reporter,
		.kernel_symbols = config->kernel_symbols,
		.user_unwinder = config->user_unwinder,
		.fold_runtime_frames = config->fold_runtime_frames,
		.code_hit = config->home && config->copies_code ? code_hit : NULL,
		.context = manager,
	};
	struct process_sync sync = {
		.writer = config->writer,
		.table = &manager->table,
		.mapping_log = &manager->mapping_log,
		.proc_root = config->proc_root,
		.home = config->home,
		.reads = config->reads,
		.request_file = request_file,
		.request_attach = request_attach,
		.copies.request = config->home && config->copies_code ? request_copy : NULL,
		.context = manager,
	};
	int err;

	err = bounded_queue_init_fixed(&manager->events, EVENTS_MAX, sizeof(struct sync_event),
				       drop_event, manager);
	if (!err)
		err = sample_loop_init(&manager->samples);
	if (err)
		return fail(err, "no memory for the queues of events and samples");
	err = executable_cache_create(&cache_config, &manager->executables);
	if (!err)
		err = perf_maps_create(&names_config, &manager->perf_maps);
	if (err)
		return err;
	handler_config.perf_maps = manager->perf_maps;
	manager->loaders.perf_maps = manager->perf_maps;
	handler_config.executables = manager->executables;
	sync.executables = manager->executables;
	sync_loop_init(&manager->loop, &sync, manager->config.samples_per_second);
	manager->loop.is_selected = manager->config.is_selected;
	manager->loop.context = manager->config.context;
	manager->loaders.executables = manager->executables;
	manager->loaders.proc_root = config->proc_root;
	manager->loaders.home = config->home;
	manager->loaders.files = config->files;
	manager->loaders.parser = config->parser;
	manager->loaders.identified = file_identified;
	manager->loaders.attached = runtime_attached;
	manager->loaders.copied = code_copied;
	manager->loaders.context = manager;
	err = load_threads_init(&manager->loaders);
	if (err)
		return err;
	return trace_handler_create(&handler_config, &manager->samples.handler);
}

int process_manager_create(const struct process_manager_config *config,
			   struct process_manager **manager)
{
	struct process_manager *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for the process manager");
	created->config = *config;
	created->event_delay.queue = &created->events;
	process_news_init(&created->news, &created->table, &created->mapping_log, queue_event,
			  created);
	process_table_init(&created->table);
	err = mapping_log_init(&created->mapping_log);
	if (!err)
		err = init_parts(created);
	if (err) {
		process_manager_destroy(created);
		return err;
	}
	*manager = created;
	return 0;
}

void process_manager_destroy(struct process_manager *manager)
{
	if (!manager)
		return;
	process_manager_stop(manager);
	trace_handler_destroy(manager->samples.handler);
	if (manager->loaders.remote_loads.ring)
		load_threads_deinit(&manager->loaders);
	if (manager->events.ring)
		bounded_queue_deinit(&manager->events);
	sample_loop_deinit(&manager->samples);
	if (manager->executables)
		sync_loop_deinit(&manager->loop);
	executable_cache_destroy(manager->executables);
	perf_maps_destroy(manager->perf_maps);
	process_table_deinit(&manager->table);
	mapping_log_deinit(&manager->mapping_log);
	free(manager->tasks);
	free(manager);
}

/* --- the threads --- */

static void add_tasks(struct process_manager *manager)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (uint32_t i = 0; i < manager->task_count; i++)
		sync_loop_add_task(&manager->loop, &manager->tasks[i], now_ns);
	free(manager->tasks);
	manager->tasks = NULL;
}

/* Handles queued events, or waits for the first one until @due_ns. -EPIPE at the end. */
static int take_events(struct process_manager *manager, uint64_t due_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	int64_t timeout_ns = due_ns > now_ns ? (int64_t)(due_ns - now_ns) : 0;
	struct sync_event event;
	int err;

	err = bounded_queue_pop(&manager->events, &event, NULL, timeout_ns);
	for (uint32_t i = 0; !err && i < EVENT_BATCH; i++) {
		queue_delay_begin(&manager->event_delay, event.queued_ns);
		sync_loop_handle(&manager->loop, &event, clock_monotonic_ns());
		err = bounded_queue_pop(&manager->events, &event, NULL, 0);
	}
	return err == -EPIPE ? err : 0;
}

/* Returns the time of the next work that needs no event. If it is past, that work counts as the oldest waiting. */
static uint64_t note_due(struct process_manager *manager)
{
	uint64_t due_ns = sync_loop_next_due(&manager->loop);

	if (due_ns <= clock_monotonic_ns())
		queue_delay_begin(&manager->event_delay, due_ns);
	else
		queue_delay_end(&manager->event_delay);
	return due_ns;
}

static void recover_lost_events(struct process_manager *manager)
{
	static struct log_limit limit = { .interval_ns = 10 * NS_PER_SECOND, .burst = 1 };
	const struct sync_event lost = { .type = EVENT_LOST };
	const struct sync_event loaded = { .type = EVENT_LOADED };
	const struct sync_event runtimes = { .type = EVENT_RUNTIMES_LOST };
	const struct sync_event files = { .type = EVENT_FILES_LOST };
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t suppressed;

	if (!__atomic_exchange_n(&manager->has_lost_events, false, __ATOMIC_ACQ_REL))
		return;
	if (log_limit_allow(&limit, now_ns, &suppressed))
		log_warn("process event queue overflowed; rescanning all processes");
	sync_loop_handle(&manager->loop, &lost, now_ns);
	sync_loop_handle(&manager->loop, &loaded, now_ns);
	sync_loop_handle(&manager->loop, &runtimes, now_ns);
	sync_loop_handle(&manager->loop, &files, now_ns);
}

static void *run_sync(void *context)
{
	struct process_manager *manager = context;
	struct urgent_thread urgency;

	pthread_setname_np(pthread_self(), "sync");
	urgent_thread_init(&urgency, SYNC_PRIORITY);
	add_tasks(manager);
	while (!__atomic_load_n(&manager->is_stopping, __ATOMIC_ACQUIRE)) {
		if (take_events(manager, note_due(manager)))
			break;
		note_due(manager);
		recover_lost_events(manager);
		for (uint32_t i = 0;
		     i < SYNC_BATCH && !__atomic_load_n(&manager->is_stopping, __ATOMIC_ACQUIRE);
		     i++) {
			/* One sync may read many files. */
			urgent_thread_tick(&urgency);
			if (!sync_loop_run_due(&manager->loop, clock_monotonic_ns(), 1))
				break;
		}
		sync_loop_tick(&manager->loop, clock_monotonic_ns());
		if (!sync_loop_pending_count(&manager->loop))
			__atomic_store_n(&manager->has_synced_tasks, true, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *run_work(void *context)
{
	struct process_manager *manager = context;

	pthread_setname_np(pthread_self(), "work");
	sample_loop_run(&manager->samples);
	return NULL;
}

static int start_threads(struct process_manager *manager)
{
	int err = load_threads_start(&manager->loaders);

	if (err)
		return err;
	err = pthread_create(&manager->sync_thread, NULL, run_sync, manager);
	if (err)
		return fail_errno(-err, "cannot start the thread sync");
	manager->has_sync_thread = true;
	err = pthread_create(&manager->work_thread, NULL, run_work, manager);
	if (err)
		return fail_errno(-err, "cannot start the thread work");
	manager->has_work_thread = true;
	return 0;
}

int process_manager_start(struct process_manager *manager, const struct task_snapshot *tasks,
			  uint32_t task_count)
{
	sigset_t all, before;
	int err;

	manager->tasks = calloc(task_count + 1, sizeof(*tasks));
	if (!manager->tasks)
		return fail(-ENOMEM, "no memory for the list of processes");
	if (task_count)
		memcpy(manager->tasks, tasks, task_count * sizeof(*tasks));
	manager->task_count = task_count;
	/* Only the main thread handles signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = start_threads(manager);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		process_manager_stop(manager);
	return err;
}

static int poll_until(struct process_manager *manager, uint64_t timeout_ns,
		      bool (*is_done)(struct process_manager *manager, uint64_t mark),
		      uint64_t mark)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t end_ns = clock_monotonic_ns() + timeout_ns;

	while (!is_done(manager, mark)) {
		if (clock_monotonic_ns() >= end_ns)
			return fail(-EAGAIN, "not done after %g s",
				    (double)timeout_ns / NS_PER_SECOND);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static bool is_loaded(struct process_manager *manager, uint64_t mark)
{
	(void)mark;
	/* The order matters: each step starts the next one before it counts as finished. */
	return __atomic_load_n(&manager->has_synced_tasks, __ATOMIC_ACQUIRE) &&
	       !executable_rows_loading_count(manager->executables) &&
	       !executable_runtime_has_news(manager->executables) &&
	       !attachments_are_pending(&manager->loop.sync.attachments);
}

int process_manager_wait_loaded(struct process_manager *manager, uint64_t timeout_ns)
{
	return poll_until(manager, timeout_ns, is_loaded, 0);
}

static bool is_flushed(struct process_manager *manager, uint64_t mark)
{
	return sample_loop_has_done(&manager->samples, mark);
}

int process_manager_flush(struct process_manager *manager, uint64_t timeout_ns)
{
	/* Programs that are gone need not wait for further events. */
	mapping_log_note_heard(&manager->mapping_log, UINT64_MAX);
	return poll_until(manager, timeout_ns, is_flushed, sample_loop_count(&manager->samples));
}

static void note_queues(struct process_manager *manager)
{
	metrics_set(METRIC_SAMPLES_WAITING, bounded_queue_count(&manager->samples.queue));
	metrics_set(METRIC_EVENTS_WAITING, bounded_queue_count(&manager->events));
	metrics_set(METRIC_LOADS_WAITING, load_threads_waiting(&manager->loaders));
}

void process_manager_note_delays(struct process_manager *manager)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t sample_ns = queue_delay_age(&manager->samples.delay, now_ns);
	uint64_t event_ns = queue_delay_age(&manager->event_delay, now_ns);
	uint64_t oldest_ns = sample_ns > event_ns ? sample_ns : event_ns;
	uint32_t pids[HANGING_PROCESSES_MAX];

	metrics_set(METRIC_PROCESSES_HANGING, hanging_processes_list(now_ns, pids));
	metrics_set(METRIC_OLDEST_SAMPLE_AGE, sample_ns / NS_PER_MS);
	metrics_set(METRIC_OLDEST_EVENT_AGE, event_ns / NS_PER_MS);
	if (manager->noted_ns)
		metrics_add(METRIC_STALLED,
			    queue_delay_stalled(oldest_ns, STALLED_NS, manager->noted_ns, now_ns) /
				    NS_PER_MS);
	manager->noted_ns = now_ns;
	note_queues(manager);
}

void process_manager_list_runtimes(const struct process_manager *manager,
				   void (*take)(void *context,
						const struct listed_runtime *runtime),
				   void *context)
{
	runtime_list(&manager->table, take, context);
}

void process_manager_stop(struct process_manager *manager)
{
	__atomic_store_n(&manager->is_stopping, true, __ATOMIC_RELEASE);
	/* From now on neither sync nor the load threads wait for other processes. */
	if (manager->loop.sync.reads)
		manager->loop.sync.reads->ops->stop(manager->loop.sync.reads);
	if (manager->loaders.home)
		manager->loaders.home->ops->stop_attaching(manager->loaders.home);
	if (manager->loaders.files)
		manager->loaders.files->ops->stop(manager->loaders.files);
	if (manager->config.parser)
		manager->config.parser->ops->stop(manager->config.parser);
	if (manager->events.ring)
		bounded_queue_close(&manager->events);
	sample_loop_stop(&manager->samples);
	if (manager->has_sync_thread)
		pthread_join(manager->sync_thread, NULL);
	if (manager->has_work_thread)
		pthread_join(manager->work_thread, NULL);
	if (manager->has_work_thread)
		sample_loop_drop_rest(&manager->samples);
	manager->has_sync_thread = false;
	manager->has_work_thread = false;
	if (manager->loaders.remote_loads.ring)
		load_threads_stop(&manager->loaders);
}
