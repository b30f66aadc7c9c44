/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the agent and a process that holds runtimes for it (runtime_host.h) say to each other: equals of one build. There are
 * two sockets, one for a thread that attaches and one for a thread that names; each has one question at a time.
 */
#ifndef AGENT_RUNTIMES_HOST_PROTOCOL_H
#define AGENT_RUNTIMES_HOST_PROTOCOL_H

#include <limits.h>
#include <stdint.h>

#include "agent/runtimes/runtime_room.h"

/** Of the program, as its only one. */
#define HOST_ARGUMENT "-hold-runtimes"

enum host_channel {
	HOST_NAMES,
	HOST_ATTACH,
	HOST_CHANNEL_COUNT,
};

enum {
	/** HOST_NAMES in the new process; the other socket comes by it, with a struct host_hello. */
	HOST_SOCKET = 3,
	HOST_ERROR_BYTES = 256,
};

struct host_hello {
	/** The process ends with this one. */
	int32_t parent;
};

/** The first packet of each channel: the thread that serves it. */
struct host_ready {
	int32_t tid;
};

enum host_request_kind {
	/**
	 * Channel HOST_ATTACH. With the runtime's file and the memory of the process; then the modules,
	 * module_count of them, come in packets. Answer: struct host_attached, and the data.
	 */
	HOST_REQUEST_ATTACH,
	/** Channel HOST_NAMES. Then the queries. Answer: struct host_named, and answers, frames and texts. */
	HOST_REQUEST_NAME,
	/** Channel HOST_NAMES, without answers. */
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
	/** Of the runtime's file; which languages it may be of (interpreters/registry.h). */
	uint64_t executable_id;
	uint64_t bias;
	uint32_t languages;
	uint32_t module_count;
	/** Of the runtime's file. */
	char path[PATH_MAX];
};

/** A packet of modules has one of these for each, one behind the other, each with its descriptor. */
struct host_module {
	uint64_t bias;
	/** With the NUL. */
	uint32_t path_bytes;
	uint32_t reserved;
	char path[];
};

struct host_attached {
	int32_t err;
	uint32_t data_bytes;
	uint32_t may_grow;
	uint32_t reserved;
	/** What the error is. */
	char text[HOST_ERROR_BYTES];
};

struct host_named {
	int32_t err;
	uint32_t frame_count;
	uint32_t text_bytes;
	uint32_t reserved;
};

#endif
