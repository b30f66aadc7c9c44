/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/runtime_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/runtimes/host_pool.h"
#include "agent/runtimes/host_protocol.h"
#include "agent/runtimes/host_questions.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/message_socket.h"
#include "lib/base/vector.h"
#include "lib/model/hanging_processes.h"
#include "lib/model/metrics.h"

/* How long a read waits for another read or an attach. */
#define READ_WAIT_NS (20 * NS_PER_MS)

struct host_command {
	enum host_request_kind kind;
	uint64_t id;
	/* For HOST_REQUEST_ADD_MEMORY, owned by the commands; otherwise -1. */
	int fd;
};

VECTOR_DEFINE(host_command_vector, struct host_command)

/*
 * Requests without an answer to a process that holds runtimes. They are sent in order before the next request
 * for names, and adding one never waits. Any thread.
 */
struct host_commands {
	pthread_mutex_t lock;
	struct host_command_vector waiting;
};

struct runtime_host {
	struct pooled_host pooled;
	struct host_commands commands;
};

struct runtime_hosts {
	struct runtime_home home;
	struct runtime_hosts_options options;
	struct host_pool pool;
	/* Atomic. */
	uint64_t last_id;
};

static const struct host_kind runtime_host_kind = {
	.argument = HOST_ARGUMENT,
	.name = "hold-runtimes",
	.channel_count = HOST_CHANNEL_COUNT,
	.job = "hold runtimes",
	.fault = "memory that does not answer",
	.subject = "its memory or a file of it",
};

/* --- requests without an answer --- */

static void host_commands_init(struct host_commands *commands)
{
	*commands = (struct host_commands){ 0 };
	pthread_mutex_init(&commands->lock, NULL);
}

static void host_commands_deinit(struct host_commands *commands)
{
	for (size_t i = 0; i < commands->waiting.count; i++)
		close_fd(&commands->waiting.items[i].fd);
	host_command_vector_deinit(&commands->waiting);
	pthread_mutex_destroy(&commands->lock);
}

/* Adds a command. -ENOMEM; then the caller still owns the descriptor. */
static int host_commands_add(struct host_commands *commands, struct host_command command)
{
	int err;

	pthread_mutex_lock(&commands->lock);
	err = host_command_vector_push(&commands->waiting, command);
	pthread_mutex_unlock(&commands->lock);
	return err;
}

/* Removes the first @count commands. */
static void remove_first(struct host_command_vector *waiting, size_t count)
{
	if (count && count < waiting->count)
		memmove(waiting->items, waiting->items + count,
			(waiting->count - count) * sizeof(waiting->items[0]));
	waiting->count -= count;
}

/*
 * Sends the commands. Without @may_wait, those that do not fit into @socket are left for the next time. One
 * thread at a time.
 */
static void host_commands_send(struct host_commands *commands, int socket, bool may_wait)
{
	int (*send)(int socket, const void *bytes, size_t size, const int *fds, int fd_count) =
		may_wait ? message_send : message_try_send;
	size_t sent = 0;

	pthread_mutex_lock(&commands->lock);
	for (; sent < commands->waiting.count; sent++) {
		struct host_command *command = &commands->waiting.items[sent];
		const struct host_request request = {
			.kind = command->kind,
			.runtime_id = command->id,
			.memory_ids = { command->id },
		};

		if (send(socket, &request, sizeof(request), &command->fd, command->fd >= 0) ==
		    -EAGAIN)
			break;
		close_fd(&command->fd);
	}
	remove_first(&commands->waiting, sent);
	pthread_mutex_unlock(&commands->lock);
}

/* --- a host --- */

static void host_init(struct pooled_host *pooled)
{
	host_commands_init(&((struct runtime_host *)pooled)->commands);
}

static void host_deinit(struct pooled_host *pooled)
{
	host_commands_deinit(&((struct runtime_host *)pooled)->commands);
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

/* Gets a reference for the caller, as host_pool_get(). */
static int get_host(struct runtime_hosts *hosts, uid_t uid, bool may_wait,
		    struct runtime_host **host)
{
	return host_pool_get(&hosts->pool, uid, may_wait, (struct pooled_host **)host);
}

/*
 * Handles a host that hangs or has ended by itself. @pid, a process of @uid, is the process that the request
 * was about; 0: none. False if the host was lost before.
 */
static bool lose(struct runtime_hosts *hosts, struct runtime_host *host, uint32_t pid, uid_t uid)
{
	if (!host_pool_lose(&hosts->pool, &host->pooled, uid))
		return false;
	if (pid)
		log_warn(
			"process %u: %s; its frames have no names, and runtimes of user %u are attached to again",
			pid, error_text(), host->pooled.uid);
	else
		log_warn("%s; runtimes of user %u are attached to again", error_text(),
			 host->pooled.uid);
	if (pid)
		hanging_processes_note(pid, clock_monotonic_ns());
	metrics_add(METRIC_RUNTIME_HOSTS_LOST, 1);
	hosts->options.lost(hosts->options.context, pid);
	return true;
}

/* Handles the error of a request about @pid. Returns -ENOTCONN if the host was lost because of another process. */
static int judge(struct runtime_hosts *hosts, struct runtime_host *host, int err, uint32_t pid,
		 uid_t uid)
{
	if (err == -EHOSTDOWN && !lose(hosts, host, pid, uid))
		return lost_error();
	if (err == -ENOTCONN)
		lose(hosts, host, 0, uid);
	return err;
}

static uint64_t next_id(struct runtime_hosts *hosts)
{
	return __atomic_add_fetch(&hosts->last_id, 1, __ATOMIC_RELAXED);
}

/* --- requests without answers --- */

/* To be called with the lock of the channel HOST_NAMES. */
static void send_commands(struct runtime_host *host, bool may_wait)
{
	host_commands_send(&host->commands, host->pooled.process.channels[HOST_NAMES].socket,
			   may_wait);
}

static int send_command(struct runtime_host *host, struct host_command command)
{
	int err = host_commands_add(&host->commands, command);

	/* If a request is in progress, the command is sent before the next one. */
	if (!err && !host_is_lost(host) &&
	    !pthread_mutex_trylock(&host->pooled.asking[HOST_NAMES])) {
		send_commands(host, false);
		pthread_mutex_unlock(&host->pooled.asking[HOST_NAMES]);
	}
	return err;
}

/* Releases an object of the host. Without memory the host keeps it until its end. */
static void release(struct hosted *hosted, enum host_request_kind kind)
{
	struct runtime_host *host = hosted->host;

	if (!host)
		return;
	if (!host_is_lost(host))
		(void)send_command(
			host, (struct host_command){ .kind = kind, .id = hosted->id, .fd = -1 });
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
	struct host_command command = {
		.kind = HOST_REQUEST_ADD_MEMORY,
		.id = next_id(hosts),
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	};

	if (command.fd < 0)
		return fail_errno(-errno,
				  "cannot duplicate the memory file of a process for its host");
	if (host_is_lost(host) || send_command(host, command)) {
		close(command.fd);
		return lost_error();
	}
	*memory = (struct hosted){ .host = host_ref(host), .id = command.id, .uid = runtime->uid };
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

	err = get_host(hosts, target->uid, true, &host);
	if (err)
		return err;
	pthread_mutex_lock(&host->pooled.asking[HOST_ATTACH]);
	err = host_is_lost(host) ? lost_error() :
				   host_ask_attach(&host->pooled.process, &request, target,
						   &hosts->pool.is_stopped, runtime);
	pthread_mutex_unlock(&host->pooled.asking[HOST_ATTACH]);
	err = judge(hosts, host, err, target->pid, target->uid);
	if (!err) {
		runtime->runtime = (struct hosted){
			.host = host_ref(host),
			.id = request.runtime_id,
			.uid = target->uid,
		};
		runtime->memory = (struct hosted){
			.host = host_ref(host),
			.id = request.memory_ids[0],
			.uid = target->uid,
		};
	}
	host_unref(host);
	return err == -ENOTCONN ? -EAGAIN : err;
}

static int hosts_read(struct runtime_home *home, uid_t uid, uint32_t pid, int fd,
		      const struct memory_part *parts, uint32_t count, void *bytes)
{
	struct timespec until = clock_timespec(clock_monotonic_ns() + READ_WAIT_NS);
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct runtime_host *host = NULL;
	pthread_mutex_t *asking;
	int err = get_host(hosts, uid, false, &host);

	if (err)
		return err;
	asking = &host->pooled.asking[HOST_ATTACH];
	if (pthread_mutex_clocklock(asking, CLOCK_MONOTONIC, &until)) {
		host_unref(host);
		return fail(-EAGAIN, "the process that reads it is busy");
	}
	err = host_is_lost(host) ? lost_error() :
				   host_ask_read(&host->pooled.process, fd, parts, count,
						 &hosts->pool.is_stopped, bytes);
	pthread_mutex_unlock(asking);
	err = judge(hosts, host, err, pid, uid);
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
		send_commands(host, true);
		err = host_ask_names(&host->pooled.process, &request, queries, answers);
	}
	pthread_mutex_unlock(&host->pooled.asking[HOST_NAMES]);
	err = judge(hosts, host, err, pid, runtime->uid);
	if (err)
		name_answers_clear(answers);
	return err;
}

static void hosts_stop_attaching(struct runtime_home *home)
{
	host_pool_stop(&((struct runtime_hosts *)home)->pool);
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
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for runtimes");
	created->home.ops = &ops;
	created->options = *options;
	err = host_pool_init(&created->pool, &pool_options);
	if (err)
		free(created);
	else
		*hosts = created;
	return err;
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
