/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code, instructions and traces in hostile memory: whatever the bytes are, nothing crashes or takes long. Byte 0 chooses the
 * version, byte 1 flags of the frame, byte 2 the read that fails, bytes 3 and 4 the address in the code. Then comes the memory.
 *
 * covers: php_jit.c php_opcodes.c php_traces.c
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "ebpf/abi/frame.h"
#include "ebpf/abi/php.h"
#include "interpreters/php/php_jit.h"

enum {
	BASE = 0x100000,
	/* The memory repeats. */
	MASK = 0x7fff,
	/* More than one question may read. */
	READS_MAX = 1 << 17,
};

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
	uint32_t reads;
	uint32_t fails_at;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;

	if (++fuzz->reads > READS_MAX)
		abort();
	if (fuzz->reads == fuzz->fails_at)
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)buffer)[i] = fuzz->data[((address & MASK) + i) % fuzz->size];
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	struct fuzz_memory memory = { .memory = { .ops = &ops } };
	struct interpreted_frame frame = { 0 };
	struct php_jit jit;

	if (size < 16)
		return 0;
	memory.data = data + 5;
	memory.size = size - 5;
	memory.fails_at = data[2];
	php_jit_init(&jit, php_layout_of(data[0] & 1 ? PHP_ENGINE_VERSION(4, 2) :
						       PHP_ENGINE_VERSION(4, 4)));
	for (int i = 0; i < 2; i++) {
		uint64_t words[3] = {
			frame_word(FRAME_PHP, FRAME_HAS_OWNER, BASE),
			data[1] & 1 ? (uint64_t)PHP_IS_FILE << 32 : 0,
			frame_word(FRAME_NONE, data[1] & 2 ? FRAME_RETURN_ADDRESS : 0,
				   BASE + (data[3] | (uint64_t)data[4] << 8)),
		};

		memory.reads = 0;
		php_jit_improve(&jit, &memory.memory, words, &frame);
		memory.fails_at = 0;
	}
	return 0;
}
