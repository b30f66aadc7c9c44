/* SPDX-License-Identifier: Apache-2.0 */
/** Fields of HotSpot's objects, at the places of a layout. */
#ifndef INTERPRETERS_JAVA_JAVA_FIELDS_H
#define INTERPRETERS_JAVA_JAVA_FIELDS_H

#include <stdint.h>

#include "interpreters/java/java_layout.h"
#include "lib/host/remote_memory.h"

/** Reads a number without sign; -EOPNOTSUPP: the version has no such field, or one of another kind. */
int java_field_read(struct remote_memory *memory, uint64_t object, struct vm_place place,
		    uint64_t *value);

/** The same for one of at most 4 bytes, with its sign. */
int java_field_read_signed(struct remote_memory *memory, uint64_t object, struct vm_place place,
			   int32_t *value);

#endif
