/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of uploads in any order, of any sizes and contents: at last the symbols of a valid upload are found, and nothing of
 * an unfinished one stays behind.
 *
 * covers: uploaded_symbol_caches.c
 */
#include "symbols/uploaded_symbol_caches.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fuzz/edit_bytes.h"
#include "symbols/cache/symbol_cache_writer.h"

enum {
	CACHE_MAX_BYTES = 4096,
	IDS = 6,
	STEPS_MAX = 64,
	/* Kinds of steps, a bit each. */
	STEP_RESTARTS = 1,
	STEP_IS_ODD = 2,
	STEP_WAITS = 4,
	STEP_BY_FILE_ID = 8,
	STEP_LOOKS_UP = 16,
	STEP_IS_WHOLE = 32,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[] = "/tmp/allframes-fuzz-XXXXXX";
static uint8_t valid[CACHE_MAX_BYTES];
static size_t valid_bytes;

/* Removes the files in the directory, and returns how many of them are those of unfinished uploads. */
static size_t remove_files(void)
{
	DIR *opened = opendir(directory);
	struct dirent *entry;
	size_t count = 0;

	assert(opened);
	while ((entry = readdir(opened))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		count += !strncmp(entry->d_name, ".new-", 5);
		unlinkat(dirfd(opened), entry->d_name, 0);
	}
	closedir(opened);
	return count;
}

static void remove_directory(void)
{
	(void)remove_files();
	rmdir(directory);
}

static void set_up(void)
{
	struct symbol_cache_writer writer = { 0 };
	int fd = memfd_create("symbol-cache", MFD_CLOEXEC);
	struct stat status;

	assert(mkdtemp(directory) && !atexit(remove_directory));
	assert(fd >= 0 && !symbol_cache_writer_finish(&writer, (struct hash128){ 0 }, fd));
	symbol_cache_writer_deinit(&writer);
	assert(!fstat(fd, &status) && status.st_size <= CACHE_MAX_BYTES);
	valid_bytes = (size_t)status.st_size;
	assert(pread(fd, valid, valid_bytes, 0) == (ssize_t)valid_bytes);
	close(fd);
}

static void look_up(struct uploaded_symbol_caches *uploaded, uint8_t id)
{
	struct symbol_cache_source *source = uploaded_symbol_caches_source(uploaded);
	struct binary binary = { .executable_id = 1,
				 .build_id = { id, 2, 3, 4 },
				 .build_id_bytes = 4,
				 .file_id = { { id } } };

	mapped_symbol_cache_unref(source->ops->get(source, &binary, SYMBOL_DEPTH_FULL));
}

/* An upload as its sender sees it. */
struct sender {
	uint64_t offset;
};

static void add_chunk(struct uploaded_symbol_caches *uploaded, struct byte_reader *reader,
		      struct sender senders[IDS], uint64_t *now_ns)
{
	uint8_t kind = byte_reader_u8(reader), id = byte_reader_u8(reader) % IDS, length;
	uint8_t build_id[BUILD_ID_MAX_BYTES] = { id, 2, 3, 4 }, bytes[CACHE_MAX_BYTES];
	const struct file_id file_id = { { id } };
	struct sender *sender = &senders[id];
	struct upload_chunk chunk = {
		.upload_id = id,
		.build_id = build_id,
		.build_id_bytes = 4,
		.size = valid_bytes,
		.bytes = bytes,
	};

	length = byte_reader_u8(reader);
	if (kind & STEP_RESTARTS)
		*sender = (struct sender){ 0 };
	if (kind & STEP_WAITS)
		*now_ns += UPLOAD_IDLE_NS + (length & 1 ? UPLOAD_END_NS : 0);
	if (kind & STEP_BY_FILE_ID) {
		chunk.file_id = &file_id;
		chunk.build_id_bytes = length & 2 ? 0 : 4;
	}
	memcpy(bytes, valid, sizeof(bytes));
	chunk.offset = sender->offset;
	chunk.count = kind & STEP_IS_WHOLE ? valid_bytes : length;
	if (chunk.count > valid_bytes - chunk.offset)
		chunk.count = valid_bytes - chunk.offset;
	if (kind & STEP_IS_ODD) {
		edit_bytes(reader, bytes, valid_bytes);
		if (length & 4)
			edit_bytes(reader, &chunk.size, sizeof(chunk.size));
		if (length & 8)
			edit_bytes(reader, &chunk.offset, sizeof(chunk.offset));
	}
	chunk.bytes = bytes + (chunk.offset < valid_bytes ? chunk.offset : 0);
	if (!uploaded_symbol_caches_add(uploaded, &chunk, *now_ns)) {
		sender->offset = chunk.offset + chunk.count;
		if (sender->offset >= valid_bytes)
			sender->offset = 0;
	}
	if (kind & STEP_LOOKS_UP)
		look_up(uploaded, id);
}

/* Whatever has been before, a valid upload is taken after a while. */
static void add_valid(struct uploaded_symbol_caches *uploaded, uint64_t now_ns)
{
	struct symbol_cache_source *source = uploaded_symbol_caches_source(uploaded);
	static const uint8_t build_id[] = { 9, 9 };
	struct binary binary = { .executable_id = 2, .build_id = { 9, 9 }, .build_id_bytes = 2 };
	struct upload_chunk chunk = {
		.upload_id = 1000,
		.build_id = build_id,
		.build_id_bytes = sizeof(build_id),
		.size = valid_bytes,
		.bytes = valid,
		.count = valid_bytes,
	};
	struct mapped_symbol_cache *found;

	assert(!uploaded_symbol_caches_add(uploaded, &chunk, now_ns));
	/* Again, since the answer may have been lost. */
	assert(!uploaded_symbol_caches_add(uploaded, &chunk, now_ns));
	found = source->ops->get(source, &binary, SYMBOL_DEPTH_FULL);
	assert(found);
	mapped_symbol_cache_unref(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct uploaded_symbol_caches *uploaded;
	struct sender senders[IDS] = { 0 };
	uint64_t now_ns = UPLOAD_END_NS;
	struct byte_reader reader;

	if (!valid_bytes)
		set_up();
	assert(!uploaded_symbol_caches_create(directory, &uploaded));
	byte_reader_init(&reader, data, size);
	for (int i = 0; i < STEPS_MAX && byte_reader_left(&reader); i++)
		add_chunk(uploaded, &reader, senders, &now_ns);
	add_valid(uploaded, now_ns + UPLOAD_END_NS);
	assert(uploaded_symbol_caches_changes(uploaded));
	uploaded_symbol_caches_destroy(uploaded);
	assert(!remove_files());
	return 0;
}
