/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers come from a program of ours that has read hostile files, so nothing in them is trusted. A host
 * gets one request at a time, under a lock. Closing a file needs no answer and takes no lock.
 */
#include "agent/runtimes/file_hosts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/runtimes/file_copies.h"
#include "agent/runtimes/file_protocol.h"
#include "agent/runtimes/host_pool.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/sealed_file.h"
#include "lib/base/vector.h"
#include "lib/model/hanging_processes.h"
#include "lib/model/metrics.h"

/* A server on a network may take some seconds to come back. */
#define HANG_NS (5 * NS_PER_SECOND)
/* Limit of an answer, long enough for a large file from a slow server. */
#define ANSWER_MAX_NS (60 * NS_PER_SECOND)
#define HURRIED_NS NS_PER_SECOND
#define COPY_KEEP_NS (2 * NS_PER_SECOND)

VECTOR_DEFINE(id_vector, uint64_t)

/* Origin of a failure: a device or, if it is not known, a process; and the process's user. */
struct origin {
	uint64_t device;
	uint32_t pid;
	uid_t uid;
};

struct file_host {
	struct pooled_host pooled;
	/* Set before the host is lost. */
	struct origin fault;
	/* Files to be closed before the next request, since their messages did not fit into the socket. */
	pthread_mutex_t closed_lock;
	struct id_vector closed;
};

struct file_hosts {
	struct file_home home;
	struct file_hosts_options options;
	struct host_pool pool;
	struct file_copies copies;
	/* Atomic. */
	uint64_t last_id;
};

struct remote_file {
	struct held_file held;
	struct file_hosts *hosts;
	struct file_host *host;
	uint64_t id;
	struct origin origin;
};

static const struct host_kind file_host_kind = {
	.argument = FILE_HOST_ARGUMENT,
	.name = "read-files",
	.channel_count = 1,
	.job = "read files",
	.fault = "files that do not answer",
	.subject = "a file of it",
};

static void host_init(struct pooled_host *pooled)
{
	pthread_mutex_init(&((struct file_host *)pooled)->closed_lock, NULL);
}

static void host_deinit(struct pooled_host *pooled)
{
	struct file_host *host = (struct file_host *)pooled;

	pthread_mutex_destroy(&host->closed_lock);
	id_vector_deinit(&host->closed);
}

/* --- losses --- */

static bool is_at(const struct pooled_host *pooled, const void *context)
{
	const struct origin *fault = &((const struct file_host *)pooled)->fault;
	const struct origin *origin = context;

	return origin->device ? fault->device == origin->device :
				!fault->device && fault->pid == origin->pid;
}

static bool hangs(struct file_hosts *hosts, const struct origin *origin)
{
	return host_pool_hanging_count(&hosts->pool, is_at, origin) > 0;
}

/* To be called with the lock of its channel, so that the next caller knows of the loss. */
static void lose(struct file_hosts *hosts, struct file_host *host, const struct origin *origin,
		 int err)
{
	if (err == -EHOSTDOWN)
		host->fault = *origin;
	if (!host_pool_lose(&hosts->pool, &host->pooled, origin->uid))
		return;
	if (err == -EHOSTDOWN)
		log_warn(
			"process %u: %s; files of user %u on network and FUSE file systems are opened again",
			origin->pid, error_text(), host->pooled.uid);
	else
		log_debug("files of user %u: %s", host->pooled.uid, error_text());
	if (err == -EHOSTDOWN)
		hanging_processes_note(origin->pid, clock_monotonic_ns());
	metrics_add(METRIC_FILE_HOSTS_LOST, 1);
	if (!host_pool_is_stopped(&hosts->pool))
		hosts->options.lost(hosts->options.context);
}

/* --- questions --- */

/* An answer with its data. */
struct reply {
	struct file_answer head;
	/* Buffer for the data; at most the requested bytes. */
	void *bytes;
	/* FILE_QUESTION_COPY */
	int fd;
};

static int ended_error(int code)
{
	return fail(code, "the process that read its files has ended");
}

/* File systems may return any error; codes that mean the host process itself are replaced. */
static int file_error(int err)
{
	return err < 0 && err > -4096 && err != -EHOSTDOWN && err != -ENOTCONN &&
			       err != -ECANCELED && err != -EAGAIN && err != -ESTALE ?
		       err :
		       -EIO;
}

/* To be called with the lock of the channel. */
static void send_closed(struct file_host *host)
{
	struct file_question question = { .kind = FILE_QUESTION_CLOSE };

	pthread_mutex_lock(&host->closed_lock);
	while (host->closed.count) {
		question.file_id = host->closed.items[host->closed.count - 1];
		if (message_try_send(host->pooled.process.channels[0].socket, &question,
				     sizeof(question), NULL, 0) == -EAGAIN)
			break;
		host->closed.count--;
	}
	pthread_mutex_unlock(&host->closed_lock);
}

/* A descriptor that is no sealed copy is left open, since closing it may hang. */
static int take_copy(struct message_fds *fds, int *fd)
{
	if (fds->count != 1 || !sealed_file_is_one(fds->fds[0])) {
		fds->count = 0;
		return ended_error(-EHOSTDOWN);
	}
	*fd = take_fd(fds->fds[0]);
	return 0;
}

static int receive(int socket, const struct file_question *question, struct reply *reply)
{
	struct message_fds fds = { 0 };
	struct file_answer *answer = &reply->head;

	if (message_receive(socket, answer, sizeof(*answer), &fds) != sizeof(*answer))
		return ended_error(-EHOSTDOWN);
	answer->text[sizeof(answer->text) - 1] = '\0';
	if (answer->err)
		return fail(file_error(answer->err), "%s", answer->text);
	if (question->kind == FILE_QUESTION_COPY)
		return take_copy(&fds, &reply->fd);
	if (answer->bytes > question->bytes ||
	    message_receive_all(socket, reply->bytes, answer->bytes))
		return ended_error(-EHOSTDOWN);
	return 0;
}

/* To be called with the lock of the channel. */
static int ask_host(const struct file_hosts *hosts, struct file_host *host,
		    const struct file_question *question, const char *path, struct reply *reply)
{
	const struct host_patience patience = {
		.max_ns = ANSWER_MAX_NS,
		.hang_ns = host_pool_is_stopped(&hosts->pool) ? HURRIED_NS : HANG_NS,
		.is_hurried = &hosts->pool.is_stopped,
		.hurried_ns = HURRIED_NS,
	};
	int socket = host->pooled.process.channels[0].socket, err;
	char packet[sizeof(*question) + FILE_PATH_MAX_BYTES];

	if (pooled_host_is_lost(&host->pooled))
		return fail(-ESTALE, "the process that held the file is gone");
	send_closed(host);
	memcpy(packet, question, sizeof(*question));
	memcpy(packet + sizeof(*question), path, question->path_bytes);
	if (message_send(socket, packet, sizeof(*question) + question->path_bytes, NULL, 0))
		return ended_error(-ENOTCONN);
	err = host_process_wait(&host->pooled.process, 0, &patience, NULL);
	return err ? err : receive(socket, question, reply);
}

/* @origin is the device or process that the request is about. */
static int ask(struct file_hosts *hosts, struct file_host *host,
	       const struct file_question *question, const char *path, const struct origin *origin,
	       struct reply *reply)
{
	int err;

	pthread_mutex_lock(&host->pooled.asking[0]);
	err = ask_host(hosts, host, question, path, reply);
	if (err == -EHOSTDOWN || err == -ENOTCONN || err == -ECANCELED)
		lose(hosts, host, origin, err);
	pthread_mutex_unlock(&host->pooled.asking[0]);
	return err;
}

static uint64_t device_of(const struct proc_mapping *mapping)
{
	return (uint64_t)mapping->device_major << 32 | mapping->device_minor;
}

/* Fills in the mapping of @question, and gets a reference to a host for it. On an error *@host is NULL. */
static int prepare(struct file_hosts *hosts, const struct origin *origin,
		   const struct proc_mapping *mapping, struct file_question *question,
		   struct file_host **host)
{
	struct pooled_host *pooled = NULL;
	int err;

	*host = NULL;
	if (mapping) {
		question->mapping = *mapping;
		question->mapping.path = NULL;
		question->path_bytes = (uint32_t)strlen(mapping->path) + 1;
	}
	if (question->path_bytes > FILE_PATH_MAX_BYTES)
		return fail(-ENAMETOOLONG, "a file that process %u has mapped", question->pid);
	if (host_pool_is_stopped(&hosts->pool))
		return fail(-ECANCELED, "the agent stops");
	if (hangs(hosts, origin))
		return fail(-EHOSTDOWN, "its file system does not answer");
	err = host_pool_get(&hosts->pool, origin->uid, true, &pooled);
	*host = (struct file_host *)pooled;
	return err;
}

static uint64_t next_id(struct file_hosts *hosts)
{
	return __atomic_add_fetch(&hosts->last_id, 1, __ATOMIC_RELAXED);
}

/* --- files that are held --- */

static int remote_copy(struct held_file *held, int *fd)
{
	struct remote_file *file = (struct remote_file *)held;
	const struct file_question question = {
		.kind = FILE_QUESTION_COPY,
		.pid = file->origin.pid,
		.file_id = file->id,
	};
	struct reply reply;
	int err;

	*fd = file_copies_find(&file->hosts->copies, file->id, clock_monotonic_ns());
	if (*fd >= 0)
		return 0;
	err = ask(file->hosts, file->host, &question, "", &file->origin, &reply);
	if (err)
		return err == -ENOTCONN ? -ESTALE : err;
	file_copies_add(&file->hosts->copies, file->id, reply.fd, clock_monotonic_ns());
	*fd = reply.fd;
	return 0;
}

static bool remote_is_lost(const struct held_file *held)
{
	return pooled_host_is_lost(&((const struct remote_file *)held)->host->pooled);
}

static void remote_release(struct held_file *held)
{
	struct remote_file *file = (struct remote_file *)held;
	struct file_host *host = file->host;
	const struct file_question question = {
		.kind = FILE_QUESTION_CLOSE,
		.file_id = file->id,
	};

	if (!pooled_host_is_lost(&host->pooled) &&
	    message_try_send(host->pooled.process.channels[0].socket, &question, sizeof(question),
			     NULL, 0) == -EAGAIN) {
		pthread_mutex_lock(&host->closed_lock);
		/* Without memory the host keeps the file open until its end. */
		(void)id_vector_push(&host->closed, file->id);
		pthread_mutex_unlock(&host->closed_lock);
	}
	pooled_host_unref(&host->pooled);
	free(file);
}

static struct remote_file *remote_create(struct file_hosts *hosts, const struct origin *origin)
{
	static const struct held_file_ops ops = {
		.copy = remote_copy,
		.is_lost = remote_is_lost,
		.release = remote_release,
	};
	struct remote_file *file = malloc(sizeof(*file));

	if (file)
		*file = (struct remote_file){
			.held = { .ops = &ops, .references = 1 },
			.hosts = hosts,
			.id = next_id(hosts),
			.origin = *origin,
		};
	return file;
}

/* --- the home --- */

static int hosts_open(struct file_home *home, uid_t uid, uint32_t pid,
		      const struct proc_mapping *mapping, struct held_file **file,
		      struct file_key *key)
{
	struct file_hosts *hosts = (struct file_hosts *)home;
	const struct origin origin = { .device = device_of(mapping), .pid = pid, .uid = uid };
	struct remote_file *opened = remote_create(hosts, &origin);
	struct file_question question = { .kind = FILE_QUESTION_OPEN, .pid = pid };
	struct reply reply = { .bytes = NULL };
	int err;

	if (!opened)
		return fail(-ENOMEM, "no memory for an open file");
	question.file_id = opened->id;
	err = prepare(hosts, &origin, mapping, &question, &opened->host);
	if (!opened->host) {
		free(opened);
		return err;
	}
	err = ask(hosts, opened->host, &question, mapping->path, &origin, &reply);
	if (err) {
		pooled_host_unref(&opened->host->pooled);
		free(opened);
		return err == -ENOTCONN || err == -ESTALE ? -EAGAIN : err;
	}
	*file = &opened->held;
	*key = reply.head.key;
	return 0;
}

static int hosts_read(struct file_home *home, uid_t uid, const struct code_file *file,
		      uint64_t offset, void *bytes, uint32_t size, struct file_key *key,
		      uint32_t *count)
{
	struct file_hosts *hosts = (struct file_hosts *)home;
	struct file_question question = {
		.kind = FILE_QUESTION_READ,
		.pid = file->pid,
		.offset = offset,
		.bytes = size,
		.since_ns = file->since_ns,
	};
	const struct origin origin = {
		.device = file->mapping ? device_of(file->mapping) : 0,
		.pid = file->pid,
		.uid = uid,
	};
	struct reply reply = { .bytes = bytes };
	struct file_host *host;
	int err;

	err = prepare(hosts, &origin, file->mapping, &question, &host);
	if (!host)
		return err;
	err = ask(hosts, host, &question, file->mapping ? file->mapping->path : "", &origin,
		  &reply);
	pooled_host_unref(&host->pooled);
	if (err)
		return err == -ENOTCONN || err == -ESTALE ? -EAGAIN : err;
	*key = reply.head.key;
	*count = reply.head.bytes;
	return 0;
}

static void hosts_expire(struct file_home *home, uint64_t now_ns)
{
	file_copies_expire(&((struct file_hosts *)home)->copies, now_ns - COPY_KEEP_NS);
}

static void hosts_stop(struct file_home *home)
{
	host_pool_stop(&((struct file_hosts *)home)->pool);
}

int file_hosts_create(const struct file_hosts_options *options, struct file_hosts **hosts)
{
	static const struct file_home_ops ops = {
		.open = hosts_open,
		.read = hosts_read,
		.expire = hosts_expire,
		.stop = hosts_stop,
	};
	const struct host_pool_options pool_options = {
		.kind = &file_host_kind,
		.program = options->program,
		.host_bytes = sizeof(struct file_host),
		.init = host_init,
		.deinit = host_deinit,
	};
	struct file_hosts *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for files that may not answer");
	created->home.ops = &ops;
	created->options = *options;
	err = host_pool_init(&created->pool, &pool_options);
	if (err) {
		free(created);
		return err;
	}
	file_copies_init(&created->copies);
	*hosts = created;
	return 0;
}

void file_hosts_destroy(struct file_hosts *hosts)
{
	if (!hosts)
		return;
	host_pool_deinit(&hosts->pool);
	file_copies_deinit(&hosts->copies);
	free(hosts);
}

struct file_home *file_hosts_home(struct file_hosts *hosts)
{
	return &hosts->home;
}

uint32_t file_hosts_hanging_count(struct file_hosts *hosts)
{
	return host_pool_hanging_count(&hosts->pool, NULL, NULL);
}
