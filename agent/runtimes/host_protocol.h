/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The messages between the agent and a process that holds runtimes for it (runtime_host.h). Both sides are of
 * the same build. There are two sockets, one for the thread that attaches and one for the thread that names;
 * each has one request at a time. A message may take several packets (message_send_all()).
 */
#ifndef AGENT_RUNTIMES_HOST_PROTOCOL_H
#define AGENT_RUNTIMES_HOST_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "agent/runtimes/runtime_home.h"
#include "agent/runtimes/runtime_room.h"
#include "lib/base/message_socket.h"

/** The only argument of the program, and the channels of its two threads. */
#define HOST_ARGUMENT "-hold-runtimes"

enum host_channel {
	HOST_NAMES,
	HOST_ATTACH,
	HOST_CHANNEL_COUNT,
};

enum {
	HOST_ERROR_BYTES = 256,
	HOST_MODULES_MAX = 4096,
	/** The bytes of a file's path, with its NUL. */
	HOST_PATH_MAX_BYTES = 8192,
};

enum host_request_kind {
	/**
	 * Channel HOST_ATTACH: the path of the runtime's file follows with its NUL; then, in this and further
	 * packets, module_count modules. The first descriptors are the file and the process's memory. Answer:
	 * struct host_attached and the data.
	 */
	HOST_REQUEST_ATTACH,
	/**
	 * Channel HOST_ATTACH: query_count struct memory_part follow in the same packet, which has the memory's descriptor.
	 * Answer: an int32_t, 0 or an error, and the bytes.
	 */
	HOST_REQUEST_READ,
	/** Channel HOST_NAMES: the queries follow in the same packet. Answer: struct host_named and its arrays. */
	HOST_REQUEST_NAME,
	/** Channel HOST_NAMES, without answers. The first one has a descriptor. */
	HOST_REQUEST_ADD_MEMORY,
	HOST_REQUEST_REMOVE_MEMORY,
	HOST_REQUEST_REMOVE_RUNTIME,
};

struct host_request {
	/** enum host_request_kind */
	uint32_t kind;
	uint32_t pid;
	uint64_t runtime_id;
	uint64_t memory_ids[ROOM_MEMORIES_MAX];
	uint32_t memory_count;
	uint32_t query_count;
	/**
	 * The runtime's file and bias; languages is the set of languages that it may have
	 * (interpreters/registry.h).
	 */
	uint64_t executable_id;
	uint64_t bias;
	uint32_t languages;
	uint32_t module_count;
};

_Static_assert(sizeof(struct host_request) + NAME_QUERIES_MAX * sizeof(struct name_query) <=
		       MESSAGE_MAX_BYTES,
	       "a question fits into a packet");

/** A module, at a multiple of 8 bytes in its packet, with its descriptor. */
struct host_module {
	uint64_t bias;
	/** Length of the path with its NUL. */
	uint32_t path_bytes;
	uint32_t reserved;
	char path[];
};

struct host_attached {
	int32_t err;
	uint32_t data_bytes;
	uint32_t may_grow;
	uint32_t reserved;
	/** CPU time that it took. */
	uint64_t cpu_ns;
	/** Text of the error. */
	char text[HOST_ERROR_BYTES];
};

static inline size_t host_aligned(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/** Without an error it is followed by one answer for each query, the frames and the strings. */
struct host_named {
	int32_t err;
	uint32_t frame_count;
	uint32_t text_bytes;
	uint32_t reserved;
};

#endif
