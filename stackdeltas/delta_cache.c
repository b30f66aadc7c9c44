/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of stack deltas: a header, then page index, rows and rules as they lie in memory. Only the
 * host that wrote them reads them, so they are in its byte order. Everything in them is checked
 * against checksums and then by stack_deltas_check(): the checksums find damage, the check makes
 * sure that not even a forged file could lead the kernel side astray.
 */
#include "stackdeltas/delta_cache.h"

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
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/error.h"
#include "agent/base/read_exactly.h"
#include "agent/base/vector.h"
#include "stackdeltas/extract_deltas.h"

enum {
	FORMAT_VERSION = 2,
	NAME_BYTES = 64,
	KEY_DIGITS = 32,
	/* A file beside its place this old was left by an agent that died. */
	STALE_SECONDS = 600,
};

static const char file_magic[8] = "afdeltas";
static const char file_suffix[] = ".deltas";
static const char temporary_prefix[] = ".new-";

struct file_header {
	char magic[sizeof(file_magic)];
	uint32_t format_version;
	uint32_t extractor_version;
	struct hash128 key;
	uint64_t text_start;
	uint32_t page_count;
	uint32_t row_count;
	uint32_t rule_count;
	uint32_t reserved;
	/* Of the three arrays, then of the header up to here. */
	struct hash128 array_hashes[3];
	struct hash128 header_hash;
};

struct delta_cache {
	/* The directory; all work is relative to it. */
	int fd;
	uint64_t max_bytes;
	pthread_mutex_t lock;
	/* Under the lock: sum of the sizes of all files as of the last look, and what we wrote since. */
	uint64_t total_bytes;
	atomic_uint temporary_count;
	atomic_uint_fast64_t hits;
	atomic_uint_fast64_t misses;
	atomic_uint_fast64_t stores;
	atomic_uint_fast64_t damaged;
	atomic_uint_fast64_t evicted;
};

/* A file found in the directory. */
struct cache_file {
	char name[NAME_BYTES];
	uint64_t size;
	struct timespec used;
};

VECTOR_DEFINE(cache_file_vector, struct cache_file)

static void key_name(struct hash128 key, char name[NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016" PRIx64 "%016" PRIx64 "%s", key.high, key.low,
		 file_suffix);
}

static bool is_cache_name(const char *name)
{
	return strlen(name) == KEY_DIGITS + sizeof(file_suffix) - 1 &&
	       !strcmp(name + KEY_DIGITS, file_suffix);
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
static int list_files(struct delta_cache *cache, struct cache_file_vector *files)
{
	_cleanup_(close_fd) int fd = openat(cache->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(close_directory) DIR *directory = NULL;
	struct dirent *entry;
	struct stat status;
	time_t now = time(NULL);

	if (fd < 0)
		return fail_errno(-errno, "delta cache");
	directory = fdopendir(fd);
	if (!directory)
		return fail_errno(-errno, "delta cache");
	(void)take_fd(fd);
	while ((entry = readdir(directory))) {
		struct cache_file file;
		int error;

		if (fstatat(cache->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode))
			continue;
		if (!strncmp(entry->d_name, temporary_prefix, sizeof(temporary_prefix) - 1) &&
		    status.st_mtime + STALE_SECONDS < now)
			unlinkat(cache->fd, entry->d_name, 0);
		if (!is_cache_name(entry->d_name))
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
static int make_room(struct delta_cache *cache)
{
	_cleanup_(cache_file_vector_deinit) struct cache_file_vector files = { 0 };
	uint64_t total = 0;
	int error = list_files(cache, &files);

	if (error)
		return error;
	for (size_t i = 0; i < files.count; i++)
		total += files.items[i].size;
	if (total > cache->max_bytes) {
		qsort(files.items, files.count, sizeof(files.items[0]), compare_files);
		for (size_t i = 0; i < files.count; i++) {
			if (total <= cache->max_bytes - cache->max_bytes / 8)
				break;
			if (unlinkat(cache->fd, files.items[i].name, 0))
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

	if (mkdir(path, 0700) && errno != EEXIST)
		return fail_errno(-errno, "cannot make the directory %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

int delta_cache_create(const char *directory, uint64_t max_bytes, struct delta_cache **cache)
{
	struct delta_cache *result;
	int fd = open_directory(directory);
	int error;

	if (fd < 0)
		return fd;
	result = calloc(1, sizeof(*result));
	if (!result) {
		close(fd);
		return fail(-ENOMEM, "no memory for the delta cache");
	}
	result->fd = fd;
	result->max_bytes = max_bytes;
	pthread_mutex_init(&result->lock, NULL);
	error = make_room(result);
	if (error) {
		delta_cache_destroy(result);
		return error;
	}
	*cache = result;
	return 0;
}

void delta_cache_destroy(struct delta_cache *cache)
{
	if (!cache)
		return;
	close(cache->fd);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static struct hash128 header_hash(const struct file_header *header)
{
	return hash128_bytes(header, offsetof(struct file_header, header_hash));
}

/* The three arrays as they stand in the file. */
static void array_vector(const struct stack_deltas *deltas, struct iovec vector[3])
{
	vector[0] = (struct iovec){ deltas->page_index,
				    (deltas->page_count + 1) * sizeof(deltas->page_index[0]) };
	vector[1] = (struct iovec){ deltas->rows, stack_deltas_row_bytes(deltas->row_count) };
	vector[2] = (struct iovec){ deltas->rules, deltas->rule_count * sizeof(deltas->rules[0]) };
}

static int check_header(const struct file_header *header, struct hash128 key, uint64_t file_bytes)
{
	if (memcmp(header->magic, file_magic, sizeof(file_magic)) != 0 ||
	    header->format_version != FORMAT_VERSION ||
	    header->extractor_version != EXTRACTOR_VERSION || !hash128_equal(header->key, key) ||
	    !hash128_equal(header_hash(header), header->header_hash))
		return fail(-EBADMSG, "delta cache: bad header");
	/* Counts below 2^32 of at most 16 bytes each: no overflow. */
	if (header->page_count > UNWIND_MAX_PAGES || header->rule_count > UNWIND_MAX_RULES ||
	    file_bytes != sizeof(*header) + ((uint64_t)header->page_count + 1) * sizeof(uint32_t) +
				  stack_deltas_row_bytes(header->row_count) +
				  (uint64_t)header->rule_count * sizeof(struct unwind_rule))
		return fail(-EBADMSG, "delta cache: a file of %" PRIu64 " bytes", file_bytes);
	return 0;
}

static int read_arrays(int fd, const struct file_header *header, struct stack_deltas *deltas)
{
	uint64_t offset = sizeof(*header);
	struct iovec vector[3];
	int error;

	deltas->text_start = header->text_start;
	deltas->page_count = header->page_count;
	deltas->row_count = header->row_count;
	deltas->rule_count = header->rule_count;
	array_vector(deltas, vector);
	deltas->page_index = malloc(vector[0].iov_len);
	deltas->rows = malloc(vector[1].iov_len);
	deltas->rules = malloc(vector[2].iov_len);
	if (!deltas->page_index || !deltas->rows || !deltas->rules)
		return fail(-ENOMEM, "no memory for %u rows", deltas->row_count);
	array_vector(deltas, vector);
	for (int i = 0; i < 3; i++) {
		error = read_exactly(fd, offset, vector[i].iov_base, vector[i].iov_len);
		if (error)
			return error;
		if (!hash128_equal(hash128_bytes(vector[i].iov_base, vector[i].iov_len),
				   header->array_hashes[i]))
			return fail(-EBADMSG, "delta cache: wrong checksum");
		offset += vector[i].iov_len;
	}
	return stack_deltas_check(deltas);
}

static int read_file(int fd, struct hash128 key, struct stack_deltas *deltas)
{
	_cleanup_(stack_deltas_deinit) struct stack_deltas result = { 0 };
	struct file_header header;
	struct stat status;
	int error;

	if (fstat(fd, &status))
		return fail_errno(-errno, "delta cache");
	if (!S_ISREG(status.st_mode))
		return fail(-EBADMSG, "delta cache: no regular file");
	error = read_exactly(fd, 0, &header, sizeof(header));
	if (!error)
		error = check_header(&header, key, status.st_size);
	if (!error)
		error = read_arrays(fd, &header, &result);
	if (error)
		return error;
	*deltas = result;
	memset(&result, 0, sizeof(result));
	return 0;
}

int delta_cache_load(struct delta_cache *cache, struct hash128 key, struct stack_deltas *deltas)
{
	_cleanup_(close_fd) int fd = -1;
	char name[NAME_BYTES];
	int error;

	key_name(key, name);
	fd = openat(cache->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		cache->misses++;
		return fail(-ENOENT, "delta cache: no %s", name);
	}
	error = read_file(fd, key, deltas);
	if (!error) {
		cache->hits++;
		/* The time of last use, for make_room(). */
		futimens(fd, NULL);
		return 0;
	}
	cache->misses++;
	if (error == -ENOMEM)
		return error;
	cache->damaged++;
	unlinkat(cache->fd, name, 0);
	return fail(-ENOENT, "delta cache: %s was damaged", name);
}

static int write_exactly(int fd, const struct iovec *vector)
{
	for (size_t done = 0; done < vector->iov_len;) {
		ssize_t count =
			write(fd, (const char *)vector->iov_base + done, vector->iov_len - done);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return fail_errno(count ? -errno : -EIO, "delta cache: write");
		done += count;
	}
	return 0;
}

static int write_file(int fd, struct hash128 key, const struct stack_deltas *deltas,
		      uint64_t *bytes)
{
	struct file_header header;
	struct iovec vector[4];

	memset(&header, 0, sizeof(header));
	memcpy(header.magic, file_magic, sizeof(file_magic));
	header.format_version = FORMAT_VERSION;
	header.extractor_version = EXTRACTOR_VERSION;
	header.key = key;
	header.text_start = deltas->text_start;
	header.page_count = deltas->page_count;
	header.row_count = deltas->row_count;
	header.rule_count = deltas->rule_count;
	vector[0] = (struct iovec){ &header, sizeof(header) };
	array_vector(deltas, vector + 1);
	for (int i = 0; i < 3; i++)
		header.array_hashes[i] =
			hash128_bytes(vector[i + 1].iov_base, vector[i + 1].iov_len);
	header.header_hash = header_hash(&header);
	for (int i = 0; i < 4; i++) {
		int error = write_exactly(fd, &vector[i]);

		if (error)
			return error;
		*bytes += vector[i].iov_len;
	}
	return 0;
}

static int write_and_rename(struct delta_cache *cache, struct hash128 key,
			    const struct stack_deltas *deltas, uint64_t *bytes)
{
	_cleanup_(close_fd) int fd = -1;
	char name[NAME_BYTES], temporary[NAME_BYTES];
	int error;

	key_name(key, name);
	snprintf(temporary, sizeof(temporary), "%s%d-%u", temporary_prefix, getpid(),
		 cache->temporary_count++);
	/* A left-over of an agent with our pid would be in the way. */
	unlinkat(cache->fd, temporary, 0);
	fd = openat(cache->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return fail_errno(-errno, "delta cache: %s", temporary);
	error = write_file(fd, key, deltas, bytes);
	if (!error && renameat(cache->fd, temporary, cache->fd, name))
		error = fail_errno(-errno, "delta cache: %s", name);
	if (error)
		unlinkat(cache->fd, temporary, 0);
	return error;
}

int delta_cache_store(struct delta_cache *cache, struct hash128 key,
		      const struct stack_deltas *deltas)
{
	uint64_t bytes = 0;
	int error = write_and_rename(cache, key, deltas, &bytes);

	if (error)
		return error;
	cache->stores++;
	pthread_mutex_lock(&cache->lock);
	cache->total_bytes += bytes;
	if (cache->total_bytes > cache->max_bytes)
		error = make_room(cache);
	pthread_mutex_unlock(&cache->lock);
	return error;
}

int delta_cache_get(struct delta_cache *cache, const struct unwind_input *input,
		    struct stack_deltas *deltas)
{
	struct hash128 key;
	int error;

	if (!cache || input->go)
		return extract_deltas(input, NULL, deltas, NULL);
	key = unwind_input_key(input);
	if (!delta_cache_load(cache, key, deltas))
		return 0;
	error = extract_deltas(input, NULL, deltas, NULL);
	if (!error)
		delta_cache_store(cache, key, deltas);
	return error;
}

void delta_cache_get_statistics(struct delta_cache *cache,
				struct delta_cache_statistics *statistics)
{
	*statistics = (struct delta_cache_statistics){
		.hits = cache->hits,
		.misses = cache->misses,
		.stores = cache->stores,
		.damaged = cache->damaged,
		.evicted = cache->evicted,
	};
}
