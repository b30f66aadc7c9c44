/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All sources together. The input is either an ELF file, or fields out of which .eh_frame,
 * .debug_frame and code are written: well-formed CIEs and FDEs with instructions that are valid, or
 * anything. Nothing crashes or takes long, the rows pass stack_deltas_check(), and the worse sources
 * and the code change nothing at addresses that .eh_frame describes.
 *
 * covers: unwind_source.c bare_code.c code_pointers.c code_rows.c unwind_input.c fde_table.c eh_frame.c
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/elf/dwarf_constants.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/extract_deltas.h"

enum {
	TEXT = 0x10000,
	TEXT_BYTES = 0x4000,
	SECTION_MAX_BYTES = 1 << 14,
	CODE_MAX_BYTES = 1024,
	INSTRUCTION_KINDS = 12,
};

/* A section that is being written. */
struct section {
	uint8_t bytes[SECTION_MAX_BYTES];
	size_t size;
	size_t cie;
	bool is_debug_frame;
	bool is_wide;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct section *section, const void *bytes, size_t count)
{
	if (count > sizeof(section->bytes) - section->size)
		return;
	memcpy(section->bytes + section->size, bytes, count);
	section->size += count;
}

static void put_number(struct section *section, uint64_t number, size_t bytes)
{
	put(section, &number, bytes);
}

/* A valid instruction with operands of the input, or a byte of it. */
static void put_instruction(struct section *section, struct byte_reader *reader)
{
	static const uint8_t opcodes[INSTRUCTION_KINDS] = {
		DW_CFA_advance_loc | 1,
		DW_CFA_def_cfa_offset,
		DW_CFA_def_cfa_register,
		DW_CFA_def_cfa,
		DW_CFA_offset | DWARF_X86_RBP,
		DW_CFA_restore | DWARF_X86_RBP,
		DW_CFA_remember_state,
		DW_CFA_restore_state,
		DW_CFA_advance_loc1,
		DW_CFA_undefined,
		DW_CFA_register,
		DW_CFA_def_cfa_expression,
	};
	static const uint8_t operands[INSTRUCTION_KINDS] = { 0, 1, 1, 2, 1, 0, 0, 0, 1, 1, 2, 0 };
	uint8_t kind = byte_reader_u8(reader);

	if (kind >= INSTRUCTION_KINDS * 16) {
		put(section, &kind, 1);
		return;
	}
	kind %= INSTRUCTION_KINDS;
	put(section, &opcodes[kind], 1);
	if (opcodes[kind] == DW_CFA_def_cfa_expression) {
		const uint8_t expression[] = { 3, DW_OP_breg0 + DWARF_X86_RSP,
					       byte_reader_u8(reader) & 0x7f, DW_OP_deref };

		put(section, expression, sizeof(expression));
		return;
	}
	for (int i = 0; i < operands[kind]; i++) {
		uint8_t operand = byte_reader_u8(reader) & 0x7f;

		put(section, &operand, 1);
	}
}

static size_t begin_entry(struct section *section)
{
	if (section->is_wide)
		put_number(section, UINT32_MAX, 4);
	put_number(section, 0, section->is_wide ? 8 : 4);
	return section->size;
}

static void end_entry(struct section *section, size_t start, size_t count,
		      struct byte_reader *reader)
{
	size_t width = section->is_wide ? 8 : 4;
	uint64_t length;

	for (size_t i = 0; i < count; i++)
		put_instruction(section, reader);
	length = section->size - start;
	if (start >= width && start <= section->size)
		memcpy(section->bytes + start - width, &length, width);
}

static size_t id_bytes(const struct section *section)
{
	return section->is_debug_frame && section->is_wide ? 8 : 4;
}

static void put_cie(struct section *section, struct byte_reader *reader)
{
	static const char *const augmentations[] = { "", "zR", "zRS", "S" };
	static const uint8_t versions[] = { 1, 3, 4, 1 };
	uint8_t choice = byte_reader_u8(reader);
	const char *letters = augmentations[section->is_debug_frame ? choice & 2 : choice & 3];
	uint8_t version = versions[choice >> 2 & 3];
	size_t start;

	section->cie = section->size;
	start = begin_entry(section);
	put_number(section, section->is_debug_frame ? UINT64_MAX : 0, id_bytes(section));
	put_number(section, version, 1);
	put(section, letters, strlen(letters) + 1);
	if (version == 4)
		put_number(section, 8, 2);
	put_number(section, 1 | 0x78 << 8 | DWARF_X86_RIP << 16, 3);
	/* z: one byte of data, for R: absolute addresses, as elsewhere. */
	if (*letters == 'z')
		put_number(section, 1, 2);
	put_number(section, DW_CFA_def_cfa | DWARF_X86_RSP << 8 | 8 << 16, 3);
	put_number(section, (DW_CFA_offset | DWARF_X86_RIP) | 1 << 8, 2);
	end_entry(section, start, choice >> 6, reader);
}

static void put_fde(struct section *section, struct byte_reader *reader)
{
	uint64_t address = TEXT + byte_reader_u16(reader) % (TEXT_BYTES + 64);
	uint64_t bytes = byte_reader_u16(reader) % 512;
	uint8_t choice = byte_reader_u8(reader);
	size_t start = begin_entry(section);

	put_number(section, section->is_debug_frame ? section->cie : section->size - section->cie,
		   id_bytes(section));
	put_number(section, choice == 255 ? 0 : address, 8);
	put_number(section, bytes, 8);
	/* The length of augmentation data, or an instruction that does nothing. */
	put_number(section, 0, 1);
	end_entry(section, start, choice & 15, reader);
}

static void put_entries(struct section *section, struct byte_reader *reader)
{
	size_t count = byte_reader_u8(reader);

	put_cie(section, reader);
	for (size_t i = 0; i < count && byte_reader_left(reader); i++) {
		uint8_t kind = byte_reader_u8(reader);

		section->is_wide = kind & 1;
		if (kind < 32)
			put_cie(section, reader);
		else if (kind == 255)
			put_number(section, 0, 4);
		else
			put_fde(section, reader);
	}
}

static void check_better_source_wins(const struct unwind_input *input,
				     const struct stack_deltas *deltas)
{
	struct unwind_input alone = *input;
	struct stack_deltas better = { 0 };

	alone.source_count = 0;
	memset(&alone.code, 0, sizeof(alone.code));
	if (!extract_deltas(&alone, NULL, &better, NULL)) {
		for (uint64_t address = TEXT; address < TEXT + TEXT_BYTES; address++) {
			const struct unwind_rule *rule = stack_deltas_lookup(&better, address);
			const struct unwind_rule *other;

			if (!rule || rule->cfa == CFA_NONE)
				continue;
			other = stack_deltas_lookup(deltas, address);
			if (!other || memcmp(rule, other, sizeof(*rule)) != 0)
				abort();
		}
	}
	stack_deltas_deinit(&better);
}

static bool extract(const struct unwind_input *input, struct stack_deltas *deltas)
{
	struct delta_statistics statistics;

	unwind_input_key(input);
	if (extract_deltas(input, NULL, deltas, &statistics))
		return false;
	if (stack_deltas_check(deltas))
		abort();
	return true;
}

static void check_fields(struct byte_reader *reader)
{
	static struct section sections[2];
	struct code_bytes ranges[2];
	uint64_t starts[2] = { TEXT + 0x40, TEXT + 0x80 };
	struct unwind_input input = {
		.machine = EM_X86_64,
		.segment_count = 1,
		.segments = { { TEXT, TEXT + TEXT_BYTES } },
		.source_count = 1,
		.code = { .ranges = ranges, .range_count = 2, .starts = { starts, 2, 2 } },
	};
	struct stack_deltas deltas = { 0 };
	size_t code_bytes = byte_reader_u16(reader) % CODE_MAX_BYTES;
	const uint8_t *code = byte_reader_bytes(reader, code_bytes);

	if (!code)
		return;
	ranges[0] = (struct code_bytes){ TEXT + 0x20, code, code_bytes / 2 };
	ranges[1] = (struct code_bytes){ TEXT + 0x20 + CODE_MAX_BYTES, code + code_bytes / 2,
					 code_bytes - code_bytes / 2 };
	for (int i = 0; i < 2; i++) {
		sections[i].size = 0;
		sections[i].is_wide = false;
		sections[i].is_debug_frame = i;
		put_entries(&sections[i], reader);
	}
	input.eh_frame = sections[0].bytes;
	input.eh_frame_bytes = sections[0].size;
	input.sources[0].raw = (struct elf_bytes){ sections[1].bytes, sections[1].size };
	if (extract(&input, &deltas))
		check_better_source_wins(&input, &deltas);
	stack_deltas_deinit(&deltas);
}

static void check_elf(const uint8_t *data, size_t size)
{
	struct elf_image image = { 0 };
	struct unwind_input input = { 0 };
	struct stack_deltas deltas = { 0 };

	if (elf_image_init_memory(&image, data, size))
		return;
	if (!unwind_input_read(&image, &input))
		extract(&input, &deltas);
	stack_deltas_deinit(&deltas);
	unwind_input_deinit(&input);
	elf_image_deinit(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_reader reader;

	if (!size)
		return 0;
	byte_reader_init(&reader, data + 1, size - 1);
	if (data[0] & 1)
		check_elf(data + 1, size - 1);
	else
		check_fields(&reader);
	return 0;
}
