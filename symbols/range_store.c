/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two steps from a binary to its ranges: by executable id, which is never used again, to what was made
 * for each depth, and from there by its key to the mapping. Whoever looks something up holds a
 * reference on the mapping, so it may go from the cache of mappings meanwhile.
 */
#include "symbols/range_store.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/hash_map.h"
#include "agent/base/log.h"
#include "agent/base/lru_cache.h"
#include "agent/base/metrics.h"
#include "symbols/range_jobs.h"
#include "symbols/range_retry.h"

enum {
	DEPTH_COUNT = RANGE_DEPTH_FULL + 1,
	/* A tenth of a CPU that others want, also of the processes that read DWARF. */
	NICE_VALUE = 10,
};

/*
 * Of the work, which anybody can make more: what can be saved up, and which part of the time that
 * goes by is added. A debug file of 1 GB takes 8 s.
 */
#define BURST_NS (60 * NS_PER_SECOND)
enum { SHARE = 4 };

/* How long the end waits for a file that is being read. */
#define LEAVE_NS (200 * NS_PER_MS)

enum range_state {
	RANGES_UNKNOWN,
	RANGES_WAITING,
	RANGES_MADE,
	/* There are none, or they cannot be made. */
	RANGES_NONE,
	/* The system could not do it: to be tried again when somebody asks, after a while. */
	RANGES_LATER,
};

/* A range file: of all entries whose files have the same bytes. */
struct made {
	struct hash128 key;
	/* -1: it was dropped. */
	int fd;
	uint32_t references;
};

struct entry {
	/* The first process that was told of. */
	pid_t pid;
	enum range_state states[DEPTH_COUNT];
	struct made *made[DEPTH_COUNT];
	/* Of RANGES_LATER. */
	struct range_retry retries[DEPTH_COUNT];
};

struct range_store {
	struct range_source source;
	struct range_store_options options;
	pthread_t thread;
	/* Of the thread. */
	uint64_t spent_ns;
	uint64_t refilled_ns;

	/* Of all below. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_stopping;
	bool is_hurried;
	/* What comes now is not put into the entries. */
	bool is_frozen;
	bool is_busy;
	bool is_done;
	struct range_job_queue queues[DEPTH_COUNT];
	size_t waiting_count;
	uint64_t change_count;
	/* executable id -> struct entry */
	struct lru_cache entries;
	/* key -> struct made, not referenced */
	struct hash_map made;
	/* key -> struct mapped_ranges */
	struct lru_cache mapped;
	/* key -> struct made, not referenced: those whose files are held open */
	struct lru_cache files;
};

/* --- what was made; all with the lock --- */

static void release_mapped(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	mapped_ranges_unref(value);
}

/* Leaves the made one to its entries, without a file. */
static void drop_file(struct range_store *store, struct made *made)
{
	hash_map_remove_bytes(&store->made, &made->key, sizeof(made->key), NULL);
	lru_cache_remove(&store->mapped, &made->key);
	close_fd(&made->fd);
	made->fd = -1;
}

static void release_file(void *context, const void *key, void *value)
{
	struct made *made = value;

	(void)key;
	/* Not so if the last entry has let go of it. */
	if (made->fd < 0)
		return;
	drop_file(context, made);
	metrics_add(METRIC_RANGES_DROPPED, 1);
}

static void made_unref(struct range_store *store, struct made *made)
{
	if (!made || --made->references)
		return;
	if (made->fd >= 0) {
		drop_file(store, made);
		lru_cache_remove(&store->files, &made->key);
	}
	free(made);
}

static struct made *find_made(struct range_store *store, struct hash128 key)
{
	uint64_t found;

	if (!hash_map_find_bytes(&store->made, &key, sizeof(key), &found))
		return NULL;
	((struct made *)(uintptr_t)found)->references++;
	return (struct made *)(uintptr_t)found;
}

/* Takes the file over. */
static struct made *add_made(struct range_store *store, struct hash128 key,
			     const struct range_file_made *file)
{
	struct made *made = malloc(sizeof(*made));

	if (!made || hash_map_set_bytes(&store->made, &key, sizeof(key), (uintptr_t)made)) {
		free(made);
		close(file->fd);
		return NULL;
	}
	*made = (struct made){ .key = key, .fd = file->fd, .references = 1 };
	if (lru_cache_put(&store->files, &key, made, file->bytes)) {
		made_unref(store, made);
		return NULL;
	}
	return made;
}

static struct mapped_ranges *map(struct range_store *store, struct made *made)
{
	struct mapped_ranges *mapped = lru_cache_get(&store->mapped, &made->key);

	/* Used now. */
	lru_cache_get(&store->files, &made->key);
	if (mapped)
		return mapped_ranges_ref(mapped);
	/* It was checked when it was made or found. */
	if (mapped_ranges_create(made->fd, made->key, true, &mapped))
		return NULL;
	if (!lru_cache_put(&store->mapped, &made->key, mapped, 0))
		mapped_ranges_ref(mapped);
	return mapped;
}

/* --- entries; all with the lock --- */

static void release_entry(void *context, const void *key, void *value)
{
	struct entry *entry = value;

	(void)key;
	for (int depth = 0; depth < DEPTH_COUNT; depth++)
		made_unref(context, entry->made[depth]);
	free(entry);
}

static struct entry *find_entry(struct range_store *store, const struct binary *binary, pid_t pid)
{
	struct entry *entry = lru_cache_get(&store->entries, &binary->executable_id);

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (entry)
		entry->pid = pid;
	if (entry && lru_cache_put(&store->entries, &binary->executable_id, entry, 0)) {
		free(entry);
		return NULL;
	}
	return entry;
}

static bool is_to_be_made(const struct entry *entry, enum range_depth depth)
{
	return entry->states[depth] == RANGES_UNKNOWN ||
	       (entry->states[depth] == RANGES_LATER &&
		clock_monotonic_ns() >= entry->retries[depth].time_ns);
}

static void push_job(struct range_store *store, struct entry *entry, struct binary *binary,
		     pid_t pid, enum range_depth depth)
{
	struct range_job *job;

	if (!is_to_be_made(entry, depth) || store->is_stopping || store->is_frozen ||
	    store->waiting_count == RANGE_STORE_MAX_WAITING)
		return;
	job = malloc(sizeof(*job));
	if (!job)
		return;
	*job = (struct range_job){ .binary = binary_ref(binary), .pid = pid, .depth = depth };
	range_jobs_push(&store->queues[depth], job);
	store->waiting_count++;
	entry->states[depth] = RANGES_WAITING;
	pthread_cond_broadcast(&store->changed);
}

static struct range_job *pop_job(struct range_store *store, enum range_depth depth)
{
	struct range_job *job = range_jobs_pop(&store->queues[depth]);

	store->waiting_count -= job != NULL;
	return job;
}

static void want(struct range_store *store, struct entry *entry, struct binary *binary, pid_t pid,
		 enum range_depth depth)
{
	for (enum range_depth each = 0; each <= depth; each++)
		push_job(store, entry, binary, pid, each);
}

static bool is_read(const struct binary *binary)
{
	return !binary->is_kernel && binary->fd >= 0 && !binary->may_hang;
}

void range_store_want(struct range_store *store, struct binary *binary, pid_t pid,
		      enum range_depth depth)
{
	struct entry *entry;

	if (!is_read(binary))
		return;
	pthread_mutex_lock(&store->lock);
	entry = find_entry(store, binary, pid);
	if (entry)
		want(store, entry, binary, pid, depth);
	pthread_mutex_unlock(&store->lock);
}

void range_store_retry(struct range_store *store, struct binary *binary)
{
	struct entry *entry;

	pthread_mutex_lock(&store->lock);
	entry = lru_cache_peek(&store->entries, &binary->executable_id);
	if (entry && entry->states[RANGE_DEPTH_FULL] == RANGES_NONE) {
		entry->states[RANGE_DEPTH_FULL] = RANGES_UNKNOWN;
		push_job(store, entry, binary, entry->pid, RANGE_DEPTH_FULL);
	}
	pthread_mutex_unlock(&store->lock);
}

static struct mapped_ranges *get(struct range_source *source, struct binary *binary,
				 enum range_depth depth)
{
	struct range_store *store = (struct range_store *)source;
	struct mapped_ranges *mapped = NULL;
	struct entry *entry;

	if (!is_read(binary))
		return NULL;
	pthread_mutex_lock(&store->lock);
	/* Of which nobody knows a process: range_store_want() comes first. */
	entry = lru_cache_get(&store->entries, &binary->executable_id);
	for (int each = depth; entry && each >= 0 && !mapped; each--) {
		struct made *made = entry->made[each];

		if (made && made->fd >= 0) {
			mapped = map(store, made);
		} else if (made) {
			entry->made[each] = NULL;
			entry->states[each] = RANGES_UNKNOWN;
			made_unref(store, made);
		}
	}
	if (entry)
		want(store, entry, binary, entry->pid, depth);
	pthread_mutex_unlock(&store->lock);
	return mapped;
}

/* --- the thread --- */

static void log_failed(const struct range_job *job)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 20 };
	uint64_t suppressed;

	if (log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_debug("no %s of %s: %s", job->depth == RANGE_DEPTH_FULL ? "lines" : "symbols",
			  job->binary->path, error_text());
}

/* What was made, or there already, with a reference. A frozen store keeps what it has. */
static int keep(struct range_store *store, const struct range_work *work,
		const struct range_file_made *file, struct made **made)
{
	pthread_mutex_lock(&store->lock);
	if (store->is_frozen)
		close(file->fd);
	else
		*made = add_made(store, work->key, file);
	pthread_mutex_unlock(&store->lock);
	return *made ? 0 : -ENOMEM;
}

/* *@made is a reference. -ENOENT: there is nothing. Without the lock. */
static int do_job(struct range_store *store, const struct range_job *job, struct made **made)
{
	_cleanup_(range_work_deinit) struct range_work work;
	struct range_file_made file;
	int err = range_work_init(&work, &store->options.work, job->binary, job->pid, job->depth);

	if (err)
		return err;
	pthread_mutex_lock(&store->lock);
	*made = find_made(store, work.key);
	pthread_mutex_unlock(&store->lock);
	if (*made)
		return 0;
	err = range_work_do(&work, &file);
	if (err)
		metrics_add(METRIC_RANGES_FAILED, 1);
	/* That a file has none is known by now. */
	if (err == -ENOENT)
		err = -EBADMSG;
	return err ? err : keep(store, &work, &file, made);
}

/* With the lock. The entry may have gone meanwhile. */
static void put_result(struct range_store *store, const struct range_job *job, struct made *made,
		       int err)
{
	struct entry *entry = lru_cache_peek(&store->entries, &job->binary->executable_id);

	if (!entry || entry->made[job->depth] || store->is_frozen) {
		made_unref(store, made);
		return;
	}
	if (err) {
		entry->states[job->depth] = range_retry_note(&entry->retries[job->depth], err) ?
						    RANGES_LATER :
						    RANGES_NONE;
		return;
	}
	entry->made[job->depth] = made;
	entry->states[job->depth] = RANGES_MADE;
	store->change_count++;
}

_Static_assert(offsetof(struct range_store, source) == 0, "get() casts");

static void wait_until(struct range_store *store, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / NS_PER_SECOND),
		.tv_nsec = (long)(until_ns % NS_PER_SECOND),
	};

	pthread_cond_timedwait(&store->changed, &store->lock, &until);
}

/* How long work has to wait for its share of the CPU. */
static uint64_t rest_ns(struct range_store *store)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t refill_ns = (now_ns - store->refilled_ns) / SHARE;

	store->spent_ns -= refill_ns < store->spent_ns ? refill_ns : store->spent_ns;
	store->refilled_ns = now_ns;
	return store->spent_ns < BURST_NS ? 0 : (store->spent_ns - BURST_NS + NS_PER_MS) * SHARE;
}

/* With the lock. NULL: the store ends, or stays as it is. */
static struct range_job *next_job(struct range_store *store)
{
	while (!store->is_stopping && !store->is_frozen) {
		uint64_t wait_ns = store->waiting_count ? rest_ns(store) : 0;
		struct range_job *job = NULL;

		for (int depth = 0; !job && depth < DEPTH_COUNT; depth++)
			if (!wait_ns || store->is_hurried)
				job = pop_job(store, depth);
		if (job)
			return job;
		if (wait_ns)
			wait_until(store, clock_monotonic_ns() + wait_ns);
		else
			pthread_cond_wait(&store->changed, &store->lock);
	}
	return NULL;
}

static void *run_thread(void *argument)
{
	struct range_store *store = argument;
	struct range_job *job;
	int own_nice;

	pthread_setname_np(pthread_self(), "names");
	own_nice = getpriority(PRIO_PROCESS, gettid());
	if (own_nice < NICE_VALUE)
		setpriority(PRIO_PROCESS, gettid(), NICE_VALUE);
	store->refilled_ns = clock_monotonic_ns();
	pthread_mutex_lock(&store->lock);
	while ((job = next_job(store))) {
		uint64_t begin_ns = clock_monotonic_ns();
		struct made *made = NULL;
		int err;

		store->is_busy = true;
		/* Somebody waits. */
		if (store->is_hurried)
			setpriority(PRIO_PROCESS, gettid(), own_nice);
		pthread_mutex_unlock(&store->lock);
		err = do_job(store, job, &made);
		if (err && err != -ENOENT)
			log_failed(job);
		pthread_mutex_lock(&store->lock);
		put_result(store, job, made, err);
		if (err == -ENOENT && store->options.no_dwarf)
			store->options.no_dwarf(store->options.no_dwarf_context, job->binary);
		store->is_busy = false;
		store->spent_ns += clock_monotonic_ns() - begin_ns;
		pthread_cond_broadcast(&store->changed);
		range_job_destroy(job);
	}
	store->is_done = true;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

void range_store_progress(struct range_store *store, size_t *waiting, uint64_t *changes)
{
	pthread_mutex_lock(&store->lock);
	*waiting = store->waiting_count + store->is_busy;
	*changes = store->change_count;
	pthread_mutex_unlock(&store->lock);
}

bool range_store_wait(struct range_store *store, uint64_t deadline_ns)
{
	bool is_complete;

	pthread_mutex_lock(&store->lock);
	store->is_hurried = true;
	pthread_cond_broadcast(&store->changed);
	while ((store->waiting_count || store->is_busy) && clock_monotonic_ns() < deadline_ns)
		wait_until(store, deadline_ns);
	is_complete = !store->waiting_count && !store->is_busy;
	pthread_mutex_unlock(&store->lock);
	return is_complete;
}

void range_store_freeze(struct range_store *store)
{
	pthread_mutex_lock(&store->lock);
	store->is_frozen = true;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
}

/* --- the store --- */

static void init_locks(struct range_store *store)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&store->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&store->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void free_store(struct range_store *store)
{
	struct range_job *job;

	for (int depth = 0; depth < DEPTH_COUNT; depth++) {
		while ((job = pop_job(store, depth)))
			range_job_destroy(job);
	}
	lru_cache_deinit(&store->entries);
	lru_cache_deinit(&store->mapped);
	lru_cache_deinit(&store->files);
	hash_map_deinit(&store->made);
	file_cache_destroy(store->options.work.cache);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

int range_store_create(const struct range_store_options *options, struct range_store **store)
{
	static const struct range_source_ops ops = { .get = get };
	struct range_store *created = calloc(1, sizeof(*created));
	int err;

	if (!created) {
		file_cache_destroy(options->work.cache);
		return fail(-ENOMEM, "no memory for ranges");
	}
	created->source.ops = &ops;
	created->options = *options;
	init_locks(created);
	lru_cache_init(&created->entries, sizeof(uint64_t), RANGE_STORE_MAX_BINARIES, 0,
		       release_entry, created);
	lru_cache_init(&created->mapped, sizeof(struct hash128), RANGE_STORE_MAX_MAPPED, 0,
		       release_mapped, NULL);
	lru_cache_init(&created->files, sizeof(struct hash128), 2 * RANGE_STORE_MAX_BINARIES,
		       options->file_bytes ? options->file_bytes : 1, release_file, created);
	err = pthread_create(&created->thread, NULL, run_thread, created);
	if (err) {
		free_store(created);
		return fail_errno(-err, "cannot start the thread for names");
	}
	*store = created;
	return 0;
}

bool range_store_destroy(struct range_store *store)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LEAVE_NS;
	bool is_done;

	if (!store)
		return true;
	pthread_mutex_lock(&store->lock);
	store->is_stopping = true;
	pthread_cond_broadcast(&store->changed);
	while (!store->is_done && clock_monotonic_ns() < deadline_ns)
		wait_until(store, deadline_ns);
	is_done = store->is_done;
	pthread_mutex_unlock(&store->lock);
	if (!is_done) {
		pthread_detach(store->thread);
		return false;
	}
	pthread_join(store->thread, NULL);
	free_store(store);
	return true;
}

struct range_source *range_store_source(struct range_store *store)
{
	return &store->source;
}
