/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations and words of data, chunk by chunk. */
#include "stackdeltas/code_pointers.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/elf/elf_image.h"
#include "lib/elf/elf_relocations.h"
#include "lib/isa/x86_decode.h"
#include "stackdeltas/code/arm64_step.h"
#include "stackdeltas/code/code_sweep.h"
#include "stackdeltas/code/x86_step.h"
#include "stackdeltas/fde_table.h"

enum {
	WORD_BYTES = 8,
	CHUNK_WORDS = 512,
	ENTRY_BYTES = 64,
	WINDOW_BYTES = 1 << 16,
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

/* Adds the addresses that _start() passes on, among them that of main(). */
static int add_entry(const struct elf_image *image, const struct bare_code *code,
		     struct address_vector *pointers)
{
	uint64_t available = elf_image_bytes_at_address(image, image->entry);
	uint8_t bytes[ENTRY_BYTES];
	size_t size = available < ENTRY_BYTES ? available : ENTRY_BYTES;
	struct code_step step;
	int error = 0;

	if (!image->entry || image->machine != EM_X86_64 ||
	    elf_image_read_address(image, image->entry, bytes, size))
		return 0;
	for (size_t offset = 0; !error && offset < size; offset += step.length) {
		uint64_t value;

		x86_step(bytes + offset, size - offset, NULL, &step);
		if (code_takes_address(image->machine, bytes + offset, step.length,
				       image->entry + offset, &value))
			error = add_values(code, &value, 1, pointers);
	}
	return error;
}

/* A part of the file's code. */
struct window {
	const struct elf_image *image;
	uint64_t address;
	size_t size;
	uint8_t bytes[WINDOW_BYTES];
};

/* Returns the bytes at @address, at least those of an instruction unless the segment ends; NULL if there are none. */
static const uint8_t *window_at(struct window *window, uint64_t address, size_t *size)
{
	uint64_t offset = address - window->address, available;

	if (offset >= window->size || window->size - offset < X86_MAX_INSTRUCTION_BYTES) {
		available = elf_image_bytes_at_address(window->image, address);
		window->address = address;
		window->size = available < WINDOW_BYTES ? available : WINDOW_BYTES;
		offset = 0;
		if (elf_image_read_address(window->image, address, window->bytes, window->size))
			window->size = 0;
	}
	*size = window->size - offset;
	return *size ? window->bytes + offset : NULL;
}

/* Adds what the code at [start, end) calls, jumps to or takes the address of. */
static int add_code(struct window *window, uint64_t start, uint64_t end,
		    const struct bare_code *code, struct address_vector *starts)
{
	uint16_t machine = window->image->machine;
	struct code_step step;
	int error = 0;

	for (uint64_t address = start; !error && address < end; address += step.length) {
		size_t size;
		const uint8_t *bytes = window_at(window, address, &size);
		uint64_t target;

		if (!bytes)
			return 0;
		(machine == EM_X86_64 ? x86_step : arm64_step)(bytes, size, NULL, &step);
		target = address + step.target;
		if (step.flow == CODE_FLOW_CALL || step.flow == CODE_FLOW_JUMP ||
		    (step.length <= size &&
		     code_takes_address(machine, bytes, step.length, address, &target)))
			error = add_values(code, &target, 1, starts);
	}
	return error;
}

int code_pointers_add_starts(const struct elf_image *image, const struct fde_table *table,
			     struct bare_code *code)
{
	_cleanup_(address_vector_deinit) struct address_vector starts = { 0 };
	struct window *window;
	uint64_t left = CODE_POINTERS_MAX_BYTES;
	int error = 0;

	if (!code->range_count)
		return 0;
	window = malloc(sizeof(*window));
	if (!window)
		return -ENOMEM;
	*window = (struct window){ .image = image };
	for (size_t i = 0; !error && i < table->fdes.count; i++) {
		const struct fde_record *fde = &table->fdes.items[i];

		if (fde->length > left)
			break;
		left -= fde->length;
		error = add_code(window, table->base + fde->start,
				 table->base + fde->start + fde->length, code, &starts);
	}
	free(window);
	return error ? error : bare_code_select_starts(code, &starts, &code->starts);
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

		if (segment->type == PT_LOAD && !(segment->flags & PF_X) &&
		    (segment->flags & PF_W || segment->address >= CODE_FIXED_ADDRESS))
			error = add_words(image, segment, code, &left, &pointers);
	}
	return error ? error : bare_code_select_starts(code, &pointers, &code->pointers);
}
