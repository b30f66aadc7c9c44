/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A pool of host processes of one kind (host_process.h): one for each user whose programs need one, or one for
 * all users. They are started on demand. When they hang, they are killed, which may take as long as a file
 * system takes, and reaped later. A user whose programs made HOSTS_LOST_OF_USER_MAX of them hang within a
 * minute gets no new one for the rest of it, nor while so many still hang. Any thread.
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
	/** Further users share a host. */
	HOSTS_MAX = 8,
	HOSTS_LOST_OF_USER_MAX = 2,
	/**
	 * Limit for all users together. root's programs get a new host beyond that, so that a user with many
	 * user ids cannot prevent it.
	 */
	HOSTS_LOST_MAX = 16,
	HOST_START_ERROR_BYTES = 256,
};

/** The first member of the pool owner's struct for a host. Shared by reference count (atomic). */
struct pooled_host {
	/* Fields for the lists, under their lock. */
	struct pooled_host *next;
	bool has_ended;
	/* 0: the host was ended because nobody used it. */
	uint64_t lost_ns;
	/* The user whose process made it hang. */
	uid_t lost_uid;
	/* It was lost by host_pool_leave(). */
	bool is_left;

	/* The user that it was started for. */
	uid_t uid;
	struct host_process process;
	/* Atomic. */
	unsigned int references;
	bool is_lost;
	/** Held during a request, one for each channel. */
	pthread_mutex_t asking[HOST_CHANNELS_MAX];
	void (*deinit)(struct pooled_host *host);
};

struct host_pool_options {
	const struct host_kind *kind;
	/** The program to start; NULL: our own, which must enter the kind's mode. Borrowed. */
	const char *program;
	/** Descriptor to hand over, for a kind with shared memory. Borrowed. */
	int handed_fd;
	/** One host for all users; otherwise each user has its own. */
	bool is_common;
	/** Replaces HOSTS_LOST_OF_USER_MAX; 0: that value. */
	uint32_t lost_of_user_max;
	/** Size of a struct that begins with a struct pooled_host. Its further fields are zero at first. */
	size_t host_bytes;
	/** Set up and free the further fields. */
	void (*init)(struct pooled_host *host);
	void (*deinit)(struct pooled_host *host);
};

struct host_pool {
	struct host_pool_options options;
	/* Lock of the lists; never held over I/O. Threads of raised priority wait for it. */
	pthread_mutex_t lock;
	struct pooled_host *living;
	struct pooled_host *lost;
	/* Removed from the lost ones, to be freed without the lock. */
	struct pooled_host *reaped;
	/*
	 * A host for wanted_uid is to be started. One thread starts all hosts, since a host is killed when the
	 * thread that started it ends.
	 */
	bool is_wanted;
	uid_t wanted_uid;
	bool is_ending;
	pthread_cond_t is_to_start;
	pthread_cond_t was_started;
	/* Time of the next start after a failure, whose text is start_error. */
	uint64_t next_start_ns;
	uint64_t start_pause_ns;
	char start_error[HOST_START_ERROR_BYTES];
	pthread_t starter;
	/* Atomic. */
	bool is_stopped;
};

/** -errno: its thread did not start. @pool must not move. */
int host_pool_init(struct host_pool *pool, const struct host_pool_options *options);
/** From now on no host is returned, and no call waits for one. */
void host_pool_stop(struct host_pool *pool);
bool host_pool_is_stopped(const struct host_pool *pool);
/** Ends all hosts; those that hang are abandoned. References may live on. */
void host_pool_deinit(struct host_pool *pool);

/** Starts a host for user @uid, if there is none, since it will be needed soon. */
void host_pool_prepare(struct host_pool *pool, uid_t uid);

/**
 * Returns a reference to the host of @uid, started if necessary, or to one that it shares. -EAGAIN: there is
 * none now; without @may_wait also until it has started. -ECANCELED after host_pool_stop().
 */
int host_pool_get(struct host_pool *pool, uid_t uid, bool may_wait, struct pooled_host **host);

struct pooled_host *pooled_host_ref(struct pooled_host *host);
void pooled_host_unref(struct pooled_host *host);
bool pooled_host_is_lost(const struct pooled_host *host);

/**
 * Kills a host that hangs or has ended by itself, because of a process of @uid. From now on no request is sent
 * to it. False if it was lost already. Notes that the caller made in the host before are visible as soon as it
 * is lost.
 */
bool host_pool_lose(struct host_pool *pool, struct pooled_host *host, uid_t uid);

/**
 * Abandons a host that ends by itself when its hanging request returns (host_process_leave()). It is not
 * killed, so it lives as long as the process hangs, and counts for that time only.
 */
bool host_pool_leave(struct host_pool *pool, struct pooled_host *host, uid_t uid);

/** Whether there are lost hosts that still count or have not ended. */
bool host_pool_has_losses(struct host_pool *pool);

/** Number of lost hosts that have not ended and for which @fits (may be NULL) is true. */
uint32_t host_pool_hanging_count(struct host_pool *pool,
				 bool (*fits)(const struct pooled_host *host, const void *context),
				 const void *context);

#endif
