/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/receive/symbol_upload.h"

#include <errno.h>
#include <stdlib.h>

#include "build/proto/symbol_upload.pb-c.h"
#include "lib/base/error.h"
#include "viewer/open/decode_budget.h"

typedef Allframes__Symbols__V1__UploadRequest upload_message;

enum {
	/*
	 * Memory limit: a chunk and its other fields, however many unknown or repeated fields the
	 * request has.
	 */
	UNPACKED_MAX_BYTES = SYMBOL_UPLOAD_CHUNK_BYTES + (64 << 10),
};

void *symbol_upload_pack(const struct upload_chunk *chunk, size_t *request_bytes)
{
	upload_message message = ALLFRAMES__SYMBOLS__V1__UPLOAD_REQUEST__INIT;
	void *request;

	message.upload_id = chunk->upload_id;
	message.build_id =
		(ProtobufCBinaryData){ chunk->build_id_bytes, (uint8_t *)chunk->build_id };
	if (chunk->file_id)
		message.file_id =
			(ProtobufCBinaryData){ sizeof(*chunk->file_id), (uint8_t *)chunk->file_id };
	message.size = chunk->size;
	message.offset = chunk->offset;
	message.content = (ProtobufCBinaryData){ chunk->count, (uint8_t *)chunk->bytes };
	*request_bytes = allframes__symbols__v1__upload_request__get_packed_size(&message);
	request = malloc(*request_bytes + 1);
	if (request)
		allframes__symbols__v1__upload_request__pack(&message, request);
	return request;
}

static int take_message(const upload_message *message,
			int (*take)(void *context, const struct upload_chunk *chunk), void *context)
{
	struct upload_chunk chunk = {
		.upload_id = message->upload_id,
		.build_id = message->build_id.data,
		.build_id_bytes = message->build_id.len,
		.size = message->size,
		.offset = message->offset,
		.bytes = message->content.data,
		.count = message->content.len,
	};

	if (message->file_id.len == sizeof(*chunk.file_id))
		chunk.file_id = (const struct file_id *)message->file_id.data;
	else if (message->file_id.len)
		return fail(-EBADMSG, "a file id has %zu bytes", sizeof(*chunk.file_id));
	return take(context, &chunk);
}

int symbol_upload_read(const void *bytes, size_t count,
		       int (*take)(void *context, const struct upload_chunk *chunk), void *context)
{
	struct decode_budget budget;
	upload_message *message;
	int err;

	decode_budget_init(&budget, UNPACKED_MAX_BYTES);
	message = allframes__symbols__v1__upload_request__unpack(&budget.allocator, count, bytes);
	if (!message)
		return fail(-EBADMSG, "this is no request to upload symbols");
	err = take_message(message, take, context);
	allframes__symbols__v1__upload_request__free_unpacked(message, &budget.allocator);
	return err;
}
