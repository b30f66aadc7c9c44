/* SPDX-License-Identifier: Apache-2.0 */
/* The answers come from a program of ours that has read hostile text, so nothing in them is trusted. */
#include "agent/runtimes/proc_hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/runtimes/host_pool.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/message_socket.h"
#include "lib/host/proc_info.h"
#include "lib/model/hanging_processes.h"
#include "lib/model/metrics.h"

/* Limit of an answer, long enough for the maps of a large process on a busy machine. */
#define ANSWER_MAX_NS (60 * NS_PER_SECOND)
#define WAITS_PERIOD_NS (60 * NS_PER_SECOND)
#define FIRST_KEYS_MAX_NS (50 * NS_PER_MS)
/* A read hangs after this wait when the users together have used half of their limit. */
#define SHORT_HANG_NS (100 * NS_PER_MS)

struct proc_host {
	struct pooled_host pooled;
	/* The process that a thread hangs in; 0: none. Atomic. */
	pid_t pids[PROC_CHANNEL_COUNT];
	/* CPU time of the threads, as last reported. */
	uint64_t cpu_ns[PROC_CHANNEL_COUNT];
};

/* The time for which a user's processes have delayed the caller since since_ns. */
struct user_waits {
	uid_t uid;
	uint64_t since_ns;
	uint64_t waits_ns;
};

/* One thread's. */
struct caller {
	struct proc_home home;
	struct proc_hosts *hosts;
	enum proc_channel channel;
	uint64_t cpu_ns;
	/* A new user replaces the entry that began longest ago. */
	struct user_waits waits[PROC_USERS_MAX];
	/* The waits of all users together. */
	struct user_waits all_waits;
	uint64_t waits_until_ns;
	/* Keys that came with the maps of a new process, for the next request. */
	struct mapped_key *first_keys;
	uint32_t first_count;
	pid_t first_pid;
};

struct proc_hosts {
	char *proc_root;
	int root_fd;
	uint64_t first_keys_max_ns;
	struct host_pool pool;
	struct caller callers[PROC_CHANNEL_COUNT];
	struct log_limit log_limit;
};

static const struct host_kind proc_host_kind = {
	.argument = PROC_HOST_ARGUMENT,
	.name = "read-proc",
	.channel_count = PROC_CHANNEL_COUNT,
	.shared_bytes = sizeof(struct proc_shared),
	.job = "read maps",
	.fault = "memory that does not answer",
	.subject = "its memory",
};

static void host_init(struct pooled_host *pooled)
{
	(void)pooled;
}

static void host_deinit(struct pooled_host *pooled)
{
	const struct proc_host *host = (const struct proc_host *)pooled;

	for (int i = 0; i < PROC_CHANNEL_COUNT; i++)
		if (host->pids[i] && pooled->has_ended)
			log_debug("process %d: its memory answers again", host->pids[i]);
}

/* --- bounds --- */

/*
 * The user of @pid; nobody if it is not known, so that the waits for a process that has just ended do not count
 * for root.
 */
static uid_t user_of(const struct caller *caller, pid_t pid)
{
	uid_t uid;

	return proc_user(caller->hosts->proc_root, pid, &uid) ? (uid_t)-1 : uid;
}

static bool counts(const struct user_waits *waits, uint64_t now_ns)
{
	return waits->waits_ns && now_ns < waits->since_ns + WAITS_PERIOD_NS;
}

/* The waits of the user in the last minute; NULL: none. */
static struct user_waits *find_waits(struct caller *caller, uid_t uid, uint64_t now_ns)
{
	for (int i = 0; i < PROC_USERS_MAX; i++)
		if (caller->waits[i].uid == uid && counts(&caller->waits[i], now_ns))
			return &caller->waits[i];
	return NULL;
}

/* Whether all users together have delayed the caller for @waits_ns in the last minute. */
static bool all_waited(const struct caller *caller, uint64_t now_ns, uint64_t waits_ns)
{
	return counts(&caller->all_waits, now_ns) && caller->all_waits.waits_ns >= waits_ns;
}

static void note_waits(struct caller *caller, pid_t pid, uint64_t waits_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uid_t uid = user_of(caller, pid);
	struct user_waits *waits = find_waits(caller, uid, now_ns);

	caller->waits_until_ns = now_ns + WAITS_PERIOD_NS;
	if (!counts(&caller->all_waits, now_ns))
		caller->all_waits = (struct user_waits){ .since_ns = now_ns };
	caller->all_waits.waits_ns += waits_ns;
	if (waits) {
		waits->waits_ns += waits_ns;
		return;
	}
	waits = &caller->waits[0];
	for (int i = 1; i < PROC_USERS_MAX; i++)
		if (caller->waits[i].since_ns < waits->since_ns)
			waits = &caller->waits[i];
	*waits = (struct user_waits){ .uid = uid, .since_ns = now_ns, .waits_ns = waits_ns };
}

static bool hangs_with(const struct pooled_host *pooled, const void *pid)
{
	const struct proc_host *host = (const struct proc_host *)pooled;

	for (int i = 0; i < PROC_CHANNEL_COUNT; i++)
		if (__atomic_load_n(&host->pids[i], __ATOMIC_RELAXED) == *(const pid_t *)pid)
			return true;
	return false;
}

static int hanging_error(pid_t pid)
{
	return fail(-EHOSTDOWN, "memory of process %d does not answer", pid);
}

/* Gets a reference to a host that may read @pid. */
static int get_host(struct caller *caller, pid_t pid, struct pooled_host **host)
{
	struct host_pool *pool = &caller->hosts->pool;
	uint64_t now_ns = clock_monotonic_ns();
	const struct user_waits *waits;
	uid_t uid = 0;

	/* Usually there are no losses or waits, and the user need not be looked up. */
	if (host_pool_has_losses(pool) || now_ns < caller->waits_until_ns) {
		if (host_pool_hanging_count(pool, hangs_with, &pid)) {
			hanging_processes_note((uint32_t)pid, now_ns);
			return hanging_error(pid);
		}
		uid = user_of(caller, pid);
		waits = find_waits(caller, uid, now_ns);
		if (waits && waits->waits_ns >= PROC_WAITS_NS)
			return fail(-EBUSY, "reads of other processes of its user hang");
		if (uid && all_waited(caller, now_ns, PROC_ALL_WAITS_NS))
			return fail(
				-EBUSY,
				"reads of too many processes hang; only those of root are read");
	}
	return host_pool_get(pool, uid, true, host) ? -EBUSY : 0;
}

/* --- losses --- */

static void leave_behind(struct caller *caller, struct proc_host *host, pid_t pid)
{
	struct proc_hosts *hosts = caller->hosts;
	uint64_t now_ns = clock_monotonic_ns(), suppressed;

	if (log_limit_allow(&hosts->log_limit, now_ns, &suppressed))
		log_warn("process %d: %s; it is skipped until it answers", pid, error_text());
	hanging_processes_note((uint32_t)pid, now_ns);
	__atomic_store_n(&host->pids[caller->channel], pid, __ATOMIC_RELAXED);
	if (host_pool_leave(&hosts->pool, &host->pooled, user_of(caller, pid)))
		metrics_add(METRIC_PROC_HOSTS_LOST, 1);
	/* Starts another host now, so that the next read need not wait for it. */
	host_pool_prepare(&hosts->pool, 0);
}

/* Handles a host that has ended by itself, or whose answer is malformed. */
static int lose(struct caller *caller, struct pooled_host *host, pid_t pid)
{
	if (host_pool_lose(&caller->hosts->pool, host, user_of(caller, pid)))
		metrics_add(METRIC_PROC_HOSTS_LOST, 1);
	return fail(-EBUSY, "the process that read maps of process %d has ended", pid);
}

/* --- questions --- */

/* An answer with its body and descriptor. */
struct reply {
	struct proc_answer head;
	/* Rows or keys, followed by paths. */
	void *body;
	int fd;
};

static void reply_deinit(struct reply *reply)
{
	free(reply->body);
	close_fd(&reply->fd);
}

/* Gets the body, from the shared memory or through the socket. */
static int take_body(const struct proc_shared *shared, int socket, size_t bytes,
		     struct reply *reply)
{
	if (!bytes)
		return 0;
	reply->body = malloc(bytes);
	if (!reply->body)
		return -ENOMEM;
	if (bytes > sizeof(shared->body))
		return message_receive_all(socket, reply->body, bytes);
	memcpy(reply->body, shared->body, bytes);
	return 0;
}

static int take_file(int socket, struct reply *reply)
{
	_cleanup_(message_fds_deinit) struct message_fds fds = { 0 };
	char byte;
	ssize_t size = message_receive(socket, &byte, sizeof(byte), &fds);

	if (size < 0)
		return (int)size;
	if (fds.count != 1)
		return -EBADMSG;
	reply->fd = take_fd(fds.fds[0]);
	return 0;
}

/* Receives an answer. -errno: the host cannot be used any more. Errors of the read itself are in the head. */
static int receive(const struct proc_shared *shared, int socket,
		   const struct proc_question *question, struct reply *reply)
{
	size_t key_bytes = sizeof(struct mapped_key);
	size_t row_bytes = question->kind == PROC_QUESTION_KEYS ?
				   key_bytes :
				   sizeof(struct proc_mapping) + (question->is_new ? key_bytes : 0);
	struct proc_answer *head = &reply->head;

	/* Copies the head, so that it cannot change after it was checked. */
	memcpy(head, &shared->answer, sizeof(*head));
	head->text[sizeof(head->text) - 1] = '\0';
	head->command_line[sizeof(head->command_line) - 1] = '\0';
	if (head->err)
		return 0;
	if (question->kind == PROC_QUESTION_OPEN)
		return take_file(socket, reply);
	if (head->row_count > PROC_MAPS_MAX_ROWS || head->path_bytes > PROC_MAPS_MAX_PATH_BYTES)
		return -EBADMSG;
	return take_body(shared, socket, head->row_count * row_bytes + head->path_bytes, reply);
}

/* The kernel may return any error; codes that mean the host are replaced. */
static int read_error(int err)
{
	return err < 0 && err > -4096 && err != -EHOSTDOWN && err != -EBUSY ? err : -EIO;
}

/* Sends a request; @rows are ranges, or the devices of a new process. */
static int ask_host(struct caller *caller, struct proc_host *host,
		    const struct proc_question *question, const void *rows, struct reply *reply)
{
	bool is_short = all_waited(caller, clock_monotonic_ns(), PROC_ALL_WAITS_NS / 2);
	const struct host_patience patience = {
		.max_ns = ANSWER_MAX_NS,
		.hang_ns = is_short ? SHORT_HANG_NS : PROC_HANG_NS,
		.waits_ns = is_short ? SHORT_HANG_NS : PROC_READ_WAITS_NS,
		.is_hurried = &caller->hosts->pool.is_stopped,
	};
	struct host_process *process = &host->pooled.process;
	int channel = (int)caller->channel, err;
	struct proc_shared *shared = host_process_shared(process, channel);
	uint64_t waits_ns;

	shared->question = *question;
	if (question->row_count)
		memcpy(shared->rows, rows, question->row_count * sizeof(struct proc_range));
	if (question->device_count)
		memcpy(shared->devices, rows, question->device_count * sizeof(uint64_t));
	host_process_ask(process, channel);
	err = host_process_wait(process, channel, &patience, &waits_ns);
	if (waits_ns)
		note_waits(caller, question->pid, waits_ns);
	if (err == -ECANCELED)
		return -EBUSY;
	if (err == -EHOSTDOWN && !host_process_has_hung_up(process) &&
	    host_process_leave(process, channel)) {
		leave_behind(caller, host, question->pid);
		return hanging_error(question->pid);
	}
	if (!err || host_turn_wait(&shared->turn, process->channels[channel].asked, 0))
		err = receive(shared, process->channels[channel].socket, question, reply);
	if (err)
		return lose(caller, &host->pooled, question->pid);
	if (reply->head.cpu_ns > host->cpu_ns[channel]) {
		caller->cpu_ns += reply->head.cpu_ns - host->cpu_ns[channel];
		host->cpu_ns[channel] = reply->head.cpu_ns;
	}
	return 0;
}

static int ask(struct caller *caller, const struct proc_question *question, const void *rows,
	       struct reply *reply)
{
	struct pooled_host *host = NULL;
	int err = get_host(caller, question->pid, &host);

	*reply = (struct reply){ .fd = -1 };
	if (err)
		return err;
	/* No other thread uses this channel. */
	err = ask_host(caller, (struct proc_host *)host, question, rows, reply);
	pooled_host_unref(host);
	if (err)
		return err;
	return reply->head.err ? fail(read_error(reply->head.err), "%s", reply->head.text) : 0;
}

/* --- the home --- */

static bool rows_are_valid(const struct proc_mapping *rows, uint32_t count, const char *paths,
			   size_t path_bytes)
{
	uint64_t last_end = 0;

	if (path_bytes && paths[path_bytes - 1])
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].start < last_end || rows[i].end <= rows[i].start ||
		    (uintptr_t)rows[i].path >= path_bytes)
			return false;
		last_end = rows[i].end;
	}
	return true;
}

/* Takes over the rows, and copies keys and paths. */
static int take_maps(struct caller *caller, const struct proc_question *question,
		     struct reply *reply, struct proc_maps *maps)
{
	uint32_t count = reply->head.row_count;
	size_t path_bytes = reply->head.path_bytes;
	size_t key_bytes = question->is_new ? count * sizeof(struct mapped_key) : 0;
	struct proc_mapping *rows = reply->body;
	const char *keys = (const char *)(rows + count), *sent = keys + key_bytes;
	char *paths;

	/* The process has no executable mappings, as in the middle of an exec. */
	if (!count) {
		*maps = (struct proc_maps){ .is_truncated = reply->head.is_truncated };
		return 0;
	}
	if (!rows_are_valid(rows, count, sent, path_bytes))
		return fail(-EBADMSG, "maps of process %d as they were sent", question->pid);
	paths = malloc(path_bytes);
	if (!paths)
		return fail(-ENOMEM, "no memory for maps of process %d", question->pid);
	memcpy(paths, sent, path_bytes);
	for (uint32_t i = 0; i < count; i++) {
		rows[i].path = paths + (uintptr_t)rows[i].path;
		/* Normalizes the bool, which may be any byte. */
		rows[i].is_deleted = *(const uint8_t *)&rows[i].is_deleted != 0;
	}
	/* Without memory the keys are requested later. */
	if (key_bytes && (caller->first_keys = malloc(key_bytes))) {
		memcpy(caller->first_keys, keys, key_bytes);
		caller->first_count = count;
		caller->first_pid = question->pid;
	}
	*maps = (struct proc_maps){
		.rows = take_pointer(reply->body),
		.count = count,
		.is_truncated = reply->head.is_truncated,
		.paths = paths,
	};
	return 0;
}

static void forget_first_keys(struct caller *caller)
{
	free(take_pointer(caller->first_keys));
	caller->first_count = 0;
	caller->first_pid = 0;
}

static int hosts_read_maps(struct proc_home *home, pid_t pid, struct proc_maps *maps,
			   struct proc_first_read *first)
{
	struct caller *caller = (struct caller *)home;
	const struct proc_question question = {
		.kind = PROC_QUESTION_MAPS,
		.pid = pid,
		.is_new = first != NULL,
		.device_count = first ? first->device_count : 0,
		.wants_parent = first && !first->parent_pid,
		.end_ns = clock_monotonic_ns() + caller->hosts->first_keys_max_ns,
	};
	_cleanup_(reply_deinit) struct reply reply;
	int err = ask(caller, &question, first ? first->devices : NULL, &reply);

	forget_first_keys(caller);
	if (!err)
		err = take_maps(caller, &question, &reply, maps);
	if (!err && first) {
		memcpy(first->service_name, reply.head.text, SERVICE_NAME_MAX_BYTES);
		memcpy(first->command_line, reply.head.command_line, COMMAND_LINE_MAX_BYTES);
		if (!first->parent_pid)
			first->parent_pid = reply.head.parent_pid;
	}
	return err;
}

static void take_key(struct mapped_key *key, const struct mapped_key *answer)
{
	*key = *answer;
	key->err = key->err ? read_error(key->err) : 0;
}

/* One request, and the rows of the maps that it is about. */
struct key_batch {
	uint32_t count;
	struct proc_range ranges[PROC_KEYS_MAX];
	uint32_t rows[PROC_KEYS_MAX];
};

static int read_batch(struct caller *caller, pid_t pid, const struct key_batch *batch,
		      uint64_t end_ns, struct mapped_key *keys)
{
	const struct proc_question question = {
		.kind = PROC_QUESTION_KEYS,
		.pid = pid,
		.row_count = batch->count,
		.end_ns = end_ns,
	};
	_cleanup_(reply_deinit) struct reply reply;
	int err = ask(caller, &question, batch->ranges, &reply);
	const struct mapped_key *answers = reply.body;

	if (err)
		return err;
	if (reply.head.row_count != batch->count)
		return fail(-EBADMSG, "files of process %d as they were sent", pid);
	for (uint32_t i = 0; i < batch->count; i++)
		take_key(&keys[batch->rows[i]], &answers[i]);
	return 0;
}

static int hosts_read_keys(struct proc_home *home, pid_t pid, const struct proc_maps *maps,
			   uint64_t end_ns, struct mapped_key *keys)
{
	struct caller *caller = (struct caller *)home;
	struct key_batch batch;
	uint32_t row = 0;
	int err = 0;

	for (uint32_t i = 0; caller->first_pid == pid && i < caller->first_count && i < maps->count;
	     i++)
		if (keys[i].err == -EAGAIN)
			take_key(&keys[i], &caller->first_keys[i]);
	forget_first_keys(caller);
	do {
		batch.count = 0;
		for (; row < maps->count && batch.count < PROC_KEYS_MAX; row++) {
			if (keys[row].err != -EAGAIN)
				continue;
			batch.rows[batch.count] = row;
			batch.ranges[batch.count++] = (struct proc_range){
				.start = maps->rows[row].start,
				.end = maps->rows[row].end,
			};
		}
		if (batch.count)
			err = read_batch(caller, pid, &batch, end_ns, keys);
	} while (!err && row < maps->count && clock_monotonic_ns() < end_ns);
	return err;
}

static int hosts_open_file(struct proc_home *home, pid_t pid, const struct proc_mapping *row,
			   int *fd, struct file_key *key)
{
	const struct proc_question question = {
		.kind = PROC_QUESTION_OPEN,
		.pid = pid,
		.row_count = 1,
		.device = makedev(row->device_major, row->device_minor),
	};
	const struct proc_range range = { .start = row->start, .end = row->end };
	_cleanup_(reply_deinit) struct reply reply;
	int err = ask((struct caller *)home, &question, &range, &reply);

	if (err)
		return err;
	*fd = take_fd(reply.fd);
	*key = reply.head.key;
	return 0;
}

static uint64_t hosts_cpu_ns(const struct proc_home *home)
{
	return ((const struct caller *)home)->cpu_ns;
}

static void hosts_stop(struct proc_home *home)
{
	host_pool_stop(&((struct caller *)home)->hosts->pool);
}

/* --- create and destroy --- */

static int init_pool(struct proc_hosts *hosts, const struct proc_hosts_options *options)
{
	struct host_pool_options pool_options = {
		.kind = &proc_host_kind,
		.program = options->program,
		.is_common = true,
		.lost_of_user_max = PROC_HOSTS_LEFT_OF_USER_MAX,
		.host_bytes = sizeof(struct proc_host),
		.init = host_init,
		.deinit = host_deinit,
	};

	hosts->proc_root = strdup(options->proc_root);
	if (!hosts->proc_root)
		return fail(-ENOMEM, "no memory for who reads maps");
	hosts->root_fd = open(options->proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (hosts->root_fd < 0)
		return fail_errno(-errno, "cannot open %s", options->proc_root);
	pool_options.handed_fd = hosts->root_fd;
	return host_pool_init(&hosts->pool, &pool_options);
}

static void free_hosts(struct proc_hosts *hosts)
{
	close_fd(&hosts->root_fd);
	free(hosts->proc_root);
	free(hosts);
}

int proc_hosts_create(const struct proc_hosts_options *options, struct proc_hosts **hosts)
{
	static const struct proc_home_ops ops = {
		.read_maps = hosts_read_maps,
		.read_keys = hosts_read_keys,
		.open_file = hosts_open_file,
		.cpu_ns = hosts_cpu_ns,
		.stop = hosts_stop,
	};
	struct proc_hosts *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for who reads maps");
	created->root_fd = -1;
	created->first_keys_max_ns = options->first_keys_max_ns ? options->first_keys_max_ns :
								  FIRST_KEYS_MAX_NS;
	created->log_limit = (struct log_limit){ .interval_ns = 10 * NS_PER_SECOND, .burst = 3 };
	err = init_pool(created, options);
	if (err) {
		free_hosts(created);
		return err;
	}
	for (int i = 0; i < PROC_CHANNEL_COUNT; i++) {
		created->callers[i].home.ops = &ops;
		created->callers[i].hosts = created;
		created->callers[i].channel = (enum proc_channel)i;
	}
	host_pool_prepare(&created->pool, 0);
	*hosts = created;
	return 0;
}

void proc_hosts_destroy(struct proc_hosts *hosts)
{
	if (!hosts)
		return;
	host_pool_deinit(&hosts->pool);
	for (int i = 0; i < PROC_CHANNEL_COUNT; i++)
		forget_first_keys(&hosts->callers[i]);
	free_hosts(hosts);
}

struct proc_home *proc_hosts_home(struct proc_hosts *hosts, enum proc_channel channel)
{
	return &hosts->callers[channel].home;
}

uint32_t proc_hosts_hanging_count(struct proc_hosts *hosts)
{
	return host_pool_hanging_count(&hosts->pool, NULL, NULL);
}
