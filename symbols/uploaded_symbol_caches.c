/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that brings an upload pays for writing, checking and hashing it, without the lock.
 * Checking an older file is paid by the first caller that asks for it. The lock guards two tables:
 * ids with their files, and mapped files by content.
 */
#include "symbols/uploaded_symbol_caches.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/file_cache.h"
#include "lib/base/lru_cache.h"

enum {
	/* Limits of looked-up ids and of mapped files. */
	FOUND_MAX = 8192,
	MAPPED_MAX = 1024,
	/* Finished uploads whose last chunk may be repeated. */
	FINISHED_MAX = 64,
	/* Ids are files of 16 bytes; each takes a block of 4 KiB. */
	NAME_BYTES = sizeof(struct hash128),
};

/* Uploaded symbol caches are identified by their content instead. */
static const struct hash128 no_key;

struct upload {
	/* 0: unused. */
	uint64_t id;
	struct new_file file;
	uint64_t size;
	uint64_t received;
	/* Offset of the last chunk. */
	uint64_t last_offset;
	uint64_t last_ns;
};

struct finished_upload {
	uint64_t id;
	uint64_t size;
	uint64_t last_offset;
};

struct uploaded_symbol_caches {
	struct symbol_cache_source source;
	struct file_cache *files;
	/* Maps the hash of an id to the key of a file. */
	struct file_cache *names;
	/* Used only by the thread that brings the chunks. */
	struct upload uploads[UPLOADS_MAX];
	struct finished_upload finished[FINISHED_MAX];
	size_t next_finished;
	uint64_t evicted;
	atomic_uint_fast64_t changes;
	pthread_mutex_t lock;
	/*
	 * Guarded by the lock; found maps the hash of an id to a struct found, mapped the key of a
	 * file to a struct mapped_symbol_cache.
	 */
	struct lru_cache found;
	struct lru_cache mapped;
};

struct found {
	/* NULL: nobody has uploaded any. */
	struct mapped_symbol_cache *cache;
};

/* --- ids --- */

enum id_kind {
	BUILD_ID,
	FILE_ID,
};

static struct hash128 name_key(enum id_kind kind, const void *id, size_t bytes)
{
	uint8_t text[1 + BUILD_ID_MAX_BYTES] = { (uint8_t)kind };

	memcpy(text + 1, id, bytes);
	return hash128_content(text, 1 + bytes);
}

static int write_name(struct uploaded_symbol_caches *uploaded, struct hash128 name,
		      struct hash128 key)
{
	struct new_file file;
	int err = file_cache_begin(uploaded->names, &file);

	if (err)
		return err;
	if (pwrite(file.fd, &key, sizeof(key), 0) == (ssize_t)sizeof(key)) {
		err = file_cache_keep(uploaded->names, name, &file);
	} else {
		err = fail_errno(errno ? -errno : -ENOSPC, "an uploaded file's name");
		file_cache_abandon(uploaded->names, &file);
	}
	close(file.fd);
	return err;
}

static int read_name(struct uploaded_symbol_caches *uploaded, struct hash128 name,
		     struct hash128 *key)
{
	_cleanup_(close_fd) int fd = -1;
	int err = file_cache_open(uploaded->names, name, &fd);

	if (err)
		return err;
	if (pread(fd, key, sizeof(*key), 0) != (ssize_t)sizeof(*key))
		return -ENOENT;
	file_cache_touch(fd);
	return 0;
}

/* --- the tables --- */

static void release_found(void *context, const void *key, void *value)
{
	struct found *found = value;

	(void)context;
	(void)key;
	mapped_symbol_cache_unref(found->cache);
	free(found);
}

static void release_mapped(void *context, const void *key, void *value)
{
	(void)context;
	(void)key;
	mapped_symbol_cache_unref(value);
}

static void init_tables(struct uploaded_symbol_caches *uploaded)
{
	lru_cache_init(&uploaded->found, sizeof(struct hash128), FOUND_MAX, 0, release_found, NULL);
	lru_cache_init(&uploaded->mapped, sizeof(struct hash128), MAPPED_MAX, 0, release_mapped,
		       NULL);
}

static void deinit_tables(struct uploaded_symbol_caches *uploaded)
{
	lru_cache_deinit(&uploaded->found);
	lru_cache_deinit(&uploaded->mapped);
}

/* Called with the lock held. Without memory the file is mapped again later. */
static void put_mapped(struct uploaded_symbol_caches *uploaded, struct hash128 key,
		       struct mapped_symbol_cache *mapped)
{
	if (lru_cache_put(&uploaded->mapped, &key, mapped_symbol_cache_ref(mapped), 0))
		mapped_symbol_cache_unref(mapped);
}

/* --- uploads --- */

static void end_upload(struct uploaded_symbol_caches *uploaded, struct upload *upload)
{
	if (upload->id) {
		file_cache_abandon(uploaded->files, &upload->file);
		close(upload->file.fd);
	}
	*upload = (struct upload){ 0 };
}

static struct upload *find_upload(struct uploaded_symbol_caches *uploaded, uint64_t id)
{
	for (size_t i = 0; i < UPLOADS_MAX; i++)
		if (uploaded->uploads[i].id == id)
			return &uploaded->uploads[i];
	return NULL;
}

/* The upload that has been idle longest; NULL: there is none. */
static struct upload *least_recent(struct uploaded_symbol_caches *uploaded)
{
	struct upload *least = NULL;

	for (size_t i = 0; i < UPLOADS_MAX; i++) {
		struct upload *upload = &uploaded->uploads[i];

		if (upload->id && (!least || upload->last_ns < least->last_ns))
			least = upload;
	}
	return least;
}

static uint64_t unfinished_bytes(const struct uploaded_symbol_caches *uploaded)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < UPLOADS_MAX; i++)
		bytes += uploaded->uploads[i].size;
	return bytes;
}

/* Makes room for an upload of @size bytes, if needed by ending idle ones, and finds a free slot. */
static int make_room(struct uploaded_symbol_caches *uploaded, uint64_t size, uint64_t now_ns,
		     struct upload **slot)
{
	struct upload *least;

	for (;;) {
		*slot = find_upload(uploaded, 0);
		if (*slot && unfinished_bytes(uploaded) + size <= UPLOAD_MAX_BYTES)
			return 0;
		least = least_recent(uploaded);
		if (!least || now_ns - least->last_ns < UPLOAD_IDLE_NS)
			return fail(-EBUSY, "others upload symbols now: try again later");
		end_upload(uploaded, least);
	}
}

static void end_rested(struct uploaded_symbol_caches *uploaded, uint64_t now_ns)
{
	for (size_t i = 0; i < UPLOADS_MAX; i++) {
		struct upload *upload = &uploaded->uploads[i];

		if (upload->id && now_ns - upload->last_ns >= UPLOAD_END_NS)
			end_upload(uploaded, upload);
	}
}

static int begin_upload(struct uploaded_symbol_caches *uploaded, const struct upload_chunk *chunk,
			uint64_t now_ns, struct upload **upload)
{
	struct upload *begun = find_upload(uploaded, chunk->upload_id);
	int err;

	if (begun)
		end_upload(uploaded, begun);
	err = make_room(uploaded, chunk->size, now_ns, &begun);
	if (!err)
		err = file_cache_begin(uploaded->files, &begun->file);
	if (err)
		return err;
	begun->id = chunk->upload_id;
	begun->size = chunk->size;
	*upload = begun;
	return 0;
}

static bool is_known_id(const struct file_id *file_id)
{
	static const struct file_id zero;

	return memcmp(file_id, &zero, sizeof(zero));
}

static int check_chunk(const struct upload_chunk *chunk)
{
	if (!chunk->upload_id || (!chunk->build_id_bytes && !chunk->file_id) ||
	    chunk->build_id_bytes > BUILD_ID_MAX_BYTES || !chunk->count ||
	    (chunk->file_id && !is_known_id(chunk->file_id)) || chunk->offset > chunk->size ||
	    chunk->count > chunk->size - chunk->offset)
		return fail(-EINVAL, "this is no chunk of an upload");
	if (chunk->size > UPLOAD_MAX_BYTES)
		return fail(-E2BIG, "the symbols have more than %llu MiB", UPLOAD_MAX_BYTES >> 20);
	return 0;
}

static int write_chunk(struct upload *upload, const struct upload_chunk *chunk, uint64_t now_ns)
{
	const char *bytes = chunk->bytes;
	size_t written = 0;

	while (written < chunk->count) {
		ssize_t count = pwrite(upload->file.fd, bytes + written, chunk->count - written,
				       (off_t)(chunk->offset + written));

		if (count <= 0)
			return fail_errno(count ? -errno : -ENOSPC, "the symbols cannot be kept");
		written += (size_t)count;
	}
	upload->last_offset = upload->received;
	upload->received += chunk->count;
	upload->last_ns = now_ns;
	return 0;
}

/* The upload is complete: checks it and computes its key. */
static int check_file(const struct upload *upload, struct mapped_symbol_cache **mapped,
		      struct hash128 *key)
{
	int err = mapped_symbol_cache_create(upload->file.fd, no_key, false, mapped);

	if (err)
		return fail(err == -ENOMEM ? err : -EBADMSG,
			    err == -EOPNOTSUPP ? "symbols of another version of the agent" :
						 "these are no symbols, or they are damaged");
	*key = hash128_content((*mapped)->bytes, (*mapped)->size);
	return 0;
}

static void release_cache(struct mapped_symbol_cache **mapped)
{
	mapped_symbol_cache_unref(*mapped);
}

/*
 * If the file is mapped already, the one on disk stays, because while mapped it would keep using
 * its space.
 */
static int keep_file(struct uploaded_symbol_caches *uploaded, const struct upload *upload,
		     struct hash128 key, struct mapped_symbol_cache *mapped)
{
	uint64_t evicted;
	int err = 0;

	pthread_mutex_lock(&uploaded->lock);
	if (lru_cache_get(&uploaded->mapped, &key)) {
		file_cache_abandon(uploaded->files, &upload->file);
	} else {
		err = file_cache_keep(uploaded->files, key, &upload->file);
		evicted = file_cache_evicted(uploaded->files);
		/* Mapped files use disk space too. */
		if (evicted != uploaded->evicted) {
			deinit_tables(uploaded);
			init_tables(uploaded);
		}
		uploaded->evicted = evicted;
		if (!err)
			put_mapped(uploaded, key, mapped);
	}
	pthread_mutex_unlock(&uploaded->lock);
	return err;
}

static int write_names(struct uploaded_symbol_caches *uploaded, const struct hash128 *names,
		       size_t count, struct hash128 key)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = write_name(uploaded, names[i], key);
	return err;
}

static int name_file(struct uploaded_symbol_caches *uploaded, const struct upload_chunk *chunk,
		     struct hash128 key)
{
	struct hash128 names[2];
	size_t count = 0;
	int err;

	if (chunk->build_id_bytes)
		names[count++] = name_key(BUILD_ID, chunk->build_id, chunk->build_id_bytes);
	if (chunk->file_id)
		names[count++] = name_key(FILE_ID, chunk->file_id, sizeof(*chunk->file_id));
	err = write_names(uploaded, names, count, key);
	/* Incremented first, so that a concurrent look-up does not store the old file. */
	uploaded->changes++;
	pthread_mutex_lock(&uploaded->lock);
	for (size_t i = 0; i < count; i++)
		lru_cache_remove(&uploaded->found, &names[i]);
	pthread_mutex_unlock(&uploaded->lock);
	return err;
}

static int finish_upload(struct uploaded_symbol_caches *uploaded, struct upload *upload,
			 const struct upload_chunk *chunk)
{
	_cleanup_(release_cache) struct mapped_symbol_cache *mapped = NULL;
	const struct finished_upload finished = { upload->id, upload->size, upload->last_offset };
	struct hash128 key;
	int err = check_file(upload, &mapped, &key);

	if (err) {
		end_upload(uploaded, upload);
		return err;
	}
	err = keep_file(uploaded, upload, key, mapped);
	close(upload->file.fd);
	*upload = (struct upload){ 0 };
	if (!err)
		err = name_file(uploaded, chunk, key);
	if (!err)
		uploaded->finished[uploaded->next_finished++ % FINISHED_MAX] = finished;
	return err;
}

/* True if this chunk was already taken as the last one. */
static bool is_repeated(struct uploaded_symbol_caches *uploaded, const struct upload_chunk *chunk)
{
	const struct upload *upload = find_upload(uploaded, chunk->upload_id);
	uint64_t end = chunk->offset + chunk->count;

	if (upload)
		return upload->size == chunk->size && upload->last_offset == chunk->offset &&
		       upload->received == end;
	for (size_t i = 0; i < FINISHED_MAX; i++) {
		const struct finished_upload *finished = &uploaded->finished[i];

		if (finished->id == chunk->upload_id && finished->size == chunk->size &&
		    finished->last_offset == chunk->offset && end == chunk->size)
			return true;
	}
	return false;
}

static int add_chunk(struct uploaded_symbol_caches *uploaded, const struct upload_chunk *chunk,
		     uint64_t now_ns)
{
	struct upload *upload = NULL;
	int err;

	if (chunk->offset)
		upload = find_upload(uploaded, chunk->upload_id);
	else if ((err = begin_upload(uploaded, chunk, now_ns, &upload)))
		return err;
	if (!upload || upload->received != chunk->offset || upload->size != chunk->size)
		return fail(-EAGAIN, "this is not the next chunk of an upload");
	err = write_chunk(upload, chunk, now_ns);
	if (err) {
		end_upload(uploaded, upload);
		return err;
	}
	return upload->received < upload->size ? 0 : finish_upload(uploaded, upload, chunk);
}

int uploaded_symbol_caches_add(struct uploaded_symbol_caches *uploaded,
			       const struct upload_chunk *chunk, uint64_t now_ns)
{
	int err = check_chunk(chunk);

	if (err)
		return err;
	end_rested(uploaded, now_ns);
	return is_repeated(uploaded, chunk) ? 0 : add_chunk(uploaded, chunk, now_ns);
}

uint64_t uploaded_symbol_caches_changes(struct uploaded_symbol_caches *uploaded)
{
	return uploaded->changes;
}

/* --- the source --- */

/* Returns a reference; NULL if it is not mapped. */
static struct mapped_symbol_cache *get_mapped(struct uploaded_symbol_caches *uploaded,
					      struct hash128 key)
{
	struct mapped_symbol_cache *mapped;

	pthread_mutex_lock(&uploaded->lock);
	mapped = lru_cache_get(&uploaded->mapped, &key);
	if (mapped)
		mapped_symbol_cache_ref(mapped);
	pthread_mutex_unlock(&uploaded->lock);
	return mapped;
}

/* Removes a file that has been damaged, unless a new one has replaced it. */
static void remove_damaged(struct uploaded_symbol_caches *uploaded, struct hash128 key)
{
	pthread_mutex_lock(&uploaded->lock);
	if (!lru_cache_peek(&uploaded->mapped, &key))
		file_cache_remove(uploaded->files, key);
	pthread_mutex_unlock(&uploaded->lock);
}

static struct mapped_symbol_cache *map_file(struct uploaded_symbol_caches *uploaded,
					    struct hash128 key)
{
	_cleanup_(close_fd) int fd = -1;
	struct mapped_symbol_cache *mapped;

	if (file_cache_open(uploaded->files, key, &fd))
		return NULL;
	if (mapped_symbol_cache_create(fd, no_key, false, &mapped)) {
		remove_damaged(uploaded, key);
		return NULL;
	}
	file_cache_touch(fd);
	return mapped;
}

static struct mapped_symbol_cache *open_named(struct uploaded_symbol_caches *uploaded,
					      struct hash128 name)
{
	struct mapped_symbol_cache *mapped;
	struct hash128 key;

	if (read_name(uploaded, name, &key))
		return NULL;
	mapped = get_mapped(uploaded, key);
	if (mapped)
		return mapped;
	mapped = map_file(uploaded, key);
	if (!mapped)
		return NULL;
	pthread_mutex_lock(&uploaded->lock);
	put_mapped(uploaded, key, mapped);
	pthread_mutex_unlock(&uploaded->lock);
	return mapped;
}

/* Called with the lock held. Without memory the id is looked up again later. */
static void put_found(struct uploaded_symbol_caches *uploaded, struct hash128 name,
		      struct mapped_symbol_cache *mapped)
{
	struct found *found = calloc(1, sizeof(*found));

	if (!found)
		return;
	found->cache = mapped ? mapped_symbol_cache_ref(mapped) : NULL;
	if (lru_cache_put(&uploaded->found, &name, found, 0))
		release_found(NULL, NULL, found);
}

static struct mapped_symbol_cache *find_named(struct uploaded_symbol_caches *uploaded,
					      struct hash128 name)
{
	struct mapped_symbol_cache *mapped = NULL;
	uint64_t changes = uploaded->changes;
	struct found *found;

	pthread_mutex_lock(&uploaded->lock);
	found = lru_cache_get(&uploaded->found, &name);
	if (found && found->cache)
		mapped = mapped_symbol_cache_ref(found->cache);
	pthread_mutex_unlock(&uploaded->lock);
	if (found)
		return mapped;
	mapped = open_named(uploaded, name);
	pthread_mutex_lock(&uploaded->lock);
	if (changes == uploaded->changes)
		put_found(uploaded, name, mapped);
	pthread_mutex_unlock(&uploaded->lock);
	return mapped;
}

/*
 * The symbol caches of the file itself, if they were uploaded; else those of a file with its build id, such
 * as its debug file.
 */
static struct mapped_symbol_cache *get(struct symbol_cache_source *source, struct binary *binary,
				       enum symbol_depth depth)
{
	struct uploaded_symbol_caches *uploaded = (struct uploaded_symbol_caches *)source;
	struct mapped_symbol_cache *mapped = NULL;

	(void)depth;
	if (is_known_id(&binary->file_id))
		mapped = find_named(uploaded,
				    name_key(FILE_ID, &binary->file_id, sizeof(binary->file_id)));
	if (mapped || !binary->build_id_bytes)
		return mapped;
	return find_named(uploaded, name_key(BUILD_ID, binary->build_id, binary->build_id_bytes));
}

_Static_assert(offsetof(struct uploaded_symbol_caches, source) == 0, "get() casts");

struct symbol_cache_source *uploaded_symbol_caches_source(struct uploaded_symbol_caches *uploaded)
{
	return &uploaded->source;
}

int uploaded_symbol_caches_create(const char *directory, struct uploaded_symbol_caches **uploaded)
{
	static const struct symbol_cache_source_ops ops = { .get = get };
	struct uploaded_symbol_caches *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for uploaded symbols");
	created->source.ops = &ops;
	pthread_mutex_init(&created->lock, NULL);
	init_tables(created);
	err = file_cache_create(directory, ".uploads", FINISHED_UPLOADS_MAX_BYTES, &created->files);
	if (!err)
		err = file_cache_create(directory, ".uploadids", UPLOAD_NAMES_MAX * NAME_BYTES,
					&created->names);
	if (err) {
		uploaded_symbol_caches_destroy(created);
		return err;
	}
	created->evicted = file_cache_evicted(created->files);
	*uploaded = created;
	return 0;
}

void uploaded_symbol_caches_destroy(struct uploaded_symbol_caches *uploaded)
{
	if (!uploaded)
		return;
	for (size_t i = 0; i < UPLOADS_MAX; i++)
		end_upload(uploaded, &uploaded->uploads[i]);
	deinit_tables(uploaded);
	file_cache_destroy(uploaded->names);
	file_cache_destroy(uploaded->files);
	pthread_mutex_destroy(&uploaded->lock);
	free(uploaded);
}
