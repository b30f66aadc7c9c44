/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of stack deltas: a header, then page index, rows and rules as in memory. Only the host that
 * wrote them reads them, so they are in its byte order. Their content is checked against checksums,
 * which find damage, and then by stack_deltas_check(), so that even a forged file cannot harm the
 * kernel side.
 */
#include "stackdeltas/delta_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/file_cache.h"
#include "lib/base/read_exactly.h"
#include "stackdeltas/extract_deltas.h"

enum {
	FORMAT_VERSION = 2,
};

static const char file_magic[8] = "afdeltas";
static const char file_suffix[] = ".deltas";

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
	/* Hashes of the three arrays; hash of the header up to here. */
	struct hash128 array_hashes[3];
	struct hash128 header_hash;
};

struct delta_cache {
	struct file_cache *files;
	atomic_uint_fast64_t hits;
	atomic_uint_fast64_t misses;
	atomic_uint_fast64_t stores;
	atomic_uint_fast64_t damaged;
};

int delta_cache_create(const char *directory, uint64_t max_bytes, struct delta_cache **cache)
{
	struct delta_cache *result = calloc(1, sizeof(*result));
	int error;

	if (!result)
		return fail(-ENOMEM, "no memory for the delta cache");
	error = file_cache_create(directory, file_suffix, max_bytes, &result->files);
	if (error) {
		free(result);
		return error;
	}
	*cache = result;
	return 0;
}

void delta_cache_destroy(struct delta_cache *cache)
{
	if (!cache)
		return;
	file_cache_destroy(cache->files);
	free(cache);
}

static struct hash128 header_hash(const struct file_header *header)
{
	return hash128_bytes(header, offsetof(struct file_header, header_hash));
}

/* Sets @vector to the three arrays in the order of the file. */
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
	/* Counts below 2^32 of at most 16 bytes each cannot overflow. */
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
	int error;

	if (file_cache_open(cache->files, key, &fd)) {
		cache->misses++;
		return -ENOENT;
	}
	error = read_file(fd, key, deltas);
	if (!error) {
		cache->hits++;
		file_cache_touch(fd);
		return 0;
	}
	cache->misses++;
	if (error == -ENOMEM)
		return error;
	cache->damaged++;
	file_cache_remove(cache->files, key);
	return fail(-ENOENT, "delta cache: a damaged file");
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

static int write_file(int fd, struct hash128 key, const struct stack_deltas *deltas)
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
	}
	return 0;
}

int delta_cache_store(struct delta_cache *cache, struct hash128 key,
		      const struct stack_deltas *deltas)
{
	struct new_file file;
	int error = file_cache_begin(cache->files, &file);

	if (error)
		return error;
	error = write_file(file.fd, key, deltas);
	if (error) {
		file_cache_abandon(cache->files, &file);
	} else {
		error = file_cache_keep(cache->files, key, &file);
		if (!error)
			cache->stores++;
	}
	close(file.fd);
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
		.evicted = file_cache_evicted(cache->files),
	};
}
