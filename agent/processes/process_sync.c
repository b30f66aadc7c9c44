/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows from the text of maps. The process controls its maps and files; numbers in them affect only its
 * own rows.
 */
#include "agent/processes/process_sync.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/processes/executable_rows.h"
#include "agent/processes/gone_process.h"
#include "agent/processes/mapping_identity.h"
#include "agent/processes/process_attributes.h"
#include "ebpf/abi/frame.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/vector.h"
#include "lib/host/own_vdso.h"
#include "lib/host/proc_info.h"
#include "lib/model/metrics.h"

enum {
	PUBLISH_MAX_TRIES = 8,
	/*
	 * The tables of processes get at most this fraction of the map memory: programs with many thousand
	 * mappings must not evict the unwind rows that all others need.
	 */
	TABLES_SHARE = 2,
};

/* Limit of the time that one sync may spend on files, since others are waiting. */
#define IDENTIFY_MAX_NS (50 * NS_PER_MS)

/*
 * How long the publishing of a new program waits for the rows of its files; until then its samples are first
 * samples.
 */
#define LOAD_WAIT_NS (200 * NS_PER_MS)

VECTOR_DEFINE(mapping_vector, struct process_mapping)
VECTOR_DEFINE(row_vector, struct mapping_row)
VECTOR_DEFINE(file_vector, struct mapped_file)

void process_sync_init(struct process_sync *sync)
{
	sync->own_pid = getpid();
	local_devices_init(&sync->devices);
	user_names_init(&sync->users, "/etc/passwd");
	if (own_vdso_find(&sync->vdso, &sync->vdso_bytes))
		log_debug("%s; the kernel's code in processes has no names", error_text());
	sync->attachments = (struct attachments){
		.table = sync->table,
		.executables = sync->executables,
		.proc_root = sync->proc_root,
		.home = sync->home,
		.request = sync->request_attach,
		.context = sync->context,
	};
	sync->copies = (struct code_copies){
		.table = sync->table,
		.executables = sync->executables,
		.writer = sync->writer,
		.request = sync->copies.request,
		.context = sync->context,
	};
}

void process_sync_deinit(struct process_sync *sync)
{
	attachments_deinit(&sync->attachments);
	code_copies_deinit(&sync->copies);
	local_devices_deinit(&sync->devices);
	user_names_deinit(&sync->users);
}

static void release_mappings(struct process_sync *sync, struct process_mapping *mappings,
			     uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		executable_unref(sync->executables, mappings[i].executable);
	free(mappings);
}

static void note_left(struct process_sync *sync, struct process *process, uint64_t now_ns)
{
	for (uint32_t i = 0; process->runs_files && i < process->mapping_count; i++)
		if (process->mappings[i].executable)
			executable_note_left(sync->executables, process->mappings[i].executable,
					     now_ns);
	process->runs_files = false;
}

/* Replaces the mappings by @mappings, which it takes over. */
static void set_mappings(struct process_sync *sync, struct process *process,
			 struct process_mapping *mappings, uint32_t count)
{
	bool runs_files = !process->ended_ns;

	for (uint32_t i = 0; runs_files && i < count; i++)
		if (mappings[i].executable)
			executable_note_run(sync->executables, mappings[i].executable);
	note_left(sync, process, clock_monotonic_ns());
	release_mappings(sync, process->mappings, process->mapping_count);
	process->mappings = mappings;
	process->mapping_count = count;
	process->runs_files = runs_files;
}

static bool is_same_line(const struct process_mapping *mapping, const struct proc_mapping *row)
{
	return mapping->start == row->start && mapping->end == row->end &&
	       mapping->offset == row->offset && mapping->inode == row->inode &&
	       mapping->device_major == row->device_major &&
	       mapping->device_minor == row->device_minor;
}

/*
 * The mappings of a process at its last sync, sorted. Those in addresses that were touched since are not valid
 * any more.
 */
struct known_mappings {
	const struct process *process;
	const struct address_range *touched;
	const struct process_mapping *items;
	uint32_t count;
};

/*
 * Finds the known mapping that equals @row; NULL: the row must be identified. Rows come in ascending order, and
 * *@cursor is the position of the search.
 */
static const struct process_mapping *find_known(const struct known_mappings *known,
						const struct proc_mapping *row, uint32_t *cursor)
{
	const struct process_mapping *found;

	while (*cursor < known->count && known->items[*cursor].start < row->start)
		++*cursor;
	found = *cursor < known->count ? &known->items[*cursor] : NULL;
	if (found && is_same_line(found, row) && !found->look_count &&
	    (found->executable_id ||
	     (found->is_requested && known->items == known->process->mappings)) &&
	    !(found->executable && executable_lacks_file(found->executable)) &&
	    (row->end <= known->touched->start || row->start >= known->touched->end))
		return found;
	return NULL;
}

/*
 * Reads the keys of files that must be identified. @keys has one entry for each row of @maps; the others get
 * -ENOENT.
 */
static int read_keys(struct process_sync *sync, const struct proc_maps *maps,
		     const struct known_mappings *known, uint64_t end_ns, struct mapped_key *keys)
{
	uint32_t cursor = 0;
	bool has_any = false;

	for (uint32_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *row = &maps->rows[i];
		bool is_wanted = !find_known(known, row, &cursor) && row->inode &&
				 row->protection & PROT_EXEC &&
				 mapping_is_local(sync, known->process, row);

		keys[i].err = is_wanted ? -EAGAIN : -ENOENT;
		has_any |= is_wanted;
	}
	if (!has_any)
		return 0;
	return sync->reads->ops->read_keys(sync->reads, (pid_t)known->process->pid, maps, end_ns,
					   keys);
}

/* Builds the mappings of @maps: known ones are copied, the others identified. */
static int build_mappings(struct process_sync *sync, struct process *process,
			  const struct proc_maps *maps, const struct known_mappings *known,
			  struct mapping_vector *built)
{
	_cleanup_(free_pointer) struct mapped_key *keys = calloc(maps->count + 1, sizeof(*keys));
	uint64_t end_ns = clock_monotonic_ns() + IDENTIFY_MAX_NS;
	uint32_t cursor = 0;
	int err;

	process->is_partial = false;
	process->has_doubtful_text = false;
	if (!keys || mapping_vector_reserve(built, maps->count + 1))
		return fail(-ENOMEM, "no memory for the mappings of process %u", process->pid);
	err = read_keys(sync, maps, known, end_ns, keys);
	if (err)
		return err;
	/* At least one file is identified in each sync, however long that takes. */
	end_ns = clock_monotonic_ns() + IDENTIFY_MAX_NS;
	for (uint32_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *row = &maps->rows[i];
		const struct process_mapping *found = find_known(known, row, &cursor);
		struct process_mapping mapping = {
			.start = row->start,
			.end = row->end,
			.offset = row->offset,
			.inode = row->inode,
			.device_major = row->device_major,
			.device_minor = row->device_minor,
		};

		if (found) {
			mapping = *found;
			if (mapping.executable)
				executable_ref(sync->executables, mapping.executable);
		} else if (!(row->protection & PROT_EXEC)) {
			/* It is only for the identification of others. */
		} else if (keys[i].err != -EAGAIN && clock_monotonic_ns() < end_ns) {
			mapping_identify(sync, process, maps, i, &keys[i], known->items,
					 known->count, &mapping);
		} else {
			process->is_partial = true;
		}
		process->has_doubtful_text |= mapping.look_count > 0;
		mapping_vector_push(built, mapping);
	}
	return 0;
}

/* --- rows --- */

/*
 * The bias for the kernel side. A mapping whose copied text has changed keeps its bias, but the kernel side
 * gets 0.
 */
static uint64_t row_bias(const struct process_mapping *mapping)
{
	return mapping->executable_id < EXECUTABLE_ID_FIRST ? 0 : mapping->bias;
}

static bool continues(const struct mapping_row *row, const struct process_mapping *mapping)
{
	return row->end == mapping->start && row->executable_id == mapping->executable_id &&
	       row->bias == row_bias(mapping);
}

static struct mapped_file file_of(const struct process_mapping *mapping)
{
	return (struct mapped_file){
		.inode = mapping->inode,
		.device_major = mapping->device_major,
		.device_minor = mapping->device_minor,
		.origin = mapping->start - mapping->offset,
	};
}

/*
 * Neighbours of one file become one row. Over the limit, anonymous memory is left out first, which cannot be
 * unwound anyway, then the highest rows.
 */
static struct mapping_table *make_rows(const struct process_mapping *mappings, uint32_t count,
				       uint64_t read_end_ns, bool without_anonymous)
{
	_cleanup_(row_vector_deinit) struct row_vector rows = { 0 };
	_cleanup_(file_vector_deinit) struct file_vector files = { 0 };

	if (row_vector_reserve(&rows, count + 1) || file_vector_reserve(&files, count + 1))
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct process_mapping *mapping = &mappings[i];

		if (!mapping->executable_id ||
		    (without_anonymous && mapping->executable_id == EXECUTABLE_ID_ANONYMOUS))
			continue;
		if (rows.count && continues(&rows.items[rows.count - 1], mapping)) {
			rows.items[rows.count - 1].end = mapping->end;
			continue;
		}
		row_vector_push(&rows, (struct mapping_row){
					       .start = mapping->start,
					       .end = mapping->end,
					       .bias = row_bias(mapping),
					       .executable_id = mapping->executable_id,
				       });
		file_vector_push(&files, file_of(mapping));
	}
	if (rows.count > PROCESS_MAX_MAPPINGS && !without_anonymous)
		return make_rows(mappings, count, read_end_ns, true);
	if (rows.count > PROCESS_MAX_MAPPINGS)
		rows.count = PROCESS_MAX_MAPPINGS;
	return mapping_table_create_read(rows.items, files.items, rows.count, read_end_ns);
}

/* --- publishing --- */

static void log_unpublished(const struct process *process, int err)
{
	static struct log_limit limit = { .interval_ns = 10 * NS_PER_SECOND, .burst = 3 };
	uint64_t suppressed;

	if (log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_warn(
			"process %u: its mappings are not loaded: %s; its samples have no user frames",
			process->pid, strerror(-err));
}

static bool needed_before(const struct process *a, const struct process *b)
{
	uint64_t a_ns = a->last_sample_ns > a->published_ns ? a->last_sample_ns : a->published_ns;
	uint64_t b_ns = b->last_sample_ns > b->published_ns ? b->last_sample_ns : b->published_ns;

	return a_ns < b_ns;
}

/* The kernel side is full: retires the process that was not sampled for longest. A sample brings it back. */
static bool retire_least_needed(struct process_sync *sync, const struct process *except)
{
	struct process *least = NULL;
	size_t cursor = 0;
	uint64_t value;

	pthread_mutex_lock(&sync->table->lock);
	while (hash_map_next(&sync->table->processes, &cursor, NULL, &value)) {
		struct process *process = (void *)(uintptr_t)value;

		if (process != except && process->is_published &&
		    (!least || needed_before(process, least)))
			least = process;
	}
	pthread_mutex_unlock(&sync->table->lock);
	if (least)
		process_sync_retire(sync, least);
	return least;
}

/* Makes room for @bytes among the tables of processes; false if there is no more to be made. */
static bool make_table_room(struct process_sync *sync, const struct process *process,
			    uint64_t bytes)
{
	uint64_t before_bytes = sync->published_bytes;

	while (before_bytes - sync->published_bytes < bytes && retire_least_needed(sync, process))
		;
	return before_bytes > sync->published_bytes &&
	       !sync->writer->ops->wait_retired(sync->writer);
}

/* Keeps the tables of all processes within their share of the map memory. */
static void limit_tables(struct process_sync *sync, const struct process *process, uint64_t bytes)
{
	uint64_t used_bytes, budget_bytes, wanted_bytes, limit_bytes;

	sync->writer->ops->memory(sync->writer, &used_bytes, &budget_bytes);
	limit_bytes = budget_bytes / TABLES_SHARE;
	wanted_bytes = sync->published_bytes - process->published_bytes + bytes;
	if (wanted_bytes > limit_bytes)
		make_table_room(sync, process, wanted_bytes - limit_bytes);
}

/* Whether a program that has just started lacks rows that are still being loaded. */
static bool is_better_unpublished(struct process_sync *sync, const struct process *process,
				  const struct mapping_table *rows, uint64_t now_ns)
{
	if (now_ns < process->publish_after_ns)
		return true;
	if (!process->publish_after_ns || process->is_published ||
	    now_ns > process->known_ns + LOAD_WAIT_NS)
		return false;
	return executable_rows_first_loading(sync->executables, rows->rows, rows->count);
}

static void publish(struct process_sync *sync, struct process *process,
		    const struct mapping_table *table)
{
	struct map_writer *writer = sync->writer;
	struct published_runtime runtimes[RUNTIMES_MAX];
	uint32_t runtime_count = attachments_list(process, runtimes), count = table->count;
	_cleanup_(free_pointer) struct mapping_row *with_copies = NULL;
	const struct mapping_row *rows = table->rows;
	uint64_t now_ns = clock_monotonic_ns(), bytes;
	int err, tries = 0;

	/* A past program gets no more samples, and would replace its successor's entry. */
	if (process != process_table_current(sync->table, process->pid) || process->ended_ns ||
	    is_better_unpublished(sync, process, table, now_ns))
		return;
	for (uint32_t i = 0; runtime_count && i < count; i++)
		executable_rows_need(sync->executables, rows[i].executable_id);
	code_copies_update(&sync->copies, process);
	with_copies = code_copies_rows(process, table, &count);
	if (with_copies)
		rows = with_copies;
	bytes = count * sizeof(*rows) + attachments_map_bytes(runtimes, runtime_count);
	limit_tables(sync, process, bytes);
	do {
		err = writer->ops->publish_process(writer, process->pid, &process->identity, rows,
						   count, runtimes, runtime_count);
	} while (tries++ < PUBLISH_MAX_TRIES &&
		 ((err == -ENOSPC && (executable_rows_make_room(sync->executables, bytes, now_ns) ||
				      make_table_room(sync, process, bytes))) ||
		  (err == -E2BIG && retire_least_needed(sync, process))));
	if (err) {
		log_unpublished(process, err);
		/* No entry is better than the old one. */
		process_sync_retire(sync, process);
		return;
	}
	process->is_published = true;
	process->published_ns = now_ns;
	sync->published_bytes += bytes - process->published_bytes;
	process->published_bytes = bytes;
}

/* Publishes @rows (taken over) to the kernel side and the table, unless they are unchanged. */
static void replace_rows(struct process_sync *sync, struct process *process,
			 struct mapping_table *rows, enum process_state state)
{
	bool lost_rows = false;

	if (mapping_table_equal(process->table, rows)) {
		mapping_table_unref(rows);
		rows = NULL;
	} else {
		lost_rows = mapping_table_loses(process->table, rows);
		process_table_prepare_rows(sync->table, process, rows);
	}
	if (rows || !process->is_published)
		publish(sync, process, rows ? rows : process->table);
	process_table_finish_sync(sync->table, process, state, lost_rows, clock_monotonic_ns());
}

/* Until when a fork has made no mappings of its own; UINT64_MAX: it has made none so far. */
static uint64_t like_parent_until(struct process_sync *sync, const struct process *process)
{
	return mapping_log_first_since(sync->mapping_log, process->pid,
				       process->identity.start_time_ns);
}

/*
 * The process's own maps cannot be read (any more): gives a fork the rows of its parent, if that is certain. What most forks map first
 * is the program that they execute, and then they are sampled as forks no more.
 */
static bool inherit_rows(struct process_sync *sync, struct process *process)
{
	const struct process *parent = process_table_fork_parent(sync->table, process);
	const struct attribute_sources sources = process_sync_sources(sync);
	uint64_t until_ns;

	if (!parent)
		return false;
	until_ns = like_parent_until(sync, process);
	if (process->first_sample_ns >= until_ns)
		return false;
	process_attributes_inherit(sync->table, process, parent, &sources, NULL);
	if (process->state == PROCESS_NEW)
		attachments_lend(&sync->attachments, process, parent);
	if (!process->parent_table)
		process_table_note_parent_rows(sync->table, process, parent->table, until_ns);
	process_table_prepare_rows(sync->table, process, mapping_table_ref(parent->table));
	return true;
}

/* Copies the known identity of @mapping from when the process still existed. */
static void keep_known(struct process_sync *sync, const struct process *process,
		       struct process_mapping *mapping)
{
	for (uint32_t i = 0; i < process->mapping_count; i++) {
		const struct process_mapping *known = &process->mappings[i];

		if (known->start != mapping->start || known->end != mapping->end ||
		    known->offset != mapping->offset || known->inode != mapping->inode ||
		    known->device_major != mapping->device_major ||
		    known->device_minor != mapping->device_minor)
			continue;
		executable_unref(sync->executables, mapping->executable);
		*mapping = *known;
		if (mapping->executable)
			executable_ref(sync->executables, mapping->executable);
		return;
	}
}

/* Replaces the rows that were read before by those from the side-band's events. */
static bool replay_rows(struct process_sync *sync, struct process *process)
{
	struct process_mapping *mappings;
	struct mapping_table *rows;
	uint32_t count;

	if (!gone_process_list(sync, process, &mappings, &count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!mappings[i].executable_id)
			keep_known(sync, process, &mappings[i]);
	rows = make_rows(mappings, count, 0, false);
	if (!rows) {
		release_mappings(sync, mappings, count);
		return false;
	}
	set_mappings(sync, process, mappings, count);
	process_table_prepare_rows(sync->table, process, rows);
	return true;
}

/* Handles a failed read of the maps with @err. */
static int sync_failed(struct process_sync *sync, struct process *process, int err)
{
	enum process_state state = process->state;

	metrics_add(METRIC_PROCESS_SYNCS_FAILED, 1);
	/* The process is tried again, and stays new until then. */
	if (state == PROCESS_NEW && err != -EHOSTDOWN && err != -EBUSY)
		state = PROCESS_UNREADABLE;
	process_table_fail_sync(sync->table, process, state, clock_monotonic_ns());
	return err;
}

/* Handles a process that is gone: once all of its events are known, its rows are made from these. */
static int sync_gone(struct process_sync *sync, struct process *process)
{
	bool is_first = process->state == PROCESS_NEW;

	if (!process->gone_ns)
		process->gone_ns = clock_monotonic_ns();
	if (mapping_log_heard_until(sync->mapping_log) < process->gone_ns)
		return -EAGAIN;
	if (process->is_final)
		return -ESRCH;
	process->is_final = true;
	if (!(is_first && inherit_rows(sync, process)) && !replay_rows(sync, process))
		return sync_failed(sync, process, -ESRCH);
	metrics_add(METRIC_PROCESS_SYNCS_FAILED, 1);
	process_table_fail_sync(sync->table, process, PROCESS_SYNCED, clock_monotonic_ns());
	return -ESRCH;
}

/* CPU time of this thread and of the process that reads for it. */
static uint64_t cpu_ns(const struct process_sync *sync)
{
	return clock_thread_cpu_ns() + sync->reads->ops->cpu_ns(sync->reads);
}

/* Reads the maps; -ESRCH: the process is gone, and /proc/PID may belong to another program by now. */
static int read_maps(struct process_sync *sync, const struct process *process,
		     struct proc_maps *maps, struct proc_first_read *first)
{
	first->service_name[0] = '\0';
	first->command_line[0] = '\0';
	first->parent_pid = process->parent_pid;
	if (process->ended_ns)
		return -ESRCH;
	if (!process->info)
		first->device_count =
			local_devices_list(&sync->devices, first->devices, PROC_DEVICES_MAX);
	return sync->reads->ops->read_maps(sync->reads, (pid_t)process->pid, maps,
					   process->info ? NULL : first);
}

int process_sync_run(struct process_sync *sync, struct process *process,
		     const struct address_range *touched, bool *has_changed)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	/*
	 * parent: the parent of a new fork. model: the parent, if their mappings are the same, otherwise the
	 * process.
	 */
	const struct process *parent = NULL, *model = process;
	struct mapping_table *before = process->table, *rows;
	const struct attribute_sources sources = process_sync_sources(sync);
	struct proc_first_read first;
	struct mapping_vector built = { 0 };
	struct known_mappings known;
	uint64_t begin_cpu_ns = cpu_ns(sync), read_end_ns;
	int err;

	metrics_add(METRIC_PROCESS_SYNCS, 1);
	*has_changed = false;
	process_table_begin_sync(sync->table, process, clock_monotonic_ns());
	err = read_maps(sync, process, &maps, &first);
	read_end_ns = clock_monotonic_ns();
	if (err == -ESRCH)
		return sync_gone(sync, process);
	if (err)
		return sync_failed(sync, process, err);
	if (process->state == PROCESS_NEW)
		parent = process_table_fork_parent(sync->table, process);
	if (parent && like_parent_until(sync, process) == UINT64_MAX)
		model = parent;
	known = (struct known_mappings){ process, touched, model->mappings, model->mapping_count };
	err = build_mappings(sync, process, &maps, &known, &built);
	rows = err ? NULL : make_rows(built.items, built.count, read_end_ns, false);
	if (!rows) {
		release_mappings(sync, built.items, built.count);
		return sync_failed(sync, process, err ? err : -ENOMEM);
	}
	if (parent)
		process_attributes_inherit(sync->table, process, parent, &sources, &first);
	process_attributes_read(sync->table, process, &sources, &first, &maps, built.items);
	set_mappings(sync, process, built.items, built.count);
	if (parent) {
		attachments_inherit(&sync->attachments, process, parent);
		code_copies_inherit(process, parent);
	}
	if (model != process && mapping_table_equal(model->table, rows)) {
		mapping_table_unref(rows);
		rows = mapping_table_ref(model->table);
		process_table_note_parent_rows(sync->table, process, rows, UINT64_MAX);
	}
	attachments_update(&sync->attachments, process, clock_monotonic_ns());
	replace_rows(sync, process, rows, PROCESS_SYNCED);
	*has_changed = process->table != before;
	process->sync_cost_ns = cpu_ns(sync) - begin_cpu_ns;
	return 0;
}

void process_sync_identified(struct process_sync *sync, struct process *process, uint64_t start,
			     uint64_t inode, struct executable *executable)
{
	struct process_mapping *mapping = NULL;
	struct mapping_table *rows;

	for (uint32_t i = 0; i < process->mapping_count && !mapping; i++)
		if (process->mappings[i].start == start && process->mappings[i].inode == inode &&
		    process->mappings[i].is_requested && !process->mappings[i].executable_id &&
		    !process->mappings[i].executable)
			mapping = &process->mappings[i];
	if (!mapping || !executable) {
		executable_unref(sync->executables, executable);
		/* The next sync may request it again. */
		if (mapping)
			mapping->is_requested = false;
		return;
	}
	mapping->executable = executable;
	if (process->runs_files)
		executable_note_run(sync->executables, executable);
	process_attributes_identified(sync->table, process, mapping);
	if (mapping_set_bias(mapping))
		return;
	attachments_update(&sync->attachments, process, clock_monotonic_ns());
	rows = make_rows(process->mappings, process->mapping_count, 0, false);
	if (rows)
		replace_rows(sync, process, rows, PROCESS_SYNCED);
}

void process_sync_doubt(struct process_sync *sync, struct process *process)
{
	enum process_state state = PROCESS_SYNCED;
	struct mapping_table *none;

	if (process->state != PROCESS_SYNCED)
		return;
	process->has_doubtful_info = process->info && !process->older_info;
	if (!inherit_rows(sync, process)) {
		state = process->is_sampled && !process->is_final ? PROCESS_NEW :
								    PROCESS_UNREADABLE;
		none = mapping_table_create(NULL, 0);
		if (none)
			process_table_prepare_rows(sync->table, process, none);
	}
	process_table_fail_sync(sync->table, process, state, clock_monotonic_ns());
}

bool process_sync_lacks_file(const struct process *process)
{
	for (uint32_t i = 0; i < process->mapping_count; i++)
		if (process->mappings[i].executable &&
		    executable_lacks_file(process->mappings[i].executable))
			return true;
	return false;
}

void process_sync_republish(struct process_sync *sync, struct process *process)
{
	if (process->is_published)
		publish(sync, process, process->table);
}

void process_sync_end(struct process_sync *sync, struct process *process, uint64_t now_ns)
{
	process_table_end(sync->table, process, now_ns);
	note_left(sync, process, now_ns);
	code_copies_release(&sync->copies, process);
}

void process_sync_retire(struct process_sync *sync, struct process *process)
{
	if (!process->is_published)
		return;
	sync->writer->ops->retire_process(sync->writer, process->pid);
	process->is_published = false;
	sync->published_bytes -= process->published_bytes;
	process->published_bytes = 0;
}

void process_sync_release(struct process_sync *sync, struct process *process)
{
	process_sync_retire(sync, process);
	attachments_release(&sync->attachments, process);
	code_copies_release(&sync->copies, process);
	set_mappings(sync, process, NULL, 0);
}
