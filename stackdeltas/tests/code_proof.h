/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A third reader for cases in which the analysis of arm64 code and a table differ: it executes the
 * instructions themselves in a made-up frame, from the address in question to the function's end, or
 * from its entry to that address. It shares only the control flow of instructions with the analysis.
 *
 * An unknown value is replaced by a random one, so that it can fail to prove a rule, but not prove a
 * wrong one.
 */
#ifndef STACKDELTAS_TESTS_CODE_PROOF_H
#define STACKDELTAS_TESTS_CODE_PROOF_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "stackdeltas/code/arm64_step.h"
#include "stackdeltas/code/code_analysis.h"
#include "stackdeltas/tests/oracle_frame.h"

enum {
	PROOF_SEEDS = 2,
	PROOF_INSTRUCTIONS = 256,
	PROOF_STORES = 128,
	PROOF_LR = 30,
	PROOF_SP = 31,
};

/* A file's code and its table. */
struct proof_input {
	const struct frame_registers *numbers;
	Dwarf_CFI *cfi;
	const struct code_bytes *ranges;
	uint32_t range_count;
};

/* The frame, and the stores since it was made up, in their order. */
struct emulation {
	struct frame frame;
	struct {
		uint64_t address;
		uint64_t value;
	} stores[PROOF_STORES];
	uint32_t store_count;
	uint64_t unknown_count;
};

/* Returns the code at @address, and the number of bytes from there on; NULL outside of all ranges. */
static const uint8_t *proof_code(const struct proof_input *input, uint64_t address, size_t *left)
{
	for (uint32_t i = 0; i < input->range_count; i++) {
		const struct code_bytes *range = &input->ranges[i];

		if (address - range->address < range->size) {
			*left = range->size - (address - range->address);
			return range->bytes + (address - range->address);
		}
	}
	return NULL;
}

/* False outside of the code. */
static bool proof_fetch(const struct proof_input *input, uint64_t address, uint32_t *word,
			struct code_step *step)
{
	size_t left;
	const uint8_t *code = proof_code(input, address, &left);

	if (!code || left < sizeof(*word))
		return false;
	memcpy(word, code, sizeof(*word));
	arm64_step(code, left, NULL, step);
	return true;
}

static uint64_t proof_load(const struct emulation *emulation, uint64_t address)
{
	for (uint32_t i = emulation->store_count; i-- > 0;)
		if (emulation->stores[i].address == address)
			return emulation->stores[i].value;
	return load(&emulation->frame, address);
}

static int64_t proof_signed(uint32_t word, int low, int count)
{
	return (int64_t)((uint64_t)word << (64 - low - count)) >> (64 - count);
}

static void proof_forget(struct emulation *emulation, uint32_t number)
{
	emulation->frame.registers[number] =
		mix(emulation->frame.seed ^ ++emulation->unknown_count << 32);
}

/* One register of an access; 31 is the zero register here. False: too many stores. */
static bool proof_transfer(struct emulation *emulation, uint32_t number, bool is_load,
			   bool is_whole, uint64_t address)
{
	uint64_t *registers = emulation->frame.registers;

	if (is_load && number != PROOF_SP) {
		proof_forget(emulation, number);
		if (is_whole)
			registers[number] = proof_load(emulation, address);
	}
	if (is_load || !is_whole)
		return true;
	if (emulation->store_count == PROOF_STORES)
		return false;
	emulation->stores[emulation->store_count].address = address;
	emulation->stores[emulation->store_count++].value = number == PROOF_SP ? 0 :
										 registers[number];
	return true;
}

/* Loads and stores; C4.1.94 of the Arm Architecture Reference Manual. */
static bool proof_access(struct emulation *emulation, uint32_t word)
{
	uint64_t *registers = emulation->frame.registers;
	uint32_t number = word & 31, base = word >> 5 & 31, size = word >> 30;
	bool is_vector = word >> 26 & 1, is_load = word >> 22 & 1, is_pair, is_whole,
	     is_good = true;
	int64_t offset;
	uint64_t address;
	/* 1: the base moves afterwards, 3: before */
	uint32_t mode;

	if ((word & 0x3a000000) == 0x28000000) {
		is_pair = true;
		is_whole = size == 2;
		mode = word >> 23 & 3;
		offset = proof_signed(word, 15, 7) * (is_vector ? 4 << size : is_whole ? 8 : 4);
	} else if ((word & 0x3b000000) == 0x39000000 || (word & 0x3b200000) == 0x38000000) {
		bool is_scaled = word >> 24 & 1;

		is_pair = false;
		is_whole = size == 3 && !(word >> 23 & 1);
		is_load |= !is_vector && word >> 23 & 1;
		mode = is_scaled ? 0 : word >> 10 & 3;
		offset = is_scaled ? (int64_t)(word >> 10 & 0xfff) << size :
				     proof_signed(word, 12, 9);
	} else {
		/* Other instructions: only the registers that they may write are known. */
		if (is_vector ? word >> 23 & 1 : true)
			proof_forget(emulation, is_vector ? base : number);
		if (!is_vector && (word & 0x3f000000) == 0x08000000) {
			proof_forget(emulation, word >> 10 & 31);
			proof_forget(emulation, word >> 16 & 31);
		}
		return true;
	}
	address = registers[base] + (mode == 1 ? 0 : offset);
	if (!is_vector) {
		is_good = proof_transfer(emulation, number, is_load, is_whole, address);
		if (is_pair)
			is_good &= proof_transfer(emulation, word >> 10 & 31, is_load, is_whole,
						  address + 8);
	}
	if (mode == 1 || mode == 3)
		registers[base] = address + (mode == 1 ? offset : 0);
	return is_good;
}

/* Executes an instruction that is no load, store or branch. */
static void proof_compute(struct emulation *emulation, uint32_t word)
{
	uint64_t *registers = emulation->frame.registers;
	uint32_t target = word & 31, source = word >> 5 & 31, shift;
	uint64_t part;

	/* add, sub: an immediate; a register to sp */
	if ((word & 0xbf800000) == 0x91000000) {
		part = (uint64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
		registers[target] = registers[source] + (word >> 30 & 1 ? -part : part);
		return;
	}
	if ((word & 0xbfe0fc00) == 0x8b206000 && (word >> 16 & 31) != PROOF_SP) {
		part = registers[word >> 16 & 31];
		registers[target] = registers[source] + (word >> 30 & 1 ? -part : part);
		return;
	}
	/* mov */
	if ((word & 0xffe0ffe0) == 0xaa0003e0 && target != PROOF_SP &&
	    (word >> 16 & 31) != PROOF_SP) {
		registers[target] = registers[word >> 16 & 31];
		return;
	}
	/* movz, movk */
	if ((word & 0x5f800000) == 0x52800000 && target != PROOF_SP) {
		shift = (word >> 21 & 3) * 16;
		part = (uint64_t)(word >> 5 & 0xffff) << shift;
		registers[target] =
			word >> 29 & 1 ? (registers[target] & ~(0xffffULL << shift)) | part : part;
		return;
	}
	/* Vectors write general registers by fmov, conversions, umov and smov only. */
	if ((word >> 25 & 7) == 7 && (word & 0x5f20fc00) != 0x1e200000 &&
	    (word & 0xbfe0fc00) != 0x0e003c00 && (word & 0xbfe0fc00) != 0x0e002c00)
		return;
	/* Register 31 is sp in immediates that set no flags, and in SVE's addvl and addpl. */
	if (target != PROOF_SP || (word >> 26 & 7) == 4 || (word >> 25 & 15) == 2)
		proof_forget(emulation, target);
}

static bool proof_execute(struct emulation *emulation, uint32_t word)
{
	if ((word >> 25 & 5) == 4)
		return proof_access(emulation, word);
	/* System instructions: what mrs reads */
	if ((word >> 26 & 7) == 5) {
		if ((word & 0xffe00000) == 0xd5200000)
			proof_forget(emulation, word & 31);
		return true;
	}
	proof_compute(emulation, word);
	return true;
}

/* True if the caller's registers by @rule are those that are expected. */
static bool proof_agrees(const struct emulation *emulation, const struct unwind_rule *rule,
			 uint64_t cfa, uint64_t ra, uint64_t fp)
{
	struct emulation before = *emulation;
	uint64_t our_cfa, value = 0;

	/* Registers can be compared directly; values in memory must have been stored by the instructions. */
	if (!sp_by_rule(rule, &before.frame, &our_cfa) || our_cfa != cfa)
		return false;
	if (rule->ra == SAVED_AT_CFA)
		value = proof_load(emulation, cfa + rule->ra_offset);
	else if (register_by_rule(rule, true, &before.frame, cfa, &value) != OUTCOME_VALUE)
		return false;
	if (value != ra)
		return false;
	if (rule->fp == SAVED_AT_CFA)
		value = proof_load(emulation, cfa + rule->fp_offset);
	else if (register_by_rule(rule, false, &before.frame, cfa, &value) != OUTCOME_VALUE)
		return false;
	return value == fp;
}

/* True if the instructions from @address up to a return or a tail call restore the caller's registers as in @rule. */
static bool proof_until_exit(const struct proof_input *input, const struct unwind_rule *rule,
			     uint64_t address, uint64_t seed)
{
	struct emulation start, emulation;
	uint32_t word;
	struct code_step step;

	memset(&start, 0, sizeof(start));
	make_frame(&start.frame, input->numbers, seed, address);
	emulation = start;
	for (int i = 0; i < PROOF_INSTRUCTIONS; i++, address += sizeof(word)) {
		if (!proof_fetch(input, address, &word, &step))
			return false;
		switch (step.flow) {
		case CODE_FLOW_NEXT:
		case CODE_FLOW_NOP:
			if (!proof_execute(&emulation, word))
				return false;
			break;
		case CODE_FLOW_BRANCH:
			break;
		case CODE_FLOW_RETURN:
		case CODE_FLOW_JUMP:
		case CODE_FLOW_JUMP_INDIRECT:
			return proof_agrees(&start, rule, emulation.frame.registers[PROOF_SP],
					    emulation.frame.registers[PROOF_LR],
					    emulation.frame.registers[input->numbers->fp]);
		default:
			return false;
		}
	}
	return false;
}

/* True if @operation is register @number plus an offset. */
static bool is_sum(const Dwarf_Op *operation, int number, int64_t *offset)
{
	if (operation->atom == DW_OP_bregx && operation->number == (Dwarf_Word)number) {
		*offset = operation->number2;
		return true;
	}
	*offset = operation->number;
	return operation->atom == DW_OP_breg0 + number;
}

/* True if the table has the state of an entry: parts of functions, as cold ones, have others.
 * @row_start: where that row begins; untouched if there is none. */
static bool is_entry(const struct proof_input *input, uint64_t address, uint64_t *row_start)
{
	const int64_t entry_offset = input->numbers->machine == EM_X86_64 ? 8 : 0;
	int64_t offset;
	Dwarf_Frame *row;
	Dwarf_Addr first, end;
	Dwarf_Op *operations;
	size_t count;
	bool is_signal, is_good;

	if (dwarf_cfi_addrframe(input->cfi, address, &row))
		return false;
	dwarf_frame_info(row, &first, &end, &is_signal);
	*row_start = first;
	is_good = !is_signal && !dwarf_frame_cfa(row, &operations, &count) && count == 1 &&
		  is_sum(operations, input->numbers->sp, &offset) && offset == entry_offset;
	free(row);
	return is_good;
}

/* The first address from which one path leads straight to @address, and where the table has the
 * state of an entry; @address if there is none. */
static uint64_t proof_find_entry(const struct proof_input *input, uint64_t address)
{
	uint64_t entry = address, row_start = address;
	bool is_in_entry = false;
	uint32_t word;
	struct code_step step;

	for (uint64_t before = address - sizeof(word);
	     address - before <= PROOF_INSTRUCTIONS * sizeof(word); before -= sizeof(word)) {
		if (!proof_fetch(input, before, &word, &step) ||
		    (step.flow != CODE_FLOW_NEXT && step.flow != CODE_FLOW_NOP &&
		     step.flow != CODE_FLOW_BRANCH))
			break;
		if (before < row_start || before == address - sizeof(word)) {
			row_start = before;
			is_in_entry = is_entry(input, before, &row_start);
		}
		if (is_in_entry)
			entry = before;
	}
	return entry;
}

/* True if the instructions from the entry, according to the table, result in @rule. */
static bool proof_since_entry(const struct proof_input *input, const struct unwind_rule *rule,
			      uint64_t entry, uint64_t address, uint64_t seed)
{
	struct emulation emulation;
	uint64_t cfa, ra, fp;
	uint32_t word;
	struct code_step step;

	memset(&emulation, 0, sizeof(emulation));
	make_frame(&emulation.frame, input->numbers, seed, entry);
	cfa = emulation.frame.registers[PROOF_SP];
	ra = emulation.frame.registers[PROOF_LR];
	fp = emulation.frame.registers[input->numbers->fp];
	for (; entry < address; entry += sizeof(word))
		if (!proof_fetch(input, entry, &word, &step) ||
		    (step.flow != CODE_FLOW_BRANCH && !proof_execute(&emulation, word)))
			return false;
	return proof_agrees(&emulation, rule, cfa, ra, fp);
}

/** True if the path to the function's exit proves @rule at @address. */
static inline bool proof_by_exit(const struct proof_input *input, const struct unwind_rule *rule,
				 uint64_t address)
{
	for (uint64_t seed = 1; seed <= PROOF_SEEDS; seed++)
		if (!proof_until_exit(input, rule, address, seed))
			return false;
	return input->numbers->machine == EM_AARCH64;
}

/** True if the path from the function's entry proves it. */
static inline bool proof_by_entry(const struct proof_input *input, const struct unwind_rule *rule,
				  uint64_t address)
{
	uint64_t entry = proof_find_entry(input, address);

	if (entry == address)
		return false;
	for (uint64_t seed = 1; seed <= PROOF_SEEDS; seed++)
		if (!proof_since_entry(input, rule, entry, address, seed))
			return false;
	return true;
}

#endif
