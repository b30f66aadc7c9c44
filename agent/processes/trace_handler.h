/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Turns raw records into reported traces. The record's identity (pid, process identity, generation of the process and of
 * the kernel's symbols) and its frames are hashed. The trace of that hash is taken from a bounded cache; only
 * missing ones are converted. When a process runs another program, or a file of it is unmapped or replaced, its
 * generation changes, so that its old entries are never found again.
 *
 * Frames that the kernel side may have unwound with an outdated table (another mapping had replaced the file)
 * are cut off and replaced by an error.
 *
 * Owned by the work thread.
 */
#ifndef AGENT_PROCESSES_TRACE_HANDLER_H
#define AGENT_PROCESSES_TRACE_HANDLER_H

#include <stddef.h>
#include <stdint.h>

#include "agent/processes/executable_cache.h"
#include "agent/processes/process.h"
#include "agent/processes/user_unwinder.h"
#include "ebpf/abi/sample.h"
#include "reporter/reporter.h"

struct kernel_symbols;
struct perf_maps;
struct trace_handler;

enum {
	TRACE_CACHE_MAX_ENTRIES = 1 << 15,
	TRACE_CACHE_MAX_BYTES = 10 << 20,
};

/** How long a sample waits at most for its process to be known. */
#define DEFERRED_SAMPLE_WAIT_NS (300 * NS_PER_MS)
/** How long it waits at most for the rows of files, which may be large. */
#define ROWS_WAIT_NS (3 * NS_PER_SECOND)

/** All borrowed. */
struct trace_handler_config {
	struct process_table *table;
	struct executable_cache *executables;
	struct reporter *reporter;
	/** Each of these may be NULL. */
	struct kernel_symbols *kernel_symbols;
	struct user_unwinder *user_unwinder;
	struct perf_maps *perf_maps;
	/**
	 * Reports that the stack of @record has no certain caller for the anonymous code at @address (code_copies.h), at a
	 * bounded rate.
	 */
	void (*code_hit)(void *context, const struct trace_record *record, uint64_t address);
	void *context;
	bool fold_runtime_frames;
};

int trace_handler_create(const struct trace_handler_config *config, struct trace_handler **handler);
void trace_handler_destroy(struct trace_handler *handler);

/**
 * Converts and reports one record of @bytes bytes; deferred samples may have to wait for trace_handler_tick().
 * Malformed records are counted and dropped.
 */
void trace_handler_handle(struct trace_handler *handler, const struct trace_record *record,
			  size_t bytes, uint64_t now_ns);

/** To be called every few milliseconds while deferred samples wait, and now and then otherwise. */
void trace_handler_tick(struct trace_handler *handler, uint64_t now_ns);

/** To be called at the end: converts and reports waiting deferred samples with the data that is available. */
void trace_handler_finish(struct trace_handler *handler);

/** Number of deferred samples that wait. */
uint32_t trace_handler_waiting_count(const struct trace_handler *handler);

#endif
