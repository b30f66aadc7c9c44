/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_fields.h"

#include <errno.h>

#include "lib/base/error.h"

int java_field_read(struct remote_memory *memory, uint64_t object, struct vm_place place,
		    uint64_t *value)
{
	uint64_t word = 0;
	int err;

	if (place.offset == JAVA_NO_PLACE || !place.bytes || place.bytes > sizeof(word))
		return fail(-EOPNOTSUPP, "a field that is no number");
	err = remote_memory_read(memory, object + place.offset, &word, place.bytes);
	if (!err)
		*value = word;
	return err;
}

int java_field_read_signed(struct remote_memory *memory, uint64_t object, struct vm_place place,
			   int32_t *value)
{
	uint64_t word = 0;
	int err = java_field_read(memory, object, place, &word);

	if (err)
		return err;
	switch (place.bytes) {
	case 1:
		*value = (int8_t)word;
		return 0;
	case 2:
		*value = (int16_t)word;
		return 0;
	case 4:
		*value = (int32_t)word;
		return 0;
	default:
		return fail(-EOPNOTSUPP, "a field of %u bytes", place.bytes);
	}
}
