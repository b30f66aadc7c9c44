/* SPDX-License-Identifier: Apache-2.0 */
/** One part of an uploaded symbol cache, for the sender and the receiver (proto/symbol_upload.proto). */
#ifndef LIB_MODEL_UPLOAD_CHUNK_H
#define LIB_MODEL_UPLOAD_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/model/binary.h"

/** All pointers are borrowed. */
struct upload_chunk {
	/** Id that all chunks of an upload share: random, never 0. */
	uint64_t upload_id;
	/** Build id and file id of the file: one of them or both. */
	const uint8_t *build_id;
	size_t build_id_bytes;
	/** NULL: none. */
	const struct file_id *file_id;
	/** Size of the whole symbol cache. */
	uint64_t size;
	/** Offset of this chunk in the symbol cache. Chunks are sent in order. */
	uint64_t offset;
	const void *bytes;
	size_t count;
};

#endif
