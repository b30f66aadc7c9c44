/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/runtime_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/log.h"
#include "agent/base/metrics.h"
#include "agent/base/vector.h"
#include "agent/runtimes/host_pool.h"
#include "agent/runtimes/host_questions.h"

/* A request without an answer. */
struct notice {
	enum host_request_kind kind;
	uint64_t id;
	/* HOST_REQUEST_ADD_MEMORY: ours; else -1. */
	int fd;
};

VECTOR_DEFINE(notice_vector, struct notice)

struct runtime_host {
	struct pooled_host pooled;
	/* What goes before the next question for names: its senders never wait. */
	pthread_mutex_t notices_lock;
	struct notice_vector notices;
};

struct runtime_hosts {
	struct runtime_home home;
	struct runtime_hosts_options options;
	struct host_pool pool;
	/* Atomic. */
	uint64_t last_id;
	bool is_cancelled;
};

static const struct host_kind runtime_host_kind = {
	.argument = HOST_ARGUMENT,
	.name = "hold-runtimes",
	.channel_count = HOST_CHANNEL_COUNT,
	.job = "hold runtimes",
	.fault = "memory that does not answer",
	.subject = "its memory or a file of it",
};

/* --- a host --- */

static void host_init(struct pooled_host *pooled)
{
	pthread_mutex_init(&((struct runtime_host *)pooled)->notices_lock, NULL);
}

static void host_deinit(struct pooled_host *pooled)
{
	struct runtime_host *host = (struct runtime_host *)pooled;

	pthread_mutex_destroy(&host->notices_lock);
	for (size_t i = 0; i < host->notices.count; i++)
		close_fd(&host->notices.items[i].fd);
	notice_vector_deinit(&host->notices);
}

static struct runtime_host *host_ref(struct runtime_host *host)
{
	pooled_host_ref(&host->pooled);
	return host;
}

static void host_unref(struct runtime_host *host)
{
	pooled_host_unref(&host->pooled);
}

static bool host_is_lost(const struct runtime_host *host)
{
	return pooled_host_is_lost(&host->pooled);
}

static int lost_error(void)
{
	return fail(-ENOTCONN, "the process that held the runtime is gone");
}

/* --- all of them --- */

uint32_t runtime_hosts_hanging_count(struct runtime_hosts *hosts)
{
	return host_pool_hanging_count(&hosts->pool, NULL, NULL);
}

/* A reference for the caller. */
static int get_host(struct runtime_hosts *hosts, uid_t uid, struct runtime_host **host)
{
	return host_pool_get(&hosts->pool, uid, (struct pooled_host **)host);
}

/* It hangs, or has ended by itself. False if that was known. */
static bool lose(struct runtime_hosts *hosts, struct runtime_host *host, uint32_t pid)
{
	if (!host_pool_lose(&hosts->pool, &host->pooled))
		return false;
	if (pid)
		log_warn(
			"process %u: %s; its frames have no names, and runtimes of user %u are attached to again",
			pid, error_text(), host->pooled.uid);
	else
		log_warn("%s; runtimes of user %u are attached to again", error_text(),
			 host->pooled.uid);
	metrics_add(METRIC_RUNTIME_HOSTS_LOST, 1);
	hosts->options.lost(hosts->options.context, pid);
	return true;
}

/* Acts on the error of a question about @pid. That is -ENOTCONN if the host was lost because of another one. */
static int judge(struct runtime_hosts *hosts, struct runtime_host *host, int err, uint32_t pid)
{
	if (err == -EHOSTDOWN && !lose(hosts, host, pid))
		return lost_error();
	if (err == -ENOTCONN)
		lose(hosts, host, 0);
	return err;
}

static uint64_t next_id(struct runtime_hosts *hosts)
{
	return __atomic_add_fetch(&hosts->last_id, 1, __ATOMIC_RELAXED);
}

/* --- requests without answers --- */

/* With the lock of the channel HOST_NAMES. What does not fit into the socket stays for the next time. */
static void send_notices(struct runtime_host *host)
{
	struct notice_vector *notices = &host->notices;
	size_t sent = 0;

	pthread_mutex_lock(&host->notices_lock);
	for (; sent < notices->count; sent++) {
		struct notice *notice = &notices->items[sent];
		const struct host_request request = {
			.kind = notice->kind,
			.runtime_id = notice->id,
			.memory_ids = { notice->id },
		};

		if (message_try_send(host->pooled.process.channels[HOST_NAMES].socket, &request,
				     sizeof(request), &notice->fd, notice->fd >= 0) == -EAGAIN)
			break;
		close_fd(&notice->fd);
	}
	if (sent && sent < notices->count)
		memmove(notices->items, notices->items + sent,
			(notices->count - sent) * sizeof(notices->items[0]));
	notices->count -= sent;
	pthread_mutex_unlock(&host->notices_lock);
}

static int send_notice(struct runtime_host *host, struct notice notice)
{
	int err;

	pthread_mutex_lock(&host->notices_lock);
	err = notice_vector_push(&host->notices, notice);
	pthread_mutex_unlock(&host->notices_lock);
	/* Who asks at the moment sends it before the next question. */
	if (!err && !host_is_lost(host) &&
	    !pthread_mutex_trylock(&host->pooled.asking[HOST_NAMES])) {
		send_notices(host);
		pthread_mutex_unlock(&host->pooled.asking[HOST_NAMES]);
	}
	return err;
}

/* Without memory the host keeps it until its end. */
static void release(struct hosted *hosted, enum host_request_kind kind)
{
	struct runtime_host *host = hosted->host;

	if (!host)
		return;
	if (!host_is_lost(host))
		(void)send_notice(host,
				  (struct notice){ .kind = kind, .id = hosted->id, .fd = -1 });
	host_unref(host);
	*hosted = (struct hosted){ 0 };
}

static void hosts_release_runtime(struct runtime_home *home, struct hosted *runtime)
{
	(void)home;
	release(runtime, HOST_REQUEST_REMOVE_RUNTIME);
}

static void hosts_release_memory(struct runtime_home *home, struct hosted *memory)
{
	(void)home;
	release(memory, HOST_REQUEST_REMOVE_MEMORY);
}

static int hosts_add_memory(struct runtime_home *home, const struct hosted *runtime, int fd,
			    struct hosted *memory)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct runtime_host *host = runtime->host;
	struct notice notice = {
		.kind = HOST_REQUEST_ADD_MEMORY,
		.id = next_id(hosts),
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	};

	if (notice.fd < 0)
		return fail_errno(-errno, "memory for a process that holds runtimes");
	if (host_is_lost(host) || send_notice(host, notice)) {
		close(notice.fd);
		return lost_error();
	}
	*memory = (struct hosted){ host_ref(host), notice.id };
	return 0;
}

static bool hosts_is_lost(struct runtime_home *home, const struct hosted *hosted)
{
	(void)home;
	return hosted->host && host_is_lost(hosted->host);
}

/* --- questions --- */

static int hosts_attach(struct runtime_home *home, const struct host_target *target,
			struct host_runtime *runtime)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct host_request request = {
		.runtime_id = next_id(hosts),
		.memory_ids = { next_id(hosts) },
		.memory_count = 1,
		.languages = hosts->options.languages,
	};
	struct runtime_host *host = NULL;
	int err;

	if (__atomic_load_n(&hosts->is_cancelled, __ATOMIC_ACQUIRE))
		return fail(-ECANCELED, "the agent stops");
	err = get_host(hosts, target->uid, &host);
	if (err)
		return err;
	pthread_mutex_lock(&host->pooled.asking[HOST_ATTACH]);
	err = host_is_lost(host) ? lost_error() :
				   host_ask_attach(&host->pooled.process, &request, target,
						   &hosts->is_cancelled, runtime);
	pthread_mutex_unlock(&host->pooled.asking[HOST_ATTACH]);
	err = judge(hosts, host, err, target->pid);
	if (!err) {
		runtime->runtime = (struct hosted){ host_ref(host), request.runtime_id };
		runtime->memory = (struct hosted){ host_ref(host), request.memory_ids[0] };
	}
	host_unref(host);
	return err == -ENOTCONN ? -EAGAIN : err;
}

static int hosts_read(struct runtime_home *home, uid_t uid, uint32_t pid, int fd,
		      const struct memory_part *parts, uint32_t count, void *bytes)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct runtime_host *host = NULL;
	int err = get_host(hosts, uid, &host);

	if (err)
		return err;
	pthread_mutex_lock(&host->pooled.asking[HOST_ATTACH]);
	err = host_is_lost(host) ? lost_error() :
				   host_ask_read(&host->pooled.process, fd, parts, count, bytes);
	pthread_mutex_unlock(&host->pooled.asking[HOST_ATTACH]);
	err = judge(hosts, host, err, pid);
	host_unref(host);
	return err == -ENOTCONN ? -EAGAIN : err;
}

static int hosts_name(struct runtime_home *home, const struct hosted *runtime,
		      const struct hosted *memories, uint32_t memory_count, uint32_t pid,
		      const struct name_query *queries, uint32_t query_count,
		      struct name_answers *answers)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct runtime_host *host = runtime->host;
	struct host_request request = {
		.kind = HOST_REQUEST_NAME,
		.runtime_id = runtime->id,
		.memory_count = memory_count,
		.query_count = query_count,
	};
	int err;

	for (uint32_t i = 0; i < memory_count; i++)
		request.memory_ids[i] = memories[i].id;
	name_answers_clear(answers);
	pthread_mutex_lock(&host->pooled.asking[HOST_NAMES]);
	if (host_is_lost(host)) {
		err = lost_error();
	} else {
		send_notices(host);
		err = host_ask_names(&host->pooled.process, &request, queries, answers);
	}
	pthread_mutex_unlock(&host->pooled.asking[HOST_NAMES]);
	err = judge(hosts, host, err, pid);
	if (err)
		name_answers_clear(answers);
	return err;
}

static void hosts_stop_attaching(struct runtime_home *home)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;

	__atomic_store_n(&hosts->is_cancelled, true, __ATOMIC_RELEASE);
}

/* --- create and destroy --- */

int runtime_hosts_create(const struct runtime_hosts_options *options, struct runtime_hosts **hosts)
{
	static const struct runtime_home_ops ops = {
		.attach = hosts_attach,
		.add_memory = hosts_add_memory,
		.name = hosts_name,
		.read = hosts_read,
		.release_runtime = hosts_release_runtime,
		.release_memory = hosts_release_memory,
		.is_lost = hosts_is_lost,
		.stop_attaching = hosts_stop_attaching,
	};
	const struct host_pool_options pool_options = {
		.kind = &runtime_host_kind,
		.program = options->program,
		.host_bytes = sizeof(struct runtime_host),
		.init = host_init,
		.deinit = host_deinit,
	};
	struct runtime_hosts *created = calloc(1, sizeof(*created));

	if (!created)
		return fail(-ENOMEM, "no memory for runtimes");
	created->home.ops = &ops;
	created->options = *options;
	host_pool_init(&created->pool, &pool_options);
	*hosts = created;
	return 0;
}

void runtime_hosts_destroy(struct runtime_hosts *hosts)
{
	if (!hosts)
		return;
	host_pool_deinit(&hosts->pool);
	free(hosts);
}

struct runtime_home *runtime_hosts_home(struct runtime_hosts *hosts)
{
	return &hosts->home;
}
