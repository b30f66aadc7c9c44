/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues and three threads. If a request does not fit, its requester gets an error. */
#include "agent/processes/load_threads.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/processes/executable_rows.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/urgent_thread.h"
#include "lib/host/proc_info.h"

enum {
	REMOTE_LOADS_BYTES = 256 << 10,
	/** Nice values. */
	LOW_PRIORITY = 10,
	NORMAL_PRIORITY = 0,
};

/* Interval at which old copies of files are dropped. */
#define EXPIRE_NS NS_PER_SECOND

/* A record of the queue remote_loads. */
struct remote_request {
	enum { REMOTE_ROWS, REMOTE_FILE, REMOTE_NAMES, REMOTE_ATTACH } type;
	/** REMOTE_ATTACH. */
	struct attach_request *attach;
	/** REMOTE_ROWS. */
	uint64_t executable_id;
	/** REMOTE_FILE, with the following fields; REMOTE_NAMES uses only pid and identity. */
	struct file_request file;
	struct proc_mapping mapping;
	/** Text of mapping.path; only the part up to its NUL is queued. */
	char path[PATH_MAX];
};

enum { PATHLESS_BYTES = offsetof(struct remote_request, path) + 1 };

/* Reports the result of @request, and destroys it. */
static void answer_attach(struct load_threads *threads, struct attach_request *request, int err,
			  struct process_runtime *runtime)
{
	const struct attach_answer answer = {
		.pid = request->pid,
		.identity = request->identity,
		.executable_id = request->executable->id,
		.err = err,
		.runtime = runtime,
	};

	attach_request_destroy(request, threads->executables);
	threads->attached(threads->context, &answer);
}

static void attach(struct load_threads *threads, struct attach_request *request)
{
	uint64_t begin_cpu_ns = clock_thread_cpu_ns();
	struct process_runtime *runtime = NULL;
	int err = attach_request_run(request, threads->proc_root, threads->home, &runtime);

	if (!err)
		log_debug("process %u: attached to %s in %" PRIu64 " us", request->pid,
			  request->executable->binary->path,
			  (clock_thread_cpu_ns() - begin_cpu_ns + request->cpu_ns) / 1000);
	else if (err != -ESRCH)
		log_debug("process %u: %s", request->pid, error_text());
	answer_attach(threads, request, err, runtime);
}

static void copy_code(struct load_threads *threads, struct code_copy_request *request)
{
	struct code_copy_answer answer;

	code_copy_request_run(request, threads->proc_root, threads->home, threads->parser, &answer);
	free(request);
	threads->copied(threads->context, &answer);
}

static void drop_load(struct load_threads *threads, const struct load_request *request)
{
	struct code_copy_answer answer;

	if (request->copy) {
		answer = code_copy_request_refuse(request->copy, -EAGAIN);
		free(request->copy);
		threads->copied(threads->context, &answer);
	} else if (request->attach) {
		answer_attach(threads, request->attach, -EAGAIN, NULL);
	} else {
		executable_load_dropped(threads->executables, request->executable_id);
	}
}

/* Runs a request that reads memory of a process; false if it is another one. */
static bool run_memory_request(struct load_threads *threads, const struct load_request *request)
{
	if (request->attach)
		attach(threads, request->attach);
	else if (request->copy)
		copy_code(threads, request->copy);
	else
		return false;
	load_queue_memory_done(&threads->loads);
	return true;
}

static void push_load(struct load_threads *threads, const struct load_request *request)
{
	if (load_queue_push(&threads->loads, request))
		drop_load(threads, request);
}

static void drop_remote(void *context, void *record, size_t bytes)
{
	struct load_threads *threads = context;
	struct remote_request *request = record;

	(void)bytes;
	switch (request->type) {
	case REMOTE_ROWS:
		executable_load_dropped(threads->executables, request->executable_id);
		break;
	case REMOTE_FILE:
		threads->identified(threads->context, &request->file, NULL);
		break;
	case REMOTE_NAMES:
		perf_maps_request_dropped(threads->perf_maps, request->file.pid);
		break;
	case REMOTE_ATTACH:
		answer_attach(threads, request->attach, -EAGAIN, NULL);
		break;
	}
}

int load_threads_init(struct load_threads *threads)
{
	int err;

	err = load_queue_init(&threads->loads);
	if (err)
		return fail(err, "no memory for the queue of files");
	err = bounded_queue_init(&threads->remote_loads, REMOTE_LOADS_BYTES,
				 sizeof(struct remote_request), drop_remote, threads);
	if (err) {
		load_queue_deinit(&threads->loads);
		return fail(err, "no memory for the queue of files");
	}
	sem_init(&threads->may_end, 0, 0);
	return 0;
}

void load_threads_deinit(struct load_threads *threads)
{
	sem_post(&threads->may_end);
	if (threads->has_remote_thread)
		pthread_join(threads->remote_thread, NULL);
	sem_destroy(&threads->may_end);
	load_queue_deinit(&threads->loads);
	bounded_queue_deinit(&threads->remote_loads);
}

/* Raises `load` to normal priority, since a sample waits for its work or for a request behind it. */
static void hurry_load(struct load_threads *threads)
{
	pid_t tid = __atomic_load_n(&threads->load_tid, __ATOMIC_ACQUIRE);

	/* This affects `load` alone: on Linux, nice is per thread. */
	if (tid && !__atomic_exchange_n(&threads->is_hurried, true, __ATOMIC_ACQ_REL))
		setpriority(PRIO_PROCESS, tid, NORMAL_PRIORITY);
	if (threads->parser)
		threads->parser->ops->hurry(threads->parser);
}

static void *run_load(void *context)
{
	struct load_threads *threads = context;
	struct load_request request;

	pthread_setname_np(pthread_self(), "load");
	setpriority(PRIO_PROCESS, gettid(), LOW_PRIORITY);
	__atomic_store_n(&threads->load_tid, gettid(), __ATOMIC_RELEASE);
	while (!load_queue_pop(&threads->loads, false, &request)) {
		if (request.is_wanted)
			hurry_load(threads);
		else if (__atomic_exchange_n(&threads->is_hurried, false, __ATOMIC_ACQ_REL))
			setpriority(PRIO_PROCESS, gettid(), LOW_PRIORITY);
		if (run_memory_request(threads, &request))
			continue;
		if (request.is_wanted)
			executable_load(threads->executables, request.executable_id);
		else
			executable_load_unwanted(threads->executables, request.executable_id);
	}
	return NULL;
}

static void *run_load_small(void *context)
{
	struct load_threads *threads = context;
	struct load_request request;
	struct urgent_thread urgency;

	pthread_setname_np(pthread_self(), "load_small");
	urgent_thread_init(&urgency, NORMAL_PRIORITY);
	urgent_thread_rest(&urgency);
	while (!load_queue_pop(&threads->loads, true, &request)) {
		if (request.is_wanted)
			urgent_thread_tick(&urgency);
		if (!run_memory_request(threads, &request) &&
		    !executable_load_quick(threads->executables, request.executable_id) &&
		    !executable_put_off(threads->executables, request.executable_id)) {
			/* A sample may have requested it meanwhile. */
			executable_load_size_up(threads->executables, &request);
			request.is_heavy = true;
			push_load(threads, &request);
		}
		urgent_thread_rest(&urgency);
	}
	return NULL;
}

void load_threads_hurry(struct load_threads *threads, uint64_t executable_id)
{
	/*
	 * If the request is not in the queue any more, `load` is making the rows, or `load_small` will be done
	 * in a moment.
	 */
	load_queue_raise(&threads->loads, executable_id);
	hurry_load(threads);
}

static int identify(struct load_threads *threads, struct remote_request *request,
		    struct executable **executable)
{
	struct file_home *files = threads->files;
	uint32_t pid = request->file.pid;
	struct held_file *held;
	struct file_key key;
	uid_t uid;
	int err;

	if (!files)
		return fail(-EOPNOTSUPP, "nobody opens such files");
	request->mapping.path = request->path;
	err = proc_user(threads->proc_root, (pid_t)pid, &uid);
	if (!err)
		err = files->ops->open(files, uid, pid, &request->mapping, &held, &key);
	if (err)
		return err;
	err = executable_cache_open(threads->executables, -1, &key, (pid_t)pid, request->path, held,
				    executable);
	if (err)
		held_file_unref(held);
	return err;
}

static void answer_file(struct load_threads *threads, struct remote_request *request)
{
	struct executable *executable = NULL;

	if (identify(threads, request, &executable)) {
		log_debug("process %u: %s: %s", request->file.pid, request->path, error_text());
		executable = NULL;
	}
	threads->identified(threads->context, &request->file, executable);
}

static void handle_remote(struct load_threads *threads, struct remote_request *request)
{
	switch (request->type) {
	case REMOTE_ROWS:
		executable_load(threads->executables, request->executable_id);
		break;
	case REMOTE_FILE:
		answer_file(threads, request);
		break;
	case REMOTE_NAMES:
		perf_maps_read(threads->perf_maps, request->file.pid, &request->file.identity,
			       clock_monotonic_ns());
		break;
	case REMOTE_ATTACH:
		attach(threads, request->attach);
		break;
	}
}

static void *run_remote(void *context)
{
	struct load_threads *threads = context;
	struct remote_request request;
	int err = 0;

	pthread_setname_np(pthread_self(), "load_remote");
	setpriority(PRIO_PROCESS, gettid(), LOW_PRIORITY);
	while (err != -EPIPE) {
		err = bounded_queue_pop(&threads->remote_loads, &request, NULL, EXPIRE_NS);
		if (!err)
			handle_remote(threads, &request);
		if (threads->files)
			threads->files->ops->expire(threads->files, clock_monotonic_ns());
	}
	/* This thread must live on, since the processes that read files end with the thread that started them. */
	sem_wait(&threads->may_end);
	return NULL;
}

int load_threads_start(struct load_threads *threads)
{
	int err = pthread_create(&threads->load_thread, NULL, run_load, threads);

	if (err)
		return fail_errno(-err, "cannot start the thread load");
	threads->has_load_thread = true;
	err = pthread_create(&threads->small_thread, NULL, run_load_small, threads);
	if (err)
		return fail_errno(-err, "cannot start the thread load_small");
	threads->has_small_thread = true;
	err = pthread_create(&threads->remote_thread, NULL, run_remote, threads);
	if (err)
		return fail_errno(-err, "cannot start the thread load_remote");
	threads->has_remote_thread = true;
	return 0;
}

void load_threads_request(struct load_threads *threads, uint64_t executable_id, bool is_remote)
{
	struct remote_request request;

	if (!is_remote) {
		struct load_request local = { .executable_id = executable_id };

		executable_load_size_up(threads->executables, &local);
		push_load(threads, &local);
		return;
	}
	memset(&request, 0, PATHLESS_BYTES);
	request.type = REMOTE_ROWS;
	request.executable_id = executable_id;
	if (bounded_queue_push(&threads->remote_loads, &request, PATHLESS_BYTES))
		drop_remote(threads, &request, PATHLESS_BYTES);
}

void load_threads_request_attach(struct load_threads *threads, struct attach_request *attach)
{
	/* The request is urgent, since without it samples lack interpreted frames. */
	const struct load_request local = { .attach = attach, .is_wanted = true };
	struct remote_request request;

	if (!attach->is_remote) {
		push_load(threads, &local);
		return;
	}
	memset(&request, 0, PATHLESS_BYTES);
	request.type = REMOTE_ATTACH;
	request.attach = attach;
	if (bounded_queue_push(&threads->remote_loads, &request, PATHLESS_BYTES))
		drop_remote(threads, &request, PATHLESS_BYTES);
}

void load_threads_request_copy(struct load_threads *threads, struct code_copy_request *copy)
{
	/* Not wanted as rows of files are: a process decides how often its code is copied. */
	const struct load_request local = { .copy = copy };

	push_load(threads, &local);
}

void load_threads_request_names(struct load_threads *threads, uint32_t pid,
				const struct process_identity *identity)
{
	struct remote_request request;

	memset(&request, 0, PATHLESS_BYTES);
	request.type = REMOTE_NAMES;
	request.file.pid = pid;
	request.file.identity = *identity;
	if (bounded_queue_push(&threads->remote_loads, &request, PATHLESS_BYTES))
		drop_remote(threads, &request, PATHLESS_BYTES);
}

void load_threads_request_file(struct load_threads *threads, const struct file_request *request,
			       const struct proc_mapping *mapping)
{
	size_t path_bytes = strlen(mapping->path) + 1;
	struct remote_request remote;
	int err = -E2BIG;

	if (path_bytes <= sizeof(remote.path)) {
		remote.type = REMOTE_FILE;
		remote.executable_id = 0;
		remote.file = *request;
		remote.mapping = *mapping;
		memcpy(remote.path, mapping->path, path_bytes);
		err = bounded_queue_push(&threads->remote_loads, &remote,
					 offsetof(struct remote_request, path) + path_bytes);
	}
	if (err)
		threads->identified(threads->context, request, NULL);
}

/* Drops queued requests, so that the thread ends after its present one. */
static void close_remote_queue(struct load_threads *threads)
{
	struct remote_request request;
	size_t bytes;

	bounded_queue_close(&threads->remote_loads);
	while (!bounded_queue_pop(&threads->remote_loads, &request, &bytes, 0))
		drop_remote(threads, &request, bytes);
}

size_t load_threads_waiting(struct load_threads *threads)
{
	return load_queue_count(&threads->loads) + bounded_queue_count(&threads->remote_loads);
}

void load_threads_stop(struct load_threads *threads)
{
	struct load_request load;

	load_queue_close(&threads->loads);
	while (load_queue_take_any(&threads->loads, &load))
		drop_load(threads, &load);
	close_remote_queue(threads);
	__atomic_store_n(&threads->load_tid, 0, __ATOMIC_RELEASE);
	if (threads->has_load_thread)
		pthread_join(threads->load_thread, NULL);
	threads->has_load_thread = false;
	if (threads->has_small_thread)
		pthread_join(threads->small_thread, NULL);
	threads->has_small_thread = false;
}
