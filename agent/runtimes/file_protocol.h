/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The messages between the agent and a process that reads files for it (file_host.h). Both sides are of the
 * same build. There is one socket, with one request at a time.
 */
#ifndef AGENT_RUNTIMES_FILE_PROTOCOL_H
#define AGENT_RUNTIMES_FILE_PROTOCOL_H

#include <stdint.h>

#include "agent/runtimes/file_home.h"
#include "lib/base/message_socket.h"

/** The only argument of the program. */
#define FILE_HOST_ARGUMENT "-read-files"

enum {
	FILE_PATH_MAX_BYTES = 8192,
	FILE_ERROR_BYTES = 256,
};

enum file_question_kind {
	/** Opens the file of a mapping as file_id. */
	FILE_QUESTION_OPEN,
	/** The answer has the copy's descriptor. */
	FILE_QUESTION_COPY,
	/** Has no answer. */
	FILE_QUESTION_CLOSE,
	/** The answer has the number of bytes that follow (message_send_all()). */
	FILE_QUESTION_READ,
};

struct file_question {
	/** enum file_question_kind */
	uint32_t kind;
	uint32_t pid;
	uint64_t file_id;
	/**
	 * The mapping; its path follows in the same packet, with its NUL. path_bytes 0: FILE_QUESTION_READ of a
	 * perf map.
	 */
	struct proc_mapping mapping;
	uint32_t path_bytes;
	/** FILE_QUESTION_READ */
	uint32_t bytes;
	uint64_t offset;
	int64_t since_ns;
};

_Static_assert(sizeof(struct file_question) + FILE_PATH_MAX_BYTES <= MESSAGE_MAX_BYTES,
	       "a question fits into a packet");

struct file_answer {
	int32_t err;
	uint32_t bytes;
	struct file_key key;
	/** Text of the error. */
	char text[FILE_ERROR_BYTES];
};

#endif
