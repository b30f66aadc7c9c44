/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From code to rows. Whatever the bytes are, nothing crashes or takes long, rows ascend and lie in
 * their range, and every byte is counted once.
 *
 * The first byte chooses the machine and whether it is HotSpot's code, the second how many of the next
 * are starts of functions (each twice its value from the first byte of code), the third is the entry
 * point in the same way. By the first byte the starts are pointers in data instead, and the code is in two ranges.
 *
 * covers: code_analysis.c code_flow.c code_hotspot.c code_queue.c code_rules.c code_state.c code_sweep.c code_trial.c
 * covers: known_code.c stack_switch.c x86_step.c arm64_step.c
 * covers: ../../lib/isa/x86_decode.c ../../lib/isa/x86_opcode.c ../../lib/isa/arm64_decode.c
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/byte_reader.h"
#include "stackdeltas/code/code_analysis.h"
#include "stackdeltas/rule_text.h"

enum { BASE = 0x10000, MAX_STARTS = 8, MAX_SIZE = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct expectation {
	uint16_t machine;
	uint64_t next;
	uint64_t end;
};

static int check_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct expectation *expectation = context;
	char text[RULE_TEXT_MAX_BYTES];

	if (address < expectation->next || address >= expectation->end)
		abort();
	if (rule->cfa == CFA_NONE && rule->flags)
		abort();
	rule_text(rule, expectation->machine, text);
	expectation->next = address + 1;
	return 0;
}

static void check_extent(void *context, uint64_t start, uint64_t end, uint64_t low, uint64_t high)
{
	const struct expectation *expectation = context;

	if (start < BASE || start >= end || end > expectation->end || low < BASE || low >= high ||
	    high > expectation->end)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_analysis_statistics statistics;
	struct code_analysis_input input = { 0 };
	uint64_t starts[MAX_STARTS];
	struct code_bytes ranges[2] = { { .address = BASE } };
	size_t code_bytes;
	struct byte_reader reader;
	struct expectation expectation = { .next = BASE };
	const struct code_row_handler handler = { .context = &expectation,
						  .row = check_row,
						  .extent = check_extent };
	uint64_t last = 0;
	uint8_t first;

	byte_reader_init(&reader, data, size);
	first = byte_reader_u8(&reader);
	input.machine = first & 1 ? EM_AARCH64 : EM_X86_64;
	input.is_hotspot = first & 2;
	input.is_thrown_to = first & 4;
	input.needs_exits = first & 64;
	input.frame_bytes = first & 8 ? first << (first >> 4) : 0;
	input.start_count = byte_reader_u8(&reader) % MAX_STARTS;
	input.entry = BASE + 2 * byte_reader_u8(&reader);
	for (size_t i = 0; i < input.start_count; i++) {
		last += 2 * byte_reader_u8(&reader);
		starts[i] = BASE + last;
	}
	code_bytes = byte_reader_left(&reader);
	if (byte_reader_failed(&reader) || !code_bytes || code_bytes > MAX_SIZE)
		return 0;
	ranges[0].bytes = byte_reader_bytes(&reader, code_bytes);
	ranges[0].size = first & 16 ? code_bytes / 8 * 4 : code_bytes;
	ranges[1] = (struct code_bytes){ BASE + ranges[0].size, ranges[0].bytes + ranges[0].size,
					 code_bytes - ranges[0].size };
	input.ranges = ranges;
	input.range_count = 2;
	input.starts = starts;
	if (first & 32) {
		input.pointers = starts;
		input.pointer_count = input.start_count;
		input.start_count = 0;
	}
	expectation.machine = input.machine;
	expectation.end = BASE + code_bytes;
	if (code_analysis_run(&input, &handler, &statistics))
		abort();
	if (expectation.next == BASE || statistics.believed_count > statistics.function_count ||
	    statistics.believed_bytes + statistics.guessed_bytes + statistics.unknown_bytes !=
		    code_bytes)
		abort();
	return 0;
}
