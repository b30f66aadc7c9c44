/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of processes. It trusts the data of the kernel side (identities, side-band).
 */
#include "agent/processes/process.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/processes/runtimes/process_runtime.h"
#include "ebpf/abi/frame.h"
#include "lib/base/urgent_thread.h"

enum {
	NEWS_MAX = 1 << 15,
};

/** Older samples are not expected any more: they have been handled or dropped. */
#define STALE_MEMORY_NS (10 * NS_PER_SECOND)

/* --- tables of mappings --- */

struct mapping_table *mapping_table_create(const struct mapping_row *rows, uint32_t count)
{
	size_t bytes = count * sizeof(*rows);
	struct mapping_table *table = malloc(sizeof(*table) + bytes);

	if (!table)
		return NULL;
	*table = (struct mapping_table){ .references = 1, .count = count };
	if (bytes)
		memcpy(table->rows, rows, bytes);
	return table;
}

struct mapping_table *mapping_table_create_read(const struct mapping_row *rows,
						const struct mapped_file *files, uint32_t count,
						uint64_t read_end_ns)
{
	size_t row_bytes = count * sizeof(*rows), file_bytes = count * sizeof(*files);
	struct mapping_table *table = malloc(sizeof(*table) + row_bytes + file_bytes);

	if (!table)
		return NULL;
	*table = (struct mapping_table){
		.references = 1,
		.count = count,
		.read_end_ns = read_end_ns,
		.files = (const struct mapped_file *)(table->rows + count),
	};
	if (count) {
		memcpy(table->rows, rows, row_bytes);
		memcpy(table->rows + count, files, file_bytes);
	}
	return table;
}

struct mapping_table *mapping_table_ref(struct mapping_table *table)
{
	__atomic_add_fetch(&table->references, 1, __ATOMIC_RELAXED);
	return table;
}

void mapping_table_unref(struct mapping_table *table)
{
	if (table && __atomic_sub_fetch(&table->references, 1, __ATOMIC_ACQ_REL) == 0)
		free(table);
}

bool mapping_table_equal(const struct mapping_table *a, const struct mapping_table *b)
{
	return a && a->count == b->count && !memcmp(a->rows, b->rows, a->count * sizeof(*a->rows));
}

struct mapping_table *mapping_table_intersect(const struct mapping_table *a,
					      const struct mapping_table *b)
{
	struct mapping_table *both = calloc(1, sizeof(*both) + a->count * sizeof(*both->rows));
	uint32_t k = 0;

	if (!both)
		return NULL;
	both->references = 1;
	for (uint32_t i = 0; i < a->count; i++) {
		struct mapping_row row = a->rows[i];

		while (k < b->count && b->rows[k].end <= row.start)
			k++;
		if (k == b->count)
			break;
		/* Where a row of one is in several parts in the other, the first is enough. */
		if (b->rows[k].start >= row.end || b->rows[k].executable_id != row.executable_id ||
		    b->rows[k].bias != row.bias)
			continue;
		row.start = row.start > b->rows[k].start ? row.start : b->rows[k].start;
		row.end = row.end < b->rows[k].end ? row.end : b->rows[k].end;
		both->rows[both->count++] = row;
	}
	return both;
}

bool mapping_table_loses(const struct mapping_table *before, const struct mapping_table *after)
{
	uint32_t k = 0;

	for (uint32_t i = 0; before && i < before->count; i++) {
		const struct mapping_row *row = &before->rows[i];

		while (k < after->count && after->rows[k].end < row->end)
			k++;
		if (k == after->count || after->rows[k].start > row->start ||
		    after->rows[k].executable_id != row->executable_id ||
		    after->rows[k].bias != row->bias)
			return true;
	}
	return false;
}

/* --- processes --- */

static bool identity_equal(const struct process_identity *a, const struct process_identity *b)
{
	return a->start_time_ns == b->start_time_ns && a->exec_id == b->exec_id;
}

/* The identity as a word: the start in ms since boot, and the number of execs. */
static uint64_t identity_word(const struct process_identity *identity)
{
	const uint64_t exec_mask = (1 << 20) - 1;

	return identity->start_time_ns / NS_PER_MS << 20 | (identity->exec_id & exec_mask);
}

static bool identity_is_older(const struct process_identity *a, const struct process_identity *b)
{
	if (a->start_time_ns != b->start_time_ns)
		return a->start_time_ns < b->start_time_ns;
	return a->exec_id < b->exec_id;
}

void process_table_init(struct process_table *table)
{
	memset(table, 0, sizeof(*table));
	urgent_lock_init(&table->lock);
	lru_cache_init(&table->programs, sizeof(uint32_t), NEWS_MAX, 0, NULL, NULL);
}

void process_table_deinit(struct process_table *table)
{
	hash_map_deinit(&table->processes);
	lru_cache_deinit(&table->programs);
	pthread_mutex_destroy(&table->lock);
}

static void process_free(struct process *process)
{
	mapping_table_unref(process->table);
	mapping_table_unref(process->next_table);
	mapping_table_unref(process->previous_table);
	mapping_table_unref(process->lasting_table);
	mapping_table_unref(process->parent_table);
	runtime_set_unref(process->runtimes);
	process_info_unref(process->info);
	process_info_unref(process->older_info);
	free(process);
}

static struct process *find_locked(struct process_table *table, uint32_t pid,
				   const struct process_identity *identity)
{
	struct process *process = hash_map_get_pointer(&table->processes, pid);

	while (process && !identity_equal(&process->identity, identity))
		process = process->older;
	return process;
}

/* Whether a later program than that of @identity is known in @pid. */
static bool heard_of_later(struct process_table *table, uint32_t pid,
			   const struct process_identity *identity)
{
	return (uintptr_t)lru_cache_peek(&table->programs, &pid) > identity_word(identity);
}

struct process *process_table_add(struct process_table *table, uint32_t pid,
				  const struct process_identity *identity, uint64_t now_ns)
{
	struct process *newest, *process;

	pthread_mutex_lock(&table->lock);
	process = find_locked(table, pid, identity);
	newest = hash_map_get_pointer(&table->processes, pid);
	if (process || (newest && identity_is_older(identity, &newest->identity)))
		goto unlock;
	process = calloc(1, sizeof(*process));
	if (!process)
		goto unlock;
	process->pid = pid;
	process->identity = *identity;
	process->known_ns = now_ns;
	process->changed_ns = now_ns;
	process->is_superseded = heard_of_later(table, pid, identity);
	process->generation = ++table->last_generation;
	process->references = 1;
	process->older = newest;
	if (hash_map_set_pointer(&table->processes, pid, process)) {
		process_free(process);
		process = NULL;
		goto unlock;
	}
	if (newest && !newest->ended_ns)
		newest->ended_ns = now_ns;
unlock:
	pthread_mutex_unlock(&table->lock);
	return process;
}

struct process *process_table_find(struct process_table *table, uint32_t pid,
				   const struct process_identity *identity)
{
	struct process *process;

	pthread_mutex_lock(&table->lock);
	process = find_locked(table, pid, identity);
	pthread_mutex_unlock(&table->lock);
	return process;
}

struct process *process_table_current(struct process_table *table, uint32_t pid)
{
	struct process *process;

	pthread_mutex_lock(&table->lock);
	process = hash_map_get_pointer(&table->processes, pid);
	pthread_mutex_unlock(&table->lock);
	return process;
}

bool process_table_knows(struct process_table *table, uint32_t pid)
{
	return process_table_current(table, pid);
}

void process_table_end(struct process_table *table, struct process *process, uint64_t now_ns)
{
	pthread_mutex_lock(&table->lock);
	if (!process->ended_ns)
		process->ended_ns = now_ns;
	pthread_mutex_unlock(&table->lock);
}

static void unref_locked(struct process *process)
{
	if (--process->references == 0)
		process_free(process);
}

void process_table_remove(struct process_table *table, struct process *process)
{
	struct process *newest;

	pthread_mutex_lock(&table->lock);
	newest = hash_map_get_pointer(&table->processes, process->pid);
	if (newest == process) {
		/* Replacing a value needs no memory, so this cannot fail. */
		if (process->older)
			hash_map_set_pointer(&table->processes, process->pid, process->older);
		else
			hash_map_remove(&table->processes, process->pid, NULL);
	} else {
		/* The process is in the table, since nobody else removes processes. */
		while (newest && newest->older != process)
			newest = newest->older;
		assert(newest);
		newest->older = process->older;
	}
	process->older = NULL;
	unref_locked(process);
	pthread_mutex_unlock(&table->lock);
}

/* Drops entries that no sample can need any more; closed entries never change. */
static void forget_stale(struct process *process, uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < process->stale_count; i++) {
		const struct stale_executable *stale = &process->stale[i];

		if (stale->until_ns == UINT64_MAX || stale->until_ns + STALE_MEMORY_NS > now_ns)
			process->stale[kept++] = *stale;
	}
	process->stale_count = kept;
}

/*
 * The end of a sync closes the open entries from before its reading of the maps. Those from after it stay open until
 * the next sync, since what it read may have been mapped over again.
 */
static bool closes_with_this_sync(const struct process *process,
				  const struct stale_executable *stale)
{
	return stale->until_ns == UINT64_MAX && stale->from_ns < process->read_ns;
}

static bool covers(const struct process *process, const struct stale_executable *stale,
		   const struct stale_executable *added)
{
	if (stale->executable_id && stale->executable_id != added->executable_id)
		return false;
	if (added->until_ns == UINT64_MAX && closes_with_this_sync(process, stale) &&
	    !closes_with_this_sync(process, added))
		return false;
	return stale->from_ns <= added->from_ns && stale->until_ns >= added->until_ns;
}

/*
 * There are too many entries: distrusts all executables, from the first entry's time until this sync ends, and from
 * its reading until the next one ends.
 */
static void make_all_stale(struct process *process, const struct stale_executable *added)
{
	struct stale_executable all = { .from_ns = added->from_ns, .until_ns = UINT64_MAX };
	bool stays_open = added->from_ns >= process->read_ns;

	for (uint32_t i = 0; i < process->stale_count; i++) {
		if (process->stale[i].from_ns < all.from_ns)
			all.from_ns = process->stale[i].from_ns;
		stays_open |= process->stale[i].from_ns >= process->read_ns;
	}
	process->stale[0] = all;
	process->stale_count = 1;
	if (stays_open && closes_with_this_sync(process, &all)) {
		all.from_ns = process->read_ns;
		process->stale[process->stale_count++] = all;
	}
}

static void add_stale(struct process *process, const struct stale_executable *added)
{
	for (uint32_t i = 0; i < process->stale_count; i++)
		if (covers(process, &process->stale[i], added))
			return;
	if (process->stale_count == PROCESS_MAX_STALE)
		forget_stale(process, added->from_ns);
	if (process->stale_count == PROCESS_MAX_STALE)
		make_all_stale(process, added);
	else
		process->stale[process->stale_count++] = *added;
}

/* First row that ends above @address. */
static uint32_t first_row_above(const struct mapping_table *table, uint64_t address)
{
	uint32_t low = 0, high = table->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->rows[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Whether the row was read from the maps after the mapping of @range had been made, and is that very mapping. The file was opened
 * after the maps were read, so its content is not older.
 */
static bool is_row_of(const struct mapping_table *table, uint32_t row,
		      const struct mapped_range *range)
{
	const struct mapped_file *file = &range->file;

	if (range->time_ns >= table->read_end_ns || !table->files || !file->inode)
		return false;
	return file->inode == table->files[row].inode &&
	       file->device_major == table->files[row].device_major &&
	       file->device_minor == table->files[row].device_minor &&
	       file->origin == table->files[row].origin && range->start <= table->rows[row].start &&
	       range->end >= table->rows[row].start;
}

/* Marks files of @table in @range as stale from the range's time on; returns whether there are any. */
static bool mark_stale(struct process *process, const struct mapping_table *table,
		       const struct mapped_range *range, uint64_t until_ns)
{
	struct stale_executable stale = { .from_ns = range->time_ns, .until_ns = until_ns };
	bool has_any = false;

	for (uint32_t i = first_row_above(table, range->start);
	     i < table->count && table->rows[i].start < range->end; i++) {
		stale.executable_id = table->rows[i].executable_id;
		if (stale.executable_id < EXECUTABLE_ID_FIRST || is_row_of(table, i, range))
			continue;
		has_any = true;
		if (range->time_ns < until_ns)
			add_stale(process, &stale);
	}
	return has_any;
}

void process_table_begin_sync(struct process_table *table, struct process *process, uint64_t now_ns)
{
	pthread_mutex_lock(&table->lock);
	process->read_ns = now_ns;
	process->recent_count = 0;
	pthread_mutex_unlock(&table->lock);
}

void process_table_prepare_rows(struct process_table *table, struct process *process,
				struct mapping_table *rows)
{
	const struct stale_executable everything = {
		.from_ns = process->read_ns,
		.until_ns = UINT64_MAX,
	};
	uint32_t count;

	pthread_mutex_lock(&table->lock);
	mapping_table_unref(process->next_table);
	process->next_table = rows;
	count = process->recent_count;
	if (count > PROCESS_MAX_RECENT) {
		add_stale(process, &everything);
		count = 0;
	}
	for (uint32_t i = 0; i < count; i++)
		mark_stale(process, rows, &process->recent[i], UINT64_MAX);
	pthread_mutex_unlock(&table->lock);
}

void process_table_note_parent_rows(struct process_table *table, struct process *process,
				    struct mapping_table *rows, uint64_t until_ns)
{
	assert(!process->parent_table);
	pthread_mutex_lock(&table->lock);
	process->parent_table = mapping_table_ref(rows);
	process->parent_until_ns = until_ns;
	pthread_mutex_unlock(&table->lock);
}

/* The rows that last over the sync that loses some; NULL if there are none. Only the sync thread changes the tables. */
static struct mapping_table *find_lasting(const struct process *process, uint64_t now_ns)
{
	const struct mapping_table *before = process->table, *after = process->next_table;

	/* Samples from before the last loss may still wait. */
	if (process->lost_ns && now_ns < process->lost_ns + STALE_MEMORY_NS)
		before = process->lasting_table;
	return before && after ? mapping_table_intersect(before, after) : NULL;
}

void process_table_finish_sync(struct process_table *table, struct process *process,
			       enum process_state state, bool lost_rows, uint64_t now_ns)
{
	struct mapping_table *lasting = lost_rows ? find_lasting(process, now_ns) : NULL;

	pthread_mutex_lock(&table->lock);
	process->state = state;
	process->synced_ns = now_ns;
	process->table_read_ns = process->read_ns;
	if (process->next_table) {
		mapping_table_unref(process->previous_table);
		process->previous_table = process->table;
		process->previous_until_ns = now_ns;
		process->table = process->next_table;
		process->next_table = NULL;
		process->changed_ns = now_ns;
		process->is_settled = false;
	}
	if (lost_rows) {
		process->generation = ++table->last_generation;
		process->lost_ns = now_ns;
		mapping_table_unref(process->lasting_table);
		process->lasting_table = lasting;
	}
	for (uint32_t i = 0; i < process->stale_count; i++)
		if (closes_with_this_sync(process, &process->stale[i]))
			process->stale[i].until_ns = now_ns;
	forget_stale(process, now_ns);
	pthread_mutex_unlock(&table->lock);
}

void process_table_fail_sync(struct process_table *table, struct process *process,
			     enum process_state state, uint64_t now_ns)
{
	pthread_mutex_lock(&table->lock);
	process->state = state;
	process->synced_ns = now_ns;
	if (process->next_table) {
		mapping_table_unref(process->table);
		process->table = process->next_table;
		process->next_table = NULL;
		process->table_read_ns = process->read_ns;
		process->changed_ns = now_ns;
		/*
		 * These rows were not read from a process that may have changed: they are a parent's, the
		 * side-band's, or none.
		 */
		process->is_settled = true;
	}
	pthread_mutex_unlock(&table->lock);
}

void process_table_set_info(struct process_table *table, struct process *process,
			    struct process_info *info)
{
	/* Views of samples may borrow the old info meanwhile. */
	assert(!process->older_info);
	pthread_mutex_lock(&table->lock);
	process->older_info = process->info;
	process->info = info;
	pthread_mutex_unlock(&table->lock);
}

void process_table_set_runtimes(struct process_table *table, struct process *process,
				struct runtime_set *set)
{
	struct runtime_set *before = process->runtimes;

	pthread_mutex_lock(&table->lock);
	process->runtimes = set;
	pthread_mutex_unlock(&table->lock);
	runtime_set_unref(before);
}

struct process *process_table_fork_parent(struct process_table *table, const struct process *child)
{
	struct process *parent = NULL;

	pthread_mutex_lock(&table->lock);
	if (child->is_fork)
		parent = hash_map_get_pointer(&table->processes, child->parent_pid);
	/*
	 * A fork inherits the number of execs. If it is equal, and the parent had this program and these rows
	 * before the fork, then the child still runs the same program.
	 */
	while (parent && !(parent->identity.exec_id == child->identity.exec_id &&
			   parent->state == PROCESS_SYNCED &&
			   parent->known_ns < child->identity.start_time_ns &&
			   parent->changed_ns < child->identity.start_time_ns))
		parent = parent->older;
	pthread_mutex_unlock(&table->lock);
	return parent;
}

/*
 * A side-band event may come after maps that include the mapping were read. Then only the previous table, if
 * there was one, was wrong, until it was replaced.
 */
static enum mapping_news note_mapping(struct process *process, const struct mapped_range *range)
{
	bool replaces = false;

	if (range->time_ns < process->table_read_ns) {
		if (process->previous_table)
			replaces = mark_stale(process, process->previous_table, range,
					      process->previous_until_ns);
		return replaces ? MAPPING_REPLACED : MAPPING_KNOWN;
	}
	if (process->table)
		replaces = mark_stale(process, process->table, range, UINT64_MAX);
	if (range->time_ns < process->read_ns)
		return replaces ? MAPPING_REPLACED : MAPPING_KNOWN;
	if (process->recent_count < PROCESS_MAX_RECENT)
		process->recent[process->recent_count] = *range;
	if (process->recent_count <= PROCESS_MAX_RECENT)
		process->recent_count++;
	if (process->next_table)
		mark_stale(process, process->next_table, range, UINT64_MAX);
	return replaces ? MAPPING_REPLACED : MAPPING_ADDED;
}

enum mapping_news process_table_note_mapping(struct process_table *table,
					     const struct side_band_event *mapping)
{
	const uint64_t start = mapping->start, end = start + mapping->length;
	const struct mapped_range range = {
		.start = start,
		.end = end < start ? UINT64_MAX : end,
		.time_ns = mapping->time_ns,
		.file = {
			.inode = mapping->inode,
			.device_major = mapping->device_major,
			.device_minor = mapping->device_minor,
			.origin = start - mapping->offset,
		},
	};
	enum mapping_news news = MAPPING_KNOWN;
	struct process *process;

	pthread_mutex_lock(&table->lock);
	process = hash_map_get_pointer(&table->processes, mapping->pid);
	if (process)
		news = note_mapping(process, &range);
	pthread_mutex_unlock(&table->lock);
	return news;
}

void process_table_note_program(struct process_table *table, uint32_t pid,
				const struct process_identity *identity)
{
	struct process *process;

	pthread_mutex_lock(&table->lock);
	process = hash_map_get_pointer(&table->processes, pid);
	if (process && identity_is_older(&process->identity, identity))
		process->is_superseded = true;
	/* Without memory, programs that are added later do not count as superseded. */
	if (!heard_of_later(table, pid, identity) &&
	    lru_cache_put(&table->programs, &pid, (void *)(uintptr_t)identity_word(identity), 0))
		lru_cache_remove(&table->programs, &pid);
	pthread_mutex_unlock(&table->lock);
}

void process_table_forget_news(struct process_table *table)
{
	pthread_mutex_lock(&table->lock);
	lru_cache_age(&table->programs);
	pthread_mutex_unlock(&table->lock);
}

bool process_table_view(struct process_table *table, uint32_t pid,
			const struct process_identity *identity, uint64_t time_ns,
			struct process_view *view)
{
	struct mapping_table *rows;
	struct process *process;

	view->process = NULL;
	view->state = PROCESS_NEW;
	view->read_ns = 0;
	view->synced_ns = 0;
	view->is_outdated = false;
	view->has_lost_rows = false;
	view->is_settled = false;
	view->is_superseded = false;
	view->has_parent_rows = false;
	view->generation = 0;
	view->info = NULL;
	view->rows = NULL;
	view->runtimes = NULL;
	view->stale_count = 0;
	pthread_mutex_lock(&table->lock);
	process = find_locked(table, pid, identity);
	if (!process)
		goto unlock;
	process->references++;
	if (process->last_sample_ns < time_ns)
		process->last_sample_ns = time_ns;
	view->process = process;
	view->state = process->state;
	view->read_ns = process->table_read_ns;
	view->synced_ns = process->synced_ns;
	view->has_lost_rows = time_ns < process->lost_ns;
	view->is_outdated = process->recent_count;
	view->is_settled = process->is_settled;
	view->is_superseded = process->is_superseded;
	view->has_parent_rows = process->table && process->table == process->parent_table;
	view->generation = process->generation;
	view->runtimes = runtime_set_ref(process->runtimes);
	view->info = process->info;
	rows = view->has_lost_rows ? process->lasting_table : process->table;
	if (view->has_parent_rows && time_ns >= process->parent_until_ns) {
		view->has_parent_rows = false;
		rows = NULL;
	}
	if (rows)
		view->rows = mapping_table_ref(rows);
	for (uint32_t i = 0; i < process->stale_count; i++)
		if (process->stale[i].from_ns <= time_ns && time_ns <= process->stale[i].until_ns)
			view->stale[view->stale_count++] = process->stale[i];
unlock:
	pthread_mutex_unlock(&table->lock);
	return view->process;
}

void process_view_release(struct process_table *table, struct process_view *view)
{
	mapping_table_unref(view->rows);
	view->rows = NULL;
	runtime_set_unref(view->runtimes);
	view->runtimes = NULL;
	if (!view->process)
		return;
	pthread_mutex_lock(&table->lock);
	unref_locked(view->process);
	pthread_mutex_unlock(&table->lock);
	view->process = NULL;
}

void process_table_settle(struct process_table *table, const struct process_view *view)
{
	struct process *process = view->process;

	pthread_mutex_lock(&table->lock);
	if (!process->is_superseded && process->synced_ns == view->synced_ns)
		process->is_settled = true;
	pthread_mutex_unlock(&table->lock);
}

bool process_view_is_stale(const struct process_view *view, uint64_t executable_id)
{
	for (uint32_t i = 0; i < view->stale_count; i++)
		if (!view->stale[i].executable_id || view->stale[i].executable_id == executable_id)
			return true;
	return false;
}
