/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/runtime_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/error.h"
#include "agent/base/log.h"
#include "agent/base/metrics.h"
#include "agent/runtimes/host_notices.h"
#include "agent/runtimes/host_process.h"
#include "agent/runtimes/host_questions.h"

/* A host that was lost counts against its user for so long. */
#define LOST_COUNTS_NS (60 * NS_PER_SECOND)
#define END_MAX_NS NS_PER_SECOND
/* One that hangs was killed before, and there may be HOSTS_LOST_MAX of them. */
#define LOST_END_MAX_NS (50 * NS_PER_MS)
/* How long a read waits for another one, or for an attach. */
#define READ_WAIT_NS (20 * NS_PER_MS)
/* Between two tries to start a host, when the first failed; each pause is twice as long as the one before. */
#define START_PAUSE_MIN_NS NS_PER_SECOND
#define START_PAUSE_MAX_NS (64 * NS_PER_SECOND)

struct runtime_host {
	/* Of the lists, with their lock. */
	struct runtime_host *next;
	bool has_ended;
	/* 0: it was ended because nobody used it. */
	uint64_t lost_ns;
	/* The user whose process it was lost with. */
	uid_t lost_uid;

	/* The user that it was started for. */
	uid_t uid;
	struct host_process process;
	/* Atomic. */
	unsigned int references;
	bool is_lost;
	/* Held by who asks, one for each channel. */
	pthread_mutex_t asking[HOST_CHANNEL_COUNT];
	struct host_notices notices;
};

struct runtime_hosts {
	struct runtime_home home;
	struct runtime_hosts_options options;
	/* Of the lists; never held over I/O. */
	pthread_mutex_t lock;
	struct runtime_host *living;
	struct runtime_host *lost;
	/* The host of wanted_uid is to be started: by one thread, since it is killed when that ends. */
	bool is_wanted;
	uid_t wanted_uid;
	bool is_ending;
	pthread_cond_t is_to_start;
	pthread_cond_t was_started;
	/* After a failure, which is start_error. */
	uint64_t next_start_ns;
	uint64_t start_pause_ns;
	char start_error[HOST_ERROR_BYTES];
	pthread_t starter;
	/* Atomic. */
	uint64_t last_id;
	bool is_cancelled;
};

/* --- a host --- */

static struct runtime_host *host_ref(struct runtime_host *host)
{
	__atomic_add_fetch(&host->references, 1, __ATOMIC_RELAXED);
	return host;
}

static void host_unref(struct runtime_host *host)
{
	if (__atomic_sub_fetch(&host->references, 1, __ATOMIC_ACQ_REL))
		return;
	host_process_deinit(&host->process);
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++)
		pthread_mutex_destroy(&host->asking[i]);
	host_notices_deinit(&host->notices);
	free(host);
}

static bool host_is_lost(const struct runtime_host *host)
{
	return __atomic_load_n(&host->is_lost, __ATOMIC_ACQUIRE);
}

static int lost_error(void)
{
	return fail(-ENOTCONN, "the process that held the runtime is gone");
}

/* NULL with error_text(). */
static struct runtime_host *host_create(struct runtime_hosts *hosts, uid_t uid)
{
	const char *program = hosts->options.program ? hosts->options.program : "/proc/self/exe";
	struct runtime_host *created = calloc(1, sizeof(*created));

	if (!created) {
		fail(-ENOMEM, "no memory");
		return NULL;
	}
	if (host_process_start(&created->process, program, &hosts->is_cancelled)) {
		free(created);
		return NULL;
	}
	created->uid = uid;
	created->references = 1;
	for (int i = 0; i < HOST_CHANNEL_COUNT; i++)
		pthread_mutex_init(&created->asking[i], NULL);
	host_notices_init(&created->notices);
	return created;
}

/* --- all of them --- */

/* With the lock. Notes which of the lost ones have ended, and forgets those that count no more. */
static void reap(struct runtime_hosts *hosts, uint64_t now_ns)
{
	struct runtime_host **link = &hosts->lost;

	while (*link) {
		struct runtime_host *host = *link;

		host->has_ended = host->has_ended || host_process_has_ended(&host->process);
		if (!host->has_ended || now_ns < host->lost_ns + LOST_COUNTS_NS) {
			link = &host->next;
			continue;
		}
		*link = host->next;
		host_unref(host);
	}
}

uint32_t runtime_hosts_hanging_count(struct runtime_hosts *hosts)
{
	uint32_t count = 0;

	pthread_mutex_lock(&hosts->lock);
	reap(hosts, clock_monotonic_ns());
	for (const struct runtime_host *host = hosts->lost; host; host = host->next)
		count += !host->has_ended;
	pthread_mutex_unlock(&hosts->lock);
	return count;
}

/* With the lock. */
static void move_to_lost(struct runtime_hosts *hosts, struct runtime_host *host)
{
	struct runtime_host **link = &hosts->living;

	while (*link && *link != host)
		link = &(*link)->next;
	if (*link)
		*link = host->next;
	host->next = hosts->lost;
	hosts->lost = host;
}

/* With the lock. Ends a host in which nothing lives; false if there is none. */
static bool end_unused(struct runtime_hosts *hosts)
{
	struct runtime_host *host = hosts->living;

	while (host && __atomic_load_n(&host->references, __ATOMIC_ACQUIRE) > 1)
		host = host->next;
	if (!host)
		return false;
	__atomic_store_n(&host->is_lost, true, __ATOMIC_RELEASE);
	host_process_kill(&host->process, 0);
	move_to_lost(hosts, host);
	return true;
}

/* With the lock. */
static struct runtime_host *find_own(const struct runtime_hosts *hosts, uid_t uid)
{
	struct runtime_host *found = hosts->living;

	while (found && found->uid != uid)
		found = found->next;
	return found;
}

/* With the lock. The one that @uid shares with others; NULL: it is to have a new one. */
static struct runtime_host *find_shared(struct runtime_hosts *hosts)
{
	uint32_t count = 0;

	for (const struct runtime_host *host = hosts->living; host; host = host->next)
		count++;
	return count < HOSTS_MAX || end_unused(hosts) ? NULL : hosts->living;
}

/* With the lock. */
static int check_lost(struct runtime_hosts *hosts, uid_t uid)
{
	uint32_t of_user = 0, of_all = 0;

	reap(hosts, clock_monotonic_ns());
	for (const struct runtime_host *host = hosts->lost; host; host = host->next) {
		of_user += host->lost_ns && host->lost_uid == uid;
		of_all += host->lost_ns != 0;
	}
	if (of_user >= HOSTS_LOST_OF_USER_MAX || of_all >= HOSTS_LOST_MAX)
		return fail(-EAGAIN,
			    "too many processes of user %u had memory that does not answer", uid);
	return 0;
}

/* With the lock. */
static void note_start_failed(struct runtime_hosts *hosts, uid_t uid)
{
	if (!hosts->start_pause_ns)
		log_warn(
			"no process to hold runtimes of user %u: %s; their frames have no names, trying again",
			uid, error_text());
	hosts->start_pause_ns = hosts->start_pause_ns ? 2 * hosts->start_pause_ns :
							START_PAUSE_MIN_NS;
	if (hosts->start_pause_ns > START_PAUSE_MAX_NS)
		hosts->start_pause_ns = START_PAUSE_MAX_NS;
	hosts->next_start_ns = clock_monotonic_ns() + hosts->start_pause_ns;
	snprintf(hosts->start_error, sizeof(hosts->start_error), "%s", error_text());
}

static void *run_starter(void *context)
{
	struct runtime_hosts *hosts = context;

	pthread_setname_np(pthread_self(), "hosts");
	pthread_mutex_lock(&hosts->lock);
	while (!hosts->is_ending) {
		struct runtime_host *started;
		uid_t uid = hosts->wanted_uid;

		if (!hosts->is_wanted) {
			pthread_cond_wait(&hosts->is_to_start, &hosts->lock);
			continue;
		}
		pthread_mutex_unlock(&hosts->lock);
		started = host_create(hosts, uid);
		pthread_mutex_lock(&hosts->lock);
		if (started) {
			started->next = hosts->living;
			hosts->living = started;
			hosts->start_pause_ns = 0;
			hosts->next_start_ns = 0;
		} else {
			note_start_failed(hosts, uid);
		}
		hosts->is_wanted = false;
		pthread_cond_broadcast(&hosts->was_started);
	}
	pthread_mutex_unlock(&hosts->lock);
	return NULL;
}

/* With the lock. Has a host started; 0 when something has changed since. */
static int wait_for_start(struct runtime_hosts *hosts, uid_t uid, bool may_wait)
{
	if (__atomic_load_n(&hosts->is_cancelled, __ATOMIC_ACQUIRE))
		return fail(-ECANCELED, "the agent stops");
	if (clock_monotonic_ns() < hosts->next_start_ns)
		return fail(-EAGAIN, "no process to hold runtimes of user %u: %s", uid,
			    hosts->start_error);
	if (!hosts->is_wanted) {
		hosts->is_wanted = true;
		hosts->wanted_uid = uid;
		pthread_cond_signal(&hosts->is_to_start);
	}
	if (!may_wait)
		return fail(-EAGAIN, "a process to hold runtimes of user %u starts", uid);
	pthread_cond_wait(&hosts->was_started, &hosts->lock);
	return 0;
}

/* A reference for the caller. Whoever may not wait gets -EAGAIN until the host has started. */
static int get_host(struct runtime_hosts *hosts, uid_t uid, bool may_wait,
		    struct runtime_host **host)
{
	struct runtime_host *found;
	int err = 0;

	if (__atomic_load_n(&hosts->is_cancelled, __ATOMIC_ACQUIRE))
		return fail(-ECANCELED, "the agent stops");
	pthread_mutex_lock(&hosts->lock);
	while (!(found = find_own(hosts, uid)) && !err) {
		err = check_lost(hosts, uid);
		if (!err && (found = find_shared(hosts)))
			break;
		if (!err)
			err = wait_for_start(hosts, uid, may_wait);
	}
	if (found)
		*host = host_ref(found);
	pthread_mutex_unlock(&hosts->lock);
	return found ? 0 : err;
}

/*
 * It hangs, or has ended by itself: from now on nothing is asked of it. @pid, a process of @uid: of whom it was asked
 * then; 0: nobody is to blame. False if that was known.
 */
static bool lose(struct runtime_hosts *hosts, struct runtime_host *host, uint32_t pid, uid_t uid)
{
	if (__atomic_exchange_n(&host->is_lost, true, __ATOMIC_ACQ_REL))
		return false;
	if (pid)
		log_warn(
			"process %u: %s; its frames have no names, and runtimes of user %u are attached to again",
			pid, error_text(), host->uid);
	else
		log_warn("%s; runtimes of user %u are attached to again", error_text(), host->uid);
	host_process_kill(&host->process, 0);
	pthread_mutex_lock(&hosts->lock);
	host->lost_ns = clock_monotonic_ns();
	host->lost_uid = uid;
	move_to_lost(hosts, host);
	pthread_mutex_unlock(&hosts->lock);
	metrics_add(METRIC_RUNTIME_HOSTS_LOST, 1);
	hosts->options.lost(hosts->options.context, pid);
	return true;
}

/* Acts on the error of a question about @pid. That is -ENOTCONN if the host was lost because of another one. */
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

/* With the lock of the channel HOST_NAMES. */
static void send_notices(struct runtime_host *host, bool may_wait)
{
	host_notices_send(&host->notices, host->process.channels[HOST_NAMES].socket, may_wait);
}

static int send_notice(struct runtime_host *host, struct host_notice notice)
{
	int err = host_notices_add(&host->notices, notice);

	/* Who asks at the moment sends it before the next question. */
	if (!err && !host_is_lost(host) && !pthread_mutex_trylock(&host->asking[HOST_NAMES])) {
		send_notices(host, false);
		pthread_mutex_unlock(&host->asking[HOST_NAMES]);
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
				  (struct host_notice){ .kind = kind, .id = hosted->id, .fd = -1 });
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
	struct host_notice notice = {
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
	*memory = (struct hosted){ .host = host_ref(host), .id = notice.id, .uid = runtime->uid };
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
	pthread_mutex_lock(&host->asking[HOST_ATTACH]);
	err = host_is_lost(host) ? lost_error() :
				   host_ask_attach(&host->process, &request, target,
						   &hosts->is_cancelled, runtime);
	pthread_mutex_unlock(&host->asking[HOST_ATTACH]);
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
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;
	struct timespec until = clock_timespec(clock_monotonic_ns() + READ_WAIT_NS);
	struct runtime_host *host = NULL;
	int err = get_host(hosts, uid, false, &host);

	if (err)
		return err;
	if (pthread_mutex_clocklock(&host->asking[HOST_ATTACH], CLOCK_MONOTONIC, &until)) {
		host_unref(host);
		return fail(-EAGAIN, "the process that reads it is busy");
	}
	err = host_is_lost(host) ?
		      lost_error() :
		      host_ask_read(&host->process, fd, parts, count, &hosts->is_cancelled, bytes);
	pthread_mutex_unlock(&host->asking[HOST_ATTACH]);
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
	pthread_mutex_lock(&host->asking[HOST_NAMES]);
	if (host_is_lost(host)) {
		err = lost_error();
	} else {
		send_notices(host, true);
		err = host_ask_names(&host->process, &request, queries, answers);
	}
	pthread_mutex_unlock(&host->asking[HOST_NAMES]);
	err = judge(hosts, host, err, pid, runtime->uid);
	if (err)
		name_answers_clear(answers);
	return err;
}

static void hosts_stop_attaching(struct runtime_home *home)
{
	struct runtime_hosts *hosts = (struct runtime_hosts *)home;

	pthread_mutex_lock(&hosts->lock);
	__atomic_store_n(&hosts->is_cancelled, true, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&hosts->was_started);
	pthread_mutex_unlock(&hosts->lock);
}

/* --- create and destroy --- */

static void hosts_free(struct runtime_hosts *hosts)
{
	pthread_cond_destroy(&hosts->is_to_start);
	pthread_cond_destroy(&hosts->was_started);
	pthread_mutex_destroy(&hosts->lock);
	free(hosts);
}

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
	struct runtime_hosts *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for runtimes");
	*created = (struct runtime_hosts){ .home.ops = &ops, .options = *options };
	pthread_mutex_init(&created->lock, NULL);
	pthread_cond_init(&created->is_to_start, NULL);
	pthread_cond_init(&created->was_started, NULL);
	err = pthread_create(&created->starter, NULL, run_starter, created);
	if (err) {
		hosts_free(created);
		return fail_errno(-err, "starting the thread hosts");
	}
	*hosts = created;
	return 0;
}

static void end_all(struct runtime_host *list, uint64_t max_ns)
{
	while (list) {
		struct runtime_host *host = list;

		list = host->next;
		host_process_kill(&host->process, max_ns);
		host_unref(host);
	}
}

void runtime_hosts_destroy(struct runtime_hosts *hosts)
{
	if (!hosts)
		return;
	pthread_mutex_lock(&hosts->lock);
	hosts->is_ending = true;
	__atomic_store_n(&hosts->is_cancelled, true, __ATOMIC_RELEASE);
	pthread_cond_signal(&hosts->is_to_start);
	pthread_mutex_unlock(&hosts->lock);
	pthread_join(hosts->starter, NULL);
	end_all(hosts->living, END_MAX_NS);
	end_all(hosts->lost, LOST_END_MAX_NS);
	hosts_free(hosts);
}

struct runtime_home *runtime_hosts_home(struct runtime_hosts *hosts)
{
	return &hosts->home;
}
