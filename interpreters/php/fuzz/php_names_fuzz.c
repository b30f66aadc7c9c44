/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, classes and texts in hostile memory: whatever the bytes are, nothing crashes or takes long, and names are
 * UTF-8 of bounded length. Byte 0 chooses the version, byte 1 the read at which the process changes, byte 2 the
 * position. Then comes the memory, with the function at its beginning.
 *
 * covers: php_names.c
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/fuzz/check_text.h"
#include "interpreters/php/php_names.h"

enum { BASE = 0x10000 };

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
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

static uint64_t word_at(struct fuzz_memory *memory, uint64_t address)
{
	uint64_t word = 0;

	read_memory(&memory->memory, address, &word, sizeof(word));
	return word;
}

static uint64_t mix_text(struct fuzz_memory *memory, uint64_t sum, uint64_t string)
{
	uint64_t length = string ? word_at(memory, string + PHP_STRING_LENGTH) : 0;
	uint64_t words[PHP_TEXT_WORDS] = { 0 };

	if (!string)
		return sum;
	sum = fingerprint_mix(sum, length);
	for (int part = 0; length && part < (length > PHP_TEXT_BYTES ? 2 : 1); part++) {
		read_memory(&memory->memory, php_text_part(string, length, part), words,
			    length < PHP_TEXT_BYTES ? length : PHP_TEXT_BYTES);
		for (int i = 0; i < PHP_TEXT_WORDS; i++)
			sum = fingerprint_mix(sum, words[i]);
	}
	return sum;
}

static uint32_t frame_fingerprint(struct fuzz_memory *memory, const struct php_process *process)
{
	const uint32_t words[] = { process->code, process->code + 8U, process->file,
				   process->file + 8U };
	uint8_t type = (uint8_t)word_at(memory, BASE);
	uint64_t name = word_at(memory, BASE + 8), scope = word_at(memory, BASE + 16), sum = 0;

	sum = fingerprint_mix(fingerprint_mix(fingerprint_mix(sum, type), name), scope);
	if (type != PHP_FUNCTION_INTERNAL) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			sum = fingerprint_mix(sum, word_at(memory, BASE + words[i]));
		sum = mix_text(memory, sum, word_at(memory, BASE + process->file));
	}
	sum = mix_text(memory, sum, name);
	if (scope)
		sum = mix_text(memory, sum, word_at(memory, scope + PHP_CLASS_NAME));
	return fingerprint_end(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	static struct php_names names;
	struct fuzz_memory memory = { .memory = { .ops = &ops } };
	struct php_process process = { 0 };
	const struct php_layout *layout;

	if (size < 4)
		return 0;
	memory.data = data + 3;
	memory.size = size - 3;
	layout = php_layout_of(data[0] & 1 ? PHP_ENGINE_VERSION(4, 2) : PHP_ENGINE_VERSION(4, 4));
	php_names_describe(layout, &process);
	php_names_init(&names, layout, &process);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t position = (uint32_t)data[2] << 22 | i | (i == 2 ? PHP_IS_FILE : 0);
		uint32_t print = position & PHP_IS_FILE ?
					 fingerprint_end(mix_text(&memory, 0, BASE)) :
					 frame_fingerprint(&memory, &process);
		uint64_t words[2] = { frame_word(FRAME_PHP, 0, BASE),
				      (uint64_t)position << 32 | print };
		struct interpreted_frame frame = { 0 };
		uint32_t object = 0;

		memory.reads = 0;
		memory.changes_at = data[1];
		if (!php_names_symbolize(&names, &memory.memory, words, &object, &frame)) {
			check_text(frame.function);
			check_text(frame.file);
		}
		memory.changes_at = 0;
	}
	php_names_deinit(&names);
	return 0;
}
