/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of code that processes which were sampled in anonymous code made at run time, from their
 * perf maps (lib/host/perf_map.h) and jitdump files (lib/host/jitdump.h), which say more and go
 * first. Names are put on when a sample is converted, since the memory of such code is used again;
 * files are read by other processes for load_remote (agent/runtimes/file_hosts.h), because a process can put them on a
 * file system that hangs. So a sample gets the names that were there at the last reading, and asks for the next one: files are
 * looked at every PERF_MAP_MIN_NS while they grow, and ever more rarely while they do not.
 *
 * The names of a stack are copied before it is converted, so that nothing is locked while memory of the process is read for
 * its interpreted frames (agent/processes/runtimes/interpreted_names.h).
 *
 * Memory is bounded by PERF_MAPS_MAX_BYTES; beyond it the names go that were asked for longest ago.
 * A process that has more functions than code_names.h keeps has names for some of them.
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
	/** Of all files together; what is beyond is read later. */
	PERF_MAPS_BYTES_PER_SECOND = 4 << 20,
	/** Limit of the copied texts of one stack; interpreted functions have the same one. */
	STACK_CODE_MAX_BYTES = 1 << 20,
};

/** Between two looks at the files of a process, where one grows, none does, and none is there. */
#define PERF_MAP_MIN_NS (100 * NS_PER_MS)
#define PERF_MAP_MAX_NS NS_PER_SECOND
#define PERF_MAP_ABSENT_MAX_NS (16 * NS_PER_SECOND)
/** Names that no sample asked for so long are forgotten. */
#define PERF_MAP_KEEP_NS (60 * NS_PER_SECOND)

struct perf_maps;

/** The name of the frame at a word of a stack. */
struct copied_name {
	uint32_t word;
	uint32_t line;
	/** Offsets in the text. */
	uint32_t function;
	uint32_t file;
	bool has_file;
};

VECTOR_DEFINE(copied_name_vector, struct copied_name)

/** Copies of the names of code made at run time, for one stack. All bytes zero is empty. Owner: the work thread. */
struct stack_code {
	/** Ascending by word. */
	struct copied_name_vector names;
	struct code_text text;
	/** Some names are missing, since the texts are at their limit or there is no memory. */
	bool is_cut;
};

struct perf_maps_config {
	/** Borrowed. */
	const char *proc_root;
	/** Who reads the files; NULL: nobody. Borrowed. */
	struct file_home *files;
	/** Where maps are read. Borrowed. */
	struct proc_home *reads;
	/** Asks for a call of perf_maps_read() by another thread. Called without the lock. */
	void (*request)(void *context, uint32_t pid, const struct process_stamp *stamp);
	void *context;
};

int perf_maps_create(const struct perf_maps_config *config, struct perf_maps **maps);
void perf_maps_destroy(struct perf_maps *maps);

/**
 * Work. There is a sample in anonymous code of this process: has its files looked at, if it is
 * time. Returns the number of its names' state, which is another one whenever they change; 0: no names.
 */
uint64_t perf_maps_ask(struct perf_maps *maps, uint32_t pid, const struct process_stamp *stamp,
		       uint64_t now_ns);

/**
 * Work. Replaces the names in @code by those that frames in anonymous code have now. @words are @count words of whole
 * frames.
 */
void perf_maps_copy(struct perf_maps *maps, uint32_t pid, const struct process_stamp *stamp,
		    const uint64_t *words, uint32_t count, struct stack_code *code);

/** The name of the frame at @word; its texts last until @code changes. False if it has none. */
bool stack_code_find(const struct stack_code *code, uint32_t word, struct code_place *place);
void stack_code_deinit(struct stack_code *code);

/** Work, now and then. Forgets what was not asked for. */
void perf_maps_expire(struct perf_maps *maps, uint64_t now_ns);

/** Load_remote. Reads what the files have that was not read yet; may take some seconds. */
void perf_maps_read(struct perf_maps *maps, uint32_t pid, const struct process_stamp *stamp,
		    uint64_t now_ns);

/** Any thread. A request was lost: it may be asked for again. */
void perf_maps_request_dropped(struct perf_maps *maps, uint32_t pid);

#endif
