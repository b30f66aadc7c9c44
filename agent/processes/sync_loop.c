/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of the sync thread. Processes can cause any number of events. The work for one process is
 * limited (its syncs get a share of a CPU, and pauses grow), and so is the work for all together.
 */
#include "agent/processes/sync_loop.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/processes/executable_rows.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "lib/base/log.h"
#include "lib/base/vector.h"
#include "lib/host/proc_info.h"
#include "lib/model/metrics.h"

enum {
	/** Ended ones included. */
	TABLE_MAX_PROCESSES = 2 * PROCESS_MAX_COUNT,
	/** Programs of one pid that ended one after the other and are still remembered. */
	OLDER_MAX_COUNT = 16,
	/**
	 * Limits of the CPU time for one process, as one in so many: if samples hit unknown addresses; if it
	 * makes new mappings that were not sampled; and if it replaces files at the given rate per second.
	 */
	SYNC_SHARE = 10,
	MAPPING_SHARE = 25,
	REPLACED_SHARE = 2,
	REPLACED_MAX_COUNT = 32,
	/** Limit of the factor by which pauses are lengthened when all syncs together cost too much. */
	PAUSE_MAX_PERCENT = 100 * 100,
	/** Interval, in ticks, at which every process is checked in /proc. */
	SEARCH_TICKS = 16,
};

#define TICK_NS NS_PER_SECOND
#define WAIT_RETIRED_NS (10 * NS_PER_SECOND)
/* Late samples of a process may still need its entry. */
#define RETIRE_DELAY_NS (500 * NS_PER_MS)
/* The delay until an exec is known is at most this long; maps read just before may be the new program's. */
#define DOUBT_NS (500 * NS_PER_MS)
#define REARM_MIN_NS (100 * NS_PER_MS)
#define REARM_MAX_NS (10 * NS_PER_SECOND)
#define RETRY_NS NS_PER_SECOND
/* A process event about a missing entry may have been sent just before the entry was made. */
#define REPUBLISH_NS (50 * NS_PER_MS)
#define PUBLISH_RETRY_NS (20 * NS_PER_MS)
#define PUBLISH_GIVE_UP_NS NS_PER_SECOND
/* Events of a process that is gone come with the next reading of the rings. */
#define GONE_RETRY_NS (50 * NS_PER_MS)
/* Delay until text that may be a copy is compared again, which doubles each time, and the number of times. */
#define DOUBT_RETRY_NS (100 * NS_PER_MS)
#define DOUBT_MAX_COUNT 8
#define SYNC_DELAY_MAX_NS (10 * NS_PER_SECOND)
/* Repeated losses of events must not cause repeated reads of all maps. */
#define EVERYTHING_PAUSE_NS (100 * NS_PER_MS)

VECTOR_DEFINE(process_vector, struct process *)

uint64_t sync_loop_exec_delay(uint32_t samples_per_second)
{
	uint64_t period_ns = NS_PER_SECOND / (samples_per_second ? samples_per_second : 1);

	if (period_ns < EXEC_DELAY_MIN_NS)
		return EXEC_DELAY_MIN_NS;
	return period_ns < EXEC_DELAY_MAX_NS ? period_ns : EXEC_DELAY_MAX_NS;
}

void sync_loop_init(struct sync_loop *loop, const struct process_sync *sync,
		    uint32_t samples_per_second)
{
	*loop = (struct sync_loop){
		.sync = *sync,
		.exec_delay_ns = sync_loop_exec_delay(samples_per_second),
		.pause_percent = 100,
	};
	process_sync_init(&loop->sync);
}

/* Lists all processes, including ended ones; the caller deinits the list. Without memory some are left out. */
static void list_processes(struct sync_loop *loop, struct process_vector *list)
{
	struct process_table *table = loop->sync.table;
	size_t cursor = 0;
	uint64_t value;

	pthread_mutex_lock(&table->lock);
	while (hash_map_next(&table->processes, &cursor, NULL, &value))
		for (struct process *process = (void *)(uintptr_t)value; process;
		     process = process->older)
			process_vector_push(list, process);
	pthread_mutex_unlock(&table->lock);
}

static void remove_process(struct sync_loop *loop, struct process *process)
{
	process_sync_release(&loop->sync, process);
	process_table_remove(loop->sync.table, process);
}

void sync_loop_deinit(struct sync_loop *loop)
{
	struct process_vector all = { 0 };

	list_processes(loop, &all);
	for (size_t i = 0; i < all.count; i++)
		remove_process(loop, all.items[i]);
	process_vector_deinit(&all);
	sync_schedule_deinit(&loop->schedule);
	sync_schedule_deinit(&loop->rearm);
	process_sync_deinit(&loop->sync);
}

static void schedule(struct sync_loop *loop, uint32_t pid, uint32_t reasons, uint64_t due_ns)
{
	const struct scheduled_sync request = {
		.pid = pid,
		.reasons = reasons,
		.due_ns = due_ns,
		.touched_start = UINT64_MAX,
	};

	/* Without memory the process stays as it is; its next event asks again. */
	sync_schedule_add(reasons == SYNC_REARM ? &loop->rearm : &loop->schedule, &request);
}

/* Removes ended processes and, if that is not enough, those that were needed longest ago. */
static void make_room(struct sync_loop *loop)
{
	struct process_vector all = { 0 };
	struct process *least = NULL;
	size_t removed = 0;

	list_processes(loop, &all);
	for (size_t i = 0; i < all.count; i++) {
		struct process *process = all.items[i];

		if (process->ended_ns) {
			remove_process(loop, process);
			removed++;
		} else if (!least || process->last_sample_ns < least->last_sample_ns) {
			least = process;
		}
	}
	if (!removed && least)
		remove_process(loop, least);
	process_vector_deinit(&all);
}

/* Notes the end of the program before @process in its pid. */
static void end_older(struct sync_loop *loop, struct process *process, uint64_t now_ns)
{
	struct process *older = process->older;
	uint32_t count = 0;

	if (!older)
		return;
	process_sync_end(&loop->sync, older, now_ns);
	process_sync_retire(&loop->sync, older);
	if (older->read_ns && !older->is_settled && now_ns - older->read_ns < DOUBT_NS) {
		process_sync_doubt(&loop->sync, older);
		if (older->state == PROCESS_NEW)
			schedule(loop, process->pid, SYNC_OLDER, now_ns);
	}
	while (older->older && count < OLDER_MAX_COUNT) {
		older = older->older;
		count++;
	}
	if (count == OLDER_MAX_COUNT)
		remove_process(loop, older);
}

static struct process *add(struct sync_loop *loop, uint32_t pid,
			   const struct process_identity *identity, uint64_t now_ns)
{
	struct process_table *table = loop->sync.table;
	struct process *process = process_table_find(table, pid, identity);

	if (process)
		return process;
	if (table->processes.count >= TABLE_MAX_PROCESSES)
		make_room(loop);
	process = process_table_add(table, pid, identity, now_ns);
	if (process)
		end_older(loop, process, now_ns);
	metrics_set(METRIC_PROCESSES, table->processes.count);
	return process;
}

static bool is_selected(const struct sync_loop *loop, uint32_t pid, bool is_new)
{
	return !loop->is_selected || loop->is_selected(loop->context, pid, is_new);
}

void sync_loop_add_task(struct sync_loop *loop, const struct task_snapshot *task, uint64_t now_ns)
{
	if (!task->is_kernel_thread && is_selected(loop, task->pid, false) &&
	    add(loop, task->pid, &task->identity, now_ns))
		schedule(loop, task->pid, SYNC_MAPPINGS, now_ns);
}

/*
 * End of the pause before the next sync, so that a process with frequent changes or long maps is not synced at
 * every change.
 */
static uint64_t sync_pause_end(const struct sync_loop *loop, const struct process *process,
			       uint32_t share)
{
	uint64_t pause_ns = process->sync_cost_ns * share * loop->pause_percent / 100;

	return process->read_ns + (pause_ns < SYNC_DELAY_MAX_NS ? pause_ns : SYNC_DELAY_MAX_NS);
}

/* --- events --- */

/* Handles an exit. A process that was never sampled is removed at once. */
static void end_process(struct sync_loop *loop, const struct process_event *process_event,
			uint64_t now_ns)
{
	struct process *process =
		process_table_find(loop->sync.table, process_event->pid, &process_event->identity);

	if (!process)
		return;
	if (process->state == PROCESS_NEW && !process->is_sampled) {
		remove_process(loop, process);
		return;
	}
	/* It made no mappings after this time. */
	if (!process->gone_ns || process_event->time_ns < process->gone_ns)
		process->gone_ns = process_event->time_ns;
	process_sync_end(&loop->sync, process, now_ns);
	/* There is nothing more to wait for. */
	if (process->state == PROCESS_NEW)
		schedule(loop, process->pid, SYNC_MAPPINGS, now_ns);
}

/* Keeps the parent of a fork, whose rows the fork shares. */
static void keep_parent(struct sync_loop *loop, const struct process *child)
{
	struct process *parent =
		child->is_fork ? process_table_current(loop->sync.table, child->parent_pid) : NULL;

	if (parent)
		parent->is_sampled = true;
}

static void handle_process_event(struct sync_loop *loop, const struct process_event *process_event,
				 uint64_t now_ns)
{
	struct process *process;
	uint64_t due_ns;

	if (process_event->type == PROCESS_EVENT_EXIT) {
		end_process(loop, process_event, now_ns);
		return;
	}
	if (process_event->type == PROCESS_EVENT_EXEC &&
	    !process_table_current(loop->sync.table, process_event->pid) &&
	    !is_selected(loop, process_event->pid, true))
		return;
	process = add(loop, process_event->pid, &process_event->identity, now_ns);
	if (!process)
		return;
	if (process_event->type != PROCESS_EVENT_EXEC) {
		process->is_sampled = true;
		if (!process->first_sample_ns)
			process->first_sample_ns = process_event->time_ns;
		process->parent_pid = process_event->parent_pid;
		process->is_fork = process_event->is_fork;
		keep_parent(loop, process);
	}
	switch (process_event->type) {
	case PROCESS_EVENT_EXEC:
		/* Most processes of a build have ended by then, and are synced only once. */
		process->exec_ns = process_event->time_ns;
		process->code_address = process_event->address;
		process->publish_after_ns = process_event->time_ns + loop->exec_delay_ns;
		schedule(loop, process_event->pid, SYNC_MAPPINGS, process->publish_after_ns);
		break;
	case PROCESS_EVENT_UNKNOWN_ADDRESS:
		due_ns = sync_pause_end(loop, process, SYNC_SHARE);
		schedule(loop, process_event->pid, SYNC_UNKNOWN_ADDRESS,
			 due_ns > now_ns ? due_ns : now_ns);
		break;
	default:
		/* It was sampled, so it is synced before processes that were not, once its libraries are mapped. */
		schedule(loop, process_event->pid, SYNC_UNKNOWN_PROCESS,
			 now_ns < process->publish_after_ns ? process->publish_after_ns : 0);
		break;
	}
}

/*
 * Share of a CPU for syncs after mappings. Syncs of a process that replaces files all the time slow it down,
 * and are outdated at once.
 */
static uint32_t mapping_share(struct process *process, bool is_replaced, uint64_t now_ns)
{
	if (!is_replaced)
		return MAPPING_SHARE;
	if (now_ns >= process->replaced_since_ns + NS_PER_SECOND) {
		process->replaced_since_ns = now_ns;
		process->replaced_count = 0;
	}
	return process->replaced_count++ < REPLACED_MAX_COUNT ? REPLACED_SHARE : MAPPING_SHARE;
}

static void handle_mapping(struct sync_loop *loop, uint32_t pid, uint64_t start, uint64_t end,
			   bool is_replaced, uint64_t now_ns)
{
	struct process *process = process_table_current(loop->sync.table, pid);
	struct scheduled_sync request = {
		.pid = pid,
		.reasons = SYNC_MAPPINGS,
		/*
		 * Until then stacks are unwound with the rows of the replaced file and end in UNWIND_REPLACED, so
		 * the sync is due at once.
		 */
		.due_ns = is_replaced ? now_ns : now_ns + MAPPING_DELAY_NS,
		.touched_start = start,
		.touched_end = end,
	};
	uint64_t pause_end_ns;

	if (!process || process->ended_ns)
		return;
	pause_end_ns = sync_pause_end(loop, process, mapping_share(process, is_replaced, now_ns));
	if (request.due_ns < pause_end_ns)
		request.due_ns = pause_end_ns;
	sync_schedule_add(&loop->schedule, &request);
	if (!process->is_published && process->publish_after_ns &&
	    now_ns < process->known_ns + loop->exec_delay_ns + LIBRARIES_DELAY_NS) {
		if (process->publish_after_ns < now_ns + MAPPING_DELAY_NS)
			process->publish_after_ns = now_ns + MAPPING_DELAY_NS;
		sync_schedule_postpone(&loop->schedule, pid, SYNC_MAPPINGS,
				       process->publish_after_ns);
	}
}

static void sync_everything(struct sync_loop *loop, uint64_t now_ns)
{
	struct process_vector all = { 0 };
	struct pid_list pids = { 0 };

	loop->has_lost = now_ns < loop->next_everything_ns;
	if (loop->has_lost)
		return;
	loop->next_everything_ns = now_ns + EVERYTHING_PAUSE_NS;
	list_processes(loop, &all);
	for (size_t i = 0; i < all.count; i++)
		if (!all.items[i]->ended_ns)
			handle_mapping(loop, all.items[i]->pid, 0, UINT64_MAX, false, now_ns);
	process_vector_deinit(&all);
	/* Process events may have been lost too, and are not sent again for the same process. */
	if (proc_list_processes(loop->sync.proc_root, &pids))
		return;
	for (uint32_t i = 0; i < pids.count; i++)
		schedule(loop, pids.pids[i], SYNC_REARM, now_ns);
	pid_list_deinit(&pids);
}

static void look_for_lost_files(struct sync_loop *loop, uint64_t now_ns)
{
	struct process_vector all = { 0 };

	list_processes(loop, &all);
	for (size_t i = 0; i < all.count; i++)
		if (!all.items[i]->ended_ns && process_sync_lacks_file(all.items[i]))
			handle_mapping(loop, all.items[i]->pid, 0, 0, false, now_ns);
	process_vector_deinit(&all);
}

static void look_for_runtimes(struct sync_loop *loop, uint64_t now_ns)
{
	struct executable_cache *executables = loop->sync.executables;
	uint32_t count = executable_runtime_count(executables);

	if (!executable_runtime_has_news(executables))
		return;
	attachments_update_all(&loop->sync.attachments, now_ns);
	executable_runtime_note_seen(executables, count);
}

static void handle_attached(struct sync_loop *loop, const struct attach_answer *answer,
			    uint64_t now_ns)
{
	struct process *changed[ATTACH_MAX_CHANGED];
	uint32_t count = attachments_answer(&loop->sync.attachments, answer, now_ns, changed);

	for (uint32_t i = 0; i < count; i++)
		process_sync_republish(&loop->sync, changed[i]);
	if (count)
		log_debug("process %u: runtime published", answer->pid);
}

static void handle_copied(struct sync_loop *loop, struct code_copy_answer *answer, uint64_t now_ns)
{
	struct process *process = code_copies_answer(&loop->sync.copies, answer, now_ns);

	free(answer);
	if (process)
		process_sync_republish(&loop->sync, process);
}

void sync_loop_handle(struct sync_loop *loop, const struct sync_event *event, uint64_t now_ns)
{
	struct process *process;

	switch (event->type) {
	case EVENT_PROCESS:
		handle_process_event(loop, &event->process_event, now_ns);
		break;
	case EVENT_MAPPING:
		handle_mapping(loop, event->mapping.pid, event->mapping.start, event->mapping.end,
			       event->mapping.is_replaced, now_ns);
		break;
	case EVENT_LOST:
		sync_everything(loop, now_ns);
		break;
	case EVENT_IDENTIFIED:
		process = process_table_find(loop->sync.table, event->identified.pid,
					     &event->identified.identity);
		if (process)
			process_sync_identified(&loop->sync, process, event->identified.start,
						event->identified.inode,
						event->identified.executable);
		else
			executable_unref(loop->sync.executables, event->identified.executable);
		break;
	case EVENT_LOADED:
		executable_rows_publish(loop->sync.executables, now_ns);
		look_for_runtimes(loop, now_ns);
		break;
	case EVENT_ATTACHED:
		handle_attached(loop, &event->attached, now_ns);
		break;
	case EVENT_RUNTIMES_LOST:
		attachments_note_lost(&loop->sync.attachments, event->lost_pid, now_ns);
		break;
	case EVENT_FILES_LOST:
		look_for_lost_files(loop, now_ns);
		break;
	case EVENT_CODE_HIT:
		process = process_table_find(loop->sync.table, event->code_hit.pid,
					     &event->code_hit.identity);
		if (process)
			code_copies_note_hit(&loop->sync.copies, process, event->code_hit.address,
					     event->code_hit.is_changed, now_ns);
		break;
	case EVENT_CODE_COPIED:
		handle_copied(loop, event->copied, now_ns);
		break;
	}
}

/* --- syncs --- */

/* Delay until the kernel side may send the next process event about @process, after a process event caused a sync. */
static uint64_t rearm_delay(struct process *process, uint32_t reasons, int err, bool has_changed)
{
	if (err)
		return RETRY_NS;
	if (has_changed || !(reasons & SYNC_UNKNOWN_ADDRESS)) {
		process->rearm_delay_ns = 0;
		return 0;
	}
	process->rearm_delay_ns *= 2;
	if (process->rearm_delay_ns < REARM_MIN_NS)
		process->rearm_delay_ns = REARM_MIN_NS;
	if (process->rearm_delay_ns > REARM_MAX_NS)
		process->rearm_delay_ns = REARM_MAX_NS;
	return process->rearm_delay_ns;
}

/* Time of the next try to publish a program that has just started. */
static uint64_t publish_time(const struct process *process, uint64_t now_ns)
{
	if (now_ns < process->publish_after_ns)
		return process->publish_after_ns;
	return now_ns + PUBLISH_RETRY_NS;
}

/*
 * Syncs earlier programs in the pid of @process that were sampled but not read; false if it is too early for
 * that.
 */
static bool sync_older(struct sync_loop *loop, struct process *process)
{
	const struct address_range nothing = { .start = UINT64_MAX };
	bool has_changed, is_done = true;

	while ((process = process->older))
		if (process->state == PROCESS_NEW && process->is_sampled)
			is_done &= process_sync_run(&loop->sync, process, &nothing, &has_changed) !=
				   -EAGAIN;
	return is_done;
}

static void try_again(struct sync_loop *loop, const struct scheduled_sync *entry, uint64_t due_ns)
{
	struct scheduled_sync again = *entry;

	again.due_ns = due_ns;
	sync_schedule_add(&loop->schedule, &again);
}

/* Schedules the next comparison of text that may be a copy. Anonymous memory causes no event. */
static void compare_again(struct sync_loop *loop, struct process *process, uint64_t now_ns)
{
	if (!process->has_doubtful_text) {
		process->doubt_count = 0;
		return;
	}
	if (process->doubt_count >= DOUBT_MAX_COUNT)
		return;
	schedule(loop, process->pid, SYNC_MAPPINGS,
		 now_ns + (DOUBT_RETRY_NS << process->doubt_count));
	process->doubt_count++;
}

static void run_sync(struct sync_loop *loop, const struct scheduled_sync *entry, uint64_t now_ns)
{
	struct process *process = process_table_current(loop->sync.table, entry->pid);
	const struct address_range touched = {
		.start = entry->touched_start,
		.end = entry->touched_end,
	};
	bool is_first, has_changed;
	int err;

	if (!process)
		return;
	if (process->hanging_until_ns > now_ns && !process->ended_ns) {
		if (entry->reasons & (SYNC_UNKNOWN_PROCESS | SYNC_UNKNOWN_ADDRESS))
			schedule(loop, entry->pid, SYNC_REARM, now_ns + REARM_MAX_NS);
		return;
	}
	is_first = process->state == PROCESS_NEW;
	if (!sync_older(loop, process))
		schedule(loop, entry->pid, SYNC_OLDER, now_ns + GONE_RETRY_NS);
	if (entry->reasons == SYNC_OLDER)
		return;
	/* The maps of a process that has ended may have been read in part. */
	if (process->ended_ns && !is_first &&
	    (process->is_final || !(entry->reasons & SYNC_UNKNOWN_ADDRESS))) {
		/* If it has not ended after all, its next process event comes when it is forgotten. */
		if (entry->reasons & (SYNC_UNKNOWN_PROCESS | SYNC_UNKNOWN_ADDRESS))
			schedule(loop, entry->pid, SYNC_REARM, now_ns + PROCESS_GRACE_NS);
		return;
	}
	/* The kernel side did not find the entry, so it must be written again. */
	if (entry->reasons & SYNC_UNKNOWN_PROCESS && process->is_published &&
	    now_ns > process->published_ns + REPUBLISH_NS)
		process_sync_retire(&loop->sync, process);
	err = process_sync_run(&loop->sync, process, &touched, &has_changed);
	if (!is_first && !err)
		loop->resync_cost_ns += process->sync_cost_ns;
	/* Its exit event came before this one, or was lost. */
	if (err == -ESRCH || err == -EAGAIN)
		process_sync_end(&loop->sync, process, now_ns);
	if (err == -EAGAIN) {
		schedule(loop, entry->pid, entry->reasons, now_ns + GONE_RETRY_NS);
		return;
	}
	if (err == -EHOSTDOWN || err == -EBUSY)
		try_again(loop, entry, now_ns + RETRY_NS);
	if (!err && process->is_partial)
		schedule(loop, entry->pid, SYNC_MAPPINGS,
			 sync_pause_end(loop, process, SYNC_SHARE));
	if (!err)
		compare_again(loop, process, now_ns);
	if (!err && !process->is_published && process->publish_after_ns &&
	    now_ns < process->known_ns + PUBLISH_GIVE_UP_NS)
		schedule(loop, entry->pid, SYNC_MAPPINGS, publish_time(process, now_ns));
	if (entry->reasons & (SYNC_UNKNOWN_PROCESS | SYNC_UNKNOWN_ADDRESS))
		schedule(loop, entry->pid, SYNC_REARM,
			 now_ns + rearm_delay(process, entry->reasons, err, has_changed));
}

uint32_t sync_loop_run_due(struct sync_loop *loop, uint64_t now_ns, uint32_t max_count)
{
	struct map_writer *writer = loop->sync.writer;
	struct scheduled_sync entry;
	uint32_t count = 0;

	while (count < max_count && sync_schedule_pop(&loop->schedule, now_ns, &entry)) {
		run_sync(loop, &entry, now_ns);
		count++;
	}
	while (sync_schedule_pop(&loop->rearm, now_ns, &entry))
		writer->ops->rearm_process_event(writer, entry.pid);
	attachments_run_due(&loop->sync.attachments, now_ns);
	return count;
}

/* Whether the process has ended. This is checked since exit events can be lost. */
static bool is_gone(const struct sync_loop *loop, const struct process *process)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u", loop->sync.proc_root, process->pid);
	return access(path, F_OK) && errno == ENOENT;
}

static void expire(struct sync_loop *loop, uint64_t now_ns)
{
	struct process_vector all = { 0 };

	list_processes(loop, &all);
	for (size_t i = 0; i < all.count; i++) {
		struct process *process = all.items[i];

		if (!process->ended_ns && process->pid % SEARCH_TICKS == loop->tick_count &&
		    is_gone(loop, process))
			process_sync_end(&loop->sync, process, now_ns);
		if (!process->ended_ns)
			continue;
		if (now_ns > process->ended_ns + PROCESS_GRACE_NS)
			remove_process(loop, process);
		else if (now_ns > process->ended_ns + RETIRE_DELAY_NS)
			process_sync_retire(&loop->sync, process);
	}
	process_vector_deinit(&all);
	loop->tick_count = (loop->tick_count + 1) % SEARCH_TICKS;
	metrics_set(METRIC_PROCESSES, loop->sync.table->processes.count);
}

/* Longer pauses lower the cost, so this converges to the pauses at which the cost is just allowed. */
static void adjust_pauses(struct sync_loop *loop, uint64_t now_ns)
{
	uint64_t allowed_ns = (now_ns - loop->last_tick_ns) / 100 * RESYNC_PERCENT;
	uint64_t percent = loop->pause_percent;

	if (loop->last_tick_ns && allowed_ns)
		percent = loop->resync_cost_ns * percent / allowed_ns;
	/* Pauses shrink gradually, so that a short quiet period does not reset them. */
	if (percent < loop->pause_percent / 2)
		percent = loop->pause_percent / 2;
	if (percent < 100)
		percent = 100;
	loop->pause_percent = percent < PAUSE_MAX_PERCENT ? percent : PAUSE_MAX_PERCENT;
	loop->resync_cost_ns = 0;
	loop->last_tick_ns = now_ns;
}

static void note_memory(struct sync_loop *loop)
{
	struct map_writer *writer = loop->sync.writer;
	uint64_t used_bytes, budget_bytes;

	writer->ops->memory(writer, &used_bytes, &budget_bytes);
	metrics_set(METRIC_MAP_MEMORY, used_bytes);
	log_debug("tables of %llu processes and %llu executables in %llu bytes of maps",
		  (unsigned long long)metrics_read(METRIC_PROCESSES),
		  (unsigned long long)metrics_read(METRIC_EXECUTABLES),
		  (unsigned long long)used_bytes);
}

void sync_loop_tick(struct sync_loop *loop, uint64_t now_ns)
{
	struct map_writer *writer = loop->sync.writer;

	if (loop->has_lost && now_ns >= loop->next_everything_ns)
		sync_everything(loop, now_ns);
	executable_cache_close_files(loop->sync.executables, now_ns);
	if (now_ns < loop->next_tick_ns)
		return;
	loop->next_tick_ns = now_ns + TICK_NS;
	adjust_pauses(loop, now_ns);
	expire(loop, now_ns);
	executable_cache_expire(loop->sync.executables, now_ns);
	code_copies_tick(&loop->sync.copies, now_ns);
	if (now_ns < loop->next_wait_ns)
		return;
	loop->next_wait_ns = now_ns + WAIT_RETIRED_NS;
	process_table_forget_news(loop->sync.table);
	executable_rows_note_used(loop->sync.executables, now_ns);
	writer->ops->wait_retired(writer);
	note_memory(loop);
}

uint64_t sync_loop_next_due(const struct sync_loop *loop)
{
	uint64_t due_ns = sync_schedule_next_due(&loop->schedule);
	uint64_t rearm_ns = sync_schedule_next_due(&loop->rearm);
	uint64_t attach_ns = attachments_next_due(&loop->sync.attachments);

	if (attach_ns < due_ns)
		due_ns = attach_ns;
	if (rearm_ns < due_ns)
		due_ns = rearm_ns;
	if (loop->has_lost && loop->next_everything_ns < due_ns)
		due_ns = loop->next_everything_ns;
	if (executable_cache_next_close(loop->sync.executables) < due_ns)
		due_ns = executable_cache_next_close(loop->sync.executables);
	return loop->next_tick_ns < due_ns ? loop->next_tick_ns : due_ns;
}

size_t sync_loop_pending_count(const struct sync_loop *loop)
{
	return sync_schedule_count(&loop->schedule);
}
