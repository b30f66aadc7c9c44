/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read is an object of its own with all that it needs: it belongs to whoever sees its end, the caller, or the thread
 * that was left behind with it.
 */
#include "agent/processes/guarded_reads.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/hanging_processes.h"
#include "agent/base/log.h"
#include "agent/base/monotonic_condition.h"
#include "agent/base/thread_state.h"
#include "agent/base/urgent_thread.h"
#include "agent/host/mapped_file.h"
#include "agent/host/proc_info.h"

enum {
	ERROR_BYTES = 256,
	/* That of sync, which waits for it. */
	PRIORITY = -10,
};

/* A thread that gives no answer for so long is looked at, again and again. */
#define LOOK_NS (50 * NS_PER_MS)

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

struct read_worker {
	struct guarded_reads *reads;
	pthread_t thread;
	pthread_cond_t is_asked;
	/* 0 before it runs. */
	pid_t tid;
	/* Until it is done. */
	struct guarded_read *read;
	bool is_ending;
	/* It was left behind with a process of that user. */
	bool is_left;
	uid_t uid;
	struct read_worker *next;
};

/* Shared by the owner and the threads. */
struct guarded_reads {
	pthread_mutex_t lock;
	pthread_cond_t is_done;
	char *proc_root;
	unsigned int references;
	/* The one that is asked; NULL: none. */
	struct read_worker *worker;
	struct read_worker *left;
	uint64_t cpu_ns;
};

struct guarded_reads *guarded_reads_create(const char *proc_root)
{
	struct guarded_reads *reads = calloc(1, sizeof(*reads));
	char *copy = strdup(proc_root);

	if (!reads || !copy || urgent_lock_init(&reads->lock)) {
		free(reads);
		free(copy);
		return NULL;
	}
	monotonic_condition_init(&reads->is_done);
	reads->proc_root = copy;
	reads->references = 1;
	return reads;
}

/* With the lock held, which it gives back. */
static void unref_and_unlock(struct guarded_reads *reads)
{
	bool is_last = !--reads->references;

	pthread_mutex_unlock(&reads->lock);
	if (!is_last)
		return;
	pthread_cond_destroy(&reads->is_done);
	pthread_mutex_destroy(&reads->lock);
	free(reads->proc_root);
	free(reads);
}

/* --- the thread --- */

static void free_worker(struct read_worker *worker)
{
	pthread_cond_destroy(&worker->is_asked);
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

/* With the lock held. */
static void take_off_list(struct read_worker *worker)
{
	struct read_worker **link = &worker->reads->left;

	while (*link != worker)
		link = &(*link)->next;
	*link = worker->next;
}

static void drop_late_read(struct guarded_read *read)
{
	log_debug("process %d: its memory answers again", read->pid);
	read->drop(read);
	free(read);
}

static void *work(void *context)
{
	struct read_worker *worker = context;
	struct guarded_reads *reads = worker->reads;
	struct urgent_thread urgency;
	struct guarded_read *late;

	urgent_thread_init(&urgency, PRIORITY);
	pthread_mutex_lock(&reads->lock);
	worker->tid = gettid();
	for (;;) {
		while (!worker->read && !worker->is_ending)
			pthread_cond_wait(&worker->is_asked, &reads->lock);
		if (!worker->read)
			break;
		pthread_mutex_unlock(&reads->lock);
		urgent_thread_tick(&urgency);
		run_read(worker->read);
		pthread_mutex_lock(&reads->lock);
		if (worker->is_left)
			break;
		worker->read = NULL;
		pthread_cond_signal(&reads->is_done);
	}
	late = worker->read;
	if (late)
		take_off_list(worker);
	free_worker(worker);
	unref_and_unlock(reads);
	if (late)
		drop_late_read(late);
	return NULL;
}

/* With the lock held. */
static int start_worker(struct guarded_reads *reads)
{
	struct read_worker *worker = calloc(1, sizeof(*worker));
	int error;

	if (!worker)
		return fail(-ENOMEM, "no memory for a thread");
	worker->reads = reads;
	pthread_cond_init(&worker->is_asked, NULL);
	error = pthread_create(&worker->thread, NULL, work, worker);
	if (error) {
		free_worker(worker);
		return fail_errno(-ENOMEM, "no thread to read maps: %s", strerror(error));
	}
	pthread_setname_np(worker->thread, "proc_reads");
	reads->references++;
	reads->worker = worker;
	return 0;
}

void guarded_reads_destroy(struct guarded_reads *reads)
{
	struct read_worker *worker;
	pthread_t thread;

	if (!reads)
		return;
	pthread_mutex_lock(&reads->lock);
	worker = reads->worker;
	if (worker) {
		thread = worker->thread;
		worker->is_ending = true;
		pthread_cond_signal(&worker->is_asked);
		pthread_mutex_unlock(&reads->lock);
		pthread_join(thread, NULL);
		pthread_mutex_lock(&reads->lock);
	}
	unref_and_unlock(reads);
}

/* --- asking --- */

/* With the lock held: whether processes that hang leave the thread time for @pid. */
static int may_read(const struct guarded_reads *reads, pid_t pid)
{
	uint32_t count = 0, count_of_user = 0;
	uid_t uid;

	if (!reads->left)
		return 0;
	if (proc_user(reads->proc_root, pid, &uid))
		uid = 0;
	for (const struct read_worker *left = reads->left; left; left = left->next) {
		if (left->read->pid == pid)
			return fail(-EHOSTDOWN, "memory of process %d does not answer", pid);
		count++;
		count_of_user += left->uid == uid;
	}
	if (count >= GUARDED_LEFT_MAX || count_of_user >= GUARDED_LEFT_OF_USER_MAX)
		return fail(-EBUSY, "memory of %u other processes does not answer", count);
	return 0;
}

/* With the lock held: the thread only waits. It keeps the read. */
static void leave_behind(struct guarded_reads *reads)
{
	struct read_worker *worker = reads->worker;

	if (proc_user(reads->proc_root, worker->read->pid, &worker->uid))
		worker->uid = 0;
	worker->is_left = true;
	worker->next = reads->left;
	pthread_detach(worker->thread);
	reads->left = worker;
	reads->worker = NULL;
}

/* With the lock held: waits until the worker has done its read; false if it hangs. */
static bool wait_done(struct guarded_reads *reads)
{
	struct read_worker *worker = reads->worker;
	uint64_t now_ns = clock_monotonic_ns(), got_on_ns = now_ns, last_count = 0, count;
	bool is_running;

	while (worker->read) {
		if (monotonic_condition_wait(&reads->is_done, &reads->lock, now_ns + LOOK_NS))
			continue;
		now_ns = clock_monotonic_ns();
		/* Before it runs it hangs nowhere. */
		if (!worker->tid || thread_state_read(getpid(), worker->tid, &is_running, &count) ||
		    is_running || count != last_count) {
			got_on_ns = now_ns;
			last_count = worker->tid ? count : 0;
		}
		if (now_ns >= got_on_ns + GUARDED_HANG_NS)
			return false;
	}
	return true;
}

/* 0: it ran, and is the caller's again; else it is gone, or will be. */
static int run_guarded(struct guarded_reads *reads, struct guarded_read *read, pid_t pid)
{
	int err;

	if (!reads || !read) {
		free(read);
		return fail(-ENOMEM, "no memory to read maps of process %d", pid);
	}
	read->proc_root = reads->proc_root;
	read->pid = pid;
	pthread_mutex_lock(&reads->lock);
	err = may_read(reads, pid);
	if (!err && !reads->worker)
		err = start_worker(reads);
	if (err) {
		pthread_mutex_unlock(&reads->lock);
		free(read);
		return err;
	}
	reads->worker->read = read;
	pthread_cond_signal(&reads->worker->is_asked);
	if (!wait_done(reads)) {
		leave_behind(reads);
		pthread_mutex_unlock(&reads->lock);
		log_warn(
			"process %d: its memory does not answer; it is not looked at until it does",
			pid);
		hanging_processes_note((uint32_t)pid, clock_monotonic_ns());
		return fail(-EHOSTDOWN, "memory of process %d does not answer", pid);
	}
	reads->cpu_ns += read->cpu_ns;
	pthread_mutex_unlock(&reads->lock);
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

	if (read)
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

	for (uint32_t i = 0; i < keys->count; i++) {
		struct key_row *row = &keys->rows[i];
		const struct proc_mapping mapping = { .start = row->start, .end = row->end };

		row->key.err = clock_monotonic_ns() < keys->end_ns ?
				       mapped_file_key(read->proc_root, read->pid, &mapping,
						       &row->key.key) :
				       -EAGAIN;
	}
}

int guarded_keys_read(struct guarded_reads *reads, pid_t pid, const struct proc_mapping *rows,
		      uint32_t count, uint64_t end_ns, struct mapped_key *keys)
{
	struct keys_read *read = calloc(1, sizeof(*read) + count * sizeof(read->rows[0]));
	int err;

	if (read) {
		read->read = (struct guarded_read){ .run = run_keys, .drop = drop_nothing };
		read->end_ns = end_ns;
		read->count = count;
		for (uint32_t i = 0; i < count; i++)
			read->rows[i] =
				(struct key_row){ .start = rows[i].start, .end = rows[i].end };
	}
	err = run_guarded(reads, &read->read, pid);
	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
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

	if (read)
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
