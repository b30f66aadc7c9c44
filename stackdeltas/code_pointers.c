/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations and words of data, chunk by chunk. */
#include "stackdeltas/code_pointers.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
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
	INSTRUCTION_BYTES = X86_MAX_INSTRUCTION_BYTES,
	/* From the opcode on. */
	CALL_BYTES = 5,
	LEA_BYTES = 6,
	/* The opcode, ModRM, SIB and a displacement. */
	OPERAND_MAX_BYTES = 7,
	/* The most that a short jump leads away from its first byte. */
	SHORT_JUMP_BYTES = 128 + INSTRUCTION_BYTES,
	/* Size of the areas of a code_map, and the limit of their number. */
	AREA_MIN_SHIFT = 6,
	AREA_MIN_BYTES = 1 << AREA_MIN_SHIFT,
	AREAS_MAX = 1 << 20,
};

/*
 * Areas of addresses with bare code, a bit each. Most functions of a file have no number that leads to one. That is seen
 * without decoding their instructions.
 */
struct code_map {
	const struct bare_code *code;
	uint64_t start;
	uint64_t size;
	uint32_t shift;
	uint64_t *bits;
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

/* Returns the bytes at @address, more than an instruction has unless the segment ends; NULL if there are none. */
static const uint8_t *window_at(struct window *window, uint64_t address, size_t *size)
{
	uint64_t offset = address - window->address, available;

	if (offset >= window->size || window->size - offset <= INSTRUCTION_BYTES) {
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

static int code_map_init(struct code_map *map, const struct bare_code *code)
{
	const struct code_bytes *last = &code->ranges[code->range_count - 1];

	*map = (struct code_map){
		.code = code,
		.start = code->ranges[0].address,
		.shift = AREA_MIN_SHIFT,
	};
	map->size = last->address + last->size - map->start;
	while (map->size >> map->shift >= AREAS_MAX)
		map->shift++;
	map->bits = calloc((map->size >> map->shift) / 64 + 1, sizeof(*map->bits));
	if (!map->bits)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->range_count; i++) {
		uint64_t from = code->ranges[i].address - map->start;
		uint64_t to = from + code->ranges[i].size - 1;

		for (uint64_t area = from >> map->shift; area <= to >> map->shift; area++)
			map->bits[area / 64] |= (uint64_t)1 << area % 64;
	}
	return 0;
}

static void code_map_deinit(struct code_map *map)
{
	free(map->bits);
}

static inline bool code_map_may_have(const struct code_map *map, uint64_t address)
{
	uint64_t offset = address - map->start, area = offset >> map->shift;

	return offset < map->size && map->bits[area / 64] >> area % 64 & 1;
}

static bool code_map_has(const struct code_map *map, uint64_t address)
{
	return code_map_may_have(map, address) && bare_code_contains(map->code, address);
}

/* The numbers behind opcodes of x86-64 that lead to other code: those of add_code(). */
enum number_kind {
	NUMBER_NONE,
	/* call, jmp: relative to the next instruction. */
	NUMBER_OF_CALL,
	/* lea: the same, behind a ModRM byte. */
	NUMBER_OF_LEA,
	/* mov, push: an address. */
	NUMBER_IMMEDIATE,
	/* movq: an address behind ModRM, SIB and a displacement. */
	NUMBER_BEHIND_OPERAND,
};

static const uint8_t number_kinds[256] = {
	[0x68] = NUMBER_IMMEDIATE,	    [0x8d] = NUMBER_OF_LEA,
	[0xb8 ... 0xbf] = NUMBER_IMMEDIATE, [0xc7] = NUMBER_BEHIND_OPERAND,
	[0xe8 ... 0xe9] = NUMBER_OF_CALL,
};

/* Whether the number at @bytes, added to @base, is an address in the map. */
static bool number_leads_to(const struct code_map *map, const uint8_t *bytes, uint64_t base)
{
	int32_t number;

	memcpy(&number, bytes, sizeof(number));
	return code_map_has(map, base + number);
}

/* The same, if the byte at @bytes, which is at @address, is an opcode. */
static bool opcode_leads_to(const struct code_map *map, const uint8_t *bytes, uint64_t address)
{
	switch (number_kinds[bytes[0]]) {
	case NUMBER_OF_CALL:
		return number_leads_to(map, bytes + 1, address + CALL_BYTES);
	case NUMBER_OF_LEA:
		return (bytes[1] & 0xc7) == 0x05 &&
		       number_leads_to(map, bytes + 2, address + LEA_BYTES);
	case NUMBER_IMMEDIATE:
		return number_leads_to(map, bytes + 1, 0);
	case NUMBER_BEHIND_OPERAND:
		for (size_t i = 2; i <= OPERAND_MAX_BYTES; i++)
			if (number_leads_to(map, bytes + i, 0))
				return true;
		return false;
	default:
		return false;
	}
}

/*
 * Whether an instruction with an opcode in the @size @bytes, which are at @address, may lead to an address in the map. Each
 * byte is taken for an opcode. INSTRUCTION_BYTES more can be read.
 */
static bool may_lead_to(const struct code_map *map, const uint8_t *bytes, size_t size,
			uint64_t address)
{
	for (size_t i = 0; i < size; i++)
		if (number_kinds[bytes[i]] != NUMBER_NONE &&
		    opcode_leads_to(map, bytes + i, address + i))
			return true;
	return false;
}

/* Whether code less than SHORT_JUMP_BYTES before @start or behind @end may be in the map. */
static bool has_near(const struct code_map *map, uint64_t start, uint64_t end)
{
	for (uint64_t distance = 0; distance <= SHORT_JUMP_BYTES; distance += AREA_MIN_BYTES / 2)
		if (code_map_may_have(map, start - distance) ||
		    code_map_may_have(map, end + distance))
			return true;
	return code_map_may_have(map, start - SHORT_JUMP_BYTES) ||
	       code_map_may_have(map, end + SHORT_JUMP_BYTES);
}

/* False if no instruction of x86-64 at [start, end) leads to code in the map. */
static bool may_lead_out(const struct code_map *map, struct window *window, uint64_t start,
			 uint64_t end)
{
	if (has_near(map, start, end))
		return true;
	/* The last instruction may go on behind the end. */
	end += INSTRUCTION_BYTES;
	while (start < end) {
		size_t size;
		const uint8_t *bytes = window_at(window, start, &size);

		/* Near the end of the segment all is decoded. */
		if (!bytes || size <= INSTRUCTION_BYTES)
			return bytes;
		size -= INSTRUCTION_BYTES;
		if (size > end - start)
			size = end - start;
		if (may_lead_to(map, bytes, size, start))
			return true;
		start += size;
	}
	return false;
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
	_cleanup_(free_pointer) struct window *window = NULL;
	_cleanup_(code_map_deinit) struct code_map map = { 0 };
	uint64_t left = CODE_POINTERS_MAX_BYTES;
	int error;

	if (!code->range_count)
		return 0;
	error = code_map_init(&map, code);
	window = malloc(sizeof(*window));
	if (error || !window)
		return fail(-ENOMEM, "no memory to look for calls of code without tables");
	window->image = image;
	window->address = 0;
	window->size = 0;
	for (size_t i = 0; !error && i < table->fdes.count; i++) {
		const struct fde_record *fde = &table->fdes.items[i];
		uint64_t start = table->base + fde->start, end = start + fde->length;

		if (fde->length > left)
			break;
		left -= fde->length;
		code->searched_bytes += fde->length;
		if (image->machine == EM_X86_64 && !may_lead_out(&map, window, start, end))
			continue;
		code->decoded_bytes += fde->length;
		error = add_code(window, start, end, code, &starts);
	}
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
