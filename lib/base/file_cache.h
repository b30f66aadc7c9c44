/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files on disk by a 128-bit key, in a directory of our own, so that a restarted agent need not make
 * again what it made before. The agent believes these files, so the directory must belong to its user
 * alone. Several agents may share a directory, and several caches, whose files have different suffixes.
 * What stands in a file, and how damage is found, is the user's: a damaged one is to be removed.
 *
 * A file is written beside its place and renamed, and never changed afterwards. When all files of a
 * cache together go over its limit, those unused for longest are removed.
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

/** A file that is being written: by who began it, until it is kept or abandoned. */
struct new_file {
	/** For reading and writing. */
	int fd;
	char name[FILE_CACHE_NAME_BYTES];
};

/**
 * Opens @directory, made with mode 0700 if it is not there (its parent must be). -EPERM if it is a
 * symbolic link, belongs to another user, or is open to group or others. @suffix: ".ranges" and the
 * like; copied. @max_bytes bounds all files of this suffix together. The caller destroys the cache.
 */
int file_cache_create(const char *directory, const char *suffix, uint64_t max_bytes,
		      struct file_cache **cache);
void file_cache_destroy(struct file_cache *cache);

/**
 * The number by which those who share @directory seed the hashes that files in it are known by
 * (hash128_seed_content()): out of a file there, which the first one makes. Where that cannot be kept, another
 * one each time. Errors as of file_cache_create() for the directory.
 */
int file_cache_seed(const char *directory, uint64_t *seed);

/** Opens the regular file under @key for reading: the caller's. -ENOENT if there is none. */
int file_cache_open(struct file_cache *cache, struct hash128 key, int *fd);

/** To be told of a file that was opened and is of use: counts as used now. */
void file_cache_touch(int fd);

void file_cache_remove(struct file_cache *cache, struct hash128 key);

/** As the system calls say. */
int file_cache_begin(struct file_cache *cache, struct new_file *file);

/**
 * Puts the file under @key, in place of one that may be there, and removes others if need be. Its
 * descriptor is the caller's from now on, in any case. On failure nothing is left behind.
 */
int file_cache_keep(struct file_cache *cache, struct hash128 key, const struct new_file *file);

/** Removes it. Its descriptor is the caller's from now on. */
void file_cache_abandon(struct file_cache *cache, const struct new_file *file);

/** Files removed because of the limit. */
uint64_t file_cache_evicted(struct file_cache *cache);

#endif
