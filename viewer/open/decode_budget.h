/* SPDX-License-Identifier: Apache-2.0 */
/**
 * For protobuf-c, which bounds neither memory nor depth: an allocator that refuses what is over a budget, and messages
 * that are nested too deep. A message that comes again and again in place of one is merged each time, all that was
 * there copied: so all that was ever asked for is bounded, too.
 */
#ifndef VIEWER_OPEN_DECODE_BUDGET_H
#define VIEWER_OPEN_DECODE_BUDGET_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct decode_budget {
	/** To hand to unpack and free_unpacked functions. */
	ProtobufCAllocator allocator;
	size_t left;
	/** What is given back does not count. */
	size_t total_left;
	const char *stack;
};

/** @bytes: of all memory at once. The message is to be unpacked from the function that called this. */
void decode_budget_init(struct decode_budget *budget, size_t bytes);

#endif
