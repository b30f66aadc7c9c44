/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Symbol caches that other machines have uploaded for files that are not on this machine, found by
 * build id and by file id: a source for the binaries of received samples. They are stored in the
 * cache directory, named by a hash of their contents; for each id a second file contains that name.
 * Uploads arrive in chunks. Their contents are trusted no further than the reader trusts any symbol
 * cache (symbol_cache.h). The last upload for an id replaces earlier ones.
 *
 * On disk: FINISHED_UPLOADS_MAX_BYTES of files, UPLOAD_MAX_BYTES of incomplete files, and
 * UPLOAD_NAMES_MAX ids with a block each.
 */
#ifndef SYMBOLS_UPLOADED_SYMBOL_CACHES_H
#define SYMBOLS_UPLOADED_SYMBOL_CACHES_H

#include "lib/base/clock.h"
#include "lib/model/upload_chunk.h"
#include "symbols/symbol_cache_source.h"

enum {
	/** Simultaneous uploads. */
	UPLOADS_MAX = 4,
	UPLOAD_NAMES_MAX = 16 << 10,
};

/** Limit of one symbol cache, and of all incomplete ones together. */
#define UPLOAD_MAX_BYTES (512ULL << 20)
#define FINISHED_UPLOADS_MAX_BYTES (1536ULL << 20)
/**
 * An upload that was idle for UPLOAD_IDLE_NS may be replaced by another; after UPLOAD_END_NS it is
 * dropped.
 */
#define UPLOAD_IDLE_NS (30 * NS_PER_SECOND)
#define UPLOAD_END_NS (90 * NS_PER_SECOND)

/** Chunks are added by one thread; any thread may use the source. */
struct uploaded_symbol_caches;

/** @directory and errors are those of file_cache_create(). */
int uploaded_symbol_caches_create(const char *directory, struct uploaded_symbol_caches **uploaded);

/** Takes NULL. */
void uploaded_symbol_caches_destroy(struct uploaded_symbol_caches *uploaded);

/**
 * Takes a chunk at time @now_ns (CLOCK_MONOTONIC); with the last chunk the file becomes available.
 * A repeated chunk is accepted again, because its sender may not have received the answer. -EBADMSG
 * if it is not a symbol cache, -E2BIG for more than UPLOAD_MAX_BYTES, -EINVAL for an invalid chunk,
 * -EAGAIN if it is not the next chunk, so that the upload must be restarted, -EBUSY if other
 * uploads use all slots; each with a text for the sender. Others are errors of system calls.
 */
int uploaded_symbol_caches_add(struct uploaded_symbol_caches *uploaded,
			       const struct upload_chunk *chunk, uint64_t now_ns);

/** The source for binaries of other machines. It never waits for an upload. Borrowed. */
struct symbol_cache_source *uploaded_symbol_caches_source(struct uploaded_symbol_caches *uploaded);

/** A number that grows with each complete upload. Any thread. */
uint64_t uploaded_symbol_caches_changes(struct uploaded_symbol_caches *uploaded);

#endif
