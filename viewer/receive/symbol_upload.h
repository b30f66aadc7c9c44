/* SPDX-License-Identifier: Apache-2.0 */
/** Requests of the agent's own service for symbols (proto/symbol_upload.proto), there and back. */
#ifndef VIEWER_RECEIVE_SYMBOL_UPLOAD_H
#define VIEWER_RECEIVE_SYMBOL_UPLOAD_H

#include <stddef.h>

#include "lib/model/upload_piece.h"

#define SYMBOL_UPLOAD_METHOD "/allframes.symbols.v1.SymbolsService/Upload"

enum {
	/** Of a piece. */
	SYMBOL_UPLOAD_PIECE_BYTES = 2 << 20,
};

/** The request, malloc'ed; NULL without memory. */
void *symbol_upload_pack(const struct upload_piece *piece, size_t *request_bytes);

/**
 * Reads a request and hands its piece to @take, whose result is the result. -EBADMSG with a text for the sender for
 * what is none, or larger than a piece.
 */
int symbol_upload_read(const void *bytes, size_t count,
		       int (*take)(void *context, const struct upload_piece *piece), void *context);

#endif
