/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Range files of files that are not on this machine, as others uploaded them, found by build id and by file id: a
 * source for the binaries of received samples. They lie in the cache directory, by a hash of what is in them, and
 * beside them, by the id, which of them it names. What is uploaded comes in pieces and is believed only as far as its
 * reader believes anything (range_file.h); the last upload for an id wins.
 *
 * On disk: UPLOADS_KEPT_MAX_BYTES of files, UPLOAD_MAX_BYTES of what is not whole yet, and UPLOAD_NAMES_MAX ids with
 * a block each.
 */
#ifndef SYMBOLS_UPLOADED_RANGES_H
#define SYMBOLS_UPLOADED_RANGES_H

#include "lib/base/clock.h"
#include "lib/model/upload_piece.h"
#include "symbols/range_source.h"

enum {
	/** Uploads at once. */
	UPLOADS_MAX = 4,
	UPLOAD_NAMES_MAX = 16 << 10,
};

/** Of one range file, and of all that are not whole yet together. */
#define UPLOAD_MAX_BYTES (512ULL << 20)
#define UPLOADS_KEPT_MAX_BYTES (1536ULL << 20)
/** One that has rested for so long gives its place to another; and it ends. */
#define UPLOAD_IDLE_NS (30 * NS_PER_SECOND)
#define UPLOAD_END_NS (90 * NS_PER_SECOND)

/** Pieces come from one thread, the source is for all. */
struct uploaded_ranges;

/** @directory: as of file_cache_create(), and its errors. */
int uploaded_ranges_create(const char *directory, struct uploaded_ranges **uploaded);

/** Takes NULL. */
void uploaded_ranges_destroy(struct uploaded_ranges *uploaded);

/**
 * Takes a piece, at @now_ns of CLOCK_MONOTONIC; with the last one the file is there. A piece that was taken is taken
 * again: its sender may not have heard. -EBADMSG for what is no range file, -E2BIG for more than UPLOAD_MAX_BYTES,
 * -EINVAL for a piece that makes no sense, -EAGAIN if it is not the next one: the upload is to begin anew, -EBUSY if
 * others have all places; each with a text for the sender. Others as the system calls say.
 */
int uploaded_ranges_add(struct uploaded_ranges *uploaded, const struct upload_piece *piece,
			uint64_t now_ns);

/** For binaries of other machines. Waits for no upload. Borrowed. */
struct range_source *uploaded_ranges_source(struct uploaded_ranges *uploaded);

/** A number that grows with each file that came. Any thread. */
uint64_t uploaded_ranges_changes(struct uploaded_ranges *uploaded);

#endif
