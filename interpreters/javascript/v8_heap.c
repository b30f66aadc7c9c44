/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/javascript/v8_heap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/error.h"

int v8_field(const struct v8_heap *heap, uint64_t object, int32_t offset, uint64_t *word)
{
	return remote_memory_read(heap->memory, object - V8_TAG + (uint64_t)(int64_t)offset, word,
				  sizeof(*word));
}

int v8_field_int(const struct v8_heap *heap, uint64_t object, int32_t offset, int32_t *value)
{
	return remote_memory_read(heap->memory, object - V8_TAG + (uint64_t)(int64_t)offset, value,
				  sizeof(*value));
}

int v8_field_smi(const struct v8_heap *heap, uint64_t object, int32_t offset, int32_t *value)
{
	uint64_t word = 0;
	int err = v8_field(heap, object, offset, &word);

	if (!err && !v8_smi(word, value))
		err = fail(-EBADMSG, "%#" PRIx64 " is no Smi", word);
	return err;
}

int v8_instance_type(const struct v8_heap *heap, uint64_t *object, uint16_t *type)
{
	uint64_t at = *object, map = 0;
	uint16_t found = 0;
	int err;

	if (!v8_is_object(at))
		return fail(-EBADMSG, "%#" PRIx64 " is no object", at);
	err = v8_field(heap, at, 0, &map);
	if (!err && map && !(map & V8_TAG)) {
		at = map + V8_TAG;
		err = v8_is_object(at) ? v8_field(heap, at, 0, &map) : -EBADMSG;
	}
	if (!err && !v8_is_object(map))
		err = fail(-EBADMSG, "%#" PRIx64 " has no map", at);
	if (!err)
		err = remote_memory_read(heap->memory,
					 map - V8_TAG + heap->layout->map_instance_type, &found,
					 sizeof(found));
	if (err)
		return err;
	*object = at;
	*type = found;
	return 0;
}

int v8_check_type(const struct v8_heap *heap, uint64_t *object, int32_t type)
{
	uint64_t at = *object;
	uint16_t found = 0;
	int err = v8_instance_type(heap, &at, &found);

	if (!err && found != type)
		err = fail(-EBADMSG, "an object of type %u, not %d", found, type);
	if (!err)
		*object = at;
	return err;
}

int v8_array_element(const struct v8_heap *heap, uint64_t array, uint32_t index, uint64_t *word)
{
	int32_t length = 0;
	int err = v8_field_smi(heap, array, heap->layout->array_length, &length);

	if (!err && (length < 0 || index >= (uint32_t)length))
		err = fail(-EBADMSG, "element %u of an array of %d", index, length);
	if (!err)
		err = remote_memory_read(heap->memory,
					 array - V8_TAG + heap->layout->array_data +
						 (uint64_t)index * V8_TAGGED_BYTES,
					 word, sizeof(*word));
	return err;
}

int v8_bytes_read(const struct v8_heap *heap, uint64_t object, uint32_t limit,
		  struct elf_bytes *bytes)
{
	const struct v8_layout *layout = heap->layout;
	struct elf_bytes found = { 0 };
	int32_t length = 0;
	uint16_t type = 0;
	int err = v8_instance_type(heap, &object, &type);

	if (!err && type != layout->type_byte_array && type != layout->type_trusted_byte_array)
		err = fail(-EBADMSG, "an object of type %u where bytes are", type);
	if (!err)
		err = v8_field_smi(heap, object, layout->array_length, &length);
	if (!err && length < 0)
		err = fail(-EBADMSG, "%d bytes", length);
	if (!err && (uint32_t)length > limit)
		err = fail(-E2BIG, "%d bytes", length);
	if (err)
		return err;
	found.data = malloc(length ? length : 1);
	if (!found.data)
		return -ENOMEM;
	found.size = length;
	err = remote_memory_read(heap->memory, object - V8_TAG + layout->array_data, found.data,
				 found.size);
	if (err)
		elf_bytes_deinit(&found);
	else
		*bytes = found;
	return err;
}
