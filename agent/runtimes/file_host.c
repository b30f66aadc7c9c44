/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/file_host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/runtimes/file_protocol.h"
#include "agent/runtimes/file_room.h"
#include "agent/runtimes/host_entry.h"
#include "lib/base/cleanup.h"
#include "lib/base/confinement.h"
#include "lib/base/error.h"

enum {
	EXIT_USAGE = 2,
	/* Memory for the headers of one file, or the maps of a process. */
	MEMORY_MAX_BYTES = 64 << 20,
};

/*
 * For links in /proc of processes that it may trace; for files of all users, also in folders that only root may
 * enter; for map_files.
 */
#define CAPABILITIES                                                                               \
	(1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH | 1ULL << CAP_CHECKPOINT_RESTORE)

struct host {
	struct file_room room;
	int socket;
	char bytes[FILE_HOME_READ_BYTES];
};

/* A received request and the path that follows it. */
struct received {
	struct file_question head;
	char path[FILE_PATH_MAX_BYTES];
};

static int copy(struct host *host, const struct file_question *question, int *fd)
{
	return file_room_copy(&host->room, question->file_id, fd);
}

static int read_chunk(struct host *host, const struct file_question *question,
		      struct file_answer *answer)
{
	const struct code_file file = {
		.pid = question->pid,
		.mapping = question->path_bytes ? &question->mapping : NULL,
		.since_ns = question->since_ns,
	};

	return file_room_read(&host->room, &file, question->offset, host->bytes, question->bytes,
			      &answer->key, &answer->bytes);
}

/* An error means that the socket failed; then no answer is possible. */
static int do_question(struct host *host, const struct file_question *question)
{
	_cleanup_(close_fd) int fd = -1;
	struct file_answer answer = { 0 };
	int err;

	switch (question->kind) {
	case FILE_QUESTION_OPEN:
		answer.err = file_room_open(&host->room, question->file_id, question->pid,
					    &question->mapping, &answer.key);
		break;
	case FILE_QUESTION_COPY:
		answer.err = copy(host, question, &fd);
		break;
	case FILE_QUESTION_READ:
		answer.err = read_chunk(host, question, &answer);
		break;
	case FILE_QUESTION_CLOSE:
		file_room_close(&host->room, question->file_id);
		return 0;
	default:
		return -EBADMSG;
	}
	if (answer.err)
		snprintf(answer.text, sizeof(answer.text), "%s", error_text());
	err = message_send(host->socket, &answer, sizeof(answer), &fd, fd >= 0);
	return err ? err : message_send_all(host->socket, host->bytes, answer.bytes);
}

static int serve_one(struct host *host)
{
	struct received received;
	struct file_question *question = &received.head;
	ssize_t size = message_receive(host->socket, &received, sizeof(received), NULL);

	if (size < 0)
		return (int)size;
	if ((size_t)size < sizeof(*question) ||
	    (size_t)size - sizeof(*question) != question->path_bytes ||
	    question->bytes > sizeof(host->bytes) ||
	    (question->path_bytes && received.path[question->path_bytes - 1]))
		return -EBADMSG;
	question->mapping.path = question->path_bytes ? received.path : "";
	return do_question(host, question);
}

/* Allows the calls for opening files and copying them to memory. */
static int filter_calls(const struct host *host)
{
	const uint32_t no_writing = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	const struct call_rule rules[] = {
		{ .call = SYS_openat,
		  .kind = CALL_ALLOWED_WITHOUT,
		  .argument = 2,
		  .value = no_writing },
		/* In place of pread() and lseek(), by which memory of others could be read (lib/base/splice_reader.h). */
		{ .call = SYS_splice,
		  .kind = CALL_ALLOWED_EQUAL,
		  .argument = 2,
		  .value = (uint32_t)host->room.reader.to },
		/* For copies in memory: no file is open for writing. */
		{ .call = SYS_pwrite64 },
		{ .call = SYS_ftruncate },
		{ .call = SYS_memfd_create },
		{ .call = SYS_fcntl,
		  .kind = CALL_ALLOWED_EQUAL,
		  .argument = 1,
		  .value = F_ADD_SEALS },
		{ .call = SYS_newfstatat },
		{ .call = SYS_faccessat },
		{ .call = SYS_statx },
		{ .call = SYS_readlinkat },
#ifdef SYS_access
		{ .call = SYS_access },
		{ .call = SYS_readlink },
#endif
		{ .call = SYS_getdents64 },
	};

	return host_entry_filter_calls(host->socket, rules, sizeof(rules) / sizeof(rules[0]));
}

static int confine(struct host *host)
{
	int err = file_room_prepare(&host->room);

	if (!err)
		err = confinement_limit_memory(MEMORY_MAX_BYTES, UINT64_MAX);

	if (!err)
		err = confinement_drop_privileges(CAPABILITIES);
	return err ? err : filter_calls(host);
}

/* Serves requests until the agent has ended; nothing is freed then. */
static void run(void)
{
	static struct host host = { .room.proc_root = "/proc" };
	int err = host_entry_begin("files", &host.socket, 1, NULL);

	/* The program was most likely started by hand. */
	if (err || confine(&host))
		_exit(EXIT_USAGE);
	err = host_entry_ready(host.socket);
	while (!err)
		err = serve_one(&host);
	_exit(0);
}

void file_host_enter(int argument_count, char **arguments)
{
	if (argument_count == 2 && !strcmp(arguments[1], FILE_HOST_ARGUMENT))
		run();
}
