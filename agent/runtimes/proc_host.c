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
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/runtimes/host_entry.h"
#include "agent/runtimes/proc_protocol.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/confinement.h"
#include "lib/base/error.h"
#include "lib/base/message_socket.h"
#include "lib/base/urgent_thread.h"
#include "lib/host/mapped_file.h"
#include "lib/host/mapping_query.h"
#include "lib/host/proc_info.h"

enum {
	EXIT_USAGE = 2,
	/* Memory for the maps of a process: two copies while they grow, and one to be sent. */
	MEMORY_MAX_BYTES = 64 << 20,
	/* Nice value of the sync thread, which waits for this process. */
	PRIORITY = -10,
	BCACHEFS_MAGIC = 0xca451a4e,
};

/* For maps and links of all processes; for folders and files that only their owners may read; for map_files. */
#define CAPABILITIES                                                                               \
	(1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_CHECKPOINT_RESTORE)

/* The working directory, which is the /proc that was handed over. */
static const char proc_root[] = ".";

/* State of one thread. */
struct server {
	int socket;
	bool is_urgent;
	struct urgent_thread urgency;
	struct proc_shared *shared;
};

/* Returns the head of the answer, zeroed. */
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

/* Size of all paths together. They follow each other in the order of their first rows. */
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

/* Data to be sent after the answer's head. */
struct rest {
	char *bytes;
	size_t size;
};

/* Buffer for the body: shared memory or, for large bodies, an allocation. */
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
	pid_t parent;

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
	/* Keys are read until a time that the caller has set. */
	add_first_keys(server, question, maps, (struct mapped_key *)(body + row_bytes));
	command_line_read(proc_root, question->pid, answer->command_line);
	if (question->wants_parent && !proc_parent(proc_root, question->pid, &parent))
		answer->parent_pid = (uint32_t)parent;
}

static void do_maps(struct server *server, const struct proc_question *question, struct rest *rest)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	int err = proc_maps_read(&maps, proc_root, question->pid, PROC_MAPS_CODE);

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
		/* The first key is read in any case, so that there is progress. */
		if (!i || clock_monotonic_ns() < question->end_ns)
			keys[i].err =
				mapped_file_key(proc_root, question->pid, &mapping, &keys[i].key);
	}
}

/*
 * Whether the file may be read by threads that must not hang, as the row's file may. The process can have
 * mapped another file since. Where devices of files and of mounts differ, the type of the file system decides.
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
	/* The request was given up and another process has replaced this one. */
	if (!err && !host_turn_answer(turn, number))
		err = -ECANCELED;
	if (!err)
		err = message_send_all(server->socket, rest.bytes, rest.size);
	free(rest.bytes);
	return err;
}

/* Allows the calls for reading files and their attributes. */
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
		{ .call = SYS_ioctl,
		  .kind = CALL_ALLOWED_EQUAL,
		  .argument = 1,
		  .value = MAPPING_QUERY_CALL },
		/* For its own thread only. */
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
	host_entry_raise_priority(&servers[PROC_SYNC].urgency, PRIORITY);
	servers[PROC_SYNC].is_urgent = true;
	if (confine() || pthread_create(&thread, NULL, run_loading, &servers[PROC_LOAD]))
		_exit(EXIT_USAGE);
	serve(&servers[PROC_SYNC]);
}

void proc_host_enter(int argument_count, char **arguments)
{
	if (argument_count == 2 && !strcmp(arguments[1], PROC_HOST_ARGUMENT))
		run();
}
