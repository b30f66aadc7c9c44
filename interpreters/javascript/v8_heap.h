/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads objects on V8's heap from outside: tagged words, instance types, arrays. The collector moves objects while they
 * are read, and everything may be forged. So any word is accepted as an address, and an address may have another object
 * a moment later. A caller that reads an object twice must compare.
 *
 * Source: objects/tagged-impl.h, objects/map.h, objects/objects.h (MapWord), objects/fixed-array.h @ V8 9.4 to 14.6.
 */
#ifndef INTERPRETERS_JAVASCRIPT_V8_HEAP_H
#define INTERPRETERS_JAVASCRIPT_V8_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "interpreters/javascript/v8_layout.h"
#include "lib/elf/elf_image.h"
#include "lib/host/remote_memory.h"

/** Owned by one thread. Both pointers are borrowed. */
struct v8_heap {
	const struct v8_layout *layout;
	struct remote_memory *memory;
};

/** True for a strong tagged pointer. */
static inline bool v8_is_object(uint64_t word)
{
	return (word & V8_TAG_MASK) == V8_TAG;
}

/** Reads the number in @word if it is a Smi: a signed number of 32 bits in the high half. */
static inline bool v8_smi(uint64_t word, int32_t *value)
{
	if (word & UINT32_MAX)
		return false;
	*value = (int32_t)(word >> V8_SMI_SHIFT);
	return true;
}

/**
 * Reads the instance type of the object at tagged @object. If the collector has moved the object, its first word is the
 * new address, and *@object is set to it (once). -EBADMSG: it is no object; -EFAULT, -ESRCH.
 */
int v8_instance_type(const struct v8_heap *heap, uint64_t *object, uint16_t *type);

/** Checks that the object has @type, a type of the layout; -EBADMSG if not. Else like v8_instance_type(). */
int v8_check_type(const struct v8_heap *heap, uint64_t *object, int32_t type);

/** Reads the word at @offset of the object at tagged @object; -EFAULT, -ESRCH. */
int v8_field(const struct v8_heap *heap, uint64_t object, int32_t offset, uint64_t *word);

/** The same for 32 bits. */
int v8_field_int(const struct v8_heap *heap, uint64_t object, int32_t offset, int32_t *value);

/** The same for a field that must be a Smi; -EBADMSG if it is none. */
int v8_field_smi(const struct v8_heap *heap, uint64_t object, int32_t offset, int32_t *value);

/** Reads word @index of an array of words (FixedArray and its like); -EBADMSG: the array is shorter. */
int v8_array_element(const struct v8_heap *heap, uint64_t array, uint32_t index, uint64_t *word);

/**
 * Copies the contents of a ByteArray or TrustedByteArray, which may be empty, to newly allocated memory. -EBADMSG: it
 * is no such array; -E2BIG over @limit bytes; -ENOMEM, -EFAULT, -ESRCH.
 */
int v8_bytes_read(const struct v8_heap *heap, uint64_t object, uint32_t limit,
		  struct elf_bytes *bytes);

#endif
