/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVM's list of its routines in hostile memory. Every address is somewhere in the input, by its lower
 * 12 bits: variables at 0, the map of a code heap at 0x800, its blocks of 128 bytes where they are.
 * Names are texts, and of places that are in order and apart.
 */
#include "interpreters/java/java_stub_names.h"

#include <errno.h>
#include <stdlib.h>

#include "interpreters/fuzz/check_text.h"
#include "interpreters/java/tests/made_code.h"

enum { MAX_READS = 1 << 20, MEMORY_BYTES = 4096, VARIABLE_BYTES = 256 };

#define HEAP 0x7f0000100000ULL
#define LIBRARY 0x7f0000200000ULL
#define MAP 0x7f0000400800ULL

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
	uint32_t reads;
	/** From this read on the process is gone. */
	uint32_t ends_at;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;

	if (++fuzz->reads > MAX_READS)
		abort();
	if (fuzz->ends_at && fuzz->reads >= fuzz->ends_at)
		return -ESRCH;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)buffer)[i] = fuzz->data[(address + i) % MEMORY_BYTES % fuzz->size];
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	struct fuzz_memory memory = { .memory = { .ops = &ops }, .data = data + 2 };
	const struct java_layout layout = made_code_layout();
	const struct java_heaps heaps = {
		.heaps = { { .low = HEAP,
			     .high = HEAP + MEMORY_BYTES,
			     .segment_map = MAP,
			     .log2_segment_size = 7 } },
		.count = 1,
	};
	const struct java_library library = {
		.end = MEMORY_BYTES,
		.data = { .ranges = { { 0, VARIABLE_BYTES } }, .count = 1 },
	};
	struct java_stub_names names;
	uint64_t end = 0;

	if (size < 3)
		return 0;
	memory.size = size - 2;
	memcpy(&memory.ends_at, data, 2);
	if (java_stub_names_read(&layout, &heaps, &library, LIBRARY, &memory.memory, &names))
		abort();
	for (size_t i = 0; i < names.names.count; i++) {
		const struct java_stub_name *name = &names.names.items[i];
		const char *text = java_stub_names_find(&names, name->end - 1);

		if (name->start < end || name->end <= name->start || !text)
			abort();
		end = name->end;
		check_text(text);
	}
	java_stub_names_deinit(&names);
	return 0;
}
