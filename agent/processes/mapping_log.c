/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of mappings, chained by pid. Paths are kept once each; when there are too many of them, all is
 * forgotten and begun anew. Numbers and paths are the kernel's, of what a process chose: here they are
 * compared and copied only.
 */
#include "agent/processes/mapping_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/urgent_thread.h"
#include "agent/base/vector.h"

enum {
	/** Mappings of one program that are looked at; who has more lives long enough to be read. */
	LISTED_MAX = 512,
};

VECTOR_DEFINE(logged_vector, struct logged_mapping)
VECTOR_DEFINE(row_vector, struct proc_mapping)
VECTOR_DEFINE(char_vector, char)
VECTOR_DEFINE(edge_vector, uint64_t)

int mapping_log_init(struct mapping_log *log)
{
	memset(log, 0, sizeof(*log));
	urgent_lock_init(&log->lock);
	log->mappings = calloc(MAPPING_LOG_MAX, sizeof(*log->mappings));
	if (!log->mappings)
		return fail(-ENOMEM, "no memory for the log of mappings");
	/* What was mapped before is not known. */
	log->lost_until_ns = clock_monotonic_ns();
	return 0;
}

static void forget_paths(struct mapping_log *log)
{
	for (uint32_t i = 0; i < log->path_count; i++)
		free(log->paths[i]);
	log->path_count = 0;
	hash_map_deinit(&log->path_numbers);
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
	if (time_ns > log->lost_until_ns)
		log->lost_until_ns = time_ns;
}

/* The number of @path; -ENOMEM, -ENOSPC. */
static int path_number(struct mapping_log *log, const char *path, uint32_t *number)
{
	size_t bytes = strlen(path) + 1;
	uint64_t found;
	char *copy;

	if (hash_map_find_bytes(&log->path_numbers, path, bytes, &found)) {
		*number = (uint32_t)found;
		return 0;
	}
	if (log->path_count == MAPPING_LOG_MAX_PATHS)
		return -ENOSPC;
	copy = strdup(path);
	if (!copy || hash_map_set_bytes(&log->path_numbers, path, bytes, log->path_count)) {
		free(copy);
		return -ENOMEM;
	}
	*number = log->path_count;
	log->paths[log->path_count++] = copy;
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

	if (event->type != SIDE_BAND_MAPPING || mapping.end < mapping.start ||
	    path_number(log, event->path, &mapping.path)) {
		forget_all(log, event->time_ns);
		return;
	}
	log->mappings[log->count++ % MAPPING_LOG_MAX] = mapping;
	*bucket_of(log, event->pid) = log->count;
}

void mapping_log_add(struct mapping_log *log, const struct side_band_event *event)
{
	pthread_mutex_lock(&log->lock);
	add_locked(log, event);
	pthread_mutex_unlock(&log->lock);
}

/* The mapping with that number, counted from 1; NULL if it is none, or overwritten. */
static const struct logged_mapping *mapping_at(const struct mapping_log *log, uint64_t number)
{
	if (!number || log->count - number >= MAPPING_LOG_MAX)
		return NULL;
	return &log->mappings[(number - 1) % MAPPING_LOG_MAX];
}

/* Whether what was mapped from @since_ns on is all there. */
static bool is_complete(const struct mapping_log *log, uint64_t since_ns)
{
	const struct logged_mapping *oldest = &log->mappings[log->count % MAPPING_LOG_MAX];

	return since_ns > log->lost_until_ns &&
	       (log->count < MAPPING_LOG_MAX || oldest->time_ns < since_ns);
}

static int later_first(const void *a, const void *b)
{
	uint64_t left = ((const struct logged_mapping *)a)->time_ns;
	uint64_t right = ((const struct logged_mapping *)b)->time_ns;

	return left > right ? -1 : left < right;
}

/* What was mapped in @pid from @since_ns to @until_ns, the latest first. */
static int gather(struct mapping_log *log, uint32_t pid, uint64_t since_ns, uint64_t until_ns,
		  struct logged_vector *found)
{
	const struct logged_mapping *mapping;
	uint64_t number = *bucket_of(log, pid);

	for (; (mapping = mapping_at(log, number)); number = mapping->previous) {
		if (mapping->pid != pid || mapping->time_ns < since_ns ||
		    mapping->time_ns > until_ns)
			continue;
		if (found->count == LISTED_MAX)
			return -ENOENT;
		if (logged_vector_push(found, *mapping))
			return -ENOMEM;
	}
	/* CPUs are read one after the other. */
	if (found->count)
		qsort(found->items, found->count, sizeof(*found->items), later_first);
	return 0;
}

static int gather_program(struct mapping_log *log, const struct logged_program *program,
			  struct logged_vector *found)
{
	int err;

	if (!program->fork_pid)
		return gather(log, program->pid, program->start_ns, UINT64_MAX, found);
	err = gather(log, program->fork_pid, program->fork_ns, UINT64_MAX, found);
	return err ? err : gather(log, program->pid, program->start_ns, program->fork_ns, found);
}

static bool is_program_text(const struct logged_mapping *mapping,
			    const struct logged_program *program)
{
	return mapping->time_ns <= program->exec_ns && mapping->start <= program->code_address &&
	       program->code_address < mapping->end;
}

/* Cuts off what the programs before mapped: an exec maps the program's own text first. */
static int cut_before_exec(const struct mapping_log *log, const struct logged_program *program,
			   struct logged_vector *found)
{
	for (size_t i = 0; i < found->count; i++) {
		if (!is_program_text(&found->items[i], program))
			continue;
		found->count = i + 1;
		return is_complete(log, found->items[i].time_ns) ? 0 : -ENOENT;
	}
	return -ENOENT;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Where any of @found starts or ends, ascending. */
static int list_edges(const struct logged_vector *found, struct edge_vector *edges)
{
	if (edge_vector_reserve(edges, 2 * found->count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < found->count; i++) {
		edge_vector_push(edges, found->items[i].start);
		edge_vector_push(edges, found->items[i].end);
	}
	qsort(edges->items, edges->count, sizeof(*edges->items), ascending);
	return 0;
}

/* The latest of @found that has @address; its index, or the count of all. */
static size_t latest_at(const struct logged_vector *found, uint64_t address)
{
	size_t i = 0;

	while (i < found->count &&
	       !(found->items[i].start <= address && address < found->items[i].end))
		i++;
	return i;
}

/* Appends the path to @paths; its place there, to be made a pointer when they move no more. */
static int add_path(struct char_vector *paths, const char *path, const char **place)
{
	size_t bytes = strlen(path) + 1;

	*place = (const char *)paths->count;
	if (char_vector_reserve(paths, paths->count + bytes))
		return -ENOMEM;
	memcpy(paths->items + paths->count, path, bytes);
	paths->count += bytes;
	return 0;
}

/* Rows of @found, the latest first, as they lie over each other. */
static int build_rows(const struct mapping_log *log, const struct logged_vector *found,
		      const struct edge_vector *edges, struct row_vector *rows,
		      struct char_vector *paths)
{
	size_t last = found->count;

	for (size_t i = 0; i + 1 < edges->count; i++) {
		uint64_t start = edges->items[i], end = edges->items[i + 1];
		size_t index = latest_at(found, start);
		const struct logged_mapping *mapping = &found->items[index];
		struct proc_mapping row;

		if (start == end)
			continue;
		if (index == found->count) {
			last = index;
			continue;
		}
		if (index == last) {
			rows->items[rows->count - 1].end = end;
			continue;
		}
		row = (struct proc_mapping){
			.start = start,
			.end = end,
			.inode = mapping->inode,
			.device_major = mapping->device_major,
			.device_minor = mapping->device_minor,
			.protection = PROT_READ | PROT_EXEC,
		};
		if (mapping->inode)
			row.offset = mapping->offset + (start - mapping->start);
		if (add_path(paths, mapping->inode ? log->paths[mapping->path] : "", &row.path) ||
		    row_vector_push(rows, row))
			return -ENOMEM;
		last = index;
	}
	return 0;
}

static int list_locked(struct mapping_log *log, const struct logged_program *program,
		       struct proc_maps *maps)
{
	_cleanup_(logged_vector_deinit) struct logged_vector found = { 0 };
	_cleanup_(edge_vector_deinit) struct edge_vector edges = { 0 };
	struct char_vector paths = { 0 };
	struct row_vector rows = { 0 };
	int err = gather_program(log, program, &found);

	if (!err)
		err = cut_before_exec(log, program, &found);
	if (!err)
		err = list_edges(&found, &edges);
	if (!err)
		err = build_rows(log, &found, &edges, &rows, &paths);
	for (size_t i = 0; i < rows.count; i++)
		rows.items[i].path = paths.items + (uintptr_t)rows.items[i].path;
	/* Owned by @maps, also after an error. */
	*maps = (struct proc_maps){ .rows = rows.items, .count = rows.count, .paths = paths.items };
	return err;
}

int mapping_log_list(struct mapping_log *log, const struct logged_program *program,
		     struct proc_maps *maps)
{
	int err;

	pthread_mutex_lock(&log->lock);
	err = list_locked(log, program, maps);
	pthread_mutex_unlock(&log->lock);
	if (err)
		proc_maps_deinit(maps);
	return err;
}

bool mapping_log_may_have(struct mapping_log *log, uint32_t pid, uint64_t since_ns)
{
	_cleanup_(logged_vector_deinit) struct logged_vector found = { 0 };
	bool may_have;

	pthread_mutex_lock(&log->lock);
	may_have = gather(log, pid, since_ns, UINT64_MAX, &found) || found.count ||
		   !is_complete(log, since_ns);
	pthread_mutex_unlock(&log->lock);
	return may_have;
}
