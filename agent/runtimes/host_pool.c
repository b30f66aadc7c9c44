/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/host_pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/urgent_thread.h"

/* How long a lost host counts against its user. */
#define LOST_COUNTS_NS (60 * NS_PER_SECOND)
#define END_MAX_NS NS_PER_SECOND
/* Shorter limit for a host that hangs: it was killed before, and there may be HOSTS_LOST_MAX of them. */
#define LOST_END_MAX_NS (50 * NS_PER_MS)
/* Pauses before another try to start a host after a failure; each is twice as long as the one before. */
#define START_PAUSE_MIN_NS NS_PER_SECOND
#define START_PAUSE_MAX_NS (64 * NS_PER_SECOND)

/* --- a host --- */

struct pooled_host *pooled_host_ref(struct pooled_host *host)
{
	__atomic_add_fetch(&host->references, 1, __ATOMIC_RELAXED);
	return host;
}

void pooled_host_unref(struct pooled_host *host)
{
	if (__atomic_sub_fetch(&host->references, 1, __ATOMIC_ACQ_REL))
		return;
	host->deinit(host);
	host_process_deinit(&host->process);
	for (int i = 0; i < HOST_CHANNELS_MAX; i++)
		pthread_mutex_destroy(&host->asking[i]);
	free(host);
}

bool pooled_host_is_lost(const struct pooled_host *host)
{
	return __atomic_load_n(&host->is_lost, __ATOMIC_ACQUIRE);
}

/* Returns NULL and sets error_text() on failure. */
static struct pooled_host *host_create(struct host_pool *pool, uid_t uid)
{
	const struct host_pool_options *options = &pool->options;
	struct pooled_host *created = calloc(1, options->host_bytes);

	if (!created) {
		fail(-ENOMEM, "no memory");
		return NULL;
	}
	if (host_process_start(&created->process, options->kind,
			       options->program ? options->program : OWN_PROGRAM,
			       options->handed_fd, &pool->is_stopped)) {
		free(created);
		return NULL;
	}
	created->uid = uid;
	created->references = 1;
	created->deinit = options->deinit;
	for (int i = 0; i < HOST_CHANNELS_MAX; i++)
		pthread_mutex_init(&created->asking[i], NULL);
	options->init(created);
	return created;
}

/* --- all of them --- */

/* With the lock held. Notes lost hosts that have ended. unlock() frees those that no longer count. */
static void reap(struct host_pool *pool, uint64_t now_ns)
{
	struct pooled_host **link = &pool->lost;

	while (*link) {
		struct pooled_host *host = *link;

		host->has_ended = host->has_ended || host_process_has_ended(&host->process);
		if (!host->has_ended ||
		    (!host->is_left && now_ns < host->lost_ns + LOST_COUNTS_NS)) {
			link = &host->next;
			continue;
		}
		*link = host->next;
		host->next = pool->reaped;
		pool->reaped = host;
	}
}

/* Releases the lock, then frees reaped hosts, since that unmaps memory and may log. */
static void unlock(struct host_pool *pool)
{
	struct pooled_host *reaped = pool->reaped;

	pool->reaped = NULL;
	pthread_mutex_unlock(&pool->lock);
	while (reaped) {
		struct pooled_host *host = reaped;

		reaped = host->next;
		pooled_host_unref(host);
	}
}

uint32_t host_pool_hanging_count(struct host_pool *pool,
				 bool (*fits)(const struct pooled_host *host, const void *context),
				 const void *context)
{
	uint32_t count = 0;

	pthread_mutex_lock(&pool->lock);
	reap(pool, clock_monotonic_ns());
	for (const struct pooled_host *host = pool->lost; host; host = host->next)
		count += !host->has_ended && (!fits || fits(host, context));
	unlock(pool);
	return count;
}

bool host_pool_has_losses(struct host_pool *pool)
{
	bool has_any;

	pthread_mutex_lock(&pool->lock);
	reap(pool, clock_monotonic_ns());
	has_any = pool->lost;
	unlock(pool);
	return has_any;
}

/* To be called with the lock held. */
static void move_to_lost(struct host_pool *pool, struct pooled_host *host)
{
	struct pooled_host **link = &pool->living;

	while (*link && *link != host)
		link = &(*link)->next;
	if (*link)
		*link = host->next;
	host->next = pool->lost;
	pool->lost = host;
}

/* With the lock held. Ends an unused host; false if there is none. */
static bool end_unused(struct host_pool *pool)
{
	struct pooled_host *host = pool->living;

	while (host && __atomic_load_n(&host->references, __ATOMIC_ACQUIRE) > 1)
		host = host->next;
	if (!host)
		return false;
	__atomic_store_n(&host->is_lost, true, __ATOMIC_RELEASE);
	host_process_kill(&host->process, 0);
	move_to_lost(pool, host);
	return true;
}

/* To be called with the lock held. */
static struct pooled_host *find_own(const struct host_pool *pool, uid_t uid)
{
	struct pooled_host *found = pool->living;

	while (found && found->uid != uid && !pool->options.is_common)
		found = found->next;
	return found;
}

/* With the lock held. The host that a user shares with others; NULL: the user gets a new one. */
static struct pooled_host *find_shared(struct host_pool *pool)
{
	uint32_t count = 0;

	for (const struct pooled_host *host = pool->living; host; host = host->next)
		count++;
	return count < HOSTS_MAX || end_unused(pool) ? NULL : pool->living;
}

/* To be called with the lock held. */
static int check_lost(struct host_pool *pool, uid_t uid)
{
	uint32_t of_user_max = pool->options.lost_of_user_max ? pool->options.lost_of_user_max :
								HOSTS_LOST_OF_USER_MAX;
	uint32_t of_user = 0, of_all = 0;

	reap(pool, clock_monotonic_ns());
	for (const struct pooled_host *host = pool->lost; host; host = host->next) {
		of_user += host->lost_ns && host->lost_uid == uid;
		of_all += host->lost_ns != 0;
	}
	if (of_user >= of_user_max || (of_all >= HOSTS_LOST_MAX && uid))
		return fail(-EAGAIN, "too many processes of user %u had %s", uid,
			    pool->options.kind->fault);
	return 0;
}

/* To be called with the lock held. */
static void note_start_failed(struct host_pool *pool, uid_t uid)
{
	if (!pool->start_pause_ns && !host_pool_is_stopped(pool))
		log_warn("no process to %s of user %u: %s; trying again later",
			 pool->options.kind->job, uid, error_text());
	pool->start_pause_ns = pool->start_pause_ns ? 2 * pool->start_pause_ns : START_PAUSE_MIN_NS;
	if (pool->start_pause_ns > START_PAUSE_MAX_NS)
		pool->start_pause_ns = START_PAUSE_MAX_NS;
	pool->next_start_ns = clock_monotonic_ns() + pool->start_pause_ns;
	snprintf(pool->start_error, sizeof(pool->start_error), "%s", error_text());
}

static void *run_starter(void *context)
{
	struct host_pool *pool = context;

	pthread_setname_np(pthread_self(), "hosts");
	pthread_mutex_lock(&pool->lock);
	while (!pool->is_ending) {
		struct pooled_host *started;
		uid_t uid = pool->wanted_uid;

		if (!pool->is_wanted) {
			pthread_cond_wait(&pool->is_to_start, &pool->lock);
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		started = host_create(pool, uid);
		pthread_mutex_lock(&pool->lock);
		if (started) {
			started->next = pool->living;
			pool->living = started;
			pool->start_pause_ns = 0;
			pool->next_start_ns = 0;
		} else {
			note_start_failed(pool, uid);
		}
		pool->is_wanted = false;
		pthread_cond_broadcast(&pool->was_started);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

bool host_pool_is_stopped(const struct host_pool *pool)
{
	return __atomic_load_n(&pool->is_stopped, __ATOMIC_ACQUIRE);
}

static int stopped_error(void)
{
	return fail(-ECANCELED, "the agent stops");
}

/* To be called with the lock held. */
static void want_start(struct host_pool *pool, uid_t uid)
{
	if (pool->is_wanted)
		return;
	pool->is_wanted = true;
	pool->wanted_uid = uid;
	pthread_cond_signal(&pool->is_to_start);
}

void host_pool_prepare(struct host_pool *pool, uid_t uid)
{
	pthread_mutex_lock(&pool->lock);
	if (!find_own(pool, uid))
		want_start(pool, uid);
	pthread_mutex_unlock(&pool->lock);
}

/* With the lock held. Requests the start of a host; 0 when the state has changed since. */
static int wait_for_start(struct host_pool *pool, uid_t uid, bool may_wait)
{
	if (host_pool_is_stopped(pool))
		return stopped_error();
	if (clock_monotonic_ns() < pool->next_start_ns)
		return fail(-EAGAIN, "no process to %s of user %u: %s", pool->options.kind->job,
			    uid, pool->start_error);
	want_start(pool, uid);
	if (!may_wait)
		return fail(-EAGAIN, "a process to %s of user %u starts", pool->options.kind->job,
			    uid);
	pthread_cond_wait(&pool->was_started, &pool->lock);
	return 0;
}

int host_pool_get(struct host_pool *pool, uid_t uid, bool may_wait, struct pooled_host **host)
{
	struct pooled_host *found = NULL;
	int err = 0;

	if (host_pool_is_stopped(pool))
		return stopped_error();
	pthread_mutex_lock(&pool->lock);
	/* A common host has no losses of a certain user, so these are checked here. */
	if (pool->options.is_common)
		err = check_lost(pool, uid);
	while (!err && !(found = find_own(pool, uid))) {
		err = check_lost(pool, uid);
		if (!err && (found = find_shared(pool)))
			break;
		if (!err)
			err = wait_for_start(pool, uid, may_wait);
	}
	if (found)
		*host = pooled_host_ref(found);
	unlock(pool);
	return found ? 0 : err;
}

/* Marks the host as lost; false if it was marked before. */
static bool note_lost(struct pooled_host *host)
{
	return !__atomic_exchange_n(&host->is_lost, true, __ATOMIC_ACQ_REL);
}

static void add_lost(struct host_pool *pool, struct pooled_host *host, uid_t uid)
{
	pthread_mutex_lock(&pool->lock);
	host->lost_ns = clock_monotonic_ns();
	host->lost_uid = uid;
	move_to_lost(pool, host);
	pthread_mutex_unlock(&pool->lock);
}

bool host_pool_lose(struct host_pool *pool, struct pooled_host *host, uid_t uid)
{
	if (!note_lost(host))
		return false;
	host_process_kill(&host->process, 0);
	add_lost(pool, host, uid);
	return true;
}

bool host_pool_leave(struct host_pool *pool, struct pooled_host *host, uid_t uid)
{
	if (!note_lost(host))
		return false;
	host->is_left = true;
	add_lost(pool, host, uid);
	return true;
}

/* --- create and destroy --- */

static void destroy_locks(struct host_pool *pool)
{
	pthread_cond_destroy(&pool->is_to_start);
	pthread_cond_destroy(&pool->was_started);
	pthread_mutex_destroy(&pool->lock);
}

int host_pool_init(struct host_pool *pool, const struct host_pool_options *options)
{
	int err;

	*pool = (struct host_pool){ .options = *options };
	err = urgent_lock_init(&pool->lock);
	if (err)
		return fail_errno(err, "cannot make the lock of the processes to %s",
				  options->kind->job);
	pthread_cond_init(&pool->is_to_start, NULL);
	pthread_cond_init(&pool->was_started, NULL);
	err = pthread_create(&pool->starter, NULL, run_starter, pool);
	if (!err)
		return 0;
	destroy_locks(pool);
	return fail_errno(-err, "cannot start the thread hosts");
}

void host_pool_stop(struct host_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	__atomic_store_n(&pool->is_stopped, true, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&pool->was_started);
	pthread_mutex_unlock(&pool->lock);
}

static void end_all(struct pooled_host *list, uint64_t max_ns)
{
	while (list) {
		struct pooled_host *host = list;

		list = host->next;
		host_process_kill(&host->process, max_ns);
		pooled_host_unref(host);
	}
}

void host_pool_deinit(struct host_pool *pool)
{
	host_pool_stop(pool);
	pthread_mutex_lock(&pool->lock);
	pool->is_ending = true;
	pthread_cond_signal(&pool->is_to_start);
	pthread_mutex_unlock(&pool->lock);
	pthread_join(pool->starter, NULL);
	end_all(pool->living, END_MAX_NS);
	end_all(pool->lost, LOST_END_MAX_NS);
	destroy_locks(pool);
}
