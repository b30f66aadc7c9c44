/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Host processes of one kind (host_process.h), one for each user whose programs need one, or one for all users. They are
 * started when they are needed, and abandoned when they hang: killed, which may take as long as a file system takes, and
 * collected later. A user whose programs have HOSTS_LOST_OF_USER_MAX of them hang within a minute gets no new one for the
 * rest of it, nor while so many still hang. Any thread.
 */
#ifndef AGENT_RUNTIMES_HOST_POOL_H
#define AGENT_RUNTIMES_HOST_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/runtimes/host_process.h"

enum {
	/** More users share one. */
	HOSTS_MAX = 8,
	HOSTS_LOST_OF_USER_MAX = 2,
	/** All users together; root's programs get a new one beyond that, so that nobody's many user ids keep them from it. */
	HOSTS_LOST_MAX = 16,
	HOST_START_ERROR_BYTES = 256,
};

/** The first member of what the pool's owner keeps of a host. Shared by reference count (atomic). */
struct pooled_host {
	/* For the lists, with their lock. */
	struct pooled_host *next;
	bool has_ended;
	/* 0: it was ended because nobody used it. */
	uint64_t lost_ns;
	/* The user whose process it was lost with. */
	uid_t lost_uid;
	/* By host_pool_leave(). */
	bool is_left;

	/* The user that it was started for. */
	uid_t uid;
	struct host_process process;
	/* Atomic. */
	unsigned int references;
	bool is_lost;
	/** Held by who asks, one for each channel. */
	pthread_mutex_t asking[HOST_CHANNELS_MAX];
	void (*deinit)(struct pooled_host *host);
};

struct host_pool_options {
	const struct host_kind *kind;
	/** The program to start; NULL: ours, which must enter the kind's mode. Borrowed. */
	const char *program;
	/** For a kind with shared memory. Borrowed. */
	int handed_fd;
	/** One host for all users; else each has its own. */
	bool is_common;
	/** As HOSTS_LOST_OF_USER_MAX; 0: that. */
	uint32_t lost_of_user_max;
	/** The size of a struct that begins with a struct pooled_host; the rest of it is zero. */
	size_t host_bytes;
	/** Set up and free that rest. */
	void (*init)(struct pooled_host *host);
	void (*deinit)(struct pooled_host *host);
};

struct host_pool {
	struct host_pool_options options;
	/* For the lists; never held over I/O. Threads of raised priority wait for it. */
	pthread_mutex_t lock;
	struct pooled_host *living;
	struct pooled_host *lost;
	/* Taken off the lost ones, to be freed without the lock. */
	struct pooled_host *reaped;
	/* The host of wanted_uid is to be started: by one thread, since it is killed when that ends. */
	bool is_wanted;
	uid_t wanted_uid;
	bool is_ending;
	pthread_cond_t is_to_start;
	pthread_cond_t was_started;
	/* After a failure, which is start_error. */
	uint64_t next_start_ns;
	uint64_t start_pause_ns;
	char start_error[HOST_START_ERROR_BYTES];
	pthread_t starter;
	/* Atomic. */
	bool is_stopped;
};

/** -errno: its thread did not start. @pool must not move. */
int host_pool_init(struct host_pool *pool, const struct host_pool_options *options);
/** From now on nobody gets a host, and nobody waits for one. */
void host_pool_stop(struct host_pool *pool);
bool host_pool_is_stopped(const struct host_pool *pool);
/** Ends all hosts; those that hang are left behind. References may live on. */
void host_pool_deinit(struct host_pool *pool);

/** Has a host of user @uid started, if there is none, for who will need it soon. */
void host_pool_prepare(struct host_pool *pool, uid_t uid);

/**
 * The host of @uid, started if need be, or one that it shares: a reference. -EAGAIN: there is none now; whoever may not
 * wait gets that until it has started. -ECANCELED after host_pool_stop().
 */
int host_pool_get(struct host_pool *pool, uid_t uid, bool may_wait, struct pooled_host **host);

struct pooled_host *pooled_host_ref(struct pooled_host *host);
void pooled_host_unref(struct pooled_host *host);
bool pooled_host_is_lost(const struct pooled_host *host);

/**
 * It hangs, or has ended by itself, with a process of @uid: kills it, and from now on nothing is asked of it. False if
 * that was known. What the caller notes of it before is there as soon as it is lost.
 */
bool host_pool_lose(struct host_pool *pool, struct pooled_host *host, uid_t uid);

/**
 * The same of a host that ends when it gets on (host_process_leave()): it is not killed, so whether it has ended says
 * whether the process still hangs, and it counts for so long only.
 */
bool host_pool_leave(struct host_pool *pool, struct pooled_host *host, uid_t uid);

/** Whether there are lost ones that count or have not ended. */
bool host_pool_has_losses(struct host_pool *pool);

/** How many of the lost ones have not ended, and fit. @fits may be NULL. */
uint32_t host_pool_hanging_count(struct host_pool *pool,
				 bool (*fits)(const struct pooled_host *host, const void *context),
				 const void *context);

#endif
