/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations and words of data, chunk by chunk. */
#include "stackdeltas/code_pointers.h"

#include <elf.h>
#include <errno.h>

#include "lib/base/cleanup.h"
#include "lib/elf/elf_image.h"
#include "lib/elf/elf_relocations.h"
#include "lib/isa/x86_decode.h"
#include "lib/isa/x86_opcode.h"

enum {
	WORD_BYTES = 8,
	CHUNK_WORDS = 512,
	ENTRY_BYTES = 64,
	OPCODE_LEA = 0x8d,
	OPCODE_MOVE_IMMEDIATE = 0xc7,
};

/* Adds those of @count @values that are in @code. */
static int add_values(const struct bare_code *code, const uint64_t *values, size_t count,
		      struct address_vector *pointers)
{
	const struct code_bytes *last = &code->ranges[code->range_count - 1];
	uint64_t start = code->ranges[0].address, size = last->address + last->size - start;
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		if (values[i] - start < size && pointers->count < BARE_CODE_MAX_STARTS &&
		    bare_code_contains(code, values[i]))
			error = address_vector_push(pointers, values[i]);
	return error;
}

static int add_relocations(const struct elf_image *image, const struct bare_code *code,
			   struct address_vector *pointers)
{
	uint64_t values[ELF_RELOCATIONS_CHUNK], cursor = 0;
	struct elf_relocations relocations;
	size_t count;
	int error = 0;

	elf_relocations_init(&relocations, image);
	while (!error && cursor < CODE_POINTERS_MAX_BYTES / sizeof(Elf64_Rela) &&
	       !elf_relocations_next(&relocations, image, &cursor, values, &count))
		error = add_values(code, values, count, pointers);
	return error;
}

static int add_words(const struct elf_image *image, const struct elf_segment *segment,
		     const struct bare_code *code, uint64_t *left, struct address_vector *pointers)
{
	uint64_t skip = -segment->address % WORD_BYTES, words[CHUNK_WORDS];
	uint64_t offset = segment->offset + skip;
	uint64_t bytes = segment->file_bytes > skip ? segment->file_bytes - skip : 0;
	int error = 0;

	if (bytes > *left)
		bytes = *left;
	*left -= bytes;
	while (!error && bytes >= WORD_BYTES) {
		size_t count = bytes / WORD_BYTES < CHUNK_WORDS ? bytes / WORD_BYTES : CHUNK_WORDS;

		if (elf_image_read(image, offset, words, count * WORD_BYTES))
			break;
		error = add_values(code, words, count, pointers);
		offset += count * WORD_BYTES;
		bytes -= count * WORD_BYTES;
	}
	return error;
}

/* The address that the instruction at @address loads; 0 if it loads none. */
static uint64_t loaded_address(const struct x86_operands *operands, uint64_t address)
{
	if (operands->map != MAP_ONE_BYTE || operands->is_vector)
		return 0;
	if (operands->opcode == OPCODE_LEA && operands->is_pc_relative)
		return address + operands->length + operands->displacement;
	return operands->opcode == OPCODE_MOVE_IMMEDIATE && !operands->is_memory ?
		       (uint64_t)operands->immediate :
		       0;
}

/* Adds the addresses that _start() passes on, among them that of main(). */
static int add_entry(const struct elf_image *image, const struct bare_code *code,
		     struct address_vector *pointers)
{
	uint64_t available = elf_image_bytes_at_address(image, image->entry);
	uint8_t bytes[ENTRY_BYTES];
	size_t size = available < ENTRY_BYTES ? available : ENTRY_BYTES;
	struct x86_operands operands;
	int error = 0;

	if (!image->entry || image->machine != EM_X86_64 ||
	    elf_image_read_address(image, image->entry, bytes, size))
		return 0;
	for (size_t offset = 0; !error && offset < size; offset += operands.length) {
		uint64_t value;

		if (!x86_decode_operands(bytes + offset, size - offset, &operands))
			break;
		value = loaded_address(&operands, image->entry + offset);
		error = add_values(code, &value, 1, pointers);
	}
	return error;
}

int code_pointers_read(const struct elf_image *image, struct bare_code *code)
{
	_cleanup_(address_vector_deinit) struct address_vector pointers = { 0 };
	uint64_t left = CODE_POINTERS_MAX_BYTES;
	int error;

	if (!code->range_count)
		return 0;
	error = add_relocations(image, code, &pointers);
	if (!error)
		error = add_entry(image, code, &pointers);
	for (uint32_t i = 0; !error && i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_LOAD && !(segment->flags & PF_X))
			error = add_words(image, segment, code, &left, &pointers);
	}
	return error ? error : bare_code_select_starts(code, &pointers, &code->pointers);
}
