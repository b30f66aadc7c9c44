/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of run-time generated code in processes that were sampled in anonymous code. They come from perf maps
 * (lib/host/perf_map.h) and from jitdump files (lib/host/jitdump.h), which have more data and are preferred.
 * Names are looked up when a sample is converted, since the memory of such code is reused. Other processes read
 * the files for load_remote (agent/runtimes/file_hosts.h), because a process can put them on a file system that
 * hangs. So a sample gets the names of the last reading, and requests the next one. Files are checked every
 * PERF_MAP_MIN_NS while they grow, and ever more rarely while they do not.
 *
 * The names of a stack are copied before it is converted, so that no lock is held while the process's memory is
 * read for interpreted frames (agent/processes/runtimes/interpreted_names.h).
 *
 * Memory is bounded by PERF_MAPS_MAX_BYTES; beyond it the names that were requested longest ago are dropped. A
 * process with more functions than code_names.h keeps has names for some of them.
 */
#ifndef AGENT_PROCESSES_PERF_MAPS_H
#define AGENT_PROCESSES_PERF_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runtimes/file_home.h"
#include "agent/runtimes/proc_home.h"
#include "ebpf/abi/process.h"
#include "lib/base/clock.h"
#include "lib/base/vector.h"
#include "lib/host/jitdump.h"

enum {
	PERF_MAPS_MAX_BYTES = 16 << 20,
	PERF_MAPS_MAX_PROCESSES = 1024,
	/** Limit for all files together; the rest is read later. */
	PERF_MAPS_BYTES_PER_SECOND = 4 << 20,
	/** Limit of the copied texts of one stack; interpreted functions have the same one. */
	STACK_CODE_MAX_BYTES = 1 << 20,
};

/**
 * Intervals between checks of a process's files: while one grows, at most while none grows, and at most while
 * there is none.
 */
#define PERF_MAP_MIN_NS (100 * NS_PER_MS)
#define PERF_MAP_MAX_NS NS_PER_SECOND
#define PERF_MAP_ABSENT_MAX_NS (16 * NS_PER_SECOND)
/** Names that no sample has requested for this time are dropped. */
#define PERF_MAP_KEEP_NS (60 * NS_PER_SECOND)

struct perf_maps;

/** The name of the frame at a word of a stack. */
struct copied_name {
	uint32_t word;
	uint32_t line;
	/** Offsets in text. */
	uint32_t function;
	uint32_t file;
	bool has_file;
};

VECTOR_DEFINE(copied_name_vector, struct copied_name)

/**
 * Copies of the names of run-time generated code, for one stack. All bytes zero is empty. Owner: the work
 * thread.
 */
struct stack_code {
	/** Ascending by word. */
	struct copied_name_vector names;
	struct code_text text;
	/** Some names are missing, since the text is at its limit or there is no memory. */
	bool is_cut;
};

struct perf_maps_config {
	/** Borrowed. */
	const char *proc_root;
	/** The home that reads the files; NULL: they are not read. Borrowed. */
	struct file_home *files;
	/** The home that reads maps. Borrowed. */
	struct proc_home *reads;
	/** Requests a call of perf_maps_read() by another thread. Called without the lock. */
	void (*request)(void *context, uint32_t pid, const struct process_identity *identity);
	void *context;
};

int perf_maps_create(const struct perf_maps_config *config, struct perf_maps **maps);
void perf_maps_destroy(struct perf_maps *maps);

/**
 * Work. Reports a sample in anonymous code of this process, and requests a reading of its files if it is time.
 * Returns the version of its names, which differs whenever they change; 0: no names.
 */
uint64_t perf_maps_ask(struct perf_maps *maps, uint32_t pid,
		       const struct process_identity *identity, uint64_t now_ns);

/**
 * Work. Replaces the names in @code by the current names of the frames in anonymous code. @words are @count
 * words of whole frames.
 */
void perf_maps_copy(struct perf_maps *maps, uint32_t pid, const struct process_identity *identity,
		    const uint64_t *words, uint32_t count, struct stack_code *code);

/** The name of the frame at @word; its texts last until @code changes. False if it has none. */
bool stack_code_find(const struct stack_code *code, uint32_t word, struct code_location *location);
void stack_code_deinit(struct stack_code *code);

/** Work, now and then. Drops names that were not requested. */
void perf_maps_expire(struct perf_maps *maps, uint64_t now_ns);

/** load_remote. Reads the new parts of the files; may take some seconds. */
void perf_maps_read(struct perf_maps *maps, uint32_t pid, const struct process_identity *identity,
		    uint64_t now_ns);

/** Any thread. A request was lost, and may be made again. */
void perf_maps_request_dropped(struct perf_maps *maps, uint32_t pid);

#endif
