/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is known of processes: one struct process per program that ran in one (pid and stamp, that
 * is: until the next exec), and the table that finds them. Processes stay for PROCESS_GRACE_NS
 * after their end, since samples of them may still be in a queue.
 *
 * Three threads meet in the table, so it has a lock of its own, held for a look-up or a copy and
 * never over I/O: sync adds, changes and removes, work describes samples, the ring thread notes
 * what the side-band says, so that it is known before the samples that come after it.
 */
#ifndef AGENT_PROCESSES_PROCESS_H
#define AGENT_PROCESSES_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/process.h"
#include "lib/base/clock.h"
#include "lib/base/hash_map.h"
#include "lib/base/lru_cache.h"
#include "lib/model/process_info.h"

struct executable;
struct process_attachments;
struct runtime_set;

#define PROCESS_GRACE_NS (5 * NS_PER_SECOND)

enum {
	PROCESS_MAX_STALE = 16,
	PROCESS_MAX_RECENT = 8,
};

/**
 * The rows of a process as the kernel side has them; forks share those of their parent. Immutable, shared by reference
 * count (atomic).
 */
struct mapping_table {
	unsigned int references;
	uint32_t count;
	struct mapping_row rows[];
};

/** NULL without memory. */
struct mapping_table *mapping_table_create(const struct mapping_row *rows, uint32_t count);
struct mapping_table *mapping_table_ref(struct mapping_table *table);
void mapping_table_unref(struct mapping_table *table);

/** Whether both have the same rows; @a may be NULL, and then they have not. */
bool mapping_table_equal(const struct mapping_table *a, const struct mapping_table *b);

/** Whether an address that had a meaning in @before (or NULL) lost it or got another. */
bool mapping_table_loses(const struct mapping_table *before, const struct mapping_table *after);

/** One executable line of /proc/PID/maps, as it was when its file was looked at. */
struct process_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	/** 0: not identified (yet, or for good), and not in the table of the kernel side. */
	uint64_t executable_id;
	/** 0 for special executables. */
	uint64_t bias;
	/**
	 * One reference; NULL for special executables. In anonymous memory (inode 0) it is the file
	 * of which the process has copied its text to there (copied_text.h); with
	 * EXECUTABLE_ID_ANONYMOUS its bytes are not the file's, or not yet, after so many looks.
	 */
	struct executable *executable;
	uint8_t look_count;
	/** The file is on a network or FUSE file system, and load_remote has been asked for it. */
	bool is_requested;
	/** The first one of the process's own executable (/proc/PID/exe). */
	bool is_program;
};

/**
 * Frames of an executable in samples of this time may be another one's: something was mapped over
 * it, and the kernel side still had the old table.
 */
struct stale_executable {
	/** 0: every executable. */
	uint64_t executable_id;
	uint64_t from_ns;
	uint64_t until_ns;
};

/** A range in which something executable was mapped. */
struct mapped_range {
	uint64_t start;
	uint64_t end;
	uint64_t time_ns;
};

enum process_state {
	/** Its maps have not been read yet. */
	PROCESS_NEW,
	PROCESS_SYNCED,
	/** Its maps cannot be read, nor a parent's be taken for them. */
	PROCESS_UNREADABLE,
};

/**
 * Fields above the line are the sync thread's alone, or never change; those below are changed by
 * the functions here only, under the table's lock.
 */
struct process {
	uint32_t pid;
	struct process_stamp stamp;
	/** When the agent learned of it, and when its rows last changed (under the lock). */
	uint64_t known_ns;
	uint64_t changed_ns;
	struct process_mapping *mappings;
	uint32_t mapping_count;
	/** It was told of their files that it runs them. */
	bool runs_files;
	/** There are more new files than one sync may look at. */
	bool is_partial;
	bool is_published;
	uint64_t published_ns;
	/** Of its rows on the kernel side. */
	uint64_t published_bytes;
	/**
	 * While a program starts, its libraries come one by one. Until then its samples are better
	 * off as first samples than with half a table.
	 */
	uint64_t publish_after_ns;
	/** When the last reading of the maps began, and the CPU time of it with all that followed. */
	uint64_t read_ns;
	uint64_t sync_cost_ns;
	/** replaced_count mappings have replaced another file since replaced_since_ns; it begins anew after a second. */
	uint64_t replaced_since_ns;
	uint32_t replaced_count;
	/** How long to wait before the kernel side may ask again about an unknown address. */
	uint64_t rearm_delay_ns;
	/** Of runtimes that it has mapped (attachments.h); NULL: none. */
	struct process_attachments *attachments;
	/** The program before in the same pid. */
	struct process *older;
	/** Of the notice of its exec, 0 without one: its time, and an address in the program's code. */
	uint64_t exec_ns;
	uint64_t code_address;
	/** 0: not known. It is a fork of it for certain, without an exec since. */
	uint32_t parent_pid;
	bool is_fork;
	/** A sample was taken of it, or of a fork of it. */
	bool is_sampled;
	/** When it was found to be gone; 0: not yet. Then all is known of it that ever will be. */
	uint64_t gone_ns;
	bool is_final;
	/** A read of its memory hangs: it keeps others from its mappings, so they are not looked at any more. */
	bool is_hanging;

	/* --- */
	enum process_state state;
	/** 0 while it runs; else the time from which it is gone, or another program in its place. */
	uint64_t ended_ns;
	/** Part of the key of cached traces: a new number whenever a mapping goes or changes. */
	uint64_t generation;
	/** When a reading that found a mapping gone or changed was over. */
	uint64_t lost_ns;
	uint64_t last_sample_ns;
	uint64_t synced_ns;
	uint32_t references;
	uint32_t stale_count;
	struct stale_executable stale[PROCESS_MAX_STALE];
	/** What the kernel side has, NULL until synced, and the time at which it was read. */
	struct mapping_table *table;
	uint64_t table_read_ns;
	/** The parent's when they were those of this fork too, when it was looked at first, or NULL. */
	struct mapping_table *parent_table;
	/** The rows are certain to be those of this very program, not of one after it. */
	bool is_settled;
	/** Another program was heard of in its pid. */
	bool is_superseded;
	/** What it is about to get, else NULL. */
	struct mapping_table *next_table;
	/** What it had until that time; NULL at first. */
	struct mapping_table *previous_table;
	uint64_t previous_until_ns;
	/** What was mapped after the last reading; recent_count counts on when there are more. */
	uint32_t recent_count;
	struct mapped_range recent[PROCESS_MAX_RECENT];
	/** What its interpreted frames are named by; NULL: nothing. */
	struct runtime_set *runtimes;
	/** NULL until read; replaced once at most, and the one before is kept. */
	struct process_info *info;
	struct process_info *older_info;
};

struct process_table {
	pthread_mutex_t lock;
	/** pid -> the newest struct process. */
	struct hash_map processes;
	/** Pid -> the newest program that was heard of, which need not be in the table yet. */
	struct lru_cache programs;
	uint64_t last_generation;
};

void process_table_init(struct process_table *table);

/** Every process must have been released by process_table_remove(). */
void process_table_deinit(struct process_table *table);

/**
 * Sync. The process @pid with @stamp: found, or made, and then what ran in this pid before has ended. NULL without memory, and if @stamp is older than that of the present one.
 */
struct process *process_table_add(struct process_table *table, uint32_t pid,
				  const struct process_stamp *stamp, uint64_t now_ns);

/** Ring. Whether any program of @pid is there. */
bool process_table_knows(struct process_table *table, uint32_t pid);

/** Sync. The process of exactly that stamp, or the newest in that pid; NULL if there is none. */
struct process *process_table_find(struct process_table *table, uint32_t pid,
				   const struct process_stamp *stamp);
struct process *process_table_current(struct process_table *table, uint32_t pid);

/** Sync. Says that @process ended at @now_ns, if it had not before. */
void process_table_end(struct process_table *table, struct process *process, uint64_t now_ns);

/**
 * Sync. Takes @process out. Its mappings and is_published have been dealt with by the caller; the
 * memory goes when no sample refers to it any more.
 */
void process_table_remove(struct process_table *table, struct process *process);

/**
 * Sync, in this order: begin before the maps are read; prepare, only if the rows are others than
 * before, before they are published (takes over a reference of @rows); finish when they are. What
 * is mapped over rows of either table meanwhile is noted as stale. @lost_rows: a row went or became
 * another, so that cached traces may be wrong. If the maps could not be read, fail takes the place
 * of finish.
 */
void process_table_begin_sync(struct process_table *table, struct process *process,
			      uint64_t now_ns);
void process_table_prepare_rows(struct process_table *table, struct process *process,
				struct mapping_table *rows);
/** Before they are prepared for the first time: @process, a fork, has the rows of its parent. */
void process_table_note_parent_rows(struct process_table *table, struct process *process,
				    struct mapping_table *rows);
void process_table_finish_sync(struct process_table *table, struct process *process,
			       enum process_state state, bool lost_rows, uint64_t now_ns);
void process_table_fail_sync(struct process_table *table, struct process *process,
			     enum process_state state, uint64_t now_ns);

/** Sync. Takes over a reference of @info; twice at most. */
void process_table_set_info(struct process_table *table, struct process *process,
			    struct process_info *info);

/** Sync. Takes over a reference of @set, which may be NULL, in place of the set before. */
void process_table_set_runtimes(struct process_table *table, struct process *process,
				struct runtime_set *set);

/**
 * Sync. The process of which @child is a fork that has run no exec since, and whose own mappings
 * have not changed since either; NULL if that is not certain. Borrowed.
 */
struct process *process_table_fork_parent(struct process_table *table, const struct process *child);

enum mapping_news {
	/** No sync need come of it: the pid is not known, or its maps were read since. */
	MAPPING_KNOWN,
	/** Where nothing was. */
	MAPPING_ADDED,
	/** In place of another file. */
	MAPPING_REPLACED,
};

/** Ring. Something executable was mapped in @pid. */
enum mapping_news process_table_note_mapping(struct process_table *table, uint32_t pid,
					     uint64_t start, uint64_t length, uint64_t time_ns);

/**
 * Ring. The program with @stamp is in @pid now: what ran there before is superseded, also if it is
 * added later.
 */
void process_table_note_program(struct process_table *table, uint32_t pid,
				const struct process_stamp *stamp);

/** Sync, every few seconds. Forgets programs noted before the call before this one. */
void process_table_forget_news(struct process_table *table);

/** What a sample needs to know of its process; a copy, but for what the reference keeps alive. */
struct process_view {
	/** One reference; NULL: not known, and then all is 0. */
	struct process *process;
	enum process_state state;
	/** When its maps were read last, and when that was over; whether something was mapped since. */
	uint64_t read_ns;
	uint64_t synced_ns;
	bool is_outdated;
	/** A mapping went or changed since the sample was taken, or may have: the rows are not those of then. */
	bool has_lost_rows;
	bool is_settled;
	bool is_superseded;
	/** It is a fork that has had the rows of its parent ever since. */
	bool has_parent_rows;
	uint64_t generation;
	/** Kept alive by the process; NULL if it is not known. */
	struct process_info *info;
	/** One reference, NULL if there is none, both. */
	struct mapping_table *rows;
	struct runtime_set *runtimes;
	uint32_t stale_count;
	struct stale_executable stale[PROCESS_MAX_STALE];
};

/**
 * Work. Fills *@view for a sample taken at @time_ns; false if the process is not known. Release it
 * in either case.
 */
bool process_table_view(struct process_table *table, uint32_t pid,
			const struct process_stamp *stamp, uint64_t time_ns,
			struct process_view *view);
void process_view_release(struct process_table *table, struct process_view *view);

/**
 * Work. Everything that happened up to @view->synced_ns has been heard of: if no other program was,
 * the rows of the view are settled.
 */
void process_table_settle(struct process_table *table, const struct process_view *view);

/** Whether frames of @executable_id can be trusted in the sample of the view. */
bool process_view_is_stale(const struct process_view *view, uint64_t executable_id);

#endif
