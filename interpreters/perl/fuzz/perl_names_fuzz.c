/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subs, packages and texts in hostile memory: whatever the bytes are, nothing crashes or takes long, and names are UTF-8 of
 * bounded length. Byte 0 chooses the version, byte 1 the read at which the process changes, byte 2 the line. Then comes
 * the memory, with the sub, or its glob, at its beginning and the file's name at FILE_NAME.
 *
 * covers: perl_names.c
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "interpreters/fuzz/check_text.h"
#include "interpreters/perl/perl_names.h"

enum { BASE = 0x10000, FILE_NAME = BASE + 0x700 };

struct fuzz_memory {
	struct remote_memory memory;
	const uint8_t *data;
	size_t size;
	uint32_t reads;
	uint32_t changes_at;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Random pointers rarely point into the memory, so only their lower 11 bits are used. */
static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct fuzz_memory *fuzz = (struct fuzz_memory *)memory;
	uint64_t offset = address & 0x7ff;

	if (++fuzz->reads == fuzz->changes_at)
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)buffer)[i] = fuzz->size ? fuzz->data[(offset + i) % fuzz->size] : 0;
	return 0;
}

static uint64_t word_at(struct fuzz_memory *memory, uint64_t address)
{
	uint64_t word = 0;

	read_memory(&memory->memory, address, &word, sizeof(word));
	return word;
}

static uint64_t sum_of_file(struct fuzz_memory *memory)
{
	uint64_t sum = 0;
	int has_end = 0;

	for (uint32_t i = 0; i < PERL_FILE_WORDS && !has_end; i++)
		sum = fingerprint_mix(sum,
				      perl_text_word(word_at(memory, FILE_NAME + 8 * i), &has_end));
	return sum | 1;
}

static uint64_t sum_of_sub(struct fuzz_memory *memory, bool has_glob)
{
	uint64_t body = word_at(memory, BASE), name = BASE, stash, sum = 0;

	if (!has_glob)
		name = word_at(memory, body + PERL_CV_GLOB);
	if (!has_glob && (uint32_t)word_at(memory, body + PERL_CV_FLAGS) & PERL_CV_IS_NAMED) {
		stash = word_at(memory, body + PERL_CV_STASH);
	} else {
		body = word_at(memory, name);
		name = word_at(memory, body + PERL_GLOB_NAME);
		stash = word_at(memory, body + PERL_GLOB_STASH);
	}
	sum = fingerprint_mix(fingerprint_mix(sum, stash), name);
	for (uint32_t i = 0; i < PERL_NAME_WORDS; i++)
		sum = fingerprint_mix(sum, word_at(memory, name + 8 * i));
	return sum | 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	static struct perl_names names;
	struct fuzz_memory memory = { .memory = { .ops = &ops } };

	if (size < 4)
		return 0;
	memory.data = data + 3;
	memory.size = size - 3;
	perl_names_init(&names, perl_layout_of(data[0] & 1 ? 32 : 40), data[0] & 2);
	/* The sixth is of another file, and the last one has a glob. */
	for (uint32_t i = 0; i < 7; i++) {
		uint32_t code = i < 5 ? i : PERL_CODE_SUB;
		uint32_t position = code << PERL_CODE_SHIFT | data[2];
		bool has_glob = i == 6;
		uint64_t sum = fingerprint_mix(fingerprint_mix(0, code), sum_of_file(&memory));
		uint64_t words[3] = { frame_word(FRAME_PERL, FRAME_HAS_OWNER, BASE), 0, FILE_NAME };
		struct interpreted_frame frame = { 0 };
		uint32_t object = 0;

		if (i == 5)
			sum = 0;
		if (has_glob)
			position |= PERL_HAS_GLOB;
		if (code == PERL_CODE_SUB) {
			sum = fingerprint_mix(sum, sum_of_sub(&memory, has_glob));
			words[2] |= perl_mark(sum_of_sub(&memory, has_glob)) << PERL_MARK_SHIFT;
		}
		words[1] = (uint64_t)position << 32 | fingerprint_end(sum);
		for (uint32_t again = 0; again < 2; again++) {
			memory.reads = 0;
			memory.changes_at = data[1];
			if (!perl_names_symbolize(&names, &memory.memory, words, &object, &frame)) {
				check_text(frame.function);
				if (frame.file)
					check_text(frame.file);
			}
			memory.changes_at = 0;
		}
	}
	perl_names_deinit(&names);
	return 0;
}
