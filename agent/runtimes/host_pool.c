/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/host_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/base/clock.h"
#include "agent/base/error.h"

/* A host that was lost counts against its user for so long. */
#define LOST_COUNTS_NS (60 * NS_PER_SECOND)
#define END_MAX_NS NS_PER_SECOND
/* One that hangs was killed before, and there may be HOSTS_LOST_MAX of them. */
#define LOST_END_MAX_NS (50 * NS_PER_MS)

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

/* NULL with error_text(). */
static struct pooled_host *host_create(const struct host_pool *pool, uid_t uid)
{
	const struct host_pool_options *options = &pool->options;
	struct pooled_host *created = calloc(1, options->host_bytes);

	if (!created) {
		fail(-ENOMEM, "no memory");
		return NULL;
	}
	if (host_process_start(&created->process, options->kind,
			       options->program ? options->program : "/proc/self/exe")) {
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

/* With the lock. Notes which of the lost ones have ended, and forgets those that count no more. */
static void reap(struct host_pool *pool, uint64_t now_ns)
{
	struct pooled_host **link = &pool->lost;

	while (*link) {
		struct pooled_host *host = *link;

		host->has_ended = host->has_ended || host_process_has_ended(&host->process);
		if (!host->has_ended || now_ns < host->lost_ns + LOST_COUNTS_NS) {
			link = &host->next;
			continue;
		}
		*link = host->next;
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
	pthread_mutex_unlock(&pool->lock);
	return count;
}

/* With the lock. The host of @uid, or the one that it shares; NULL: it is to have a new one. */
static struct pooled_host *find_living(const struct host_pool *pool, uid_t uid)
{
	struct pooled_host *found = pool->living;
	uint32_t count = 0;

	for (; found && found->uid != uid; found = found->next)
		count++;
	if (!found && count >= HOSTS_MAX)
		found = pool->living;
	return found ? pooled_host_ref(found) : NULL;
}

/* With the lock. */
static int check_lost(struct host_pool *pool, uid_t uid)
{
	uint32_t of_user = 0, of_all = 0;

	reap(pool, clock_monotonic_ns());
	for (const struct pooled_host *host = pool->lost; host; host = host->next) {
		of_user += host->uid == uid;
		of_all++;
	}
	if (of_user >= HOSTS_LOST_OF_USER_MAX || of_all >= HOSTS_LOST_MAX)
		return fail(-EAGAIN, "too many processes of user %u had %s", uid,
			    pool->options.kind->fault);
	return 0;
}

/* A reference for the caller. */
static int start_host(struct host_pool *pool, uid_t uid, struct pooled_host **host)
{
	struct pooled_host *started = host_create(pool, uid);

	if (!started)
		return fail(-EAGAIN, "no process to %s of user %u: %s", pool->options.kind->job,
			    uid, error_text());
	*host = pooled_host_ref(started);
	pthread_mutex_lock(&pool->lock);
	started->next = pool->living;
	pool->living = started;
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

int host_pool_get(struct host_pool *pool, uid_t uid, struct pooled_host **host)
{
	struct pooled_host *found;
	int err = 0;

	pthread_mutex_lock(&pool->starting);
	pthread_mutex_lock(&pool->lock);
	found = find_living(pool, uid);
	if (!found)
		err = check_lost(pool, uid);
	pthread_mutex_unlock(&pool->lock);
	if (found)
		*host = found;
	else if (!err)
		err = start_host(pool, uid, host);
	pthread_mutex_unlock(&pool->starting);
	return err;
}

bool host_pool_lose(struct host_pool *pool, struct pooled_host *host)
{
	struct pooled_host **link = &pool->living;

	if (__atomic_exchange_n(&host->is_lost, true, __ATOMIC_ACQ_REL))
		return false;
	host_process_kill(&host->process, 0);
	pthread_mutex_lock(&pool->lock);
	while (*link && *link != host)
		link = &(*link)->next;
	if (*link)
		*link = host->next;
	host->lost_ns = clock_monotonic_ns();
	host->next = pool->lost;
	pool->lost = host;
	pthread_mutex_unlock(&pool->lock);
	return true;
}

/* --- create and destroy --- */

void host_pool_init(struct host_pool *pool, const struct host_pool_options *options)
{
	*pool = (struct host_pool){ .options = *options };
	pthread_mutex_init(&pool->lock, NULL);
	pthread_mutex_init(&pool->starting, NULL);
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
	end_all(pool->living, END_MAX_NS);
	end_all(pool->lost, LOST_END_MAX_NS);
	pthread_mutex_destroy(&pool->lock);
	pthread_mutex_destroy(&pool->starting);
}
