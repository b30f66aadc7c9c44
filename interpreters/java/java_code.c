/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_code.h"

#include <errno.h>
#include <string.h>

#include "interpreters/java/java_fields.h"
#include "lib/base/error.h"

enum {
	/** Limits of the size of a segment: 64 bytes (Java 8), 128, or at most a page. */
	MIN_LOG2_SEGMENT_SIZE = 4,
	MAX_LOG2_SEGMENT_SIZE = 16,
	/** Limit of all code: the range of calls and jumps. */
	MAX_HEAP_BYTES = INT32_MAX,
	/** Bytes of a segment map that are read at once. */
	MAP_WINDOW_BYTES = 256,
};

/* The value of a static field; 0: it is not set yet. */
static int read_static(struct remote_memory *memory, uint64_t address, uint64_t *value)
{
	*value = 0;
	return address ? remote_memory_read(memory, address, value, sizeof(*value)) : 0;
}

/* The address of an object within an object, such as the VirtualSpace of a CodeHeap. */
static uint64_t part_of(uint64_t object, struct vm_field field)
{
	return object + field.offset;
}

static int read_heap(const struct java_layout *layout, struct remote_memory *memory,
		     uint64_t address, struct java_heap *heap)
{
	uint64_t space = part_of(address, layout->heap_memory);
	uint64_t map = part_of(address, layout->heap_segment_map), low, high, committed, shift;
	int err = java_field_read(memory, space, layout->space_low, &low);

	if (!err)
		err = java_field_read(memory, space, layout->space_high_boundary, &high);
	if (!err)
		err = java_field_read(memory, space, layout->space_high, &committed);
	if (!err)
		err = java_field_read(memory, map, layout->space_low, &heap->segment_map);
	if (!err)
		err = java_field_read(memory, address, layout->heap_log2_segment_size, &shift);
	if (err)
		return err;
	if (!low || !heap->segment_map)
		return fail(-EAGAIN, "a code heap without memory");
	if (high <= low || high - low > MAX_HEAP_BYTES || shift < MIN_LOG2_SEGMENT_SIZE ||
	    shift > MAX_LOG2_SEGMENT_SIZE)
		return fail(-EBADMSG, "a code heap from %#llx to %#llx", (unsigned long long)low,
			    (unsigned long long)high);
	heap->low = low;
	heap->high = high;
	heap->committed = committed < low || committed > high ? high : committed;
	heap->log2_segment_size = (uint32_t)shift;
	return 0;
}

/* Reads the addresses of the CodeHeaps. */
static int read_heap_list(const struct java_layout *layout, struct remote_memory *memory,
			  uint64_t addresses[JAVA_MAX_HEAPS], uint32_t *count)
{
	uint64_t array, length, data;
	int err;

	if (layout->heap) {
		*count = 1;
		return read_static(memory, layout->heap, &addresses[0]);
	}
	err = read_static(memory, layout->heaps, &array);
	if (err)
		return err;
	if (!array)
		return fail(-EAGAIN, "no code heaps yet");
	err = java_field_read(memory, array, layout->array_length, &length);
	if (!err)
		err = java_field_read(memory, array, layout->array_data, &data);
	if (err)
		return err;
	if (length > JAVA_MAX_HEAPS)
		return fail(-E2BIG, "%llu code heaps", (unsigned long long)length);
	*count = (uint32_t)length;
	return remote_memory_read(memory, data, addresses, length * sizeof(addresses[0]));
}

/* Succeeds once the JVM has made call_stub and its interpreter, since all heaps exist by then. */
static int check_is_set_up(const struct java_layout *layout, struct remote_memory *memory)
{
	uint64_t call_stub, interpreter;
	int err = read_static(memory, layout->call_stub_return_address, &call_stub);

	if (!err)
		err = read_static(memory, layout->interpreter_code, &interpreter);
	if (!err && (!call_stub || !interpreter))
		err = fail(-EAGAIN, "the JVM has made no code yet");
	return err;
}

int java_heaps_read(const struct java_layout *layout, struct remote_memory *memory,
		    struct java_heaps *heaps)
{
	uint64_t addresses[JAVA_MAX_HEAPS];
	struct java_heaps found = { .count = 0 };
	uint32_t count = 0;
	int err = check_is_set_up(layout, memory);

	if (!err)
		err = read_heap_list(layout, memory, addresses, &count);
	for (; found.count < count && !err; found.count++)
		err = read_heap(layout, memory, addresses[found.count], &found.heaps[found.count]);
	if (!err && !count)
		err = fail(-EAGAIN, "no code heaps yet");
	if (!err)
		*heaps = found;
	return err;
}

static const struct java_heap *heap_of(const struct java_heaps *heaps, uint64_t address)
{
	for (uint32_t i = 0; i < heaps->count; i++)
		if (address >= heaps->heaps[i].low && address < heaps->heaps[i].high)
			return &heaps->heaps[i];
	return NULL;
}

/* Finds the first segment of the block that contains @segment. */
static int find_first_segment(const struct java_heap *heap, struct remote_memory *memory,
			      uint64_t segment, uint64_t *first)
{
	uint8_t window[MAP_WINDOW_BYTES];
	/* The segments that the window has; it is empty at first. */
	uint64_t window_start = 0, window_end = 0;

	for (int hop = 0; hop < JAVA_MAX_HOPS; hop++) {
		uint8_t back;

		if (segment < window_start || segment >= window_end) {
			int err;

			window_end = segment + 1;
			window_start = window_end > sizeof(window) ? window_end - sizeof(window) :
								     0;
			err = remote_memory_read(memory, heap->segment_map + window_start, window,
						 window_end - window_start);
			if (err)
				return err;
		}
		back = window[segment - window_start];
		if (back == JAVA_FREE_SEGMENT)
			return fail(-ENOENT, "a segment without code");
		if (!back) {
			*first = segment;
			return 0;
		}
		if (back > segment)
			return fail(-EBADMSG, "a segment map that leads out of its heap");
		segment -= back;
	}
	return fail(-EBADMSG, "a segment map without an end");
}

static int read_code_range(const struct java_layout *layout, struct remote_memory *memory,
			   struct java_blob *blob)
{
	uint64_t size, data, offset;
	int err = java_field_read(memory, blob->address, layout->blob_size, &size);

	if (!err)
		err = java_field_read(memory, blob->address, layout->blob_data_offset, &data);
	if (!err && layout->blob_code_begin.bytes)
		err = java_field_read(memory, blob->address, layout->blob_code_begin,
				      &blob->code_start);
	else if (!err)
		err = java_field_read(memory, blob->address, layout->blob_code_offset, &offset);
	if (err)
		return err;
	if (!layout->blob_code_begin.bytes)
		blob->code_start = blob->address + offset;
	if (size > MAX_HEAP_BYTES || data > size || blob->code_start < blob->address ||
	    blob->code_start - blob->address > data)
		return fail(-EBADMSG, "code of %llu bytes at %#llx", (unsigned long long)size,
			    (unsigned long long)blob->code_start);
	blob->code_end = blob->address + data;
	return 0;
}

static int read_blob(const struct java_layout *layout, struct remote_memory *memory,
		     struct java_blob *blob)
{
	uint64_t header_size;
	int32_t frame_words = 0;
	int err = java_field_read(memory, blob->address, layout->blob_header_size, &header_size);

	if (!err)
		err = java_field_read_signed(memory, blob->address, layout->blob_frame_size,
					     &frame_words);
	if (!err)
		err = java_field_read_signed(memory, blob->address, layout->blob_frame_complete,
					     &blob->frame_complete);
	if (!err)
		err = read_code_range(layout, memory, blob);
	if (err)
		return err;
	blob->is_nmethod = header_size == layout->nmethod_bytes;
	/* Some blobs without a frame have -1. */
	blob->frame_bytes = frame_words > 0 && frame_words < MAX_HEAP_BYTES / JAVA_POINTER_BYTES ?
				    (uint32_t)frame_words * JAVA_POINTER_BYTES :
				    0;
	return 0;
}

int java_blob_find_at(const struct java_layout *layout, struct remote_memory *memory,
		      uint64_t address, struct java_blob *blob)
{
	struct java_blob found = { .address = address };
	int err = read_blob(layout, memory, &found);

	if (!err)
		*blob = found;
	return err;
}

int java_blob_find(const struct java_layout *layout, const struct java_heaps *heaps,
		   struct remote_memory *memory, uint64_t address, struct java_blob *blob)
{
	const struct java_heap *heap = heap_of(heaps, address);
	uint64_t segment = 0, is_used = 0, block;
	struct java_blob found;
	int err;

	if (!heap)
		return fail(-ENOENT, "%#llx is in no code heap", (unsigned long long)address);
	err = find_first_segment(heap, memory, (address - heap->low) >> heap->log2_segment_size,
				 &segment);
	if (err)
		return err;
	block = heap->low + (segment << heap->log2_segment_size);
	err = java_field_read(memory, block, layout->block_used, &is_used);
	if (err)
		return err;
	if (!is_used)
		return fail(-ENOENT, "a block without code");
	err = java_blob_find_at(layout, memory, block + layout->block_bytes, &found);
	if (err)
		return err;
	if (address < found.code_start || address >= found.code_end)
		return fail(-ENOENT, "%#llx is not among the instructions",
			    (unsigned long long)address);
	*blob = found;
	return 0;
}

int java_blob_name(const struct java_layout *layout, struct remote_memory *memory,
		   const struct java_blob *blob, char name[JAVA_BLOB_NAME_BYTES])
{
	uint64_t address;
	int err = java_field_read(memory, blob->address, layout->blob_name, &address);

	if (!err && !remote_memory_read(memory, address, name, JAVA_BLOB_NAME_BYTES)) {
		name[JAVA_BLOB_NAME_BYTES - 1] = '\0';
		return 0;
	}
	/* Reads a byte at a time, because the string may be at the end of its page. */
	for (size_t i = 0; i < JAVA_BLOB_NAME_BYTES && !err; i++) {
		err = remote_memory_read(memory, address + i, &name[i], 1);
		if (!err && !name[i])
			return 0;
	}
	name[JAVA_BLOB_NAME_BYTES - 1] = '\0';
	return err;
}

int java_nmethod_read(const struct java_layout *layout, struct remote_memory *memory,
		      const struct java_blob *blob, struct java_nmethod *nmethod)
{
	struct java_nmethod found;
	int32_t comp_level = 0, compile_id = 0;
	int err = java_field_read(memory, blob->address, layout->nmethod_method, &found.method);

	if (!err)
		err = java_field_read_signed(memory, blob->address, layout->nmethod_compile_id,
					     &compile_id);
	if (!err)
		err = java_field_read_signed(memory, blob->address, layout->nmethod_comp_level,
					     &comp_level);
	if (!err)
		err = java_field_read_signed(memory, blob->address, layout->nmethod_entry_bci,
					     &found.entry_bci);
	if (!err)
		err = java_field_read_signed(memory, blob->address, layout->nmethod_state,
					     &found.state);
	if (err)
		return err;
	found.compile_id = (uint32_t)compile_id;
	found.comp_level = (uint32_t)comp_level;
	*nmethod = found;
	return 0;
}
