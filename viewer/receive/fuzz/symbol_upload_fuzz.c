/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upload requests of any bytes: the fields of a decoded chunk are inside the request, and encoding
 * and decoding gives the same chunk.
 *
 * covers: symbol_upload.c
 */
#include "viewer/receive/symbol_upload.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int compare(void *context, const struct upload_chunk *chunk)
{
	const struct upload_chunk *first = context;

	assert(chunk->upload_id == first->upload_id && chunk->size == first->size &&
	       chunk->offset == first->offset && chunk->count == first->count &&
	       chunk->build_id_bytes == first->build_id_bytes);
	assert(!chunk->count || !memcmp(chunk->bytes, first->bytes, chunk->count));
	assert(!chunk->build_id_bytes ||
	       !memcmp(chunk->build_id, first->build_id, chunk->build_id_bytes));
	assert(!chunk->file_id == !first->file_id);
	assert(!chunk->file_id || !memcmp(chunk->file_id, first->file_id, sizeof(*chunk->file_id)));
	return 0;
}

static int take(void *context, const struct upload_chunk *chunk)
{
	size_t packed_bytes;
	void *packed = symbol_upload_pack(chunk, &packed_bytes);

	assert(chunk->count + chunk->build_id_bytes <= *(const size_t *)context);
	assert(packed);
	assert(!symbol_upload_read(packed, packed_bytes, compare, (void *)chunk));
	free(packed);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	(void)symbol_upload_read(bytes, count, take, &count);
	return 0;
}
