/* SPDX-License-Identifier: Apache-2.0 */
/** Reads fields of HotSpot's objects at the offsets of a layout. */
#ifndef INTERPRETERS_JAVA_JAVA_FIELDS_H
#define INTERPRETERS_JAVA_JAVA_FIELDS_H

#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "lib/host/remote_memory.h"

/** Reads an unsigned number; -EOPNOTSUPP: the version has no such field, or one of another size. */
int java_field_read(struct remote_memory *memory, uint64_t object, struct vm_field field,
		    uint64_t *value);

/** The same for a signed number of at most 4 bytes. */
int java_field_read_signed(struct remote_memory *memory, uint64_t object, struct vm_field field,
			   int32_t *value);

#endif
