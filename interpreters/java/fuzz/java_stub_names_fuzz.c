/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVM's list of its routines in hostile memory. The lower 12 bits of an address are its offset in the input:
 * variables at 0, the map of a code heap at 0x800, its blocks of 128 bytes at their own addresses. Names must be
 * valid texts, and their ranges sorted and not overlapping.
 */
#include "interpreters/java/java_stub_names.h"

#include <stdlib.h>

#include "interpreters/fuzz/check_text.h"
#include "interpreters/java/fuzz/fuzz_memory.h"
#include "interpreters/java/tests/made_code.h"

enum { MAX_READS = 1 << 20, MEMORY_BYTES = 4096, VARIABLE_BYTES = 256 };

#define HEAP 0x7f0000100000ULL
#define LIBRARY 0x7f0000200000ULL
#define MAP 0x7f0000400800ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_memory memory;
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
	memory = fuzz_memory_make(data + 2, size - 2, MEMORY_BYTES - 1, MAX_READS);
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
