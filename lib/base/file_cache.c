/* SPDX-License-Identifier: Apache-2.0 */
/* The directory is opened once, and all work is relative to it, so that nobody can replace it by another one. */
#include "lib/base/file_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/file_folder.h"
#include "lib/base/log.h"
#include "lib/base/read_exactly.h"
#include "lib/base/vector.h"

enum {
	KEY_DIGITS = 32,
	/* A temporary file of this age was left by an agent that died. */
	STALE_SECONDS = 600,
};

static const char temporary_prefix[] = ".new-";

struct file_cache {
	/* For reading; files are made and removed by the folder. */
	int fd;
	struct file_folder folder;
	char suffix[FILE_CACHE_SUFFIX_MAX_BYTES];
	uint64_t max_bytes;
	pthread_mutex_t lock;
	/* Under the lock: size of all files at the last listing, plus the bytes that we wrote since. */
	uint64_t total_bytes;
	atomic_uint temporary_count;
	atomic_uint_fast64_t evicted;
};

/* A file found in the directory. */
struct cache_file {
	char name[FILE_CACHE_NAME_BYTES];
	uint64_t size;
	struct timespec used;
};

VECTOR_DEFINE(cache_file_vector, struct cache_file)

static void key_name(const struct file_cache *cache, struct hash128 key,
		     char name[FILE_CACHE_NAME_BYTES])
{
	snprintf(name, FILE_CACHE_NAME_BYTES, "%016" PRIx64 "%016" PRIx64 "%s", key.high, key.low,
		 cache->suffix);
}

static bool is_cache_name(const struct file_cache *cache, const char *name)
{
	return strlen(name) == KEY_DIGITS + strlen(cache->suffix) &&
	       !strcmp(name + KEY_DIGITS, cache->suffix);
}

static int compare_files(const void *a, const void *b)
{
	const struct cache_file *first = a, *second = b;

	if (first->used.tv_sec != second->used.tv_sec)
		return first->used.tv_sec < second->used.tv_sec ? -1 : 1;
	return (first->used.tv_nsec > second->used.tv_nsec) -
	       (first->used.tv_nsec < second->used.tv_nsec);
}

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Lists the cache's files, removes stale temporary ones, and leaves everything else alone. */
static int list_files(struct file_cache *cache, struct cache_file_vector *files)
{
	_cleanup_(close_fd) int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(close_directory) DIR *directory = NULL;
	struct dirent *entry;
	struct stat status;
	time_t now = time(NULL);

	if (fd < 0)
		return fail_errno(-errno, "cannot open the cache directory");
	directory = fdopendir(fd);
	if (!directory)
		return fail_errno(-errno, "cannot open the cache directory");
	(void)take_fd(fd);
	while ((entry = readdir(directory))) {
		struct cache_file file;
		int error;

		if (fstatat(cache->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		if (!strncmp(entry->d_name, temporary_prefix, sizeof(temporary_prefix) - 1) &&
		    status.st_mtime + STALE_SECONDS < now)
			(void)file_folder_remove(&cache->folder, entry->d_name);
		if (!is_cache_name(cache, entry->d_name))
			continue;
		memcpy(file.name, entry->d_name, strlen(entry->d_name) + 1);
		file.size = status.st_size;
		file.used = status.st_mtim;
		error = cache_file_vector_push(files, file);
		if (error)
			return error;
	}
	return 0;
}

/* Counts the files and removes the oldest until they leave an eighth of the limit free. */
static int make_room(struct file_cache *cache)
{
	_cleanup_(cache_file_vector_deinit) struct cache_file_vector files = { 0 };
	uint64_t total = 0;
	int error = list_files(cache, &files);

	if (error)
		return error;
	for (size_t i = 0; i < files.count; i++)
		total += files.items[i].size;
	if (files.count && total > cache->max_bytes) {
		qsort(files.items, files.count, sizeof(files.items[0]), compare_files);
		for (size_t i = 0; i < files.count; i++) {
			if (total <= cache->max_bytes - cache->max_bytes / 8)
				break;
			if (file_folder_remove(&cache->folder, files.items[i].name))
				continue;
			total -= files.items[i].size;
			cache->evicted++;
		}
	}
	cache->total_bytes = total;
	return 0;
}

static int open_directory(const char *path)
{
	_cleanup_(close_fd) int fd = -1;
	struct stat status;

	/* Where it is there, it need not be allowed to make one. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (mkdir(path, 0700) && errno != EEXIST)
			return fail_errno(-errno, "cannot make the directory %s", path);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0)
		return errno == ELOOP || errno == ENOTDIR ?
			       fail(-EPERM, "%s is no directory", path) :
			       fail_errno(-errno, "cannot open the directory %s", path);
	if (fstat(fd, &status))
		return fail_errno(-errno, "cannot stat the directory %s", path);
	if (status.st_uid != geteuid() || status.st_mode & (S_IRWXG | S_IRWXO))
		return fail(-EPERM, "%s must belong to the agent's user alone: chmod 700", path);
	return take_fd(fd);
}

/* To be called with the file locked. */
static int read_or_write_seed(int fd, uint64_t *seed)
{
	uint64_t drawn = hash128_draw_seed();

	if (!read_exactly(fd, 0, seed, sizeof(*seed)))
		return 0;
	if (ftruncate(fd, 0) || pwrite(fd, &drawn, sizeof(drawn), 0) != sizeof(drawn))
		return -EIO;
	*seed = drawn;
	return 0;
}

int file_cache_seed(const char *directory, uint64_t *seed)
{
	_cleanup_(close_fd) int directory_fd = open_directory(directory);
	_cleanup_(close_fd) int fd = -1;

	if (directory_fd < 0)
		return directory_fd;
	fd = openat(directory_fd, "seed", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
	if (fd < 0 || flock(fd, LOCK_EX) || read_or_write_seed(fd, seed)) {
		log_debug("the seed in %s cannot be kept: what is in it will not be found again",
			  directory);
		*seed = hash128_draw_seed();
	}
	return 0;
}

int file_cache_create(const char *directory, const char *suffix, uint64_t max_bytes,
		      struct file_cache **cache)
{
	struct file_cache *result;
	int fd = open_directory(directory);
	int error;

	if (fd < 0)
		return fd;
	result = calloc(1, sizeof(*result));
	if (!result) {
		close(fd);
		return fail(-ENOMEM, "no memory for a cache");
	}
	result->fd = fd;
	error = file_folder_init(&result->folder, FOLDER_CACHE, directory);
	if (error) {
		close(fd);
		free(result);
		return fail_errno(error, "cannot open the directory %s", directory);
	}
	snprintf(result->suffix, sizeof(result->suffix), "%s", suffix);
	result->max_bytes = max_bytes;
	pthread_mutex_init(&result->lock, NULL);
	error = make_room(result);
	if (error) {
		file_cache_destroy(result);
		return error;
	}
	*cache = result;
	return 0;
}

void file_cache_destroy(struct file_cache *cache)
{
	if (!cache)
		return;
	close(cache->fd);
	file_folder_deinit(&cache->folder);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

int file_cache_open(struct file_cache *cache, struct hash128 key, int *fd)
{
	_cleanup_(close_fd) int opened = -1;
	char name[FILE_CACHE_NAME_BYTES];
	struct stat status;

	key_name(cache, key, name);
	opened = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (opened < 0 || fstat(opened, &status) || !S_ISREG(status.st_mode))
		return fail(-ENOENT, "no %s in the cache", name);
	*fd = take_fd(opened);
	return 0;
}

void file_cache_touch(int fd)
{
	futimens(fd, NULL);
}

void file_cache_remove(struct file_cache *cache, struct hash128 key)
{
	char name[FILE_CACHE_NAME_BYTES];

	key_name(cache, key, name);
	(void)file_folder_remove(&cache->folder, name);
}

int file_cache_begin(struct file_cache *cache, struct new_file *file)
{
	struct new_file begun;
	int error;

	snprintf(begun.name, sizeof(begun.name), "%s%d-%u%s", temporary_prefix, getpid(),
		 cache->temporary_count++, cache->suffix);
	/* Removes a leftover of an agent that had our pid. */
	(void)file_folder_remove(&cache->folder, begun.name);
	error = file_folder_make(&cache->folder, begun.name, &begun.fd);
	if (error)
		return fail_errno(error, "cache: %s", begun.name);
	*file = begun;
	return 0;
}

int file_cache_keep(struct file_cache *cache, struct hash128 key, const struct new_file *file)
{
	char name[FILE_CACHE_NAME_BYTES];
	struct stat status;
	int error;

	key_name(cache, key, name);
	error = fstat(file->fd, &status) ? -errno :
					   file_folder_move(&cache->folder, file->name, name);
	if (error) {
		(void)file_folder_remove(&cache->folder, file->name);
		return fail_errno(error, "cache: %s", name);
	}
	pthread_mutex_lock(&cache->lock);
	cache->total_bytes += status.st_size;
	/* If this fails, it is tried again with the next file. */
	if (cache->total_bytes > cache->max_bytes)
		(void)make_room(cache);
	pthread_mutex_unlock(&cache->lock);
	return 0;
}

void file_cache_abandon(struct file_cache *cache, const struct new_file *file)
{
	(void)file_folder_remove(&cache->folder, file->name);
}

uint64_t file_cache_evicted(struct file_cache *cache)
{
	return cache->evicted;
}
