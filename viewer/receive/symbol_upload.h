/* SPDX-License-Identifier: Apache-2.0 */
/** Encodes and decodes requests of the agent's own symbol service (proto/symbol_upload.proto). */
#ifndef VIEWER_RECEIVE_SYMBOL_UPLOAD_H
#define VIEWER_RECEIVE_SYMBOL_UPLOAD_H

#include <stddef.h>

#include "lib/model/upload_chunk.h"

#define SYMBOL_UPLOAD_METHOD "/allframes.symbols.v1.SymbolsService/Upload"

enum {
	/** Largest chunk. */
	SYMBOL_UPLOAD_CHUNK_BYTES = 2 << 20,
};

/** Encodes the request, malloc'ed; NULL without memory. */
void *symbol_upload_pack(const struct upload_chunk *chunk, size_t *request_bytes);

/**
 * Decodes a request, passes its chunk to @take, and returns the result of @take. -EBADMSG with a
 * text for the sender if it is invalid or larger than a chunk.
 */
int symbol_upload_read(const void *bytes, size_t count,
		       int (*take)(void *context, const struct upload_chunk *chunk), void *context);

#endif
