/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upload requests of any bytes: the fields of a decoded piece are inside the request, and encoding
 * and decoding gives the same piece.
 *
 * covers: symbol_upload.c
 */
#include "viewer/receive/symbol_upload.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int compare(void *context, const struct upload_piece *piece)
{
	const struct upload_piece *first = context;

	assert(piece->upload_id == first->upload_id && piece->size == first->size &&
	       piece->offset == first->offset && piece->count == first->count &&
	       piece->build_id_bytes == first->build_id_bytes);
	assert(!piece->count || !memcmp(piece->bytes, first->bytes, piece->count));
	assert(!piece->build_id_bytes ||
	       !memcmp(piece->build_id, first->build_id, piece->build_id_bytes));
	assert(!piece->file_id == !first->file_id);
	assert(!piece->file_id || !memcmp(piece->file_id, first->file_id, sizeof(*piece->file_id)));
	return 0;
}

static int take(void *context, const struct upload_piece *piece)
{
	size_t packed_bytes;
	void *packed = symbol_upload_pack(piece, &packed_bytes);

	assert(piece->count + piece->build_id_bytes <= *(const size_t *)context);
	assert(packed);
	assert(!symbol_upload_read(packed, packed_bytes, compare, (void *)piece));
	free(packed);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	(void)symbol_upload_read(bytes, count, take, &count);
	return 0;
}
