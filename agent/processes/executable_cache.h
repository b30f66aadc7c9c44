/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The executables: every file that some process has mapped to run, once per state of the file (its key: device,
 * inode, size, mtime, ctime). Each has an id for the kernel side and a binary for outputs. executable_rows.h
 * handles their unwind rows.
 *
 * A record lives as long as a process maps the file, and EXECUTABLE_KEEP_NS longer. Without rows it lives as
 * long as a trace refers to its binary, so that a program that is started repeatedly stays one binary. At most
 * EXECUTABLE_MAX_UNUSED records that no process maps are kept. Ids are never reused, so a frame can never get
 * the name of another file.
 *
 * The lock is held for look-ups and lists only, never over I/O, parsing or anything that waits.
 * Functions say which thread may call them.
 */
#ifndef AGENT_PROCESSES_EXECUTABLE_CACHE_H
#define AGENT_PROCESSES_EXECUTABLE_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/hash_map.h"
#include "lib/base/lru_cache.h"
#include "lib/base/vector.h"
#include "lib/elf/elf_image.h"
#include "lib/host/mapped_file.h"
#include "lib/model/binary.h"
#include "lib/model/map_writer.h"
#include "lib/model/stack_deltas.h"

struct delta_cache;
struct elf_home;
struct runtime_file;
struct remote_memory;

enum {
	/** Limit of records that no process maps any more. */
	EXECUTABLE_MAX_UNUSED = 1024,
};

/** How long rows stay in the maps when no process has the file mapped any more. */
#define EXECUTABLE_KEEP_NS (20 * NS_PER_SECOND)

/**
 * How long the file stays open after the last process that runs it has ended, so that rows and names can be
 * made.
 */
#define EXECUTABLE_OPEN_NS (1200 * NS_PER_MS)

struct executable_cache_config {
	/** "/proc", or a test's folder; borrowed. NULL: no separate debug files. */
	const char *proc_root;
	/** Borrowed; called by the sync thread alone. */
	struct map_writer *writer;
	/** Borrowed; may be NULL. */
	struct delta_cache *delta_cache;
	/** Borrowed; parses the files. NULL: they are parsed here, with the two functions below. */
	struct elf_home *parser;
	/** Keep rows in memory after they were published (executable_rows_borrow()). */
	bool cache_rows;
	/** For so long rows of files that nobody sampled are made whatever that costs: while the agent starts. */
	uint64_t starting_ns;
	/** Detects whether a file is a language runtime (interpreters/registry.h). NULL: no languages, whoever parses. */
	int (*probe)(uint32_t languages, const struct elf_image *image, const char *path,
		     struct runtime_file **file);
	/** Detects a library whose rows get RULE_COPIES_STACKS (interpreters/registry.h). NULL with `probe`. */
	bool (*copies_stacks)(uint32_t languages, const struct elf_image *image);
	uint32_t languages;
	/** Reports that a file is a runtime of the language with index @language. Load threads. May be NULL. */
	void (*runtime_found)(void *context, uint32_t language);
	/** Requests a call of executable_load() by a load thread. Called without the lock. May be NULL. */
	void (*request_load)(void *context, uint64_t executable_id, bool is_remote);
	/** Reports that a sample waits for requested rows. Called without the lock. May be NULL. */
	void (*hurry)(void *context, uint64_t executable_id);
	/** Reports that executable_rows_publish() has something to do. Any thread. May be NULL. */
	void (*loaded)(void *context);
	void *context;
};

/** Result of loading a file: rows or an error. */
struct loaded_rows {
	uint64_t executable_id;
	int err;
	struct stack_deltas deltas;
	/** Rows of code that no table describes were left out. */
	bool lacks_code;
};

VECTOR_DEFINE(loaded_vector, struct loaded_rows)
VECTOR_DEFINE(slot_vector, uint32_t)

enum executable_state {
	/** Rows are being loaded. */
	EXECUTABLE_LOADING,
	EXECUTABLE_PUBLISHED,
	/** No rows in the maps: they were evicted, did not fit, or a temporary error occurred. */
	EXECUTABLE_UNLOADED,
};

/** One state of a file. Fields above the line never change; the others change under the lock. */
struct executable {
	/** EXECUTABLE_ID_ANONYMOUS if this is no ELF file; then there is no binary. */
	uint64_t id;
	struct file_key key;
	struct binary *binary;
	/** Program headers only; none if the file's headers are damaged. */
	struct elf_image segments;
	/** A process that had mapped the file when the record was made; 0: none. It may be gone by now. */
	pid_t pid;
	bool is_remote;
	bool is_in_keys;

	/* --- */
	enum executable_state state;
	bool is_load_requested;
	/** A sample has asked for its rows at some time. */
	bool is_wanted;
	/** A process with a language runtime maps it. */
	bool is_needed;
	/**
	 * Its rows leave out code (lacks_code), which lack_count samples hit. With is_code_wanted that code is
	 * analysed all the same.
	 */
	bool lacks_code;
	bool is_code_wanted;
	uint32_t lack_count;
	/** Its rows are too large to be kept for unwinding in user space. */
	bool is_too_large_to_keep;
	uint32_t references;
	/** Number of processes that run it; the time since there are none. */
	uint32_t runner_count;
	uint64_t left_ns;
	/** Size of its rows in the maps. */
	uint64_t map_bytes;
	uint64_t last_used_ns;
	/** Rows are not loaded again before this time; or only for a sample or a runtime. */
	uint64_t retry_ns;
	uint64_t put_off_until_ns;
	/** Its rows were unloaded because no process mapped it. They are loaded again with the next process. */
	bool is_resting;
	/** Fields of executable_runtime. runtime_file is set once, and may be read without the lock. */
	bool is_probed;
	/** The probe has ended. */
	bool is_probe_done;
	/** Its rows get RULE_COPIES_STACKS. */
	bool copies_stacks;
	/** Atomic: it was logged that the runtime cannot be attached to. */
	bool is_refusal_logged;
	const struct runtime_file *runtime_file;
	/** Atomic: the reason why the runtime cannot be attached to; NULL if there is none so far. Owned. */
	char *refusal;
	/** While references is 0: the time since then, and the neighbours in the list sorted by it. */
	uint64_t unused_since_ns;
	struct executable *older_unused;
	struct executable *newer_unused;
};

struct executable_cache {
	struct executable_cache_config config;
	pthread_mutex_t lock;
	struct hash_map by_key;
	/** An array of EXECUTABLE_SLOT_COUNT pointers. */
	struct executable **slots;
	struct slot_vector free_slots;
	uint32_t used_slots;
	uint64_t last_generation;
	uint32_t count;
	struct executable *oldest_unused;
	struct executable *newest_unused;
	uint32_t unused_count;
	/** Atomic: time at which the next file may be closed; UINT64_MAX: none. */
	uint64_t next_close_ns;
	/** Fields of executable_rows: number of loads in progress, rows to be published, rows kept in memory. */
	uint32_t loading_count;
	struct loaded_vector loaded;
	/** The work on files that nobody sampled that may be done now, in bytes of .eh_frame, at spare_ns. */
	uint64_t spare_bytes;
	uint64_t spare_ns;
	struct lru_cache cached_rows;
	uint64_t next_age_ns;
	/** Atomic: number of files found to be runtimes, and how many of them the sync thread has handled. */
	uint32_t runtime_count;
	uint32_t runtimes_seen;
};

int executable_cache_create(const struct executable_cache_config *config,
			    struct executable_cache **cache);
/** All references must have been released. Retires nothing, since the maps go with their writer. */
void executable_cache_destroy(struct executable_cache *cache);

/** Any thread. The executable with this key, with a new reference; NULL if there is none. */
struct executable *executable_cache_find(struct executable_cache *cache,
					 const struct file_key *key);

/**
 * Any thread, but files on remote file systems by load_remote only, since headers are read. Finds or makes the
 * executable of the open file @fd, or of @held (then @fd is -1), which process @pid (or 0) has mapped from
 * @path in its own root. Returns a new reference, and takes over the file on success. A file that is no ELF
 * file for this machine gets EXECUTABLE_ID_ANONYMOUS; a damaged one gets an id and is logged. -ENOSPC: too many
 * executables; -EIO and other errors of the file system; -ENOMEM.
 */
int executable_cache_open(struct executable_cache *cache, int fd, const struct file_key *key,
			  pid_t pid, const char *path, struct held_file *held,
			  struct executable **executable);

/** Sync. As above, for an image in memory such as the vDSO, which is identified by its bytes. */
int executable_cache_open_image(struct executable_cache *cache, const void *bytes, size_t size,
				const char *path, struct executable **executable);

/**
 * As above, for the vDSO at [@start, @end) of the process whose memory @memory reads; @path is its name. -E2BIG
 * if it is larger than any kernel's.
 */
int executable_cache_open_vdso(struct executable_cache *cache, struct remote_memory *memory,
			       uint64_t start, uint64_t end, const char *path,
			       struct executable **executable);

struct executable *executable_ref(struct executable_cache *cache, struct executable *executable);
/** Takes NULL. */
void executable_unref(struct executable_cache *cache, struct executable *executable);

/** Sync. Notes that a process runs the file, or does not any more. */
void executable_note_run(struct executable_cache *cache, struct executable *executable);
void executable_note_left(struct executable_cache *cache, struct executable *executable,
			  uint64_t now_ns);

/**
 * Whether its file was lost, or closed because no process ran it; then executable_cache_open() takes a new one.
 * Any thread.
 */
bool executable_lacks_file(const struct executable *executable);

/** Sync. Closes files that no process has run for EXECUTABLE_OPEN_NS. */
void executable_cache_close_files(struct executable_cache *cache, uint64_t now_ns);
/** Time of the next call that has something to do; UINT64_MAX: none is known. */
uint64_t executable_cache_next_close(const struct executable_cache *cache);

/** The bias of a mapping of the file; -ENOENT if no segment of it is there. */
int executable_mapping_bias(const struct executable *executable, uint64_t start, uint64_t end,
			    uint64_t offset, uint64_t *bias);

/**
 * Any thread. Takes an id for rows that belong to no record, with @flag in it, and gives it back when they are retired. -ENOSPC
 * when all slots are in use.
 */
int executable_cache_reserve_id(struct executable_cache *cache, uint64_t flag, uint64_t *id);
void executable_cache_release_id(struct executable_cache *cache, uint64_t id);

/** Any thread. The binary with a new reference; NULL if the id is forgotten. */
struct binary *executable_cache_binary(struct executable_cache *cache, uint64_t executable_id);

/** The record of an id, NULL if it is forgotten. To be called with the lock held. */
struct executable *executable_cache_by_id(const struct executable_cache *cache,
					  uint64_t executable_id);

/** Sync. Forgets records that no process maps until @max_unused are left. */
void executable_cache_trim(struct executable_cache *cache, uint32_t max_unused);

/**
 * Sync, about every second. Unloads and forgets executables that have not been mapped for long enough, and
 * drops rows in memory that no unwind has used.
 */
void executable_cache_expire(struct executable_cache *cache, uint64_t now_ns);

#endif
