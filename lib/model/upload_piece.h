/* SPDX-License-Identifier: Apache-2.0 */
/** One part of an upload of a range file, as its sender and its receiver see it (proto/symbol_upload.proto). */
#ifndef LIB_MODEL_UPLOAD_PIECE_H
#define LIB_MODEL_UPLOAD_PIECE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/model/binary.h"

/** All is borrowed. */
struct upload_piece {
	/** By which pieces belong together: drawn at random, never 0. */
	uint64_t upload_id;
	/** What the file is known by: either, or both. */
	const uint8_t *build_id;
	size_t build_id_bytes;
	/** NULL: none. */
	const struct file_id *file_id;
	/** Of the whole range file. */
	uint64_t size;
	/** Where this piece belongs: pieces come in their order. */
	uint64_t offset;
	const void *bytes;
	size_t count;
};

#endif
