/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Copies of anonymous code, for its rows on the kernel side (ebpf/abi/code_copy.h): code that a process has made at run time, and
 * that keeps no frame pointer. A sample that has no caller for such a frame asks for a copy of the window around it. A load
 * thread makes the copy and its rows (code_copy_request.h). Then the rows are published, and the
 * process again, with the copy's id in its mapping table. User space never sees that id: frames stay frames of anonymous memory.
 *
 * The kernel side compares the code with the copy in each frame. So a copy that is out of date does no harm, and stays until a sample
 * finds a difference and a new one is made. Where a process changes its code often, the pauses before that double.
 *
 * A fork shares the copies of its parent. A process with a runtime that generates code has none, since that language's own
 * unwinder knows the code, nor while it is attached to.
 *
 * Numbers are bounded, of each process and of all, and so is the time that copies take: one is made at a time, and a pause
 * follows that is a multiple of what it took, for its process and for all. For a new copy the one that was not used for longest
 * goes, if that was for seconds; else the new one is not made. A window whose copy has no rows that can be used, or
 * whose copy no sample used, is not copied again for a while.
 *
 * Owned by the sync thread.
 */
#ifndef AGENT_PROCESSES_CODE_COPIES_H
#define AGENT_PROCESSES_CODE_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/processes/code_copy_request.h"
#include "agent/processes/executable_cache.h"
#include "agent/processes/process.h"
#include "lib/base/clock.h"
#include "lib/model/map_writer.h"

enum {
	/**
	 * Windows begin at multiples of this size, or where the memory does. What is in front of a window and behind it is analysed
	 * too, since functions may begin and end there; from its middle on a function may look like another one. It is as much
	 * as a function may have that the kernel side compares (CODE_CHECK_PAGES).
	 */
	CODE_WINDOW_BYTES = 224 << 10,
	CODE_MARGIN_BYTES = CODE_CHECK_PAGES * UNWIND_PAGE_BYTES,
	/** Limits of copies. */
	CODE_COPIES_OF_PROCESS_MAX = 16,
	CODE_COPIES_MAX = 128,
	/** Their rows take at most this fraction of the map memory. */
	CODE_COPIES_SHARE = 8,
	/** Pauses after a copy, for its process and for all, as multiples of the time that it took. */
	CODE_COPY_PROCESS_PAUSE = 32,
	CODE_COPY_PAUSE = 8,
	/** Windows of a process that are remembered as not worth a copy. */
	CODE_BARREN_MAX = 8,
};

/** Such windows are not copied for this time. */
#define CODE_BARREN_NS (60 * NS_PER_SECOND)

/** A copy is kept for this time without a sample, and for the other one if a new one needs its room. */
#define CODE_COPY_KEEP_NS (60 * NS_PER_SECOND)
#define CODE_COPY_IN_USE_NS (5 * NS_PER_SECOND)

/** Limits of the pause after a copy that replaced another one, failed, or was of no use. */
#define CODE_COPY_PAUSE_MIN_NS (100 * NS_PER_MS)
#define CODE_COPY_PAUSE_MAX_NS (30 * NS_PER_SECOND)

/** Shared by the forks of a process. */
struct code_copy {
	uint32_t references;
	/** With EXECUTABLE_ID_COPY; 0: it is retired. */
	uint64_t id;
	/** The window. */
	uint64_t start;
	uint64_t end;
	struct hash128 content;
	uint64_t map_bytes;
	uint64_t used_ns;
	/** A sample has used it. */
	bool was_used;
};

/** The copies of one process. */
struct process_copies {
	/** Sorted by address; they do not overlap. */
	struct code_copy *items[CODE_COPIES_OF_PROCESS_MAX];
	uint32_t count;
	/** An answer is awaited until this time; 0: none is. */
	uint64_t asked_until_ns;
	/** Nothing is copied before this time. The pause doubles. */
	uint64_t next_ns;
	uint64_t pause_ns;
	/** Windows that are not worth a copy, until until_ns; the next one replaces barren[next_barren]. */
	struct {
		uint64_t start;
		uint64_t end;
		uint64_t until_ns;
	} barren[CODE_BARREN_MAX];
	uint32_t next_barren;
};

struct code_copies {
	/** Borrowed. */
	struct process_table *table;
	struct executable_cache *executables;
	struct map_writer *writer;
	/**
	 * Requests a load thread to run @request, which it takes over; the answer goes to code_copies_answer(). NULL: nothing
	 * is copied.
	 */
	void (*request)(void *context, struct code_copy_request *request);
	void *context;

	/** All that are not retired, with one reference each. */
	struct code_copy *all[CODE_COPIES_MAX];
	uint32_t count;
	uint64_t map_bytes;
	/** As in struct process_copies, for all processes. */
	uint64_t asked_until_ns;
	uint64_t next_ns;
};

/** The first five fields are the caller's, the others zero. All processes were released. */
void code_copies_deinit(struct code_copies *copies);

/**
 * A sample of @process has no caller for the anonymous code at @address. @is_changed: the code differs from its copy
 * (RECORD_CODE_CHANGED).
 */
void code_copies_note_hit(struct code_copies *copies, struct process *process, uint64_t address,
			  bool is_changed, uint64_t now_ns);

/** Takes over the deltas. Returns the process if it must be published again; else NULL. */
struct process *code_copies_answer(struct code_copies *copies, struct code_copy_answer *answer,
				   uint64_t now_ns);

/** @process is a new fork of @parent. */
void code_copies_inherit(struct process *process, const struct process *parent);

/**
 * To be called before @process is published: drops copies of memory that is not anonymous code any more, and all if it may have a
 * runtime that generates code.
 */
void code_copies_update(struct code_copies *copies, struct process *process);

/**
 * Makes the kernel side's rows of @process: those of @table, with the ids of its copies. Sets *@count. The caller frees
 * the result. NULL: they are those of @table, since there are no copies, or no room for them.
 */
struct mapping_row *code_copies_rows(const struct process *process,
				     const struct mapping_table *table, uint32_t *count);

/** Releases the copies of a process. */
void code_copies_release(struct code_copies *copies, struct process *process);

/**
 * Every second or so: notes which copies samples use, and retires those that none has used for long; when map memory is nearly
 * used up, for seconds, so that they go before rows of files.
 */
void code_copies_tick(struct code_copies *copies, uint64_t now_ns);

#endif
