/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/proc_host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/runtimes/host_entry.h"
#include "agent/runtimes/message_socket.h"
#include "agent/runtimes/proc_protocol.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/confinement.h"
#include "lib/base/error.h"
#include "lib/base/urgent_thread.h"
#include "lib/host/mapped_file.h"

enum {
	EXIT_USAGE = 2,
	/* The maps of a process, twice while they grow and once more to be sent. */
	MEMORY_MAX_BYTES = 64 << 20,
	/* The nice value of sync, which waits for it. */
	PRIORITY = -10,
	BCACHEFS_MAGIC = 0xca451a4e,
};

/* Maps and links of all processes; folders that only their owners may enter, and files that only they may read; what is
 * mapped. */
#define CAPABILITIES                                                                               \
	(1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_CHECKPOINT_RESTORE)

/* The folder that the process is in. */
static const char proc_root[] = ".";

/* One thread's. */
struct server {
	int socket;
	bool is_urgent;
	struct urgent_thread urgency;
	struct proc_shared *shared;
};

/* The head, which is zero. */
static struct proc_answer *begin_answer(struct server *server)
{
	struct proc_answer *answer = &server->shared->answer;

	*answer = (struct proc_answer){ 0 };
	return answer;
}

static void answer_error(struct server *server, int reason)
{
	struct proc_answer *answer = begin_answer(server);

	answer->err = reason;
	snprintf(answer->text, sizeof(answer->text), "%s", error_text());
}

/* --- maps --- */

/* How long the paths are together: they lie behind each other, in the order of their first rows. */
static size_t path_bytes(const struct proc_maps *maps)
{
	const char *end = maps->paths;

	for (uint32_t i = 0; i < maps->count; i++) {
		const char *path_end = maps->rows[i].path + strlen(maps->rows[i].path) + 1;

		if (path_end > end)
			end = path_end;
	}
	return (size_t)(end - maps->paths);
}

/* What is sent when the answer is there. */
struct rest {
	char *bytes;
	size_t size;
};

/* Behind each other, in shared memory or, where there are many, in memory of their own. */
static char *make_room(struct server *server, size_t bytes, struct rest *rest)
{
	if (bytes <= PROC_BODY_BYTES)
		return server->shared->body;
	rest->bytes = malloc(bytes);
	rest->size = bytes;
	return rest->bytes;
}

static bool is_among(const struct proc_mapping *row, const uint64_t *devices, uint32_t count)
{
	uint64_t device = makedev(row->device_major, row->device_minor);

	for (uint32_t i = 0; i < count; i++)
		if (devices[i] == device)
			return true;
	return false;
}

static void add_first_keys(struct server *server, const struct proc_question *question,
			   const struct proc_maps *maps, struct mapped_key *keys)
{
	for (uint32_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *row = &maps->rows[i];

		keys[i] = (struct mapped_key){ .err = -EAGAIN };
		if (row->inode && is_among(row, server->shared->devices, question->device_count) &&
		    clock_monotonic_ns() < question->end_ns)
			keys[i].err = mapped_file_key(proc_root, question->pid, row, &keys[i].key);
	}
}

static void answer_maps(struct server *server, const struct proc_question *question,
			const struct proc_maps *maps, struct rest *rest)
{
	size_t row_bytes = maps->count * sizeof(struct proc_mapping), paths = path_bytes(maps);
	size_t key_bytes = question->is_new ? maps->count * sizeof(struct mapped_key) : 0;
	char *body = make_room(server, row_bytes + key_bytes + paths, rest);
	struct proc_mapping *rows = (struct proc_mapping *)body;
	struct proc_answer *answer;

	if (!body) {
		answer_error(server, fail(-ENOMEM, "no memory for an answer"));
		return;
	}
	answer = begin_answer(server);
	answer->row_count = maps->count;
	answer->path_bytes = (uint32_t)paths;
	answer->is_truncated = maps->is_truncated;
	for (uint32_t i = 0; i < maps->count; i++) {
		rows[i] = maps->rows[i];
		rows[i].path = (const char *)(uintptr_t)(maps->rows[i].path - maps->paths);
	}
	if (paths)
		memcpy(body + row_bytes + key_bytes, maps->paths, paths);
	if (!question->is_new)
		return;
	service_name_read(proc_root, question->pid, answer->text);
	add_first_keys(server, question, maps, (struct mapped_key *)(body + row_bytes));
}

static void do_maps(struct server *server, const struct proc_question *question, struct rest *rest)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	int err = proc_maps_read(&maps, proc_root, question->pid, PROC_MAPS_EXECUTABLE);

	if (err)
		answer_error(server, err);
	else
		answer_maps(server, question, &maps, rest);
}

/* --- mapped files --- */

static void do_keys(struct server *server, const struct proc_question *question)
{
	struct mapped_key *keys = (struct mapped_key *)server->shared->body;

	begin_answer(server)->row_count = question->row_count;
	for (uint32_t i = 0; i < question->row_count; i++) {
		const struct proc_range *range = &server->shared->rows[i];
		const struct proc_mapping mapping = { .start = range->start, .end = range->end };

		keys[i] = (struct mapped_key){ .err = -EAGAIN };
		/* The first one in any case: else there would be no end. */
		if (!i || clock_monotonic_ns() < question->end_ns)
			keys[i].err =
				mapped_file_key(proc_root, question->pid, &mapping, &keys[i].key);
	}
}

/*
 * Whether the file may be read by threads that must not hang, as that of the row may: the process can have mapped another
 * one since. Where devices of files and of mounts differ, the kind of the file system says so.
 */
static bool is_expected(int fd, const struct file_key *key, uint64_t device)
{
	struct statfs status;

	if (key->device == device)
		return true;
	if (fstatfs(fd, &status))
		return false;
	return (uint32_t)status.f_type == BTRFS_SUPER_MAGIC ||
	       (uint32_t)status.f_type == OVERLAYFS_SUPER_MAGIC ||
	       (uint32_t)status.f_type == BCACHEFS_MAGIC;
}

static int open_file(const struct proc_question *question, const struct proc_range *range, int *fd,
		     struct file_key *key)
{
	const struct proc_mapping mapping = { .start = range->start, .end = range->end };
	_cleanup_(close_fd) int opened = -1;
	int err = mapped_file_open_mapping(proc_root, question->pid, &mapping, &opened, key);

	if (err)
		return err;
	if (!is_expected(opened, key, question->device))
		return fail(-ENOENT, "another file is mapped there");
	*fd = take_fd(opened);
	return 0;
}

/* An error is of the socket: there is nobody to answer then. */
static int do_open(struct server *server, const struct proc_question *question)
{
	_cleanup_(close_fd) int fd = -1;
	struct file_key key;
	int err = open_file(question, server->shared->rows, &fd, &key);

	if (err) {
		answer_error(server, err);
		return 0;
	}
	begin_answer(server)->key = key;
	return message_send(server->socket, "", 1, &fd, 1);
}

/* --- the threads --- */

static int do_question(struct server *server, const struct proc_question *question,
		       struct rest *rest)
{
	if (question->row_count > PROC_KEYS_MAX || question->device_count > PROC_DEVICES_MAX)
		return -EBADMSG;
	switch (question->kind) {
	case PROC_QUESTION_MAPS:
		do_maps(server, question, rest);
		return 0;
	case PROC_QUESTION_KEYS:
		do_keys(server, question);
		return 0;
	case PROC_QUESTION_OPEN:
		return do_open(server, question);
	default:
		return -EBADMSG;
	}
}

static int serve_one(struct server *server)
{
	struct host_turn *turn = &server->shared->turn;
	uint32_t number = host_turn_take(turn);
	const struct proc_question question = server->shared->question;
	struct rest rest = { 0 };
	int err;

	if (server->is_urgent)
		urgent_thread_tick(&server->urgency);
	err = do_question(server, &question, &rest);
	server->shared->answer.cpu_ns = clock_thread_cpu_ns();
	/* Another process has taken its place. */
	if (!err && !host_turn_answer(turn, number))
		err = -ECANCELED;
	if (!err)
		err = message_send_all(server->socket, rest.bytes, rest.size);
	free(rest.bytes);
	return err;
}

/* It reads files, and looks at them. */
static int filter_calls(int socket)
{
	const uint32_t no_writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	const struct call_rule rules[] = {
		{ .call = SYS_newfstatat },
		{ .call = SYS_openat,
		  .kind = CALL_ALLOWED_WITHOUT,
		  .argument = 2,
		  .value = no_writing },
		{ .call = SYS_getdents64 },
		{ .call = SYS_fstatfs },
		{ .call = SYS_readlinkat },
#ifdef SYS_readlink
		{ .call = SYS_readlink },
#endif
		/* Its own thread's. */
		{ .call = SYS_sched_setscheduler, .kind = CALL_ALLOWED_EQUAL },
	};

	return host_entry_filter_calls(socket, rules, sizeof(rules) / sizeof(rules[0]));
}

/* Until the agent has gone; nothing is freed then. */
static void serve(struct server *server)
{
	int err = filter_calls(server->socket);

	if (!err)
		err = host_entry_ready(server->socket);
	while (!err)
		err = serve_one(server);
	_exit(0);
}

static void *run_loading(void *argument)
{
	pthread_setname_np(pthread_self(), "proc_load");
	serve(argument);
	return NULL;
}

/* Without capabilities it may go back to real-time priority by this limit only. */
static void raise_priority(struct server *server)
{
	const struct rlimit limit = { .rlim_cur = 1, .rlim_max = 1 };

	(void)setrlimit(RLIMIT_RTPRIO, &limit);
	urgent_thread_init(&server->urgency, PRIORITY);
	server->is_urgent = true;
}

static int confine(void)
{
	int err = confinement_limit_memory(MEMORY_MAX_BYTES, UINT64_MAX);

	return err ? err : confinement_drop_privileges(CAPABILITIES);
}

static void run(void)
{
	static struct server servers[PROC_CHANNEL_COUNT];
	int sockets[PROC_CHANNEL_COUNT];
	struct host_handed handed;
	pthread_t thread;

	/* By hand, most likely. */
	if (host_entry_begin("proc", sockets, PROC_CHANNEL_COUNT, &handed) || fchdir(handed.fd) ||
	    close(handed.fd))
		_exit(EXIT_USAGE);
	for (int i = 0; i < PROC_CHANNEL_COUNT; i++) {
		servers[i].socket = sockets[i];
		servers[i].shared = (struct proc_shared *)handed.shared + i;
	}
	raise_priority(&servers[PROC_SYNC]);
	if (confine() || pthread_create(&thread, NULL, run_loading, &servers[PROC_LOAD]))
		_exit(EXIT_USAGE);
	serve(&servers[PROC_SYNC]);
}

void proc_host_enter(int argument_count, char **arguments)
{
	if (argument_count == 2 && !strcmp(arguments[1], PROC_HOST_ARGUMENT))
		run();
}
