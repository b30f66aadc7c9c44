/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The known processes: one struct process per program that ran in a process (identified by pid and identity, which
 * an exec changes), and the table that finds them. Processes stay for PROCESS_GRACE_NS after their end, since
 * samples of them may still be in a queue.
 *
 * Three threads use the table. It has a lock, held for a look-up or a copy and never over I/O. The sync thread
 * adds, changes and removes processes; the work thread looks up the process of a sample; the ring thread notes
 * side-band events, so that they are known before later samples.
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
#include "lib/model/events.h"
#include "lib/model/process_info.h"

struct executable;
struct process_attachments;
struct process_copies;
struct runtime_set;

#define PROCESS_GRACE_NS (5 * NS_PER_SECOND)

enum {
	PROCESS_MAX_STALE = 16,
	PROCESS_MAX_RECENT = 8,
};

/** The file of a mapping, and the address that its first byte has in the process. */
struct mapped_file {
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t origin;
};

/**
 * The rows of a process as the kernel side has them. A fork shares its parent's. Immutable, shared by reference
 * count (atomic).
 */
struct mapping_table {
	unsigned int references;
	uint32_t count;
	/** End of the reading of the maps that the rows are made of, and the file of each row; 0 and NULL if not known. */
	uint64_t read_end_ns;
	const struct mapped_file *files;
	struct mapping_row rows[];
};

/** NULL without memory. */
struct mapping_table *mapping_table_create(const struct mapping_row *rows, uint32_t count);
/** The same for rows of maps whose reading ended at @read_end_ns; one of @files for each row. */
struct mapping_table *mapping_table_create_read(const struct mapping_row *rows,
						const struct mapped_file *files, uint32_t count,
						uint64_t read_end_ns);
struct mapping_table *mapping_table_ref(struct mapping_table *table);
void mapping_table_unref(struct mapping_table *table);

/** Whether both have the same rows; false if @a is NULL. */
bool mapping_table_equal(const struct mapping_table *a, const struct mapping_table *b);

/** The parts of rows that both have, made anew; NULL without memory. */
struct mapping_table *mapping_table_intersect(const struct mapping_table *a,
					      const struct mapping_table *b);

/** Whether an address that a row of @before (or NULL) covers has no row or a different one in @after. */
bool mapping_table_loses(const struct mapping_table *before, const struct mapping_table *after);

/** One executable line of /proc/PID/maps, as it was when its file was identified. */
struct process_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	/** 0: not executable (PROC_MAPS_CODE), or not identified so far or for good, and not in the kernel side's table. */
	uint64_t executable_id;
	/** 0 for special executables. */
	uint64_t bias;
	/**
	 * One reference; NULL for special executables. For anonymous memory (inode 0) it is the file whose text
	 * the process has copied there (copied_text.h). With EXECUTABLE_ID_ANONYMOUS the bytes did not equal
	 * the file's, or not yet, in look_count comparisons.
	 */
	struct executable *executable;
	uint8_t look_count;
	/** The file is on a network or FUSE file system and was requested from load_remote. */
	bool is_requested;
	/** The first mapping of the process's own executable (/proc/PID/exe). */
	bool is_program;
};

/**
 * In samples of this period, frames of this executable may belong to another one: a file was mapped over it
 * while the kernel side still had the old table.
 */
struct stale_executable {
	/** 0: every executable. */
	uint64_t executable_id;
	uint64_t from_ns;
	uint64_t until_ns;
};

/** A range in which an executable mapping was made. */
struct mapped_range {
	uint64_t start;
	uint64_t end;
	uint64_t time_ns;
	struct mapped_file file;
};

enum process_state {
	/** Its maps have not been read yet. */
	PROCESS_NEW,
	PROCESS_SYNCED,
	/** Its maps cannot be read, and no parent's can be used instead. */
	PROCESS_UNREADABLE,
};

/**
 * Fields above the line belong to the sync thread alone, or never change. Fields below it are changed only by
 * the functions here, under the table's lock.
 */
struct process {
	uint32_t pid;
	struct process_identity identity;
	/** Time at which the agent learned of the process, and time of its rows' last change (under the lock). */
	uint64_t known_ns;
	uint64_t changed_ns;
	struct process_mapping *mappings;
	uint32_t mapping_count;
	/** executable_note_run() was called for the files of its mappings. */
	bool runs_files;
	/** Number of files that were opened in vain, since they are mapped next to executable anonymous memory. */
	uint32_t beside_count;
	/** Memory that may be a copy of a file's text was not equal, or could not be read; and how often in turn. */
	bool has_doubtful_text;
	uint32_t doubt_count;
	/** There were more new files than one sync may identify. */
	bool is_partial;
	bool is_published;
	uint64_t published_ns;
	/** Size of its rows on the kernel side. */
	uint64_t published_bytes;
	/**
	 * The process is not published before this time. While a program starts, its libraries are mapped one
	 * by one, and its samples are better as deferred samples than with half a table.
	 */
	uint64_t publish_after_ns;
	/** Start of the last reading of its maps, and the CPU time of that sync. */
	uint64_t read_ns;
	uint64_t sync_cost_ns;
	/**
	 * replaced_count mappings have replaced another file since replaced_since_ns; the count restarts after
	 * a second.
	 */
	uint64_t replaced_since_ns;
	uint32_t replaced_count;
	/** How long to wait before the kernel side may ask again about an unknown address. */
	uint64_t rearm_delay_ns;
	/** Attachments of the runtimes that it has mapped (attachments.h); NULL: none. */
	struct process_attachments *attachments;
	/** Copies of its anonymous code (code_copies.h); NULL: none. */
	struct process_copies *copies;
	/** The previous program in the same pid. */
	struct process *older;
	/** Time of its exec event and an address in the program's code; 0 without a process event. */
	uint64_t exec_ns;
	uint64_t code_address;
	/**
	 * Pid of the parent; 0: not known. is_fork: it is certainly a fork of the parent, without an exec
	 * since.
	 */
	uint32_t parent_pid;
	bool is_fork;
	/** It, or a fork of it, was sampled; and the time of its own first sample, 0: none. */
	bool is_sampled;
	uint64_t first_sample_ns;
	/** `info` may be of the next program in its pid. */
	bool has_doubtful_info;
	/** Time at which it was found to be gone; 0: not yet. is_final: nothing more will be learned of it. */
	uint64_t gone_ns;
	bool is_final;
	/**
	 * A read of its memory hung, hang_count times so far. That may block reads of its mappings, so neither is read
	 * before hanging_until_ns; 0: none hung.
	 */
	uint64_t hanging_until_ns;
	uint32_t hang_count;

	/* --- */
	enum process_state state;
	/** 0 while it runs; otherwise the time at which it ended, or another program replaced it. */
	uint64_t ended_ns;
	/** Part of the key of cached traces: a new number whenever a mapping is removed or changed. */
	uint64_t generation;
	/**
	 * End of the last reading that found a mapping removed or changed, and the rows that no reading since then or in the
	 * seconds before has found so.
	 */
	uint64_t lost_ns;
	struct mapping_table *lasting_table;
	uint64_t last_sample_ns;
	uint64_t synced_ns;
	uint32_t references;
	uint32_t stale_count;
	struct stale_executable stale[PROCESS_MAX_STALE];
	/** The table that the kernel side has, NULL until synced, and the time at which it was read. */
	struct mapping_table *table;
	uint64_t table_read_ns;
	/** The parent's table, if this fork had the same mappings until parent_until_ns; otherwise NULL. */
	struct mapping_table *parent_table;
	uint64_t parent_until_ns;
	/** The rows are certain to be this program's, not those of a later one. */
	bool is_settled;
	/** Another program is known to have started in its pid. */
	bool is_superseded;
	/** The table that is about to be published, otherwise NULL. */
	struct mapping_table *next_table;
	/** The table that it had until previous_until_ns; NULL at first. */
	struct mapping_table *previous_table;
	uint64_t previous_until_ns;
	/** Ranges that were mapped after the last reading. recent_count goes on when there are more than fit. */
	uint32_t recent_count;
	struct mapped_range recent[PROCESS_MAX_RECENT];
	/** Runtimes that name its interpreted frames; NULL: none. */
	struct runtime_set *runtimes;
	/** NULL until read. It is replaced at most once, and the old one is kept. */
	struct process_info *info;
	struct process_info *older_info;
};

struct process_table {
	pthread_mutex_t lock;
	/** pid -> the newest struct process. */
	struct hash_map processes;
	/** pid -> the newest known program, which need not be in the table yet. */
	struct lru_cache programs;
	uint64_t last_generation;
};

void process_table_init(struct process_table *table);

/** Every process must have been released by process_table_remove(). */
void process_table_deinit(struct process_table *table);

/**
 * Sync. Finds or makes the process @pid with @identity. If it is made, the earlier program in this pid has ended.
 * NULL without memory, and if @identity is older than the current program's.
 */
struct process *process_table_add(struct process_table *table, uint32_t pid,
				  const struct process_identity *identity, uint64_t now_ns);

/** Ring. Whether any program of @pid is in the table. */
bool process_table_knows(struct process_table *table, uint32_t pid);

/** Sync. The process with exactly @identity, or the newest in that pid; NULL if there is none. */
struct process *process_table_find(struct process_table *table, uint32_t pid,
				   const struct process_identity *identity);
struct process *process_table_current(struct process_table *table, uint32_t pid);

/** Sync. Notes that @process ended at @now_ns, unless it had ended before. */
void process_table_end(struct process_table *table, struct process *process, uint64_t now_ns);

/**
 * Sync. Removes @process. The caller has dealt with its mappings and is_published. The memory is freed when no
 * sample refers to it any more.
 */
void process_table_remove(struct process_table *table, struct process *process);

/**
 * Sync, in this order: begin before the maps are read; prepare before changed rows are published (only if they
 * changed; takes over a reference of @rows); finish afterwards. Files that are mapped over rows of either table
 * meanwhile make these stale. @lost_rows: a row was removed or changed, so that cached traces may be wrong. If
 * the maps could not be read, call fail instead of finish.
 */
void process_table_begin_sync(struct process_table *table, struct process *process,
			      uint64_t now_ns);
void process_table_prepare_rows(struct process_table *table, struct process *process,
				struct mapping_table *rows);
/** To be called once at most, before the prepare: @process, a fork, has the rows of its parent, until it maps files at @until_ns. */
void process_table_note_parent_rows(struct process_table *table, struct process *process,
				    struct mapping_table *rows, uint64_t until_ns);
void process_table_finish_sync(struct process_table *table, struct process *process,
			       enum process_state state, bool lost_rows, uint64_t now_ns);
void process_table_fail_sync(struct process_table *table, struct process *process,
			     enum process_state state, uint64_t now_ns);

/** Sync. Takes over a reference of @info; twice at most. */
void process_table_set_info(struct process_table *table, struct process *process,
			    struct process_info *info);

/** Sync. Replaces the set of runtimes by @set, which may be NULL. Takes over a reference of it. */
void process_table_set_runtimes(struct process_table *table, struct process *process,
				struct runtime_set *set);

/**
 * Sync. The parent of @child, if @child is a fork that has run no exec, and the parent's mappings have not
 * changed since the fork; NULL if that is not certain. Borrowed.
 */
struct process *process_table_fork_parent(struct process_table *table, const struct process *child);

enum mapping_news {
	/** No sync is needed: the pid is not known, or its maps were read since. */
	MAPPING_KNOWN,
	/** Nothing was mapped there before. */
	MAPPING_ADDED,
	/** The mapping replaced another file. */
	MAPPING_REPLACED,
};

/** Ring. Notes that an executable mapping was made in @pid: a SIDE_BAND_MAPPING. */
enum mapping_news process_table_note_mapping(struct process_table *table,
					     const struct side_band_event *mapping);

/**
 * Ring. Notes that the program with @identity runs in @pid now. Earlier programs there are superseded, even if
 * they are added later.
 */
void process_table_note_program(struct process_table *table, uint32_t pid,
				const struct process_identity *identity);

/** Sync, every few seconds. Forgets programs noted before the call before this one. */
void process_table_forget_news(struct process_table *table);

/** The data of a process that a sample needs. A copy, except for objects that the reference keeps alive. */
struct process_view {
	/** One reference; NULL if the process is not known, and then all fields are 0. */
	struct process *process;
	enum process_state state;
	/** Start and end of the last reading of its maps; whether something was mapped since. */
	uint64_t read_ns;
	uint64_t synced_ns;
	bool is_outdated;
	/**
	 * A mapping was, or may have been, removed or changed since the sample was taken. The rows are those that were there all
	 * the time, if any.
	 */
	bool has_lost_rows;
	bool is_settled;
	bool is_superseded;
	/** It is a fork that still has the rows of its parent. */
	bool has_parent_rows;
	uint64_t generation;
	/** Kept alive by the process; NULL if not known. */
	struct process_info *info;
	/** One reference each; NULL if there is none. */
	struct mapping_table *rows;
	struct runtime_set *runtimes;
	uint32_t stale_count;
	struct stale_executable stale[PROCESS_MAX_STALE];
};

/**
 * Work. Fills *@view for a sample taken at @time_ns; false if the process is not known. The caller releases the
 * view in either case.
 */
bool process_table_view(struct process_table *table, uint32_t pid,
			const struct process_identity *identity, uint64_t time_ns,
			struct process_view *view);
void process_view_release(struct process_table *table, struct process_view *view);

/**
 * Work. All events up to @view->synced_ns are known. If no other program was among them, the rows of the view
 * are settled.
 */
void process_table_settle(struct process_table *table, const struct process_view *view);

/** Whether frames of @executable_id cannot be trusted in the sample of the view. */
bool process_view_is_stale(const struct process_view *view, uint64_t executable_id);

#endif
