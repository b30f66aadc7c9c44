/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to stack deltas. Whatever they are, nothing crashes or takes long, what comes out
 * passes stack_deltas_check(), and a lookup finds what a walk over all rows finds.
 *
 * The first byte chooses what the others are: an ELF file, a .eh_frame_hdr, or the fields of a
 * struct unwind_input.
 *
 * covers: eh_frame.c eh_pointer.c eh_frame_hdr.c cfa_program.c cfa_expression.c cfa_rule.c
 * covers: fde_table.c delta_builder.c extract_deltas.c unwind_input.c
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/byte_reader.h"
#include "lib/elf/elf_image.h"
#include "stackdeltas/eh_frame_hdr.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/rule_text.h"

enum { LOOKUPS = 64, TEXT_LIMIT = 1 << 24 };

enum input_kind {
	INPUT_FIELDS_X86,
	INPUT_FIELDS_ARM64,
	INPUT_ELF,
	INPUT_EH_FRAME_HDR,
	INPUT_KINDS
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rule for @address by the definition in abi/slab.h, without a search. */
static const struct unwind_rule *walk(const struct stack_deltas *deltas, uint64_t address)
{
	const struct unwind_rule *rule = NULL;

	for (uint32_t page = 0; page < deltas->page_count; page++) {
		for (uint32_t i = deltas->page_index[page]; i < deltas->page_index[page + 1]; i++) {
			if (deltas->text_start + (uint64_t)page * UNWIND_PAGE_BYTES +
				    stack_deltas_offsets(deltas)[i] >
			    address)
				return rule;
			rule = &deltas->rules[stack_deltas_rule_ids(deltas)[i]];
		}
	}
	return rule;
}

static void check_lookups(const struct stack_deltas *deltas)
{
	uint64_t span = (uint64_t)deltas->page_count * UNWIND_PAGE_BYTES;

	if (stack_deltas_lookup(deltas, deltas->text_start - 1) ||
	    stack_deltas_lookup(deltas, deltas->text_start + span))
		abort();
	for (uint64_t i = 0; i < LOOKUPS; i++) {
		uint64_t address = deltas->text_start + span * i / LOOKUPS + i % 3;
		const struct unwind_rule *rule = stack_deltas_lookup(deltas, address);
		char text[RULE_TEXT_MAX_BYTES];

		if (span < 3 || address >= deltas->text_start + span)
			continue;
		if (!rule || rule != walk(deltas, address))
			abort();
		rule_text(rule, EM_X86_64, text);
	}
}

static void count_problem(void *context, uint64_t address, enum delta_problem problem)
{
	uint32_t *counts = context;

	(void)address;
	counts[problem]++;
}

static void check_input(const struct unwind_input *input)
{
	uint32_t counts[DELTA_PROBLEM_COUNT] = { 0 };
	const struct delta_observer observer = { counts, count_problem };
	struct delta_statistics statistics;
	struct stack_deltas deltas = { 0 };

	if (!extract_deltas(input, &observer, &deltas, &statistics)) {
		if (stack_deltas_check(&deltas) ||
		    memcmp(counts, statistics.problems, sizeof(counts)) != 0)
			abort();
		/* The walk takes time that only the check needs. */
		if (deltas.page_count <= TEXT_LIMIT / UNWIND_PAGE_BYTES && deltas.row_count < 4096)
			check_lookups(&deltas);
	}
	stack_deltas_deinit(&deltas);
}

/* Without observer the table of FDEs that @input has is taken, if it has one. */
static void check_table(const struct unwind_input *input)
{
	struct unwind_input without = *input;
	struct delta_statistics kept_statistics, made_statistics;
	struct stack_deltas kept = { 0 }, made = { 0 };
	int error = extract_deltas(input, NULL, &kept, &kept_statistics);

	without.fdes = NULL;
	if (extract_deltas(&without, NULL, &made, &made_statistics) != error)
		abort();
	if (!error && (memcmp(&kept_statistics, &made_statistics, sizeof(kept_statistics)) != 0 ||
		       kept.row_count != made.row_count ||
		       memcmp(kept.rows, made.rows, stack_deltas_row_bytes(made.row_count)) != 0))
		abort();
	stack_deltas_deinit(&kept);
	stack_deltas_deinit(&made);
}

static void check_fields(uint16_t machine, struct byte_reader *reader)
{
	struct unwind_input input = { .machine = machine, .segment_count = 1 };
	uint64_t gap;

	/* Text is kept small: a large index for nothing would make the fuzzer slow. */
	input.eh_frame_address = byte_reader_u32(reader);
	input.segments[0].start = byte_reader_u32(reader);
	input.segments[0].end = input.segments[0].start + byte_reader_u32(reader) % TEXT_LIMIT + 1;
	gap = byte_reader_u8(reader);
	if (gap) {
		input.segment_count = 2;
		input.segments[1].start = input.segments[0].end + gap;
		input.segments[1].end = input.segments[1].start + TEXT_LIMIT;
	}
	input.eh_frame_bytes = byte_reader_left(reader);
	input.eh_frame = (uint8_t *)byte_reader_bytes(reader, input.eh_frame_bytes);
	if (input.eh_frame_bytes)
		check_input(&input);
}

static void check_elf(const uint8_t *data, size_t size)
{
	struct elf_image image = { 0 };
	struct unwind_input input = { 0 };

	if (elf_image_init_memory(&image, data, size))
		return;
	if (!unwind_input_read(&image, &input)) {
		unwind_input_key(&input);
		check_input(&input);
		check_table(&input);
	}
	unwind_input_deinit(&input);
	elf_image_deinit(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct eh_frame_hdr header;
	struct byte_reader reader;
	uint8_t kind;

	byte_reader_init(&reader, data, size);
	kind = byte_reader_u8(&reader) % INPUT_KINDS;
	if (byte_reader_failed(&reader))
		return 0;
	switch (kind) {
	case INPUT_ELF:
		check_elf(data + 1, size - 1);
		break;
	case INPUT_EH_FRAME_HDR:
		eh_frame_hdr_read(data + 1, size - 1, 0x2000, &header);
		break;
	default:
		check_fields(kind == INPUT_FIELDS_X86 ? EM_X86_64 : EM_AARCH64, &reader);
		break;
	}
	return 0;
}
