/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Limits protobuf-c, which limits neither memory nor depth: an allocator that fails over a memory
 * budget, and for messages that are nested too deep. When a singular message field is repeated,
 * protobuf-c merges each occurrence and copies all earlier contents; so the total of all
 * allocations is limited too.
 */
#ifndef VIEWER_OPEN_DECODE_BUDGET_H
#define VIEWER_OPEN_DECODE_BUDGET_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct decode_budget {
	/** The allocator for unpack and free_unpacked functions. */
	ProtobufCAllocator allocator;
	size_t left;
	/** Budget of all allocations; freed memory is not added back. */
	size_t total_left;
	const char *stack;
};

/**
 * @bytes limits the memory in use. The message must be unpacked by the function that calls this.
 */
void decode_budget_init(struct decode_budget *budget, size_t bytes);

#endif
