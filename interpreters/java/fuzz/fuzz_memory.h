/* SPDX-License-Identifier: Apache-2.0 */
/** The memory of a process, which is a fuzzer's input: every address leads into it. */
#ifndef INTERPRETERS_JAVA_FUZZ_FUZZ_MEMORY_H
#define INTERPRETERS_JAVA_FUZZ_FUZZ_MEMORY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/host/remote_memory.h"

enum { FUZZ_MEMORY_MAX_READ_BYTES = 1 << 19 };

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
	/** Mask of the bits of an address that are the offset in the input. */
	uint64_t mask;
	uint32_t reads;
	/** Limit of reads; more would take too long. */
	uint32_t max_reads;
	/** Number of the read that finds the process gone. */
	uint32_t ends_at;
};

static inline int fuzz_memory_read(struct remote_memory *memory, uint64_t address, void *buffer,
				   size_t bytes)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;

	if (++fuzz->reads > fuzz->max_reads || bytes > FUZZ_MEMORY_MAX_READ_BYTES)
		abort();
	if (fuzz->reads == fuzz->ends_at)
		return -ESRCH;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)buffer)[i] = fuzz->data[((address + i) & fuzz->mask) % fuzz->size];
	return 0;
}

static inline struct fuzz_memory fuzz_memory_make(const uint8_t *data, size_t size, uint64_t mask,
						  uint32_t max_reads)
{
	static const struct remote_memory_ops ops = { .read = fuzz_memory_read };

	return (struct fuzz_memory){
		.memory = { .ops = &ops },
		.data = data,
		.size = size,
		.mask = mask,
		.max_reads = max_reads,
	};
}

#endif
