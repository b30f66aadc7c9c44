/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_scopes.h"

#include <errno.h>

#include "agent/base/error.h"
#include "interpreters/java/compressed_stream.h"
#include "interpreters/java/java_fields.h"

enum {
	/** Of the beginning of a scope: three numbers. */
	SCOPE_BYTES = 15,
	/** Of scopes in each other; compilers stop long before. */
	MAX_STEPS = 1024,
	/** Of an nmethod; each record is of some instruction. */
	MAX_RECORDS = 1 << 20,
	/** Offset of scopes that says that there is none. */
	NO_SCOPE = 0,
	/** What is stored of a place in the bytecodes is more by that. */
	BCI_BIAS = 1,
};

/* Addresses of what there is about the code of an nmethod. */
struct debug_info {
	uint64_t records;
	uint32_t record_count;
	/** Of the scopes' data. */
	uint64_t scopes;
	/** Of the pointers to the methods that scopes name, from number 1 on. */
	uint64_t metadata;
};

static int read_metadata(const struct java_layout *layout, struct remote_memory *memory,
			 uint64_t nmethod, uint64_t *metadata)
{
	uint64_t start = nmethod, offset = 0;
	int err = 0;

	if (layout->blob_mutable_data.bytes) {
		err = java_field_read(memory, nmethod, layout->blob_mutable_data, &start);
		if (!err)
			err = java_field_read(memory, nmethod, layout->blob_relocation_size,
					      &offset);
	} else {
		err = java_field_read(memory, nmethod, layout->nmethod_metadata, &offset);
	}
	if (!err)
		*metadata = start + offset;
	return err;
}

static int read_debug_info(const struct java_layout *layout, struct remote_memory *memory,
			   uint64_t nmethod, struct debug_info *info)
{
	uint64_t base = nmethod, start = 0, end = 0, scopes = 0;
	int err = 0;

	if (layout->nmethod_immutable_data.bytes)
		err = java_field_read(memory, nmethod, layout->nmethod_immutable_data, &base);
	if (!err)
		err = java_field_read(memory, nmethod, layout->nmethod_scopes_pcs, &start);
	if (!err)
		err = java_field_read(memory, nmethod, layout->nmethod_scopes_pcs_end, &end);
	if (!err)
		err = java_field_read(memory, nmethod, layout->nmethod_scopes_data, &scopes);
	if (!err)
		err = read_metadata(layout, memory, nmethod, &info->metadata);
	if (err)
		return err;
	if (!layout->pc_desc_bytes || end < start ||
	    (end - start) / layout->pc_desc_bytes > MAX_RECORDS)
		return fail(-EBADMSG, "records from %llu to %llu", (unsigned long long)start,
			    (unsigned long long)end);
	info->records = base + start;
	info->record_count = (uint32_t)((end - start) / layout->pc_desc_bytes);
	/* A pointer, or an offset. */
	info->scopes = layout->nmethod_scopes_data.bytes == JAVA_POINTER_BYTES ? scopes :
										 base + scopes;
	return 0;
}

/* The first record at or behind @offset: its place, and that of its scope. Both ends have one of none. */
static int find_record(const struct java_layout *layout, struct remote_memory *memory,
		       const struct debug_info *info, uint32_t offset, int32_t *place,
		       int32_t *scope)
{
	uint32_t low = 0, high = info->record_count;
	int err = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t record = info->records + (uint64_t)middle * layout->pc_desc_bytes;
		int32_t at = 0;

		err = java_field_read_signed(memory, record, layout->pc_desc_offset, &at);
		if (err)
			return err;
		if (at >= 0 && (uint32_t)at >= offset)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == info->record_count)
		return fail(-ENOENT, "no record behind %u", offset);
	err = java_field_read_signed(memory, info->records + (uint64_t)low * layout->pc_desc_bytes,
				     layout->pc_desc_offset, place);
	if (!err)
		err = java_field_read_signed(memory,
					     info->records + (uint64_t)low * layout->pc_desc_bytes,
					     layout->pc_desc_scope, scope);
	return err;
}

/* Reads the scope at @offset of the data, and where that is into which it was inlined. */
static int read_scope(const struct java_layout *layout, struct remote_memory *memory,
		      const struct debug_info *info, uint32_t offset, struct java_scope *scope,
		      uint32_t *sender)
{
	uint8_t bytes[SCOPE_BYTES];
	struct compressed_stream stream = { .bytes = bytes,
					    .size = sizeof(bytes),
					    .version = layout->version };
	uint32_t method;
	int err = remote_memory_read(memory, info->scopes + offset, bytes, sizeof(bytes));

	if (err)
		return err;
	*sender = compressed_stream_unsigned(&stream);
	method = compressed_stream_unsigned(&stream);
	scope->bci = (int32_t)compressed_stream_unsigned(&stream) - BCI_BIAS;
	/* Scopes are written behind those that they are inlined into. */
	if (stream.is_at_end || !method || *sender >= offset)
		return fail(-EBADMSG, "a scope at %u of %u in %u", offset, method, *sender);
	return remote_memory_read(memory, info->metadata + (method - 1ULL) * JAVA_POINTER_BYTES,
				  &scope->method, sizeof(scope->method));
}

static int read_chain(const struct java_layout *layout, struct remote_memory *memory,
		      const struct debug_info *info, uint32_t offset, struct java_scopes *scopes)
{
	for (int step = 0; offset != NO_SCOPE; step++) {
		uint32_t at = scopes->count < JAVA_MAX_SCOPES ? scopes->count : JAVA_MAX_SCOPES - 1;
		int err = step < MAX_STEPS ? read_scope(layout, memory, info, offset,
							&scopes->scopes[at], &offset) :
					     fail(-EBADMSG, "too many scopes");

		if (err)
			return err;
		scopes->count = at + 1;
	}
	return 0;
}

int java_scopes_read(const struct java_layout *layout, struct remote_memory *memory,
		     const struct java_blob *blob, uint32_t offset, struct java_scopes *scopes)
{
	struct debug_info info = { 0 };
	int32_t place = -1, scope = NO_SCOPE;
	int err = read_debug_info(layout, memory, blob->address, &info);

	scopes->count = 0;
	if (!err)
		err = find_record(layout, memory, &info, offset, &place, &scope);
	if (!err && scope > 0)
		err = read_chain(layout, memory, &info, (uint32_t)scope, scopes);
	if (err && err != -ENOENT)
		return err;
	scopes->is_exact = scopes->count && place >= 0 && (uint32_t)place == offset;
	if (scopes->count)
		return 0;
	scopes->count = 1;
	scopes->scopes[0].bci = JAVA_BCI_OF_ENTRY;
	return java_field_read(memory, blob->address, layout->nmethod_method,
			       &scopes->scopes[0].method);
}
