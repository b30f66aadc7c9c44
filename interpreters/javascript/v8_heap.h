/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Objects on V8's heap, read from outside: tagged words, instance types, arrays. The collector moves objects while
 * they are read, and everything may be forged: any word is fine to ask about, and what is read may be another object
 * a moment later. Who needs the same object twice compares.
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

/** One thread's. Both are borrowed. */
struct v8_heap {
	const struct v8_layout *layout;
	struct remote_memory *memory;
};

/** A tagged pointer, strong. */
static inline bool v8_is_object(uint64_t word)
{
	return (word & V8_TAG_MASK) == V8_TAG;
}

/** The number that @word is, if it is a Smi: a signed one of 32 bits in the high half. */
static inline bool v8_smi(uint64_t word, int32_t *value)
{
	if (word & UINT32_MAX)
		return false;
	*value = (int32_t)(word >> V8_SMI_SHIFT);
	return true;
}

/**
 * The instance type of the object at tagged @object. Where the collector has moved the object, and its first word
 * says where to, *@object becomes that, once. -EBADMSG: it is none; -EFAULT, -ESRCH.
 */
int v8_instance_type(const struct v8_heap *heap, uint64_t *object, uint16_t *type);

/** The same for a caller to whom any other type than @type (of the layout) is -EBADMSG. */
int v8_check_type(const struct v8_heap *heap, uint64_t *object, int32_t type);

/** The word at @offset of the object at tagged @object; -EFAULT, -ESRCH. */
int v8_field(const struct v8_heap *heap, uint64_t object, int32_t offset, uint64_t *word);

/** The 32 bits at @offset. */
int v8_field_int(const struct v8_heap *heap, uint64_t object, int32_t offset, int32_t *value);

/** As v8_field() for a field that is to be a Smi; -EBADMSG. */
int v8_field_smi(const struct v8_heap *heap, uint64_t object, int32_t offset, int32_t *value);

/** Word @index of an array of words (FixedArray and its like); -EBADMSG: it is not so long. */
int v8_array_element(const struct v8_heap *heap, uint64_t array, uint32_t index, uint64_t *word);

/**
 * Copies the contents of a ByteArray or TrustedByteArray, which may be empty, to fresh memory. -EBADMSG: it is none;
 * -E2BIG over @limit bytes; -ENOMEM, -EFAULT, -ESRCH.
 */
int v8_bytes_read(const struct v8_heap *heap, uint64_t object, uint32_t limit,
		  struct elf_bytes *bytes);

#endif
