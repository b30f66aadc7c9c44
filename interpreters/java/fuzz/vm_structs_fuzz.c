/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's tables in hostile memory: whatever the bytes are, nothing crashes or takes long. The words of the
 * symbols come first, then the rest of the memory. Pointers out of the memory wrap around into it.
 *
 * covers: vm_structs.c remote_pages.c java_layout.c
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/java/java_layout.h"

enum {
	/** The same address as in make_vm_structs_seeds.py. */
	BASE = 0x10000,
	BIAS = 0x1000,
	MAX_READS = 2 * VM_STRUCTS_MAX_READ_BYTES / 4096,
};

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
	uint32_t reads;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;
	uint64_t offset = address - BASE;

	if (++fuzz->reads > MAX_READS)
		abort();
	/* The first 64 KiB of a process are never mapped. */
	if (address < BASE)
		return -EFAULT;
	for (size_t done = 0, part; done < bytes; done += part) {
		size_t start = (offset + done) % fuzz->size;

		part = fuzz->size - start < bytes - done ? fuzz->size - start : bytes - done;
		memcpy((uint8_t *)buffer + done, fuzz->data + start, part);
	}
	return 0;
}

static void check_field(struct vm_field field)
{
	if (field.offset != JAVA_NO_FIELD && field.offset > JAVA_MAX_OFFSET)
		abort();
	if (field.bytes > 8 || (field.bytes & (field.bytes - 1)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	struct fuzz_memory memory = { .memory = { .ops = &ops }, .data = data, .size = size };
	struct vm_symbols symbols;
	struct java_layout layout;

	if (!size)
		return 0;
	for (int i = 0; i < VM_SYMBOL_COUNT; i++)
		symbols.addresses[i] = BASE - BIAS + 8 * i;
	if (java_layout_read(&symbols, BIAS, &memory.memory, &layout))
		return 0;
	if (layout.version < 8 || layout.version > 27 || !layout.heap == !layout.heaps)
		return 0;
	check_field(layout.heap_log2_segment_size);
	check_field(layout.blob_code_begin);
	check_field(layout.blob_code_offset);
	check_field(layout.nmethod_state);
	check_field(layout.symbol_body);
	return 0;
}
