/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a process that parses executables: sound ones in which any words are replaced. What passes the checks is
 * unpacked, and is within its limits.
 *
 * covers: elf_answers.c
 */
#include "agent/runtimes/elf_answers.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"

enum {
	PATCHES_MAX = 32,
	/* Larger tables only take time. */
	ROWS_MAX = 1 << 16,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Replaces words of @bytes. A word has one, two, four or eight bytes. */
static void patch(struct byte_reader *reader, void *bytes, size_t size)
{
	for (int i = 0; i < PATCHES_MAX && byte_reader_left(reader); i++) {
		size_t word_bytes = (size_t)1 << byte_reader_u8(reader) % 4;
		size_t at = (byte_reader_u8(reader) | (size_t)byte_reader_u8(reader) << 8) *
			    word_bytes % size;
		uint64_t value = byte_reader_u32(reader);

		if (word_bytes == sizeof(value))
			value |= (uint64_t)byte_reader_u32(reader) << 32;
		if (at + word_bytes <= size)
			memcpy((char *)bytes + at, &value, word_bytes);
	}
}

static void check_identity(struct byte_reader *reader)
{
	struct elf_identity identity = {
		.machine = EM_X86_64,
		.segment_count = byte_reader_u8(reader) % 8,
		.has_facts = 1,
		.fact_count = 2,
		.facts = { { .key = "process.runtime.name", .text = "go" },
			   { .key = "no such key" } },
	};
	size_t sent = offsetof(struct elf_identity, segments) +
		      identity.segment_count * sizeof(identity.segments[0]) +
		      (byte_reader_u8(reader) == 1);
	struct program_facts facts;
	struct elf_image segments;
	struct binary binary;
	uint64_t address;

	patch(reader, &identity, sent);
	if (elf_identity_check(&identity, sent))
		return;
	assert(!elf_identity_unpack(&identity, &binary, &facts, &segments));
	assert(binary.build_id_bytes <= BUILD_ID_MAX_BYTES);
	for (uint32_t i = 0; binary.facts && i < facts.count; i++)
		assert(strlen(facts.items[i].key) && strlen(facts.items[i].text));
	(void)elf_image_mapping_address(&segments, identity.file_offset, 4096, &address);
	elf_image_deinit(&segments);
}

static void check_rows(struct byte_reader *reader)
{
	struct elf_answer answer = { .page_count = 1, .row_count = 1, .rule_count = 1 };
	struct stack_deltas deltas = { 0 };

	patch(reader, &answer, offsetof(struct elf_answer, text));
	if (answer.page_count > ROWS_MAX || answer.row_count > ROWS_MAX ||
	    elf_rows_prepare(&answer, answer.lacks_code, &deltas))
		return;
	patch(reader, deltas.page_index,
	      ((size_t)deltas.page_count + 1) * sizeof(*deltas.page_index));
	patch(reader, deltas.rows, stack_deltas_row_bytes(deltas.row_count));
	patch(reader, deltas.rules, deltas.rule_count * sizeof(*deltas.rules));
	if (!stack_deltas_check(&deltas))
		(void)stack_deltas_lookup(&deltas, deltas.text_start + 1);
	stack_deltas_deinit(&deltas);
}

static void check_runtime(struct byte_reader *reader)
{
	struct elf_runtime found = {
		.version = "Go 1.22",
		.range_count = 2,
		.ranges = { { 16, 32 }, { 32, 64 } },
		.attaches_at_once = 1,
		.data_bytes = 32,
	};
	uint32_t languages = byte_reader_u32(reader) & ((1U << LANGUAGE_COUNT) - 1);
	const struct language language = { 0 };
	struct runtime_file *file;

	patch(reader, &found, sizeof(found));
	if (elf_runtime_check(&found, languages))
		return;
	assert(!elf_runtime_unpack(&found, &language, &file));
	assert(file->is_copy && file->language == &language &&
	       strlen(file->version) < sizeof(file->version));
	assert(!memcmp(file->data, found.data, file->data_bytes));
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct byte_reader *) = { check_identity, check_rows,
								check_runtime };
	struct byte_reader reader;

	byte_reader_init(&reader, data, size);
	checks[byte_reader_u8(&reader) % 3](&reader);
	return 0;
}
