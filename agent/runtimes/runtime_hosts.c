/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question is answered in microseconds, but for attaching. When an answer takes its time, the thread that
 * owes it is looked at: it hangs if it waits in the kernel, not to be interrupted, and has not run between two looks. A
 * host that is busy or without a CPU is waited for.
 */
#include "agent/runtimes/runtime_hosts.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/child_process.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/log.h"
#include "agent/base/metrics.h"
#include "agent/base/vector.h"
#include "agent/runtimes/host_protocol.h"
#include "agent/runtimes/message_socket.h"

enum {
	LOOK_MS = 50,
	/* Looks between which nothing happened. */
	LOOKS_MAX = 3,
	/* Of a request without a path. */
	REQUEST_BYTES = offsetof(struct host_request, path) + 1,
};

/* However busy a host is. */
#define START_MAX_NS (10 * NS_PER_SECOND)
#define NAME_MAX_NS (10 * NS_PER_SECOND)
#define ATTACH_MAX_NS (60 * NS_PER_SECOND)

/* A runtime or a memory that nobody wants any more. */
struct released {
	enum host_request_kind kind;
	uint64_t id;
};

VECTOR_DEFINE(released_vector, struct released)

struct runtime_host {
	struct runtime_host *next;
	uid_t uid;
	struct child_process child;
	/* Atomic. */
	unsigned int references;
	bool is_lost;
	/* Of those who ask. */
	struct {
		pthread_mutex_t lock;
		int socket;
		int32_t tid;
	} channels[HOST_CHANNEL_COUNT];
	/* What is to be let go there, with a lock of its own: nobody waits for that. */
	pthread_mutex_t released_lock;
	struct released_vector released;
};

struct runtime_hosts {
	struct runtime_home home;
	struct runtime_hosts_options options;
	/* Of the lists. */
	pthread_mutex_t lock;
	struct runtime_host *living;
	struct runtime_host *hanging;
	/* Atomic. */
	uint64_t last_id;
};

/* --- one of them --- */

static void host_unref(struct runtime_host *host)
{
	if (__atomic_sub_fetch(&host->references, 1, __ATOMIC_ACQ_REL))
		return;
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++) {
		close_fd(&host->channels[i].socket);
		pthread_mutex_destroy(&host->channels[i].lock);
	}
	pthread_mutex_destroy(&host->released_lock);
	released_vector_deinit(&host->released);
	close_fd(&host->child.pid_fd);
	free(host);
}

static struct runtime_host *host_ref(struct runtime_host *host)
{
	__atomic_add_fetch(&host->references, 1, __ATOMIC_RELAXED);
	return host;
}

static bool is_lost(const struct runtime_host *host)
{
	return __atomic_load_n(&host->is_lost, __ATOMIC_ACQUIRE);
}

static int lost_error(void)
{
	return fail(-EHOSTDOWN, "the process that held the runtime is gone");
}

/* What a thread of the host does: whether it waits for good, as far as one look can tell, and how often it ran. */
static bool is_waiting(const struct runtime_host *host, int32_t tid, uint64_t *runs)
{
	_cleanup_(close_file) FILE *stat = NULL;
	_cleanup_(close_file) FILE *schedstat = NULL;
	char path[64], text[256] = "";
	const char *state;
	unsigned long long count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", host->child.pid, tid);
	stat = fopen(path, "re");
	if (!stat || !fgets(text, sizeof(text), stat))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", host->child.pid, tid);
	schedstat = fopen(path, "re");
	if (!schedstat || fscanf(schedstat, "%*s %*s %llu", &count) != 1)
		return false;
	*runs = count;
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'D';
}

/* Waits for an answer. -EHOSTDOWN: it hangs, or has ended. */
static int wait_answer(const struct runtime_host *host, enum host_channel channel,
		       uint64_t max_ns)
{
	struct pollfd polled = { .fd = host->channels[channel].socket, .events = POLLIN };
	uint64_t deadline_ns = clock_monotonic_ns() + max_ns, runs, last_runs = 0;
	int looks = 0;

	while (clock_monotonic_ns() < deadline_ns) {
		int count = poll(&polled, 1, LOOK_MS);

		if (count > 0)
			return polled.revents & POLLIN ? 0 : lost_error();
		if (count < 0 && errno != EINTR)
			return fail_errno(-errno, "poll of a process that holds runtimes");
		if (!is_waiting(host, host->channels[channel].tid, &runs) || runs != last_runs)
			looks = 0;
		last_runs = runs;
		if (++looks > LOOKS_MAX)
			break;
	}
	return fail(-EHOSTDOWN, "memory or files of a process do not answer");
}

static int start_channel(struct runtime_host *host, enum host_channel channel)
{
	struct host_ready ready;
	int err = wait_answer(host, channel, START_MAX_NS);

	if (!err && message_receive(host->channels[channel].socket, &ready, sizeof(ready), NULL) !=
			    sizeof(ready))
		err = lost_error();
	if (!err)
		host->channels[channel].tid = ready.tid;
	return err;
}

static int start_process(const struct runtime_hosts *hosts, struct runtime_host *host)
{
	char argument[] = HOST_ARGUMENT, name[] = "hold-runtimes";
	char *arguments[] = { name, argument, NULL };
	const char *program = hosts->options.program;
	const struct host_hello hello = { .parent = getpid() };
	int theirs[HOST_CHANNEL_COUNT] = { -1, -1 };
	int err = 0;

	for (int i = 0; i < HOST_CHANNEL_COUNT && !err; i++) {
		int pair[2];

		err = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ? -errno : 0;
		if (!err) {
			host->channels[i].socket = pair[0];
			theirs[i] = pair[1];
		}
	}
	if (!err)
		err = child_process_start(program ? program : "/proc/self/exe", arguments,
					  theirs[HOST_NAMES], HOST_SOCKET, &host->child);
	if (!err)
		err = message_send(host->channels[HOST_NAMES].socket, &hello, sizeof(hello),
				   &theirs[HOST_ATTACH], 1);
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++)
		close_fd(&theirs[i]);
	return err;
}

static void end_process(struct runtime_host *host)
{
	if (host->child.pid <= 0)
		return;
	kill(host->child.pid, SIGKILL);
	waitpid(host->child.pid, NULL, 0);
	host->child.pid = 0;
}

static int host_create(const struct runtime_hosts *hosts, uid_t uid, struct runtime_host **host)
{
	struct runtime_host *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for runtimes");
	*created = (struct runtime_host){ .uid = uid, .references = 1, .child.pid_fd = -1 };
	pthread_mutex_init(&created->released_lock, NULL);
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++) {
		created->channels[i].socket = -1;
		pthread_mutex_init(&created->channels[i].lock, NULL);
	}
	err = start_process(hosts, created);
	for (int i = 0; i < HOST_CHANNEL_COUNT && !err; i++)
		err = start_channel(created, i);
	if (err) {
		end_process(created);
		host_unref(created);
		return fail(-EHOSTDOWN, "no process for runtimes: %s", error_text());
	}
	*host = created;
	return 0;
}

/* --- all of them --- */

/* With the lock: forgets those that hung and have ended since. */
static void reap(struct runtime_hosts *hosts)
{
	struct runtime_host **link = &hosts->hanging;

	while (*link) {
		struct runtime_host *host = *link;

		if (waitpid(host->child.pid, NULL, WNOHANG) == 0) {
			link = &host->next;
			continue;
		}
		*link = host->next;
		host_unref(host);
	}
}

void runtime_hosts_destroy(struct runtime_hosts *hosts)
{
	if (!hosts)
		return;
	while (hosts->living) {
		struct runtime_host *host = hosts->living;

		hosts->living = host->next;
		end_process(host);
		host_unref(host);
	}
	reap(hosts);
	pthread_mutex_destroy(&hosts->lock);
	free(hosts);
}

/* With the lock. */
static uint32_t count_hanging(const struct runtime_hosts *hosts, uid_t uid, bool of_all)
{
	uint32_t count = 0;

	for (const struct runtime_host *host = hosts->hanging; host; host = host->next)
		count += of_all || host->uid == uid;
	return count;
}

uint32_t runtime_hosts_hung_count(struct runtime_hosts *hosts)
{
	uint32_t count;

	pthread_mutex_lock(&hosts->lock);
	reap(hosts);
	count = count_hanging(hosts, 0, true);
	pthread_mutex_unlock(&hosts->lock);
	return count;
}

/* With the lock. */
static int find_host(struct runtime_hosts *hosts, uid_t uid, struct runtime_host **host)
{
	struct runtime_host *found = hosts->living;
	uint32_t count = 0;
	int err;

	for (; found && found->uid != uid; found = found->next)
		count++;
	if (found || count >= HOSTS_MAX) {
		*host = host_ref(found ? found : hosts->living);
		return 0;
	}
	reap(hosts);
	if (count_hanging(hosts, uid, false) >= HOSTS_HUNG_OF_USER_MAX ||
	    count_hanging(hosts, uid, true) >= HOSTS_HUNG_MAX)
		return fail(-EAGAIN, "too many processes wait for memory of user %u", uid);
	err = host_create(hosts, uid, &found);
	if (err)
		return err;
	found->next = hosts->living;
	hosts->living = found;
	*host = host_ref(found);
	return 0;
}

/* It hangs, or has ended by itself: from now on nothing is asked of it. */
static void lose(struct runtime_hosts *hosts, struct runtime_host *host, uint32_t pid)
{
	struct runtime_host **link = &hosts->living;

	if (__atomic_exchange_n(&host->is_lost, true, __ATOMIC_ACQ_REL))
		return;
	kill(host->child.pid, SIGKILL);
	pthread_mutex_lock(&hosts->lock);
	while (*link && *link != host)
		link = &(*link)->next;
	if (*link)
		*link = host->next;
	host->next = hosts->hanging;
	hosts->hanging = host;
	reap(hosts);
	pthread_mutex_unlock(&hosts->lock);
	metrics_add(METRIC_RUNTIME_HOSTS_LOST, 1);
	log_warn("process %u: %s; its frames are not named", pid, error_text());
	hosts->options.lost(hosts->options.context, pid);
}

static uint64_t next_id(struct runtime_hosts *hosts)
{
	return __atomic_add_fetch(&hosts->last_id, 1, __ATOMIC_RELAXED);
}

/* --- what goes with the next question --- */

/* With the lock of the channel. */
static int send_released(struct runtime_host *host)
{
	struct released_vector released;
	int err = 0;

	pthread_mutex_lock(&host->released_lock);
	released = host->released;
	host->released = (struct released_vector){ 0 };
	pthread_mutex_unlock(&host->released_lock);
	for (size_t i = 0; i < released.count && !err; i++) {
		const struct host_request request = {
			.kind = released.items[i].kind,
			.runtime_id = released.items[i].id,
			.memory_ids = { released.items[i].id },
		};

		err = message_send(host->channels[HOST_NAMES].socket, &request, REQUEST_BYTES, NULL,
				   0);
	}
	released_vector_deinit(&released);
	return err;
}

/* Without memory the host keeps it until its end. */
static void release(struct hosted *hosted, enum host_request_kind kind)
{
	struct runtime_host *host = hosted->host;

	if (!host)
		return;
	pthread_mutex_lock(&host->released_lock);
	(void)released_vector_push(&host->released, (struct released){ kind, hosted->id });
	pthread_mutex_unlock(&host->released_lock);
	if (!is_lost(host) && !pthread_mutex_trylock(&host->channels[HOST_NAMES].lock)) {
		(void)send_released(host);
		pthread_mutex_unlock(&host->channels[HOST_NAMES].lock);
	}
	host_unref(host);
	hosted->host = NULL;
}

static void release_runtime(struct runtime_home *home, struct hosted *runtime)
{
	(void)home;
	release(runtime, HOST_REQUEST_REMOVE_RUNTIME);
}

static void release_memory(struct runtime_home *home, struct hosted *memory)
{
	(void)home;
	release(memory, HOST_REQUEST_REMOVE_MEMORY);
}

static bool hosted_is_lost(struct runtime_home *home, const struct hosted *hosted)
{
	(void)home;
	return is_lost(hosted->host);
}

/* --- to attach --- */

static int send_modules(int socket, const struct host_target *target)
{
	_Alignas(struct host_module) char bytes[MESSAGE_MAX_BYTES];
	int fds[MESSAGE_MAX_FDS], count = 0, err = 0;
	size_t size = 0;

	for (uint32_t i = 0; i <= target->module_count && !err; i++) {
		const struct interpreter_module *module = &target->modules[i];
		size_t path_bytes = i < target->module_count ? strlen(module->path) + 1 : 0;
		size_t needed = (sizeof(struct host_module) + path_bytes + 7) / 8 * 8;
		struct host_module *packed;

		if (count && (i == target->module_count || count == MESSAGE_MAX_FDS ||
			      size + needed > sizeof(bytes))) {
			err = message_send(socket, bytes, size, fds, count);
			count = 0;
			size = 0;
		}
		if (i == target->module_count || err)
			break;
		packed = (struct host_module *)(bytes + size);
		packed->bias = module->bias;
		packed->path_bytes = (uint32_t)path_bytes;
		packed->reserved = 0;
		memcpy(packed->path, module->path, path_bytes);
		size += needed;
		fds[count++] = module->fd;
	}
	return err;
}

static int send_attach(int socket, const struct host_request *request,
		       const struct host_target *target)
{
	const int fds[] = { target->file, target->memory };
	int err = message_send(socket, request,
			       offsetof(struct host_request, path) + strlen(request->path) + 1, fds,
			       2);

	return err ? err : send_modules(socket, target);
}

static int receive_attached(int socket, struct host_runtime *runtime)
{
	struct host_attached answer;
	void *data;

	if (message_receive(socket, &answer, sizeof(answer), NULL) != sizeof(answer))
		return -EPIPE;
	if (answer.err) {
		answer.text[sizeof(answer.text) - 1] = '\0';
		return fail(answer.err < 0 && answer.err > -4096 ? answer.err : -EBADMSG, "%s",
			    answer.text);
	}
	if (!answer.data_bytes || answer.data_bytes > INTERPRETER_DATA_MAX_BYTES)
		return -EPIPE;
	data = malloc(answer.data_bytes);
	if (!data || message_receive_all(socket, data, answer.data_bytes)) {
		free(data);
		return -EPIPE;
	}
	runtime->data = data;
	runtime->data_bytes = answer.data_bytes;
	runtime->may_grow = answer.may_grow;
	return 0;
}

/* With the lock of the channel. *@is_broken: there will be no more answers. */
static int attach_locked(struct runtime_host *host, const struct host_request *request,
			 const struct host_target *target, struct host_runtime *runtime,
			 bool *is_broken)
{
	int socket = host->channels[HOST_ATTACH].socket, err = 0;

	if (is_lost(host))
		return lost_error();
	*is_broken = true;
	if (send_attach(socket, request, target))
		return lost_error();
	err = wait_answer(host, HOST_ATTACH, ATTACH_MAX_NS);
	if (err)
		return err;
	err = receive_attached(socket, runtime);
	if (err == -EPIPE)
		return lost_error();
	*is_broken = false;
	return err;
}

static int attach(struct runtime_home *home, const struct host_target *target,
		  struct host_runtime *runtime)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct host_request request = {
		.kind = HOST_REQUEST_ATTACH,
		.pid = target->pid,
		.runtime_id = next_id(hosts),
		.memory_ids = { next_id(hosts) },
		.memory_count = 1,
		.executable_id = target->executable_id,
		.bias = target->bias,
		.languages = hosts->options.languages,
		.module_count = target->module_count,
	};
	struct runtime_host *host = NULL;
	bool is_broken = false;
	int err;

	if (strlen(target->path) >= sizeof(request.path))
		return fail(-ENAMETOOLONG, "%s", target->path);
	strcpy(request.path, target->path);
	pthread_mutex_lock(&hosts->lock);
	err = find_host(hosts, target->uid, &host);
	pthread_mutex_unlock(&hosts->lock);
	if (err)
		return err;
	pthread_mutex_lock(&host->channels[HOST_ATTACH].lock);
	err = attach_locked(host, &request, target, runtime, &is_broken);
	pthread_mutex_unlock(&host->channels[HOST_ATTACH].lock);
	if (is_broken)
		lose(hosts, host, target->pid);
	if (!err) {
		runtime->runtime = (struct hosted){ host_ref(host), request.runtime_id };
		runtime->memory = (struct hosted){ host_ref(host), request.memory_ids[0] };
	}
	host_unref(host);
	return err;
}

/* --- to name --- */

static int add_memory(struct runtime_home *home, const struct hosted *runtime, int fd,
		      struct hosted *memory)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct runtime_host *host = runtime->host;
	const struct host_request request = {
		.kind = HOST_REQUEST_ADD_MEMORY,
		.memory_ids = { next_id(hosts) },
	};
	int err = -EHOSTDOWN;

	pthread_mutex_lock(&host->channels[HOST_NAMES].lock);
	if (!is_lost(host))
		err = message_send(host->channels[HOST_NAMES].socket, &request,
				   REQUEST_BYTES, &fd, 1);
	pthread_mutex_unlock(&host->channels[HOST_NAMES].lock);
	if (err)
		return lost_error();
	*memory = (struct hosted){ host_ref(host), request.memory_ids[0] };
	return 0;
}

static int receive_array(int socket, void *items, size_t bytes)
{
	return items || !bytes ? message_receive_all(socket, items, bytes) : -ENOMEM;
}

static int receive_answers(int socket, uint32_t query_count, struct name_answers *answers)
{
	struct host_named named;

	if (message_receive(socket, &named, sizeof(named), NULL) != sizeof(named))
		return -EPIPE;
	if (named.err)
		return named.err == -ENOMEM ? -ENOMEM : -EPIPE;
	if (named.frame_count > NAME_ANSWERS_MAX_FRAMES ||
	    named.text_bytes > NAME_ANSWERS_MAX_TEXT_BYTES ||
	    name_answer_vector_reserve(&answers->answers, query_count) ||
	    name_frame_vector_reserve(&answers->frames, named.frame_count) ||
	    name_text_vector_reserve(&answers->texts, named.text_bytes))
		return -EPIPE;
	answers->answers.count = query_count;
	answers->frames.count = named.frame_count;
	answers->texts.count = named.text_bytes;
	if (receive_array(socket, answers->answers.items,
			  query_count * sizeof(answers->answers.items[0])) ||
	    receive_array(socket, answers->frames.items,
			  named.frame_count * sizeof(answers->frames.items[0])) ||
	    receive_array(socket, answers->texts.items, named.text_bytes) ||
	    !name_answers_are_valid(answers, query_count))
		return -EPIPE;
	return 0;
}

/* With the lock of the channel. */
static int name_locked(struct runtime_host *host, const struct host_request *request,
		       const struct name_query *queries, struct name_answers *answers,
		       bool *is_broken)
{
	int socket = host->channels[HOST_NAMES].socket, err;

	if (is_lost(host))
		return lost_error();
	*is_broken = true;
	if (send_released(host) ||
	    message_send(socket, request, REQUEST_BYTES, NULL, 0) ||
	    message_send_all(socket, queries, request->query_count * sizeof(*queries)))
		return lost_error();
	err = wait_answer(host, HOST_NAMES, NAME_MAX_NS);
	if (err)
		return err;
	err = receive_answers(socket, request->query_count, answers);
	if (err == -EPIPE)
		return lost_error();
	*is_broken = false;
	return err;
}

static int name(struct runtime_home *home, const struct hosted *runtime,
		const struct hosted *memories, uint32_t memory_count, uint32_t pid,
		const struct name_query *queries, uint32_t query_count, struct name_answers *answers)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct runtime_host *host = runtime->host;
	struct host_request request = {
		.kind = HOST_REQUEST_NAME,
		.runtime_id = runtime->id,
		.memory_count = memory_count,
		.query_count = query_count,
	};
	bool is_broken = false;
	int err;

	for (uint32_t i = 0; i < memory_count; i++)
		request.memory_ids[i] = memories[i].id;
	name_answers_clear(answers);
	pthread_mutex_lock(&host->channels[HOST_NAMES].lock);
	err = name_locked(host, &request, queries, answers, &is_broken);
	pthread_mutex_unlock(&host->channels[HOST_NAMES].lock);
	if (is_broken)
		lose(hosts, host, pid);
	if (err)
		name_answers_clear(answers);
	return err;
}

int runtime_hosts_create(const struct runtime_hosts_options *options, struct runtime_hosts **hosts)
{
	static const struct runtime_home_ops ops = {
		.attach = attach,
		.add_memory = add_memory,
		.name = name,
		.release_runtime = release_runtime,
		.release_memory = release_memory,
		.is_lost = hosted_is_lost,
	};
	struct runtime_hosts *created = calloc(1, sizeof(*created));

	if (!created)
		return fail(-ENOMEM, "no memory for runtimes");
	created->home.ops = &ops;
	created->options = *options;
	pthread_mutex_init(&created->lock, NULL);
	*hosts = created;
	return 0;
}

struct runtime_home *runtime_hosts_home(struct runtime_hosts *hosts)
{
	return &hosts->home;
}
