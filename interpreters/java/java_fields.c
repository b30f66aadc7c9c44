/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_fields.h"

#include <errno.h>

#include "lib/base/error.h"

int java_field_read(struct remote_memory *memory, uint64_t object, struct vm_field field,
		    uint64_t *value)
{
	uint64_t word = 0;
	int err;

	if (field.offset == JAVA_NO_FIELD || !field.bytes || field.bytes > sizeof(word))
		return fail(-EOPNOTSUPP, "a field that is no number");
	err = remote_memory_read(memory, object + field.offset, &word, field.bytes);
	if (!err)
		*value = word;
	return err;
}

int java_field_read_signed(struct remote_memory *memory, uint64_t object, struct vm_field field,
			   int32_t *value)
{
	uint64_t word = 0;
	int err = java_field_read(memory, object, field, &word);

	if (err)
		return err;
	switch (field.bytes) {
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
		return fail(-EOPNOTSUPP, "a field of %u bytes", field.bytes);
	}
}
