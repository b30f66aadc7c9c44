/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One record per pid. While a record is requested it is not taken out, so load_remote may use the
 * fields that are its own without the lock. Files are hostile: their text is parsed by perf_map.c,
 * and what is read of them, how often, and what is kept is bounded here.
 */
#include "agent/processes/perf_maps.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/hash_map.h"
#include "agent/base/log.h"
#include "agent/host/perf_map_file.h"

enum {
	READ_BYTES = 64 << 10,
	READS_AT_ONCE = 16,
};

/* Clocks are set: the file of a process may seem to be so much older than the process. */
#define CLOCK_SLACK_NS (2 * (int64_t)NS_PER_SECOND)

struct named_process {
	uint32_t pid;
	struct process_stamp stamp;
	/* Work's and load_remote's, under the lock: */
	struct perf_map map;
	uint64_t state;
	uint64_t asked_ns;
	uint64_t next_read_ns;
	uint64_t pause_ns;
	bool is_requested;
	/* What was read already. Load_remote's while is_requested. */
	uint64_t device;
	uint64_t inode;
	uint64_t offset;
};

struct perf_maps {
	struct perf_maps_config config;
	pthread_mutex_t lock;
	/* pid -> struct named_process. */
	struct hash_map processes;
	size_t bytes;
	uint64_t last_state;
	/* Of the present second, load_remote's. */
	uint64_t second;
	uint64_t second_bytes;
};

int perf_maps_create(const struct perf_maps_config *config, struct perf_maps **maps)
{
	struct perf_maps *created = calloc(1, sizeof(*created));

	if (!created)
		return fail(-ENOMEM, "no memory for perf maps");
	created->config = *config;
	pthread_mutex_init(&created->lock, NULL);
	*maps = created;
	return 0;
}

static void forget_names(struct perf_maps *maps, struct named_process *process)
{
	maps->bytes -= perf_map_bytes(&process->map);
	perf_map_deinit(&process->map);
	process->state = 0;
	process->offset = 0;
}

static void remove_process(struct perf_maps *maps, struct named_process *process)
{
	forget_names(maps, process);
	hash_map_remove(&maps->processes, process->pid, NULL);
	free(process);
}

void perf_maps_destroy(struct perf_maps *maps)
{
	size_t cursor = 0;
	uint64_t value;

	if (!maps)
		return;
	while (hash_map_next(&maps->processes, &cursor, NULL, &value)) {
		struct named_process *process = (void *)(uintptr_t)value;

		perf_map_deinit(&process->map);
		free(process);
	}
	hash_map_deinit(&maps->processes);
	pthread_mutex_destroy(&maps->lock);
	free(maps);
}

/* The one that was asked for longest ago and is not being read; NULL if there is none. */
static struct named_process *least_wanted(const struct perf_maps *maps, bool with_names_only)
{
	struct named_process *least = NULL;
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&maps->processes, &cursor, NULL, &value)) {
		struct named_process *process = (void *)(uintptr_t)value;

		if (process->is_requested || (with_names_only && !perf_map_bytes(&process->map)))
			continue;
		if (!least || process->asked_ns < least->asked_ns)
			least = process;
	}
	return least;
}

static struct named_process *find(const struct perf_maps *maps, uint32_t pid,
				  const struct process_stamp *stamp)
{
	struct named_process *process = hash_map_get_pointer(&maps->processes, pid);

	return process && !memcmp(&process->stamp, stamp, sizeof(*stamp)) ? process : NULL;
}

static struct named_process *add(struct perf_maps *maps, uint32_t pid,
				 const struct process_stamp *stamp)
{
	struct named_process *process = hash_map_get_pointer(&maps->processes, pid);

	/* Of another program in this pid; it goes as soon as nobody reads it. */
	if (process && process->is_requested)
		return NULL;
	if (process)
		remove_process(maps, process);
	if (maps->processes.count >= PERF_MAPS_MAX_PROCESSES) {
		process = least_wanted(maps, false);
		if (!process)
			return NULL;
		remove_process(maps, process);
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->stamp = *stamp;
	process->pause_ns = PERF_MAP_MIN_NS;
	if (hash_map_set_pointer(&maps->processes, pid, process)) {
		free(process);
		return NULL;
	}
	return process;
}

uint64_t perf_maps_ask(struct perf_maps *maps, uint32_t pid, const struct process_stamp *stamp,
		       uint64_t now_ns)
{
	struct named_process *process;
	bool is_due = false;
	uint64_t state = 0;

	pthread_mutex_lock(&maps->lock);
	process = find(maps, pid, stamp);
	if (!process)
		process = add(maps, pid, stamp);
	if (process) {
		process->asked_ns = now_ns;
		state = process->state;
		is_due = !process->is_requested && now_ns >= process->next_read_ns;
		if (is_due)
			process->is_requested = true;
	}
	pthread_mutex_unlock(&maps->lock);
	if (is_due)
		maps->config.request(maps->config.context, pid, stamp);
	return state;
}

const struct perf_map *perf_maps_lock(struct perf_maps *maps, uint32_t pid,
				      const struct process_stamp *stamp)
{
	const struct named_process *process;

	pthread_mutex_lock(&maps->lock);
	process = find(maps, pid, stamp);
	return process && process->state ? &process->map : NULL;
}

void perf_maps_unlock(struct perf_maps *maps)
{
	pthread_mutex_unlock(&maps->lock);
}

void perf_maps_expire(struct perf_maps *maps, uint64_t now_ns)
{
	struct named_process *process;

	pthread_mutex_lock(&maps->lock);
	while ((process = least_wanted(maps, false)) &&
	       now_ns > process->asked_ns + PERF_MAP_KEEP_NS)
		remove_process(maps, process);
	pthread_mutex_unlock(&maps->lock);
}

void perf_maps_request_dropped(struct perf_maps *maps, uint32_t pid)
{
	struct named_process *process;

	pthread_mutex_lock(&maps->lock);
	process = hash_map_get_pointer(&maps->processes, pid);
	if (process)
		process->is_requested = false;
	pthread_mutex_unlock(&maps->lock);
}

/* --- reading --- */

/* Takes @text in; false if the reading has come to its end. */
static bool take_text(struct perf_maps *maps, struct named_process *process, const char *text,
		      size_t bytes)
{
	bool was_whole = !process->map.left_out_count;
	size_t used = 0, before = perf_map_bytes(&process->map);
	struct named_process *other;
	int err;

	pthread_mutex_lock(&maps->lock);
	err = perf_map_add(&process->map, text, bytes, &used);
	maps->bytes += perf_map_bytes(&process->map) - before;
	while (maps->bytes > PERF_MAPS_MAX_BYTES && (other = least_wanted(maps, true)))
		forget_names(maps, other);
	/* No line end in all of it is a line without sense. */
	if (!used && bytes == READ_BYTES)
		used = bytes;
	process->offset += used;
	if (used)
		process->state = ++maps->last_state;
	/* To be read from its start another time. */
	if (err)
		forget_names(maps, process);
	pthread_mutex_unlock(&maps->lock);
	if (was_whole && process->map.left_out_count)
		log_debug("process %u: a perf map of more than is kept; later functions have no "
			  "names",
			  process->pid);
	return used && !err;
}

static bool may_read(struct perf_maps *maps, uint64_t now_ns)
{
	uint64_t second = now_ns / NS_PER_SECOND;

	if (second != maps->second) {
		maps->second = second;
		maps->second_bytes = 0;
	}
	return maps->second_bytes < PERF_MAPS_BYTES_PER_SECOND;
}

/* Reads on from process->offset. True if there was something new. */
static bool read_file(struct perf_maps *maps, struct named_process *process, int fd,
		      const struct file_key *key, uint64_t now_ns)
{
	_cleanup_(free_pointer) char *text = NULL;
	bool has_grown = false;
	ssize_t count;

	if (process->device != key->device || process->inode != key->inode ||
	    process->offset > key->size) {
		pthread_mutex_lock(&maps->lock);
		forget_names(maps, process);
		pthread_mutex_unlock(&maps->lock);
		process->device = key->device;
		process->inode = key->inode;
	}
	if (process->offset == key->size)
		return false;
	text = malloc(READ_BYTES);
	/* In parts, so that others have their turn. */
	for (int i = 0; text && i < READS_AT_ONCE && may_read(maps, now_ns); i++) {
		count = pread(fd, text, READ_BYTES, (off_t)process->offset);
		if (count <= 0)
			break;
		maps->second_bytes += count;
		if (!take_text(maps, process, text, count))
			break;
		has_grown = true;
	}
	return has_grown;
}

static int64_t start_realtime_ns(const struct process_stamp *stamp)
{
	uint64_t age_ns = clock_monotonic_ns() - stamp->start_time_ns;

	return (int64_t)(clock_realtime_ns() - age_ns);
}

static uint64_t next_pause(uint64_t pause_ns, int err, bool has_grown)
{
	uint64_t limit_ns = err ? PERF_MAP_ABSENT_MAX_NS : PERF_MAP_MAX_NS;

	if (has_grown)
		return PERF_MAP_MIN_NS;
	return 2 * pause_ns < limit_ns ? 2 * pause_ns : limit_ns;
}

void perf_maps_read(struct perf_maps *maps, uint32_t pid, const struct process_stamp *stamp,
		    uint64_t now_ns)
{
	_cleanup_(close_fd) int fd = -1;
	struct named_process *process;
	bool has_grown = false;
	struct file_key key;
	int err;

	pthread_mutex_lock(&maps->lock);
	process = find(maps, pid, stamp);
	pthread_mutex_unlock(&maps->lock);
	if (!process)
		return;
	err = perf_map_open(maps->config.proc_root, pid, start_realtime_ns(stamp) - CLOCK_SLACK_NS,
			    &fd, &key);
	if (!err)
		has_grown = read_file(maps, process, fd, &key, now_ns);
	else
		log_debug("process %u: no perf map: %s", pid, error_text());
	pthread_mutex_lock(&maps->lock);
	process->pause_ns = next_pause(process->pause_ns, err, has_grown);
	process->next_read_ns = now_ns + process->pause_ns;
	process->is_requested = false;
	pthread_mutex_unlock(&maps->lock);
}
