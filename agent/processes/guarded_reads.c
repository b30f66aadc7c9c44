/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read is an object of its own with all that it needs: it belongs to whoever sees its end, the caller, or the thread
 * that was left behind with it.
 */
#include "agent/processes/guarded_reads.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/hanging_processes.h"
#include "agent/base/log.h"
#include "agent/base/thread_state.h"
#include "agent/base/urgent_thread.h"
#include "agent/host/mapped_file.h"
#include "agent/host/proc_info.h"

enum {
	ERROR_BYTES = 256,
	/* The nice value of sync, which waits for it. */
	PRIORITY = -10,
};

/* A thread that gives no answer for so long is looked at, again and again. */
#define LOOK_NS (50 * NS_PER_MS)
#define WAITS_PERIOD_NS (60 * NS_PER_SECOND)

/* The first member of each kind of read. */
struct guarded_read {
	void (*run)(struct guarded_read *read);
	/* Frees what run() made, if nobody wants it. */
	void (*drop)(struct guarded_read *read);
	const char *proc_root;
	pid_t pid;
	int err;
	char error[ERROR_BYTES];
	uint64_t cpu_ns;
};

enum worker_state {
	/* The read is the worker's, and then the owner's again. */
	WORKER_ASKED,
	WORKER_DONE,
	/* The owner gave the read up: it is the worker's for good. The owner frees the worker when that has returned. */
	WORKER_LEFT,
	WORKER_RETURNED,
	/* The owner is gone: the worker frees itself. */
	WORKER_ORPHANED,
};

struct read_worker {
	char *proc_root;
	pthread_t thread;
	/* Atomic: 0 before it runs. */
	pid_t tid;
	/* Atomic: enum worker_state. */
	int state;
	sem_t is_asked;
	sem_t is_done;
	/* What it is asked for; NULL: its end. */
	struct guarded_read *read;
	/* The process that it was left behind with, and whose that is. */
	pid_t pid;
	uid_t uid;
	struct read_worker *next;
};

/* How long the processes of a user have kept the owner waiting since then. */
struct user_waits {
	uid_t uid;
	uint64_t since_ns;
	uint64_t waits_ns;
};

struct guarded_reads {
	char *proc_root;
	/* Atomic. */
	bool is_stopped;
	/* The one that is asked; NULL: none. */
	struct read_worker *worker;
	/* The threads that were left behind. */
	struct read_worker *left;
	uint64_t cpu_ns;
	/* For a new user the entry that began longest ago gives way. */
	struct user_waits waits[GUARDED_USERS_MAX];
	uint64_t waits_until_ns;
	struct log_limit log_limit;
};

struct guarded_reads *guarded_reads_create(const char *proc_root)
{
	struct guarded_reads *reads = calloc(1, sizeof(*reads));

	if (!reads)
		return NULL;
	reads->proc_root = strdup(proc_root);
	if (!reads->proc_root) {
		free(reads);
		return NULL;
	}
	reads->log_limit = (struct log_limit){ .interval_ns = 10 * NS_PER_SECOND, .burst = 3 };
	return reads;
}

void guarded_reads_stop(struct guarded_reads *reads)
{
	if (reads)
		__atomic_store_n(&reads->is_stopped, true, __ATOMIC_RELEASE);
}

/* --- the thread --- */

static void free_worker(struct read_worker *worker)
{
	sem_destroy(&worker->is_asked);
	sem_destroy(&worker->is_done);
	free(worker->proc_root);
	free(worker);
}

static void run_read(struct guarded_read *read)
{
	uint64_t begin_ns = clock_thread_cpu_ns();

	read->run(read);
	if (read->err)
		snprintf(read->error, sizeof(read->error), "%s", error_text());
	read->cpu_ns = clock_thread_cpu_ns() - begin_ns;
}

/* Changes the state if it is still @from; whether it was. */
static bool change_state(struct read_worker *worker, int from, int to)
{
	return __atomic_compare_exchange_n(&worker->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static void return_late(struct read_worker *worker)
{
	log_debug("process %d: its memory answers again", worker->read->pid);
	worker->read->drop(worker->read);
	free(worker->read);
	if (!change_state(worker, WORKER_LEFT, WORKER_RETURNED))
		free_worker(worker);
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) && errno == EINTR)
		;
}

static void *work(void *context)
{
	struct read_worker *worker = context;
	struct urgent_thread urgency;

	urgent_thread_init(&urgency, PRIORITY);
	__atomic_store_n(&worker->tid, gettid(), __ATOMIC_RELEASE);
	for (;;) {
		wait_for(&worker->is_asked);
		if (!worker->read)
			return NULL;
		urgent_thread_tick(&urgency);
		run_read(worker->read);
		if (!change_state(worker, WORKER_ASKED, WORKER_DONE))
			break;
		sem_post(&worker->is_done);
	}
	return_late(worker);
	return NULL;
}

static int start_worker(struct guarded_reads *reads)
{
	struct read_worker *worker = calloc(1, sizeof(*worker));
	int error = ENOMEM;

	if (!worker)
		return fail(-ENOMEM, "no memory for a thread");
	sem_init(&worker->is_asked, 0, 0);
	sem_init(&worker->is_done, 0, 0);
	worker->proc_root = strdup(reads->proc_root);
	if (worker->proc_root)
		error = pthread_create(&worker->thread, NULL, work, worker);
	if (error) {
		free_worker(worker);
		return fail(-ENOMEM, "no thread to read maps: %s", strerror(error));
	}
	pthread_setname_np(worker->thread, "proc_reads");
	reads->worker = worker;
	return 0;
}

void guarded_reads_destroy(struct guarded_reads *reads)
{
	struct read_worker *worker;

	if (!reads)
		return;
	worker = reads->worker;
	if (worker) {
		worker->read = NULL;
		sem_post(&worker->is_asked);
		pthread_join(worker->thread, NULL);
		free_worker(worker);
	}
	while ((worker = reads->left)) {
		reads->left = worker->next;
		if (!change_state(worker, WORKER_LEFT, WORKER_ORPHANED))
			free_worker(worker);
	}
	free(reads->proc_root);
	free(reads);
}

/* --- asking --- */

static void forget_returned(struct guarded_reads *reads)
{
	struct read_worker **link = &reads->left, *worker;

	while ((worker = *link)) {
		if (__atomic_load_n(&worker->state, __ATOMIC_ACQUIRE) != WORKER_RETURNED) {
			link = &worker->next;
			continue;
		}
		*link = worker->next;
		free_worker(worker);
	}
}

/* Root's, if that cannot be told. */
static uid_t user_of(const struct guarded_reads *reads, pid_t pid)
{
	uid_t uid;

	return proc_user(reads->proc_root, pid, &uid) ? 0 : uid;
}

/* The user's waits in the last minute; NULL: none. */
static struct user_waits *find_waits(struct guarded_reads *reads, uid_t uid, uint64_t now_ns)
{
	for (int i = 0; i < GUARDED_USERS_MAX; i++)
		if (reads->waits[i].uid == uid && reads->waits[i].waits_ns &&
		    now_ns < reads->waits[i].since_ns + WAITS_PERIOD_NS)
			return &reads->waits[i];
	return NULL;
}

static void note_waits(struct guarded_reads *reads, pid_t pid, uint64_t waits_ns, uint64_t now_ns)
{
	uid_t uid = user_of(reads, pid);
	struct user_waits *waits = find_waits(reads, uid, now_ns);

	if (waits) {
		waits->waits_ns += waits_ns;
		return;
	}
	waits = &reads->waits[0];
	for (int i = 1; i < GUARDED_USERS_MAX; i++)
		if (reads->waits[i].since_ns < waits->since_ns)
			waits = &reads->waits[i];
	*waits = (struct user_waits){ .uid = uid, .since_ns = now_ns, .waits_ns = waits_ns };
}

/* Whether processes that hang, or did lately, leave the thread time for @pid. */
static int may_read(struct guarded_reads *reads, pid_t pid)
{
	uint64_t now_ns = clock_monotonic_ns();
	const struct user_waits *waits;
	uint32_t count = 0, count_of_user = 0;
	uid_t uid;

	if (__atomic_load_n(&reads->is_stopped, __ATOMIC_ACQUIRE))
		return fail(-EBUSY, "the agent stops");
	forget_returned(reads);
	if (!reads->left && now_ns >= reads->waits_until_ns)
		return 0;
	uid = user_of(reads, pid);
	for (const struct read_worker *left = reads->left; left; left = left->next) {
		if (left->pid == pid) {
			hanging_processes_note((uint32_t)pid, now_ns);
			return fail(-EHOSTDOWN, "memory of process %d does not answer", pid);
		}
		count++;
		count_of_user += left->uid == uid;
	}
	waits = find_waits(reads, uid, now_ns);
	/* Whoever has many user ids does not keep root's processes from being read. */
	if ((count >= GUARDED_LEFT_MAX && uid) || count_of_user >= GUARDED_LEFT_OF_USER_MAX ||
	    (waits && waits->waits_ns >= GUARDED_WAITS_NS))
		return fail(-EBUSY, "memory of other processes of its user does not answer");
	return 0;
}

/* The worker keeps the read. False if that was done just now. */
static bool leave_behind(struct guarded_reads *reads, pid_t pid)
{
	struct read_worker *worker = reads->worker;
	uint64_t now_ns = clock_monotonic_ns(), suppressed;

	worker->pid = pid;
	worker->uid = user_of(reads, pid);
	if (!change_state(worker, WORKER_ASKED, WORKER_LEFT))
		return false;
	pthread_detach(worker->thread);
	worker->next = reads->left;
	reads->left = worker;
	reads->worker = NULL;
	if (__atomic_load_n(&reads->is_stopped, __ATOMIC_ACQUIRE))
		return true;
	if (log_limit_allow(&reads->log_limit, now_ns, &suppressed))
		log_warn(
			"process %d: its memory does not answer; it is not looked at until it does",
			pid);
	hanging_processes_note((uint32_t)pid, now_ns);
	return true;
}

static bool wait_done_until(struct read_worker *worker, uint64_t until_ns)
{
	const struct timespec until = clock_timespec(until_ns);
	int err;

	do
		err = sem_clockwait(&worker->is_done, CLOCK_MONOTONIC, &until);
	while (err && errno == EINTR);
	return !err;
}

/*
 * Waits until the worker has done its read; false if it hangs, or if it is time to stop. *@waits_ns is how long it was
 * seen to wait.
 */
static bool wait_done(const struct guarded_reads *reads, uint64_t *waits_ns)
{
	struct read_worker *worker = reads->worker;
	uint64_t now_ns = clock_monotonic_ns(), got_on_ns = now_ns, last_count = 0, count = 0;
	bool is_running = true;

	*waits_ns = 0;
	while (!wait_done_until(worker, now_ns + LOOK_NS)) {
		pid_t tid = __atomic_load_n(&worker->tid, __ATOMIC_ACQUIRE);

		if (__atomic_load_n(&reads->is_stopped, __ATOMIC_ACQUIRE))
			return false;
		now_ns = clock_monotonic_ns();
		/* Before it runs it hangs nowhere. A thread that cannot be looked at counts as it did before. */
		if (tid)
			(void)thread_state_read(getpid(), tid, &is_running, &count);
		if (is_running || count != last_count)
			got_on_ns = now_ns;
		if (!is_running)
			*waits_ns += LOOK_NS;
		last_count = count;
		if (now_ns >= got_on_ns + GUARDED_HANG_NS || *waits_ns >= GUARDED_READ_WAITS_NS)
			return false;
	}
	return true;
}

static int no_memory(pid_t pid)
{
	return fail(-ENOMEM, "no memory to read maps of process %d", pid);
}

/* 0: it ran, and is the caller's again; else it is gone, or will be. */
static int run_guarded(struct guarded_reads *reads, struct guarded_read *read, pid_t pid)
{
	struct read_worker *worker;
	uint64_t waits_ns;
	bool is_done;
	int err;

	/* The codes stand by themselves: gcc's analyzer does not see that fail() returns them. */
	if (!reads) {
		free(read);
		no_memory(pid);
		return -ENOMEM;
	}
	err = may_read(reads, pid);
	if (!err && !reads->worker)
		err = start_worker(reads);
	if (err) {
		free(read);
		return err;
	}
	worker = reads->worker;
	read->proc_root = worker->proc_root;
	read->pid = pid;
	worker->read = read;
	__atomic_store_n(&worker->state, WORKER_ASKED, __ATOMIC_RELEASE);
	sem_post(&worker->is_asked);
	is_done = wait_done(reads, &waits_ns);
	if (waits_ns) {
		uint64_t now_ns = clock_monotonic_ns();

		reads->waits_until_ns = now_ns + WAITS_PERIOD_NS;
		note_waits(reads, pid, waits_ns, now_ns);
	}
	if (!is_done) {
		if (leave_behind(reads, pid)) {
			fail(-EHOSTDOWN, "memory of process %d does not answer", pid);
			return -EHOSTDOWN;
		}
		wait_for(&worker->is_done);
	}
	reads->cpu_ns += read->cpu_ns;
	return 0;
}

/* Its error, with its text in this thread; frees it. */
static int finish(struct guarded_read *read)
{
	int err = read->err ? fail(read->err, "%s", read->error) : 0;

	free(read);
	return err;
}

uint64_t guarded_reads_cpu_ns(const struct guarded_reads *reads)
{
	return reads ? reads->cpu_ns : 0;
}

/* --- the reads --- */

/* Keys hold nothing. */
static void drop_nothing(struct guarded_read *read)
{
	(void)read;
}

struct maps_read {
	struct guarded_read read;
	struct proc_maps maps;
	bool wants_service_name;
	char service_name[SERVICE_NAME_MAX_BYTES];
};

static void run_maps(struct guarded_read *read)
{
	struct maps_read *maps = (struct maps_read *)read;

	read->err = proc_maps_read(&maps->maps, read->proc_root, read->pid, PROC_MAPS_EXECUTABLE);
	if (!read->err && maps->wants_service_name)
		service_name_read(read->proc_root, read->pid, maps->service_name);
}

static void drop_maps(struct guarded_read *read)
{
	proc_maps_deinit(&((struct maps_read *)read)->maps);
}

int guarded_maps_read(struct guarded_reads *reads, pid_t pid, struct proc_maps *maps,
		      char service_name[SERVICE_NAME_MAX_BYTES])
{
	struct maps_read *read = calloc(1, sizeof(*read));
	int err;

	if (!read)
		return no_memory(pid);
	*read = (struct maps_read){
		.read = { .run = run_maps, .drop = drop_maps },
		.wants_service_name = service_name,
	};
	err = run_guarded(reads, &read->read, pid);
	if (err)
		return err;
	if (!read->read.err)
		*maps = read->maps;
	if (!read->read.err && service_name)
		memcpy(service_name, read->service_name, sizeof(read->service_name));
	return finish(&read->read);
}

struct keys_read {
	struct guarded_read read;
	uint64_t end_ns;
	uint32_t count;
	struct key_row {
		uint64_t start;
		uint64_t end;
		struct mapped_key key;
	} rows[];
};

static void run_keys(struct guarded_read *read)
{
	struct keys_read *keys = (struct keys_read *)read;
	bool is_first = true;

	for (uint32_t i = 0; i < keys->count; i++) {
		struct key_row *row = &keys->rows[i];
		const struct proc_mapping mapping = { .start = row->start, .end = row->end };

		if (row->key.err != -EAGAIN)
			continue;
		/* The first one in any case: else there would be no end. */
		if (is_first || clock_monotonic_ns() < keys->end_ns)
			row->key.err = mapped_file_key(read->proc_root, read->pid, &mapping,
						       &row->key.key);
		is_first = false;
	}
}

int guarded_keys_read(struct guarded_reads *reads, pid_t pid, const struct proc_maps *maps,
		      uint64_t end_ns, struct mapped_key *keys)
{
	struct keys_read *read = calloc(1, sizeof(*read) + maps->count * sizeof(read->rows[0]));
	int err;

	if (!read)
		return no_memory(pid);
	read->read = (struct guarded_read){ .run = run_keys, .drop = drop_nothing };
	read->end_ns = end_ns;
	read->count = maps->count;
	for (uint32_t i = 0; i < maps->count; i++)
		read->rows[i] = (struct key_row){ .start = maps->rows[i].start,
						  .end = maps->rows[i].end,
						  .key = keys[i] };
	err = run_guarded(reads, &read->read, pid);
	if (err)
		return err;
	for (uint32_t i = 0; i < maps->count; i++)
		keys[i] = read->rows[i].key;
	return finish(&read->read);
}

struct open_read {
	struct guarded_read read;
	uint64_t start;
	uint64_t end;
	int fd;
	struct file_key key;
};

static void run_open(struct guarded_read *read)
{
	struct open_read *opening = (struct open_read *)read;
	const struct proc_mapping mapping = { .start = opening->start, .end = opening->end };

	read->err = mapped_file_open_mapping(read->proc_root, read->pid, &mapping, &opening->fd,
					     &opening->key);
}

static void drop_open(struct guarded_read *read)
{
	if (!read->err)
		close(((struct open_read *)read)->fd);
}

int guarded_file_open(struct guarded_reads *reads, pid_t pid, const struct proc_mapping *row,
		      int *fd, struct file_key *key)
{
	struct open_read *read = calloc(1, sizeof(*read));
	int err;

	if (!read)
		return no_memory(pid);
	*read = (struct open_read){
		.read = { .run = run_open, .drop = drop_open },
		.start = row->start,
		.end = row->end,
	};
	err = run_guarded(reads, &read->read, pid);
	if (err)
		return err;
	if (!read->read.err) {
		*fd = read->fd;
		*key = read->key;
	}
	return finish(&read->read);
}
