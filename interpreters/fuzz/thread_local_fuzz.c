/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows hostile code of both machines: the evaluator ends, stays within its memory, and returns a valid
 * path. Byte 0 chooses the machine; the rest is code and data at one address.
 *
 * covers: call_evaluator.c call_evaluator_x86.c call_evaluator_arm64.c thread_local.c
 */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/thread_local.h"

enum { BASE = 0x1000 };

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;

	if (address < BASE || address - BASE >= fuzz->size)
		return -EFAULT;
	address -= BASE;
	memset(buffer, 0, bytes);
	memcpy(buffer, fuzz->data + address,
	       bytes < fuzz->size - address ? bytes : fuzz->size - address);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	struct fuzz_memory memory = { .memory = { .ops = &ops } };
	struct attach_target target = { .memory = &memory.memory };
	struct thread_local_path path;

	if (!size)
		return 0;
	memory.data = data + 1;
	memory.size = size - 1;
	if (!thread_local_path_of_call(&target, data[0] & 1 ? EM_AARCH64 : EM_X86_64, BASE,
				       BASE + 64, &path) &&
	    (!path.depth || path.depth > THREAD_LOCAL_MAX_DEPTH))
		abort();
	return 0;
}
