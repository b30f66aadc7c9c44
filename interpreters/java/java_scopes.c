/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_scopes.h"

#include <errno.h>
#include <string.h>

#include "interpreters/java/compressed_stream.h"
#include "interpreters/java/java_fields.h"
#include "lib/base/error.h"

enum {
	/** Largest size of the three numbers that a scope begins with. */
	SCOPE_BYTES = 15,
	/** Limit of nested scopes; compilers stop long before. */
	MAX_STEPS = 1024,
	/** Limit of records of an nmethod; each record belongs to an instruction. */
	MAX_RECORDS = 1 << 20,
	/** Offset that means "no scope". */
	NO_SCOPE = 0,
	/** A stored bytecode index is larger by this. */
	BCI_BIAS = 1,
	/** Number of records without a scope: one at each end. */
	END_RECORDS = 2,
	/** Limit of a barrier's code; ZGC's saves and restores all registers. */
	MAX_BARRIER_BYTES = 1024,
	/** Level of the code that calls native methods, which no compiler has made (CompLevel_none). */
	LEVEL_OF_NATIVE_METHODS = 0,
};

/* A record of debug information: offset of the pc in the code, and offset of its scope in the data. */
struct record {
	int32_t offset;
	int32_t scope;
};

/* Addresses of the debug information of an nmethod. */
struct debug_info {
	uint64_t records;
	uint32_t record_count;
	/** Address of the scopes' data. */
	uint64_t scopes;
	/** Address of the pointers to methods; scopes refer to them by index, which starts at 1. */
	uint64_t metadata;
};

static int read_metadata(const struct java_layout *layout, struct remote_memory *memory,
			 uint64_t nmethod, uint64_t *metadata)
{
	uint64_t start = nmethod, data = 0, offset = 0;
	int err = 0;

	if (layout->blob_mutable_data.bytes) {
		err = java_field_read(memory, nmethod, layout->blob_mutable_data, &start);
		if (!err)
			err = java_field_read(memory, nmethod, layout->blob_relocation_size,
					      &offset);
	} else {
		err = java_field_read(memory, nmethod, layout->nmethod_metadata, &offset);
		if (!err && layout->nmethod_immutable_data.bytes)
			err = java_field_read(memory, nmethod, layout->blob_data_offset, &data);
	}
	if (!err)
		*metadata = start + data + offset;
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
	/* The field is a pointer or an offset. */
	info->scopes = layout->nmethod_scopes_data.bytes == JAVA_POINTER_BYTES ? scopes :
										 base + scopes;
	return 0;
}

static int read_record(const struct java_layout *layout, struct remote_memory *memory,
		       const struct debug_info *info, uint32_t index, struct record *record)
{
	uint64_t address = info->records + (uint64_t)index * layout->pc_desc_bytes;
	int err = java_field_read_signed(memory, address, layout->pc_desc_offset, &record->offset);

	return err ? err :
		     java_field_read_signed(memory, address, layout->pc_desc_scope, &record->scope);
}

/* False for the records at both ends, which have no scope. */
static bool is_of_scope(const struct record *record)
{
	return record->offset >= 0 && record->scope > NO_SCOPE;
}

/* Finds the first record at or after @offset, and the one before it; either may have no scope. */
static int find_records(const struct java_layout *layout, struct remote_memory *memory,
			const struct debug_info *info, uint32_t offset, struct record *before,
			struct record *behind)
{
	uint32_t low = 0, high = info->record_count;
	int err = 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct record record;

		err = read_record(layout, memory, info, middle, &record);
		if (err)
			return err;
		if (record.offset >= 0 && (uint32_t)record.offset >= offset)
			high = middle;
		else
			low = middle + 1;
	}
	*before = *behind = (struct record){ .scope = NO_SCOPE };
	if (low > 0)
		err = read_record(layout, memory, info, low - 1, before);
	if (!err && low < info->record_count)
		err = read_record(layout, memory, info, low, behind);
	return err;
}

/*
 * Finds out whether the nmethod was compiled with DebugNonSafepoints. It has more records then, because each of the
 * others has a map of pointers to objects. The option can be switched on while the JVM runs, and applies to later
 * compilations.
 */
static int describes_all_code(const struct java_layout *layout, struct remote_memory *memory,
			      uint64_t nmethod, const struct debug_info *info, bool *answer)
{
	uint64_t maps = 0, count = 0;
	int err = java_field_read(memory, nmethod, layout->blob_oop_maps, &maps);

	if (!err && maps)
		err = java_field_read(memory, maps, layout->oop_map_count, &count);
	if (!err)
		*answer = info->record_count > END_RECORDS + count;
	return err;
}

/* Reads the scope at @offset of the data, and the offset of the scope that it is inlined into. */
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
	/* A scope is stored after the one that it is inlined into. */
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

/* Keeps the scopes that are inlined in the same way at both pcs; the last one, the compiled method, always is. */
static void keep_common(const struct java_scopes *other, bool is_other_nearer,
			struct java_scopes *scopes)
{
	const struct java_scope *theirs = &other->scopes[other->count - 1];
	uint32_t start = scopes->count - 1;

	while (start > 0 && theirs > other->scopes && scopes->scopes[start].bci == theirs->bci &&
	       scopes->scopes[start - 1].method == theirs[-1].method) {
		start--;
		theirs--;
	}
	scopes->count -= start;
	memmove(scopes->scopes, scopes->scopes + start, scopes->count * sizeof(scopes->scopes[0]));
	if (is_other_nearer)
		scopes->scopes[0].bci = theirs->bci;
}

/* Reads the scopes of a pc between two records. Before the first record the method is at its start. */
static int read_between(const struct java_layout *layout, struct remote_memory *memory,
			const struct debug_info *info, uint32_t offset, const struct record *before,
			const struct record *behind, struct java_scopes *scopes)
{
	struct java_scopes next = { .count = 0 };
	int err = 0;

	if (!is_of_scope(before))
		return 0;
	err = read_chain(layout, memory, info, (uint32_t)before->scope, scopes);
	if (!err && is_of_scope(behind))
		err = read_chain(layout, memory, info, (uint32_t)behind->scope, &next);
	if (err)
		return err;
	if (!next.count)
		next.scopes[next.count++] = scopes->scopes[scopes->count - 1];
	keep_common(&next, (uint32_t)behind->offset - offset < offset - (uint32_t)before->offset,
		    scopes);
	return 0;
}

static int take_compiled_method(const struct java_layout *layout, struct remote_memory *memory,
				uint64_t nmethod, struct java_scopes *scopes)
{
	uint64_t level = 0;
	int err = java_field_read(memory, nmethod, layout->nmethod_comp_level, &level);

	scopes->is_exact = level == LEVEL_OF_NATIVE_METHODS;
	scopes->count = 1;
	scopes->scopes[0].bci = JAVA_BCI_OF_ENTRY;
	return err ? err :
		     java_field_read(memory, nmethod, layout->nmethod_method,
				     &scopes->scopes[0].method);
}

/*
 * For a pc after all described code: finds the record of the pc that the code at @offset jumps back to, which is the
 * end of the code that had jumped out (share/gc/shared/c2/barrierSetC2.cpp, BarrierStubC2). If there is none,
 * @behind does not change.
 */
static int find_left_record(const struct java_layout *layout, struct remote_memory *memory,
			    const struct java_blob *blob, const struct debug_info *info,
			    uint32_t offset, runtime_find_jump *find_jump, struct record *before,
			    struct record *behind)
{
	uint64_t address = blob->code_start + offset;
	int64_t last = (int64_t)before->offset - offset, target;
	uint8_t code[MAX_BARRIER_BYTES];
	size_t size;
	int err;

	if (address >= blob->code_end || last >= 0)
		return 0;
	size = blob->code_end - address < sizeof(code) ? blob->code_end - address : sizeof(code);
	err = remote_memory_read(memory, address, code, size);
	if (err)
		return err;
	target = find_jump(layout->machine, code, size, -(int64_t)offset, last);
	return target ? find_records(layout, memory, info, (uint32_t)(offset + target), before,
				     behind) :
			0;
}

int java_scopes_read(const struct java_layout *layout, struct remote_memory *memory,
		     const struct java_blob *blob, uint32_t offset, bool is_return_address,
		     runtime_find_jump *find_jump, struct java_scopes *scopes)
{
	struct debug_info info = { 0 };
	struct record before, behind;
	int err = read_debug_info(layout, memory, blob->address, &info);

	scopes->count = 0;
	/* A return address has a record of its own. The record of an interrupted instruction is after its pc. */
	if (!err)
		err = find_records(layout, memory, &info, offset + !is_return_address, &before,
				   &behind);
	if (err)
		return err;
	scopes->is_exact = is_return_address && is_of_scope(&behind) &&
			   (uint32_t)behind.offset == offset;
	if (!scopes->is_exact)
		err = describes_all_code(layout, memory, blob->address, &info, &scopes->is_exact);
	if (!err && scopes->is_exact && is_of_scope(&before) && !is_of_scope(&behind) && find_jump)
		err = find_left_record(layout, memory, blob, &info, offset, find_jump, &before,
				       &behind);
	if (!err && !scopes->is_exact)
		err = read_between(layout, memory, &info, offset, &before, &behind, scopes);
	else if (!err && is_of_scope(&behind))
		err = read_chain(layout, memory, &info, (uint32_t)behind.scope, scopes);
	if (err || scopes->count)
		return err;
	return take_compiled_method(layout, memory, blob->address, scopes);
}
