/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files on disk by a 128-bit key, in a directory of our own, so that a restarted agent need not make again what
 * it made before. The agent trusts these files, so the directory must belong to its user alone. Several agents
 * may share a directory. So may several caches, whose files have different suffixes. The user of the cache
 * defines the content of the files, detects damage and removes damaged files.
 *
 * A file is written under a temporary name, renamed, and never changed afterwards. When the files of a cache
 * together exceed its limit, those unused for longest are removed.
 *
 * Thread-safe.
 */
#ifndef LIB_BASE_FILE_CACHE_H
#define LIB_BASE_FILE_CACHE_H

#include <stdint.h>

#include "lib/base/hash128.h"

enum {
	FILE_CACHE_NAME_BYTES = 64,
	FILE_CACHE_SUFFIX_MAX_BYTES = 16,
};

struct file_cache;

/** A file that is being written by its creator, until it is kept or abandoned. */
struct new_file {
	/** Descriptor for reading and writing. */
	int fd;
	char name[FILE_CACHE_NAME_BYTES];
};

/**
 * Opens @directory, creating it with mode 0700 if it does not exist (its parent must exist). -EPERM if it is a
 * symbolic link, belongs to another user, or is open to group or others. @suffix is ".ranges" or the like, and
 * is copied. @max_bytes bounds all files of this suffix together. The caller destroys the cache.
 */
int file_cache_create(const char *directory, const char *suffix, uint64_t max_bytes,
		      struct file_cache **cache);
void file_cache_destroy(struct file_cache *cache);

/**
 * Reads the seed of content hashes (hash128_seed_content()) that all agents with this @directory share, from a
 * file there that the first agent makes. If that file cannot be kept, the seed differs each time. Errors as for
 * the directory in file_cache_create().
 */
int file_cache_seed(const char *directory, uint64_t *seed);

/** Opens the regular file under @key for reading; the caller owns *@fd. -ENOENT if there is none. */
int file_cache_open(struct file_cache *cache, struct hash128 key, int *fd);

/** Marks an open file as used now. */
void file_cache_touch(int fd);

void file_cache_remove(struct file_cache *cache, struct hash128 key);

/** Creates a temporary file. Errors come from the system calls. */
int file_cache_begin(struct file_cache *cache, struct new_file *file);

/**
 * Puts the file under @key, replacing an existing one, and removes other files if necessary. The caller owns
 * the file's descriptor from now on, in any case. On failure the file is removed.
 */
int file_cache_keep(struct file_cache *cache, struct hash128 key, const struct new_file *file);

/** Removes the file. The caller owns its descriptor from now on. */
void file_cache_abandon(struct file_cache *cache, const struct new_file *file);

/** Number of files removed because of the limit. */
uint64_t file_cache_evicted(struct file_cache *cache);

#endif
