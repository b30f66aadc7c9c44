/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code objects, strings, line tables and the runtime's table of offsets in hostile memory: whatever
 * the bytes are, nothing crashes or takes long, and names are UTF-8 of bounded length. Byte 0 chooses
 * the version, byte 1 the kind of build; then comes the memory, the code object at its beginning.
 *
 * covers: python_code.c python_strings.c python_lines.c python_layouts.c
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/fuzz/check_text.h"
#include "interpreters/python/python_code.h"

enum { BASE = 0x10000 };

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
	/** The process changes at read number `changes_at`. */
	uint32_t reads;
	uint32_t changes_at;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Random pointers rarely point into the memory, so only their lower 12 bits are used. */
static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;
	uint64_t offset = address & 0xfff;

	if (++fuzz->reads == fuzz->changes_at)
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)buffer)[i] = fuzz->size ? fuzz->data[(offset + i) % fuzz->size] : 0;
	return bytes > 8 << 20 ? -EFAULT : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	static const uint16_t versions[] = { 0x207, 0x306, 0x307, 0x308, 0x309, 0x30a,
					     0x30b, 0x30c, 0x30d, 0x30e, 0x30f, 0x310 };
	static struct python_code_cache cache;
	struct fuzz_memory memory = { .memory = { .ops = &ops } };
	struct python_process process = { 0 };
	struct interpreted_frame frame;
	struct python_layout layout;
	uint16_t version;
	int err;

	if (size < 4)
		return 0;
	version = versions[data[0] % 12];
	memory.changes_at = data[2];
	memory.data = data + 4;
	memory.size = size - 4;
	if (version >= PYTHON_FIRST_WITH_OFFSETS) {
		uint8_t offsets[PYTHON_DEBUG_OFFSETS_BYTES] = { 0 };

		memcpy(offsets, memory.data,
		       memory.size < sizeof(offsets) ? memory.size : sizeof(offsets));
		err = python_layout_init_offsets(&layout, version, offsets);
	} else {
		err = python_layout_init(&layout, version, data[1] & 1);
	}
	if (err != 0 && python_version_is_known(version) && version < PYTHON_FIRST_WITH_OFFSETS)
		abort();
	if (err || python_code_describe(&layout, &process))
		return 0;
	python_code_cache_init(&cache, &layout, &process);
	for (uint32_t i = 0; i < 4; i++) {
		uint64_t code = BASE + i / 2 * 64;
		uint64_t words[2] = { frame_word(FRAME_PYTHON, 0, code),
				      (uint64_t)data[3] * i << 32 };
		uint32_t fingerprint = 0, object = 0;

		python_code_read_fingerprint(&cache, &memory.memory, code, &fingerprint);
		words[1] |= fingerprint;
		if (python_code_symbolize(&cache, &memory.memory, words, &object, &frame))
			continue;
		check_text(frame.function);
		if (frame.file)
			check_text(frame.file);
		if (frame.line > INT32_MAX)
			abort();
	}
	python_code_cache_deinit(&cache);
	return 0;
}
