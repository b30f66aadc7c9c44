/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The messages between the agent and the process that reads /proc for it (proc_host.h). Both sides are of the
 * same build. There are two channels, each with a thread and one request at a time. Requests and answers are in
 * shared memory. Data that does not fit there follows on the channel's socket (message_send_all()), and so do
 * descriptors.
 */
#ifndef AGENT_RUNTIMES_PROC_PROTOCOL_H
#define AGENT_RUNTIMES_PROC_PROTOCOL_H

#include <stdint.h>

#include "agent/runtimes/host_turn.h"
#include "agent/runtimes/proc_home.h"

/** The only argument of the program. */
#define PROC_HOST_ARGUMENT "-read-proc"

/** The callers. Only the first one's thread has real-time priority. */
enum proc_channel {
	PROC_SYNC,
	PROC_LOAD,
	PROC_CHANNEL_COUNT,
};

enum proc_question_kind {
	/**
	 * Answer: row_count rows, for a new process as many struct mapped_key, and path_bytes bytes of paths.
	 * The path of a row is its offset in these.
	 */
	PROC_QUESTION_MAPS,
	/** row_count ranges. Answer: as many struct mapped_key. */
	PROC_QUESTION_KEYS,
	/** One range. Answer: the key; the descriptor comes with a packet of one byte. */
	PROC_QUESTION_OPEN,
};

struct proc_question {
	/** enum proc_question_kind */
	uint32_t kind;
	int32_t pid;
	uint32_t row_count;
	/**
	 * PROC_QUESTION_MAPS of a new process: device_count devices are set, and the answer's text is the
	 * service's name; command_line is set too, and with wants_parent also parent_pid.
	 */
	uint32_t is_new;
	uint32_t device_count;
	uint32_t wants_parent;
	/** Time until which keys are read. */
	uint64_t end_ns;
	/** PROC_QUESTION_OPEN: the device of the file, as in its row. */
	uint64_t device;
};

struct proc_range {
	uint64_t start;
	uint64_t end;
};

struct proc_answer {
	int32_t err;
	uint32_t row_count;
	uint32_t path_bytes;
	uint32_t is_truncated;
	/** The CPU time of the thread since its start. */
	uint64_t cpu_ns;
	struct file_key key;
	uint32_t parent_pid;
	uint32_t reserved;
	/** Text of the error, or the service's name. */
	char text[SERVICE_NAME_MAX_BYTES];
	char command_line[COMMAND_LINE_MAX_BYTES];
};

enum {
	/** Limit of rows of one request. */
	PROC_KEYS_MAX = 512,
	/** Size of the body behind an answer's head; longer bodies go through the socket. */
	PROC_BODY_BYTES = 32 << 10,
};

_Static_assert(PROC_KEYS_MAX * sizeof(struct mapped_key) <= PROC_BODY_BYTES,
	       "the keys of a question fit");

/** The shared memory of a channel. */
struct proc_shared {
	struct host_turn turn;
	struct proc_question question;
	struct proc_range rows[PROC_KEYS_MAX];
	uint64_t devices[PROC_DEVICES_MAX];
	struct proc_answer answer;
	/** Rows, keys and paths. */
	_Alignas(8) char body[PROC_BODY_BYTES];
};

#endif
