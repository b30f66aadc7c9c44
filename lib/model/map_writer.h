/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The interface by which processes/ publishes to the kernel side. agent/tracing implements it over BPF maps;
 * tests use a fake. All calls come from one thread at a time (the caller serialises).
 */
#ifndef LIB_MODEL_MAP_WRITER_H
#define LIB_MODEL_MAP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/process.h"
#include "lib/model/stack_deltas.h"

struct map_writer;

/** A runtime that was attached to in a process. */
struct published_runtime {
	uint64_t executable_id;
	/** enum frame_kind of its frames. */
	uint32_t language;
	/** The language's struct in ebpf/abi, a multiple of CELL_BYTES. Borrowed. */
	uint32_t data_bytes;
	const void *data;
};

struct map_writer_ops {
	/**
	 * Copies @deltas into the slabs and publishes them as @executable_id, which must not be
	 * published. -ENOSPC: over the map budget; retire something and call again after
	 * wait_retired(). @deltas is borrowed for the call.
	 */
	int (*publish_executable)(struct map_writer *writer, uint64_t executable_id,
				  const struct stack_deltas *deltas);
	/** Unpublishes the executable; its cells are freed by the next wait_retired(). Unknown ids are ignored. */
	void (*retire_executable)(struct map_writer *writer, uint64_t executable_id);
	/** True if a sample used the executable since the last call; clears the mark. */
	bool (*executable_was_used)(struct map_writer *writer, uint64_t executable_id);
	/**
	 * Publishes @pid with a sorted table of @count rows and @runtime_count runtimes, replacing an existing
	 * entry. -ENOSPC as above; -E2BIG over PROCESS_MAX_MAPPINGS, RUNTIMES_MAX or with PROCESS_MAX_COUNT
	 * entries.
	 */
	int (*publish_process)(struct map_writer *writer, uint32_t pid,
			       const struct process_identity *identity,
			       const struct mapping_row *rows, uint32_t count,
			       const struct published_runtime *runtimes, uint32_t runtime_count);
	void (*retire_process)(struct map_writer *writer, uint32_t pid);
	/** Lets the kernel side send its next process event about an unknown @pid. */
	void (*rearm_process_event)(struct map_writer *writer, uint32_t pid);
	/** Waits until no program can still read what was retired, and frees its cells. Takes ~20 ms. */
	int (*wait_retired)(struct map_writer *writer);
	/** Bytes of slabs in use by published tables, and the budget. */
	void (*memory)(struct map_writer *writer, uint64_t *used_bytes, uint64_t *budget_bytes);
};

struct map_writer {
	const struct map_writer_ops *ops;
};

#endif
