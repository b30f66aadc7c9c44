/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of mappings, chained by pid. Each path is kept once; when there are too many of them, the log is
 * cleared. Processes choose the numbers and paths, so these are only compared and copied.
 */
#include "agent/processes/mapping_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/urgent_thread.h"
#include "lib/base/vector.h"

enum {
	/** Limit of mappings of one program. Programs with more live long enough for their maps to be read. */
	LISTED_MAX = 512,
};

/* Limit of the clocks' normal drift between two rounds of the ring thread. */
#define CLOCK_STEP_NS ((int64_t)NS_PER_MS)

VECTOR_DEFINE(logged_vector, struct logged_mapping)
VECTOR_DEFINE(row_vector, struct proc_mapping)
VECTOR_DEFINE(char_vector, char)
VECTOR_DEFINE(edge_vector, uint64_t)

/* Copies of mappings; the path of each is its offset in paths. */
struct gathered {
	struct logged_vector mappings;
	struct char_vector paths;
	uint64_t lost_until_ns;
};

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

int mapping_log_init(struct mapping_log *log)
{
	memset(log, 0, sizeof(*log));
	urgent_lock_init(&log->lock);
	log->mappings = calloc(MAPPING_LOG_MAX, sizeof(*log->mappings));
	if (!log->mappings)
		return fail(-ENOMEM, "no memory for the log of mappings");
	/* Mappings from before this time are not known. */
	log->lost_until_ns = clock_monotonic_ns();
	log->realtime_offset_ns = clock_realtime_offset_ns();
	return 0;
}

static void forget_paths(struct mapping_log *log)
{
	for (uint32_t i = 0; i < log->path_count; i++)
		free(log->paths[i]);
	log->path_count = 0;
	log->path_bytes = 0;
	hash_map_deinit(&log->path_ids);
}

void mapping_log_deinit(struct mapping_log *log)
{
	forget_paths(log);
	free(log->mappings);
	log->mappings = NULL;
	pthread_mutex_destroy(&log->lock);
}

static void forget_all(struct mapping_log *log, uint64_t time_ns)
{
	forget_paths(log);
	memset(log->buckets, 0, sizeof(log->buckets));
	log->newest_ns = max_u64(log->newest_ns, time_ns);
	log->lost_until_ns = max_u64(log->lost_until_ns, log->newest_ns);
}

/* Finds or adds @path and gives its id; -ENOMEM, -ENOSPC. */
static int path_id(struct mapping_log *log, const char *path, uint32_t *id)
{
	size_t bytes = strlen(path) + 1;
	uint64_t hash, found;
	char *copy;

	if (bytes > MAPPING_LOG_PATH_MAX_BYTES) {
		path = "";
		bytes = 1;
	}
	hash = hash64_bytes(path, bytes);
	if (hash_map_find(&log->path_ids, hash, &found)) {
		*id = (uint32_t)found;
		return 0;
	}
	if (log->path_count == MAPPING_LOG_MAX_PATHS ||
	    log->path_bytes + bytes > MAPPING_LOG_PATHS_MAX_BYTES)
		return -ENOSPC;
	copy = strdup(path);
	if (!copy || hash_map_set(&log->path_ids, hash, log->path_count)) {
		free(copy);
		return -ENOMEM;
	}
	*id = log->path_count;
	log->paths[log->path_count++] = copy;
	log->path_bytes += (uint32_t)bytes;
	return 0;
}

static uint64_t *bucket_of(struct mapping_log *log, uint32_t pid)
{
	return &log->buckets[pid % MAPPING_LOG_BUCKETS];
}

static void add_locked(struct mapping_log *log, const struct side_band_event *event)
{
	struct logged_mapping mapping = {
		.time_ns = event->time_ns,
		.start = event->start,
		.end = event->start + event->length,
		.offset = event->offset,
		.inode = event->inode,
		.device_major = event->device_major,
		.device_minor = event->device_minor,
		.pid = event->pid,
		.previous = *bucket_of(log, event->pid),
	};
	struct logged_mapping *slot;

	if (event->type != SIDE_BAND_MAPPING || mapping.end < mapping.start ||
	    path_id(log, event->path, &mapping.path)) {
		forget_all(log, event->time_ns);
		return;
	}
	slot = &log->mappings[log->count++ % MAPPING_LOG_MAX];
	log->lost_until_ns = max_u64(log->lost_until_ns, slot->time_ns);
	log->newest_ns = max_u64(log->newest_ns, mapping.time_ns);
	*slot = mapping;
	*bucket_of(log, event->pid) = log->count;
}

void mapping_log_add(struct mapping_log *log, const struct side_band_event *event)
{
	pthread_mutex_lock(&log->lock);
	add_locked(log, event);
	pthread_mutex_unlock(&log->lock);
}

void mapping_log_note_heard(struct mapping_log *log, uint64_t time_ns)
{
	int64_t offset_ns = clock_realtime_offset_ns();

	if (llabs(offset_ns - log->realtime_offset_ns) > CLOCK_STEP_NS) {
		pthread_mutex_lock(&log->lock);
		forget_all(log, clock_monotonic_ns());
		pthread_mutex_unlock(&log->lock);
	}
	log->realtime_offset_ns = offset_ns;
	__atomic_store_n(&log->heard_until_ns, time_ns, __ATOMIC_RELEASE);
}

uint64_t mapping_log_heard_until(struct mapping_log *log)
{
	return __atomic_load_n(&log->heard_until_ns, __ATOMIC_ACQUIRE);
}

/* The mapping with @number, counted from 1; NULL if there is none, or it was overwritten. */
static const struct logged_mapping *mapping_at(const struct mapping_log *log, uint64_t number)
{
	if (!number || log->count - number >= MAPPING_LOG_MAX)
		return NULL;
	return &log->mappings[(number - 1) % MAPPING_LOG_MAX];
}

static int add_text(struct char_vector *texts, const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (char_vector_reserve(texts, texts->count + bytes))
		return -ENOMEM;
	memcpy(texts->items + texts->count, text, bytes);
	texts->count += bytes;
	return 0;
}

/*
 * Collects the mappings made in @pid from @since_ns to @until_ns. False if there are too many, or without
 * memory.
 */
static bool gather(const struct mapping_log *log, uint32_t pid, uint64_t since_ns,
		   uint64_t until_ns, struct gathered *found)
{
	const struct logged_mapping *mapping;
	uint64_t number = log->buckets[pid % MAPPING_LOG_BUCKETS];

	for (; (mapping = mapping_at(log, number)); number = mapping->previous) {
		struct logged_mapping copy = *mapping;

		if (mapping->pid != pid || mapping->time_ns < since_ns ||
		    mapping->time_ns > until_ns)
			continue;
		copy.path = (uint32_t)found->paths.count;
		if (found->mappings.count == LISTED_MAX ||
		    add_text(&found->paths, log->paths[mapping->path]) ||
		    logged_vector_push(&found->mappings, copy))
			return false;
	}
	return true;
}

static bool gather_program(const struct mapping_log *log, const struct logged_program *program,
			   struct gathered *found)
{
	if (!program->fork_pid)
		return gather(log, program->pid, program->start_ns, UINT64_MAX, found);
	return gather(log, program->fork_pid, program->fork_ns, program->fork_until_ns, found) &&
	       gather(log, program->pid, program->start_ns, program->fork_ns, found);
}

static int later_first(const void *a, const void *b)
{
	uint64_t left = ((const struct logged_mapping *)a)->time_ns;
	uint64_t right = ((const struct logged_mapping *)b)->time_ns;

	return left > right ? -1 : left < right;
}

static bool is_program_text(const struct logged_mapping *mapping,
			    const struct logged_program *program)
{
	return mapping->time_ns <= program->exec_ns && mapping->start <= program->code_address &&
	       program->code_address < mapping->end;
}

/* Removes the mappings of earlier programs: an exec maps the program's own text first. */
static int cut_before_exec(const struct logged_program *program, struct gathered *found)
{
	struct logged_vector *mappings = &found->mappings;

	if (mappings->count)
		qsort(mappings->items, mappings->count, sizeof(*mappings->items), later_first);
	for (size_t i = 0; i < mappings->count; i++) {
		if (!is_program_text(&mappings->items[i], program))
			continue;
		mappings->count = i + 1;
		return mappings->items[i].time_ns > found->lost_until_ns ? 0 : -ENOENT;
	}
	return -ENOENT;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Lists all starts and ends of @mappings in ascending order. */
static int list_edges(const struct logged_vector *mappings, struct edge_vector *edges)
{
	if (edge_vector_reserve(edges, 2 * mappings->count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < mappings->count; i++) {
		edge_vector_push(edges, mappings->items[i].start);
		edge_vector_push(edges, mappings->items[i].end);
	}
	qsort(edges->items, edges->count, sizeof(*edges->items), ascending);
	return 0;
}

/* Offset of @address in its file; 0 for anonymous memory, whose offset has no meaning. */
static uint64_t offset_at(const struct logged_mapping *mapping, uint64_t address)
{
	return mapping->inode ? mapping->offset + (address - mapping->start) : 0;
}

/* The only mapping that ever covered @address; NULL: there was none, or there were different ones. */
static const struct logged_mapping *only_one_at(const struct logged_vector *mappings,
						uint64_t address)
{
	const struct logged_mapping *only = NULL;

	for (size_t i = 0; i < mappings->count; i++) {
		const struct logged_mapping *mapping = &mappings->items[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		if (only && !(only->inode == mapping->inode &&
			      only->device_major == mapping->device_major &&
			      only->device_minor == mapping->device_minor &&
			      offset_at(only, address) == offset_at(mapping, address)))
			return NULL;
		only = mapping;
	}
	return only;
}

/* Makes rows between the edges, and joins neighbours of one mapping. */
static int build_rows(const struct gathered *found, const struct edge_vector *edges,
		      struct row_vector *rows)
{
	const struct logged_mapping *last = NULL;

	for (size_t i = 0; i + 1 < edges->count; i++) {
		uint64_t start = edges->items[i], end = edges->items[i + 1];
		const struct logged_mapping *mapping = only_one_at(&found->mappings, start);

		if (start == end)
			continue;
		if (mapping && mapping == last) {
			rows->items[rows->count - 1].end = end;
		} else if (mapping) {
			const struct proc_mapping row = {
				.start = start,
				.end = end,
				.offset = offset_at(mapping, start),
				.inode = mapping->inode,
				.device_major = mapping->device_major,
				.device_minor = mapping->device_minor,
				.protection = PROT_READ | PROT_EXEC,
				.path = found->paths.items + mapping->path,
			};

			if (row_vector_push(rows, row))
				return -ENOMEM;
		}
		last = mapping;
	}
	return 0;
}

int mapping_log_list(struct mapping_log *log, const struct logged_program *program,
		     struct proc_maps *maps)
{
	struct gathered found = { 0 };
	_cleanup_(edge_vector_deinit) struct edge_vector edges = { 0 };
	struct row_vector rows = { 0 };
	bool is_whole;
	int err;

	pthread_mutex_lock(&log->lock);
	is_whole = gather_program(log, program, &found);
	found.lost_until_ns = log->lost_until_ns;
	pthread_mutex_unlock(&log->lock);
	err = is_whole ? cut_before_exec(program, &found) : -ENOENT;
	if (!err)
		err = list_edges(&found.mappings, &edges);
	if (!err)
		err = build_rows(&found, &edges, &rows);
	logged_vector_deinit(&found.mappings);
	*maps = (struct proc_maps){
		.rows = rows.items,
		.count = (uint32_t)rows.count,
		.paths = found.paths.items,
	};
	if (err)
		proc_maps_deinit(maps);
	return err;
}

uint64_t mapping_log_first_since(struct mapping_log *log, uint32_t pid, uint64_t since_ns)
{
	const struct logged_mapping *mapping;
	uint64_t number, first_ns;

	pthread_mutex_lock(&log->lock);
	first_ns = since_ns <= log->lost_until_ns ? since_ns : UINT64_MAX;
	number = *bucket_of(log, pid);
	for (; (mapping = mapping_at(log, number)); number = mapping->previous)
		if (mapping->pid == pid && mapping->time_ns >= since_ns &&
		    mapping->time_ns < first_ns)
			first_ns = mapping->time_ns;
	pthread_mutex_unlock(&log->lock);
	return first_ns;
}
