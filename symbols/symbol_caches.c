/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is a thread for symbols and one for DWARF, each with its own CPU time: a file whose DWARF
 * takes for ever delays the DWARF of others, but never a symbol.
 *
 * A look-up has two steps: the executable id, which is never reused, gives the symbol caches of each
 * depth, and its key gives the mapping. The caller has a reference on the mapping, so the mapping
 * may be dropped from its cache at any time.
 */
#include "symbols/symbol_caches.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/lru_cache.h"
#include "lib/base/monotonic_condition.h"
#include "lib/host/binary_file.h"
#include "lib/model/metrics.h"
#include "symbols/cpu_share.h"
#include "symbols/symbol_cache_entry.h"

enum {
	/* A tenth of a CPU that others want too; also for the processes that read DWARF. */
	NICE_VALUE = 10,
	WAITING_ROOTS_MAX = 256,
	OPEN_MAX_BYTES = 512 << 20,
};

#define DISK_MAX_BYTES (2ULL << 30)

/*
 * CPU time of each thread's work, which users can cause: what can be saved up, and the fraction of
 * elapsed time that is added. A debug file of 1 GB takes 8 s.
 */
#define BURST_NS (60 * NS_PER_SECOND)
enum { SHARE = 4 };

/* How long the stop waits for a file that is being read. */
#define LEAVE_NS (200 * NS_PER_MS)

/* How long a waiting job keeps a file that somebody else needs. */
#define FILE_MAX_NS (NS_PER_SECOND / 2)

/* A binary whose symbol caches are to be made. */
struct symbol_cache_job {
	struct symbol_cache_job *next;
	/* A reference. */
	struct binary *binary;
	pid_t pid;
	enum symbol_depth depth;
	/*
	 * Held open so that symbols, which are read soon, are available also for files that are
	 * closed or deleted.
	 */
	struct borrowed_file file;
	uint64_t since_ns;
};

/* Jobs in the order of arrival. Initialize with zeros. */
struct symbol_cache_job_queue {
	struct symbol_cache_job *first;
	struct symbol_cache_job *last;
};

/*
 * The root directory of a process that ran a binary whose DWARF is still to be read: the process
 * may be gone by then. It is held for only a second, since its file system cannot be unmounted
 * until then.
 */
struct waiting_root {
	uint64_t executable_id;
	uint64_t since_ns;
	int fd;
};

/* Oldest first. All bytes zero: none. */
struct waiting_roots {
	struct waiting_root roots[WAITING_ROOTS_MAX];
	size_t count;
};

/* A thread, which does the jobs of one depth. */
struct worker {
	struct symbol_caches *store;
	enum symbol_depth depth;
	pthread_t thread;
	/* Used by the thread only. */
	struct cpu_share share;
	/* Guarded by the lock. */
	struct symbol_cache_job_queue queue;
	bool is_busy;
	bool is_done;
};

struct symbol_caches {
	struct symbol_cache_source source;
	struct symbol_caches_options options;
	struct worker workers[SYMBOL_DEPTH_COUNT];
	uint32_t worker_count;

	/* Guards everything below, and the fields above that say so. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_stopping;
	bool is_hurried;
	/* New results are no longer stored in entries. */
	bool is_frozen;
	size_t waiting_count;
	struct waiting_roots roots;
	uint64_t change_count;
	/* Maps an executable id to a struct symbol_cache_entry. */
	struct lru_cache entries;
	struct made_symbol_caches made;
};

/* --- jobs --- */

static void symbol_cache_jobs_push(struct symbol_cache_job_queue *queue,
				   struct symbol_cache_job *job)
{
	job->next = NULL;
	if (queue->last)
		queue->last->next = job;
	else
		queue->first = job;
	queue->last = job;
}

/* NULL if there is none; the caller owns the job. */
static struct symbol_cache_job *symbol_cache_jobs_pop(struct symbol_cache_job_queue *queue)
{
	struct symbol_cache_job *job = queue->first;

	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->last = NULL;
	return job;
}

/*
 * Closes files of jobs that have waited for too long, if somebody else needs them
 * (lib/host/binary_file.h).
 */
static void symbol_cache_jobs_return_files(struct symbol_cache_job_queue *queue, uint64_t now_ns)
{
	for (struct symbol_cache_job *job = queue->first; job; job = job->next)
		if (now_ns > job->since_ns + FILE_MAX_NS && binary_file_is_in_the_way(job->binary))
			binary_file_return(&job->file);
}

/* NULL without memory. Takes a reference on @binary. */
static struct symbol_cache_job *symbol_cache_job_create(struct binary *binary, pid_t pid,
							enum symbol_depth depth)
{
	struct symbol_cache_job *job = malloc(sizeof(*job));

	if (!job)
		return NULL;
	*job = (struct symbol_cache_job){ .binary = binary_ref(binary),
					  .pid = pid,
					  .depth = depth,
					  .file = { .fd = -1 },
					  .since_ns = clock_monotonic_ns() };
	if (depth == SYMBOL_DEPTH_SYMBOLS)
		job->file = binary_file_borrow(binary);
	return job;
}

/*
 * Logs the reason of a failure (lib/base/error.h), unless many jobs fail. Called with the lock
 * held.
 */
static void symbol_cache_job_log_failed(const struct symbol_cache_job *job)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 20 };
	uint64_t suppressed;

	if (log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_debug("no %s of %s: %s", job->depth == SYMBOL_DEPTH_FULL ? "lines" : "symbols",
			  job->binary->path, error_text());
}

static void symbol_cache_job_destroy(struct symbol_cache_job *job)
{
	binary_file_return(&job->file);
	binary_unref(job->binary);
	free(job);
}

/* --- roots; called with the lock held --- */

/* Stores a copy of @fd, if there is room. */
static void waiting_roots_add(struct waiting_roots *waiting, uint64_t executable_id, int fd,
			      uint64_t now_ns)
{
	int copy;

	if (waiting->count == WAITING_ROOTS_MAX)
		return;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return;
	waiting->roots[waiting->count++] = (struct waiting_root){
		.executable_id = executable_id,
		.since_ns = now_ns,
		.fd = copy,
	};
}

static int remove_root(struct waiting_roots *waiting, size_t i)
{
	int fd = waiting->roots[i].fd;

	waiting->count--;
	memmove(&waiting->roots[i], &waiting->roots[i + 1],
		(waiting->count - i) * sizeof(waiting->roots[0]));
	return fd;
}

/* The caller owns the descriptor; -1 if there is none. */
static int waiting_roots_take(struct waiting_roots *waiting, uint64_t executable_id)
{
	for (size_t i = 0; i < waiting->count; i++)
		if (waiting->roots[i].executable_id == executable_id)
			return remove_root(waiting, i);
	return -1;
}

/* Closes those that were added more than a second ago. */
static void waiting_roots_close_old(struct waiting_roots *waiting, uint64_t now_ns)
{
	while (waiting->count && now_ns > waiting->roots[0].since_ns + NS_PER_SECOND)
		close(remove_root(waiting, 0));
}

/* --- entries; all called with the lock held --- */

static void release_entry(void *context, const void *key, void *value)
{
	struct symbol_caches *store = context;
	struct symbol_cache_entry *entry = value;
	uint64_t executable_id;
	int root_fd;

	memcpy(&executable_id, key, sizeof(executable_id));
	root_fd = waiting_roots_take(&store->roots, executable_id);
	close_fd(&root_fd);
	for (int depth = 0; depth < SYMBOL_DEPTH_COUNT; depth++)
		made_symbol_caches_unref(&store->made, entry->made[depth]);
	free(entry);
}

static struct symbol_cache_entry *find_entry(struct symbol_caches *store,
					     const struct binary *binary, pid_t pid)
{
	struct symbol_cache_entry *entry = lru_cache_get(&store->entries, &binary->executable_id);

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (entry)
		*entry = (struct symbol_cache_entry){ .pid = pid };
	if (entry && lru_cache_put(&store->entries, &binary->executable_id, entry, 0)) {
		free(entry);
		return NULL;
	}
	return entry;
}

static void push_job(struct symbol_caches *store, struct symbol_cache_entry *entry,
		     struct binary *binary, pid_t pid, enum symbol_depth depth)
{
	struct symbol_cache_job *job;

	if (!symbol_cache_entry_is_to_be_made(entry, binary, depth) || store->is_stopping ||
	    store->is_frozen || store->waiting_count == SYMBOL_CACHES_MAX_WAITING)
		return;
	job = symbol_cache_job_create(binary, pid, depth);
	if (!job)
		return;
	symbol_cache_jobs_push(&store->workers[depth].queue, job);
	store->waiting_count++;
	entry->states[depth] = SYMBOL_CACHE_WAITING;
	pthread_cond_broadcast(&store->changed);
}

static void want(struct symbol_caches *store, struct symbol_cache_entry *entry,
		 struct binary *binary, pid_t pid, enum symbol_depth depth)
{
	for (enum symbol_depth each = 0; each <= depth; each++)
		push_job(store, entry, binary, pid, each);
}

static bool is_read(const struct binary *binary)
{
	return !binary->is_kernel && binary_file_is_known(binary) && !binary->may_hang;
}

void symbol_caches_want(struct symbol_caches *store, struct binary *binary, pid_t pid,
			enum symbol_depth depth)
{
	struct symbol_cache_entry *entry;

	if (!is_read(binary))
		return;
	pthread_mutex_lock(&store->lock);
	entry = find_entry(store, binary, pid);
	if (entry) {
		symbol_cache_entry_note_process(entry, pid);
		want(store, entry, binary, pid, depth);
	}
	pthread_mutex_unlock(&store->lock);
}

void symbol_caches_retry(struct symbol_caches *store, struct binary *binary)
{
	struct symbol_cache_entry *entry;

	pthread_mutex_lock(&store->lock);
	entry = lru_cache_peek(&store->entries, &binary->executable_id);
	if (entry && entry->states[SYMBOL_DEPTH_FULL] == SYMBOL_CACHE_NONE) {
		entry->states[SYMBOL_DEPTH_FULL] = SYMBOL_CACHE_UNKNOWN;
		push_job(store, entry, binary, entry->pid, SYMBOL_DEPTH_FULL);
	}
	pthread_mutex_unlock(&store->lock);
}

static struct mapped_symbol_cache *get(struct symbol_cache_source *source, struct binary *binary,
				       enum symbol_depth depth)
{
	struct symbol_caches *store = (struct symbol_caches *)source;
	struct mapped_symbol_cache *mapped = NULL;
	struct symbol_cache_entry *entry;

	if (!is_read(binary))
		return NULL;
	pthread_mutex_lock(&store->lock);
	/* No process is known for these: symbol_caches_want() comes first. */
	entry = lru_cache_get(&store->entries, &binary->executable_id);
	for (int each = depth; entry && each >= 0 && !mapped; each--) {
		struct made_file *made = entry->made[each];

		if (made && made->fd >= 0) {
			mapped = made_symbol_caches_map(&store->made, made);
		} else if (made) {
			entry->made[each] = NULL;
			entry->states[each] = SYMBOL_CACHE_UNKNOWN;
			made_symbol_caches_unref(&store->made, made);
		}
	}
	if (entry)
		want(store, entry, binary, entry->pid, depth);
	pthread_mutex_unlock(&store->lock);
	return mapped;
}

/* --- the threads --- */

/*
 * The root directory of a job's process: the stored one, else the current one; -1 if the process
 * has none of its own. The process may be gone before its DWARF is read, so the symbol thread,
 * which is less busy, stores the root for the DWARF thread.
 */
static int get_root(struct symbol_caches *store, const struct symbol_cache_job *job,
		    bool *is_rootless)
{
	_cleanup_(close_fd) int root_fd = -1;
	struct symbol_cache_entry *entry;

	pthread_mutex_lock(&store->lock);
	if (job->depth == SYMBOL_DEPTH_FULL)
		root_fd = waiting_roots_take(&store->roots, job->binary->executable_id);
	pthread_mutex_unlock(&store->lock);
	*is_rootless = root_fd < 0 &&
		       symbol_cache_work_open_root(&store->options.work, job->pid, &root_fd);
	if (root_fd < 0 || job->depth == SYMBOL_DEPTH_FULL)
		return take_fd(root_fd);
	pthread_mutex_lock(&store->lock);
	entry = lru_cache_peek(&store->entries, &job->binary->executable_id);
	if (entry && entry->states[SYMBOL_DEPTH_FULL] == SYMBOL_CACHE_WAITING)
		waiting_roots_add(&store->roots, job->binary->executable_id, root_fd,
				  clock_monotonic_ns());
	pthread_mutex_unlock(&store->lock);
	return take_fd(root_fd);
}

/* Stores the new or found file, and returns it with a reference. A frozen store does not change. */
static int keep(struct symbol_caches *store, const struct symbol_cache_work *work,
		const struct symbol_cache_made *file, struct made_file **made)
{
	pthread_mutex_lock(&store->lock);
	if (store->is_frozen)
		close(file->fd);
	else
		*made = made_symbol_caches_add(&store->made, work->key, file->fd, file->bytes);
	pthread_mutex_unlock(&store->lock);
	return *made ? 0 : -ENOMEM;
}

/* @made is a reference. -ENOENT: there is nothing. Called without the lock. */
static int do_job(struct worker *worker, const struct symbol_cache_job *job, int root_fd,
		  struct made_file **made)
{
	struct symbol_caches *store = worker->store;
	_cleanup_(symbol_cache_work_deinit) struct symbol_cache_work work;
	const struct symbol_cache_process process = { .pid = job->pid, .root_fd = root_fd };
	struct symbol_cache_made file;
	int err = symbol_cache_work_init(&work, &store->options.work, job->binary, &process,
					 job->depth);

	if (err)
		return err;
	pthread_mutex_lock(&store->lock);
	*made = made_symbol_caches_find(&store->made, work.key);
	pthread_mutex_unlock(&store->lock);
	if (*made)
		return 0;
	err = symbol_cache_work_do(&work, &file);
	cpu_share_spend(&worker->share, work.process_cpu_ns);
	if (err)
		metrics_add(METRIC_SYMBOL_CACHES_FAILED, 1);
	/* It is known by now that the file has none. */
	if (err == -ENOENT)
		err = -EBADMSG;
	return err ? err : keep(store, &work, &file, made);
}

/* Called with the lock held. The entry may be gone. */
static void put_result(struct symbol_caches *store, const struct symbol_cache_job *job,
		       struct made_file *made, int err, bool is_rootless)
{
	struct symbol_cache_entry *entry =
		lru_cache_peek(&store->entries, &job->binary->executable_id);
	int root_fd = job->depth == SYMBOL_DEPTH_FULL ?
			      waiting_roots_take(&store->roots, job->binary->executable_id) :
			      -1;

	close_fd(&root_fd);
	if (!entry || entry->made[job->depth] || store->is_frozen) {
		made_symbol_caches_unref(&store->made, made);
		return;
	}
	if (err) {
		symbol_cache_entry_note_failed(entry, job->depth, err, is_rootless);
		return;
	}
	entry->made[job->depth] = made;
	entry->states[job->depth] = SYMBOL_CACHE_MADE;
	store->change_count++;
}

_Static_assert(offsetof(struct symbol_caches, source) == 0, "get() casts");

static void wait_until(struct symbol_caches *store, uint64_t until_ns)
{
	monotonic_condition_wait(&store->changed, &store->lock, until_ns);
}

/* Called with the lock held. NULL: the store ends or is frozen. */
static struct symbol_cache_job *next_job(struct worker *worker)
{
	struct symbol_caches *store = worker->store;

	while (!store->is_stopping && !store->is_frozen) {
		uint64_t now_ns = clock_monotonic_ns(), wait_ns = 0;
		struct symbol_cache_job *job = NULL;

		if (worker->queue.first)
			wait_ns = cpu_share_rest_ns(&worker->share, now_ns);
		if (!wait_ns || store->is_hurried)
			job = symbol_cache_jobs_pop(&worker->queue);
		if (job) {
			store->waiting_count--;
			return job;
		}
		if (wait_ns)
			wait_until(store, now_ns + wait_ns);
		else
			pthread_cond_wait(&store->changed, &store->lock);
	}
	return NULL;
}

/* Called with the lock held, which is released during the work. */
static void run_job(struct worker *worker, struct symbol_cache_job *job)
{
	struct symbol_caches *store = worker->store;
	uint64_t begin_ns = clock_thread_cpu_ns();
	struct made_file *made = NULL;
	bool is_rootless;
	int err, root_fd;

	worker->is_busy = true;
	pthread_mutex_unlock(&store->lock);
	root_fd = get_root(store, job, &is_rootless);
	err = do_job(worker, job, root_fd, &made);
	close_fd(&root_fd);
	pthread_mutex_lock(&store->lock);
	if (err && err != -ENOENT && err != -ESTALE)
		symbol_cache_job_log_failed(job);
	put_result(store, job, made, err, is_rootless);
	if (err == -ENOENT && store->options.no_dwarf)
		store->options.no_dwarf(store->options.no_dwarf_context, job->binary);
	worker->is_busy = false;
	cpu_share_spend(&worker->share, clock_thread_cpu_ns() - begin_ns);
	pthread_cond_broadcast(&store->changed);
	symbol_cache_job_destroy(job);
}

static void *run_thread(void *argument)
{
	static const char *const names[SYMBOL_DEPTH_COUNT] = { "names", "lines" };
	struct worker *worker = argument;
	struct symbol_caches *store = worker->store;
	struct symbol_cache_job *job;
	int own_nice;

	pthread_setname_np(pthread_self(), names[worker->depth]);
	own_nice = getpriority(PRIO_PROCESS, gettid());
	if (own_nice < NICE_VALUE)
		setpriority(PRIO_PROCESS, gettid(), NICE_VALUE);
	cpu_share_init(&worker->share, BURST_NS, SHARE, clock_monotonic_ns());
	pthread_mutex_lock(&store->lock);
	while ((job = next_job(worker))) {
		/* Somebody waits. */
		if (store->is_hurried)
			setpriority(PRIO_PROCESS, gettid(), own_nice);
		run_job(worker, job);
	}
	worker->is_done = true;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* --- waiting; called with the lock held --- */

static size_t busy_count(const struct symbol_caches *store)
{
	size_t count = 0;

	for (uint32_t i = 0; i < store->worker_count; i++)
		count += store->workers[i].is_busy;
	return count;
}

static bool is_done(const struct symbol_caches *store)
{
	for (uint32_t i = 0; i < store->worker_count; i++)
		if (!store->workers[i].is_done)
			return false;
	return true;
}

void symbol_caches_progress(struct symbol_caches *store, size_t *waiting, uint64_t *changes)
{
	pthread_mutex_lock(&store->lock);
	*waiting = store->waiting_count + busy_count(store);
	*changes = store->change_count;
	pthread_mutex_unlock(&store->lock);
}

bool symbol_caches_are_pending(struct symbol_caches *store, const struct binary *binary,
			       enum symbol_depth depth)
{
	struct symbol_cache_entry *entry;
	bool is_pending;

	pthread_mutex_lock(&store->lock);
	entry = lru_cache_peek(&store->entries, &binary->executable_id);
	is_pending = entry && entry->states[depth] == SYMBOL_CACHE_WAITING;
	pthread_mutex_unlock(&store->lock);
	return is_pending;
}

bool symbol_caches_wait(struct symbol_caches *store, uint64_t deadline_ns)
{
	bool is_complete;

	pthread_mutex_lock(&store->lock);
	store->is_hurried = true;
	pthread_cond_broadcast(&store->changed);
	while ((store->waiting_count || busy_count(store)) && clock_monotonic_ns() < deadline_ns)
		wait_until(store, deadline_ns);
	is_complete = !store->waiting_count && !busy_count(store);
	pthread_mutex_unlock(&store->lock);
	return is_complete;
}

bool symbol_caches_wait_symbols(struct symbol_caches *store, uint64_t deadline_ns)
{
	const struct worker *worker = &store->workers[SYMBOL_DEPTH_SYMBOLS];
	bool is_complete;

	pthread_mutex_lock(&store->lock);
	while ((worker->queue.first || worker->is_busy) && !store->is_stopping &&
	       !store->is_frozen && clock_monotonic_ns() < deadline_ns)
		wait_until(store, deadline_ns);
	is_complete = !worker->queue.first && !worker->is_busy;
	pthread_mutex_unlock(&store->lock);
	return is_complete;
}

void symbol_caches_tick(struct symbol_caches *store)
{
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&store->lock);
	waiting_roots_close_old(&store->roots, now_ns);
	for (uint32_t i = 0; i < store->worker_count; i++)
		symbol_cache_jobs_return_files(&store->workers[i].queue, now_ns);
	pthread_mutex_unlock(&store->lock);
}

void symbol_caches_freeze(struct symbol_caches *store)
{
	pthread_mutex_lock(&store->lock);
	store->is_frozen = true;
	pthread_cond_broadcast(&store->changed);
	pthread_mutex_unlock(&store->lock);
}

/* --- the store --- */

static void init_locks(struct symbol_caches *store)
{
	pthread_mutex_init(&store->lock, NULL);
	monotonic_condition_init(&store->changed);
}

static void free_store(struct symbol_caches *store)
{
	struct symbol_cache_job *job;

	for (uint32_t i = 0; i < SYMBOL_DEPTH_COUNT; i++)
		while ((job = symbol_cache_jobs_pop(&store->workers[i].queue)))
			symbol_cache_job_destroy(job);
	lru_cache_deinit(&store->entries);
	made_symbol_caches_deinit(&store->made);
	file_cache_destroy(store->options.work.cache);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

static int start_workers(struct symbol_caches *store)
{
	for (uint32_t i = 0; i < SYMBOL_DEPTH_COUNT; i++) {
		struct worker *worker = &store->workers[i];
		int err;

		worker->store = store;
		worker->depth = i;
		err = pthread_create(&worker->thread, NULL, run_thread, worker);
		if (err)
			return fail_errno(-err, "cannot start a thread for names");
		pthread_mutex_lock(&store->lock);
		store->worker_count++;
		pthread_mutex_unlock(&store->lock);
	}
	return 0;
}

int symbol_caches_options_init(struct symbol_caches_options *options, const char *cache_dir)
{
	*options = (struct symbol_caches_options){
		.work = {
			.proc_root = "/proc",
			.unnamed_bytes = OPEN_MAX_BYTES / 2,
			.limits = { .cpu_ns = SYMBOL_CACHE_MAKER_CPU_NS,
				    .memory_bytes = SYMBOL_CACHE_MAKER_MEMORY_BYTES,
				    .output_bytes = SYMBOL_CACHE_MAKER_OUTPUT_BYTES },
		},
		.file_bytes = OPEN_MAX_BYTES,
	};
	return cache_dir ? file_cache_create(cache_dir, ".ranges", DISK_MAX_BYTES,
					     &options->work.cache) :
			   0;
}

int symbol_caches_create(const struct symbol_caches_options *options, struct symbol_caches **store)
{
	static const struct symbol_cache_source_ops ops = { .get = get };
	struct symbol_caches *created = calloc(1, sizeof(*created));
	int err;

	if (!created) {
		file_cache_destroy(options->work.cache);
		return fail(-ENOMEM, "no memory for a symbol cache");
	}
	created->source.ops = &ops;
	created->options = *options;
	created->is_hurried = options->is_hurried;
	init_locks(created);
	lru_cache_init(&created->entries, sizeof(uint64_t), SYMBOL_CACHES_MAX_BINARIES, 0,
		       release_entry, created);
	made_symbol_caches_init(&created->made, 2 * SYMBOL_CACHES_MAX_BINARIES,
				SYMBOL_CACHES_MAX_MAPPED, options->file_bytes);
	err = start_workers(created);
	if (err) {
		(void)symbol_caches_destroy(created);
		return err;
	}
	*store = created;
	return 0;
}

bool symbol_caches_destroy(struct symbol_caches *store)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LEAVE_NS;
	bool is_left;

	if (!store)
		return true;
	pthread_mutex_lock(&store->lock);
	store->is_stopping = true;
	pthread_cond_broadcast(&store->changed);
	while (!is_done(store) && clock_monotonic_ns() < deadline_ns)
		wait_until(store, deadline_ns);
	is_left = !is_done(store);
	pthread_mutex_unlock(&store->lock);
	for (uint32_t i = 0; i < store->worker_count; i++) {
		if (is_left)
			pthread_detach(store->workers[i].thread);
		else
			pthread_join(store->workers[i].thread, NULL);
	}
	if (!is_left)
		free_store(store);
	return !is_left;
}

struct symbol_cache_source *symbol_caches_source(struct symbol_caches *store)
{
	return &store->source;
}
