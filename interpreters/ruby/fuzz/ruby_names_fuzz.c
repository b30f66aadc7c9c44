/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences, method entries, strings, symbols and tables of lines in hostile memory: whatever the bytes are, nothing crashes
 * or takes long, and names are UTF-8 of bounded length. Byte 0 chooses the version, byte 1 the read at which the process
 * changes, byte 2 the position; then comes the memory, the object at its beginning.
 *
 * covers: ruby_names.c ruby_strings.c ruby_lines.c
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/fuzz/check_text.h"
#include "interpreters/ruby/ruby_names.h"

enum { BASE = 0x10000 };

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
	uint32_t reads;
	uint32_t changes_at;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Pointers of the fuzzer's making rarely point anywhere: their lower 12 bits are taken. */
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

static uint64_t mix(struct fuzz_memory *memory, uint64_t sum, uint64_t address, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		sum = fingerprint_mix(sum, word_at(memory, address + 8ULL * i));
	return sum;
}

static uint32_t frame_fingerprint(struct fuzz_memory *memory, const struct ruby_process *process,
			       bool is_method)
{
	uint64_t body = word_at(memory, BASE + process->sequence_body), sum = body, path;

	if (is_method)
		return fingerprint_end(mix(memory, 0, BASE + 8, RUBY_METHOD_WORDS));
	for (int i = 0; i < RUBY_CHOSEN_WORDS; i++)
		sum = mix(memory, sum, body + 8ULL * process->body_words[i], 1);
	path = word_at(memory, body + 8ULL * process->body_path);
	sum = mix(memory, sum,
		  word_at(memory, body + 8ULL * process->body_label) + RUBY_TEXT_OFFSET,
		  RUBY_TEXT_WORDS);
	sum = mix(memory, sum, path + RUBY_TEXT_OFFSET, RUBY_TEXT_WORDS);
	if ((word_at(memory, path) & RUBY_TYPE_MASK) == RUBY_TYPE_ARRAY)
		sum = mix(memory, sum, word_at(memory, path + RUBY_TEXT_OFFSET) + RUBY_TEXT_OFFSET,
			  RUBY_TEXT_WORDS);
	return fingerprint_end(sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	static struct ruby_names names;
	struct fuzz_memory memory = { .memory = { .ops = &ops } };
	struct ruby_process process = { 0 };
	const struct ruby_layout *layout;

	if (size < 4)
		return 0;
	layout = ruby_layout_of(data[0] & 1 ? RUBY_VERSION(3, 1) : RUBY_VERSION(3, 3));
	memory.data = data + 3;
	memory.size = size - 3;
	ruby_names_describe(layout, &process);
	ruby_names_init(&names, layout, &process, BASE + 64);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t position = i & 1 ? RUBY_METHOD_ENTRY : data[2] * i;
		uint64_t words[2] = { frame_word(FRAME_RUBY, 0, BASE),
				      (uint64_t)position << 32 |
					      frame_fingerprint(&memory, &process, i & 1) };
		struct interpreted_frame frame = { 0 };
		uint32_t object = 0;

		memory.reads = 0;
		memory.changes_at = data[1];
		if (!ruby_names_symbolize(&names, &memory.memory, words, &object, &frame)) {
			check_text(frame.function);
			check_text(frame.file);
		}
		memory.changes_at = 0;
	}
	ruby_names_deinit(&names);
	return 0;
}
