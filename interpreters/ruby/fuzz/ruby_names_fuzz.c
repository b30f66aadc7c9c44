/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences, method entries, classes, strings, symbols and tables of lines in hostile memory: whatever the bytes are,
 * nothing crashes or takes long, and names are UTF-8 of bounded length. Byte 0 chooses the version, byte 1 the read at
 * which the process changes, byte 2 the position. Then comes the memory: the object is at its beginning, and the method
 * entry that a sequence runs for is at a fixed offset.
 *
 * covers: ruby_names.c ruby_strings.c ruby_lines.c ruby_label.c
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/fuzz/check_text.h"
#include "interpreters/ruby/ruby_names.h"

enum {
	BASE = 0x10000,
	OWNER = BASE + 0x680,
};

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

static uint64_t mix(struct fuzz_memory *memory, uint64_t sum, uint64_t address, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		sum = fingerprint_mix(sum, word_at(memory, address + 8ULL * i));
	return sum;
}

static uint32_t method_fingerprint(struct fuzz_memory *memory, const struct ruby_process *process,
				   uint64_t entry)
{
	uint64_t sum = mix(memory, 0, entry + 8, RUBY_METHOD_WORDS), path;
	uint64_t class = word_at(memory, entry + 8 * RUBY_METHOD_WORDS);
	uint64_t flags = word_at(memory, class);

	if (!process->class_path)
		return fingerprint_end(sum);
	if ((flags & RUBY_TYPE_MASK) == RUBY_TYPE_CLASS && flags & RUBY_CLASS_IS_SINGLETON) {
		class = word_at(memory, class + process->class_attached);
		flags = word_at(memory, class);
	}
	sum = fingerprint_mix(sum, class);
	if ((flags & RUBY_TYPE_MASK) != RUBY_TYPE_CLASS &&
	    (flags & RUBY_TYPE_MASK) != RUBY_TYPE_MODULE)
		return fingerprint_end(sum);
	path = word_at(memory, class + process->class_path);
	sum = fingerprint_mix(sum, path);
	if (path > RUBY_NIL)
		sum = mix(memory, sum, path + RUBY_TEXT_OFFSET, RUBY_TEXT_WORDS);
	return fingerprint_end(sum);
}

static uint32_t sequence_fingerprint(struct fuzz_memory *memory, const struct ruby_process *process)
{
	uint64_t body = word_at(memory, BASE + process->sequence_body), sum = body, path;

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

/* Makes the frame of a method, of a sequence, or of a sequence that runs for a method. */
static void make_frame(struct fuzz_memory *memory, const struct ruby_process *process,
		       uint32_t number, uint32_t position, uint64_t words[3])
{
	bool is_method = number % 3 == 1, is_owned = number % 3 == 2;
	uint32_t fingerprint = is_method ? method_fingerprint(memory, process, BASE) :
					   sequence_fingerprint(memory, process);

	if (is_method)
		position = RUBY_METHOD_ENTRY;
	if (is_owned)
		fingerprint = fingerprint_end(
			fingerprint_mix(fingerprint, method_fingerprint(memory, process, OWNER)));
	words[0] = frame_word(FRAME_RUBY, is_owned ? FRAME_HAS_OWNER : 0, BASE);
	words[1] = (uint64_t)position << 32 | fingerprint;
	words[2] = OWNER;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t versions[] = { RUBY_VERSION(3, 3), RUBY_VERSION(3, 1),
					     RUBY_VERSION(3, 4) };
	static const struct remote_memory_ops ops = { .read = read_memory };
	static struct ruby_names names;
	struct fuzz_memory memory = { .memory = { .ops = &ops } };
	struct ruby_process process = { 0 };
	const struct ruby_layout *layout;

	if (size < 4)
		return 0;
	layout = ruby_layout_of(versions[data[0] % 3]);
	memory.data = data + 3;
	memory.size = size - 3;
	ruby_names_describe(layout, &process);
	ruby_names_init(&names, layout, &process, BASE + 64);
	for (uint32_t i = 0; i < 6; i++) {
		struct interpreted_frame frame = { 0 };
		uint32_t object = 0;
		uint64_t words[3];

		make_frame(&memory, &process, i, data[2] * i, words);
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
