/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of arm64 (Arm Architecture Reference Manual, C4.1): those that move the stack
 * pointer, save or restore x29 and x30, or end a block. Of all others only the general register
 * that they write counts; registers of the vector unit are nobody's here.
 */
#include "stackdeltas/code/arm64_step.h"

#include <elf.h>

#include "lib/base/byte_reader.h"
#include "lib/elf/dwarf_constants.h"
#include "lib/isa/arm64_bits.h"

enum {
	INSTRUCTION_BYTES = 4,
	WORD_BYTES = 8,
	/* In most places register 31 is the zero register. */
	ZERO_REGISTER = 31,
};

static const struct code_value unknown = { CODE_UNKNOWN, 0 };

/* A register that is not the stack pointer is written. */
static void set(struct code_state *state, uint8_t number, struct code_value value)
{
	if (number == ZERO_REGISTER)
		return;
	if (value.kind == CODE_CALLERS)
		value = unknown;
	code_state_set(state, EM_AARCH64, number, value);
}

static void set_or_sp(struct code_state *state, uint8_t number, struct code_value value)
{
	if (number == DWARF_ARM64_SP)
		code_state_move_sp(state, value);
	else
		set(state, number, value);
}

static struct code_value get(const struct code_state *state, uint8_t number)
{
	return code_state_get(state, EM_AARCH64, number);
}

/* One register of a load or store, at @place. */
static void transfer(struct code_state *state, uint8_t number, bool is_load, bool is_whole,
		     struct code_value place)
{
	if (number == ZERO_REGISTER)
		return;
	if (!is_load) {
		if (is_whole)
			code_state_store(state, EM_AARCH64, number, place);
	} else if (is_whole) {
		code_state_load(state, EM_AARCH64, number, place);
	} else {
		set(state, number, unknown);
	}
}

/* The address of an access, and the base register after it. */
struct access {
	uint8_t base;
	bool writes_back;
	struct code_value place;
	struct code_value base_after;
};

/* @mode as in bits 24 and 23 of pairs: 1 post-index, 3 pre-index, else only an offset. */
static struct access make_access(const struct code_state *state, uint8_t base, uint32_t mode,
				 int64_t offset)
{
	struct code_value value = get(state, base);
	struct code_value moved = code_value_add(value, offset);

	return (struct access){
		.base = base,
		.writes_back = mode == 1 || mode == 3,
		.place = mode == 1 ? code_value_add(value, 0) : moved,
		.base_after = moved,
	};
}

/* Pushes move the stack pointer first: a store to what is given back by it would be no store. */
static void begin_access(struct code_state *state, const struct access *access, bool is_load)
{
	if (access->writes_back && !is_load)
		set_or_sp(state, access->base, access->base_after);
}

static void end_access(struct code_state *state, const struct access *access, bool is_load)
{
	if (access->writes_back && is_load)
		set_or_sp(state, access->base, access->base_after);
}

static void pair(struct code_state *state, uint32_t word)
{
	uint32_t opc = arm64_bits(word, 30, 2);
	bool is_vector = arm64_bits(word, 26, 1), is_load = arm64_bits(word, 22, 1);
	int scale = is_vector ? 2 + opc : opc == 2 ? 3 : 2;
	struct access access = make_access(state, arm64_bits(word, 5, 5), arm64_bits(word, 23, 2),
					   arm64_signed_bits(word, 15, 7) * (1 << scale));

	begin_access(state, &access, is_load);
	if (!is_vector) {
		transfer(state, arm64_bits(word, 0, 5), is_load, opc == 2, access.place);
		transfer(state, arm64_bits(word, 10, 5), is_load, opc == 2,
			 code_value_add(access.place, WORD_BYTES));
	}
	end_access(state, &access, is_load);
}

/* Loads and stores of one register with an immediate offset. */
static void single(struct code_state *state, uint32_t word)
{
	uint32_t size = arm64_bits(word, 30, 2), opc = arm64_bits(word, 22, 2);
	bool is_vector = arm64_bits(word, 26, 1), is_scaled = arm64_bits(word, 24, 1);
	bool is_load = is_vector ? opc & 1 : opc != 0;
	int scale = is_vector && opc & 2 ? 4 : (int)size;
	/* Not scaled: bits 11 and 10 are 1 post-index, 3 pre-index, 0 or 2 neither. */
	struct access access = make_access(state, arm64_bits(word, 5, 5),
					   is_scaled ? 0 : arm64_bits(word, 10, 2),
					   is_scaled ? (int64_t)arm64_bits(word, 10, 12) << scale :
						       arm64_signed_bits(word, 12, 9));

	begin_access(state, &access, is_load);
	/* prfm loads nothing */
	if (!is_vector && !(size == 3 && opc == 2))
		transfer(state, arm64_bits(word, 0, 5), is_load, size == 3, access.place);
	end_access(state, &access, is_load);
}

static void loads_and_stores(struct code_state *state, uint32_t word)
{
	bool is_vector = arm64_bits(word, 26, 1);

	if ((word & 0x3a000000) == 0x28000000) {
		pair(state, word);
	} else if ((word & 0x3b000000) == 0x39000000 || (word & 0x3b200000) == 0x38000000) {
		single(state, word);
	} else if (is_vector) {
		/* Vectors of structures, with write-back of the base. */
		if (arm64_bits(word, 23, 1))
			set_or_sp(state, arm64_bits(word, 5, 5), unknown);
	} else {
		/*
		 * Literal, with a register as the offset, exclusive, atomic: those that only store
		 * are taken to write the register too, except the commonest.
		 */
		bool is_store = (word & 0x3b200c00) == 0x38200800 && !arm64_bits(word, 22, 2);

		if (!is_store)
			set(state, arm64_bits(word, 0, 5), unknown);
		/* ldxp, casp and stxr's status */
		if ((word & 0x3f000000) == 0x08000000) {
			set(state, arm64_bits(word, 16, 5), unknown);
			if (arm64_bits(word, 21, 1))
				set(state, arm64_bits(word, 10, 5), unknown);
		}
	}
}

/* add and sub with an immediate: `mov x29, sp` too */
static void add_immediate(struct code_state *state, uint32_t word)
{
	int64_t value = (int64_t)arm64_bits(word, 10, 12) << (arm64_bits(word, 22, 1) ? 12 : 0);
	bool is_wide = arm64_bits(word, 31, 1), sets_flags = arm64_bits(word, 29, 1);
	struct code_value sum = unknown;
	uint8_t target = arm64_bits(word, 0, 5);

	if (is_wide)
		sum = code_value_add(get(state, arm64_bits(word, 5, 5)),
				     arm64_bits(word, 30, 1) ? -value : value);
	if (sets_flags)
		set(state, target, sum);
	else
		set_or_sp(state, target, sum);
}

/* movz, movn, movk: sizes of large frames */
static void move_wide(struct code_state *state, uint32_t word)
{
	uint8_t target = arm64_bits(word, 0, 5);
	uint32_t opc = arm64_bits(word, 29, 2), shift = arm64_bits(word, 21, 2) * 16;
	struct code_value old = get(state, target), value = unknown;
	uint64_t part = (uint64_t)arm64_bits(word, 5, 16) << shift;
	uint64_t sum = part;

	if (opc == 3) {
		sum = ((uint64_t)(int64_t)old.offset & ~(0xffffULL << shift)) | part;
		if (old.kind != CODE_CONSTANT)
			sum = UINT64_MAX;
	}
	if (opc == 0)
		sum = ~part;
	if ((opc == 2 || opc == 3) && sum <= CODE_MAX_OFFSET)
		value = (struct code_value){ CODE_CONSTANT, sum };
	set(state, target, value);
}

/* orr with zero: a constant that is a run of ones (C6.2 DecodeBitMasks), of plain form. */
static void logical_immediate(struct code_state *state, uint32_t word)
{
	uint8_t target = arm64_bits(word, 0, 5), source = arm64_bits(word, 5, 5);
	uint32_t opc = arm64_bits(word, 29, 2), ones = arm64_bits(word, 10, 6) + 1,
		 turn = arm64_bits(word, 16, 6);
	struct code_value value = unknown;

	if (opc == 1 && source == ZERO_REGISTER && arm64_bits(word, 22, 1) &&
	    ones + (64 - turn) % 64 < 28)
		value = (struct code_value){ CODE_CONSTANT, ((1 << ones) - 1) << (64 - turn) % 64 };
	if (opc == 3)
		set(state, target, value);
	else if (target != DWARF_ARM64_SP)
		set(state, target, value);
	else if (opc == 0)
		code_state_align_sp(state);
	else
		code_state_move_sp(state, value);
}

static void immediates(struct code_state *state, uint32_t word)
{
	switch (arm64_bits(word, 23, 3)) {
	case 2:
		add_immediate(state, word);
		break;
	case 4:
		logical_immediate(state, word);
		break;
	case 5:
		move_wide(state, word);
		break;
	/* adr, adrp, bit fields, extr; addg and subg are of no compiler */
	default:
		set(state, arm64_bits(word, 0, 5), unknown);
		break;
	}
}

/* add and sub of sp and a register, extended or not */
static bool add_to_sp(struct code_state *state, uint32_t word)
{
	struct code_value amount = get(state, arm64_bits(word, 16, 5));
	struct code_value sum = unknown;
	uint8_t target = arm64_bits(word, 0, 5), source = arm64_bits(word, 5, 5);

	if ((word & 0xbfe00000) != 0x8b200000 ||
	    (target != DWARF_ARM64_SP && source != DWARF_ARM64_SP))
		return false;
	if (amount.kind == CODE_CONSTANT && !arm64_bits(word, 10, 3))
		sum = code_value_add(get(state, source), arm64_bits(word, 30, 1) ?
								 -(int64_t)amount.offset :
								 amount.offset);
	set_or_sp(state, target, sum);
	return true;
}

static void registers(struct code_state *state, uint32_t word)
{
	uint8_t source = arm64_bits(word, 16, 5);

	if (add_to_sp(state, word))
		return;
	/* mov: orr with zero; the stack pointer is never meant */
	if ((word & 0xffe0ffe0) == 0xaa0003e0 && source != ZERO_REGISTER)
		set(state, arm64_bits(word, 0, 5), get(state, source));
	else
		set(state, arm64_bits(word, 0, 5), unknown);
}

/* SVE (C4.1.66 to 82): those that write a general register. */
static void scalable_vectors(struct code_state *state, uint32_t word)
{
	uint8_t target = arm64_bits(word, 0, 5);

	/* addvl, addpl: how far they move the stack pointer depends on the machine */
	if ((word & 0xffa0f000) == 0x04205000)
		set_or_sp(state, target, unknown);
	/* rdvl; cntb, incb, sqdecd, ...; lasta, lastb; clasta, clastb; cntp; incp, sqdecp, ... */
	else if ((word & 0xffa0f000) == 0x04a05000 || (word & 0xff20e000) == 0x0420e000 ||
		 (word & 0xff2ee000) == 0x0520a000 || (word & 0xff3fc000) == 0x25208000 ||
		 (word & 0xff38f800) == 0x25288800)
		set(state, target, unknown);
}

/* Everything that is no branch. */
static void apply(struct code_state *state, uint32_t word)
{
	switch (arm64_bits(word, 25, 4)) {
	case 2:
		scalable_vectors(state, word);
		break;
	case 8:
	case 9:
		immediates(state, word);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		loads_and_stores(state, word);
		break;
	case 5:
	case 13:
		registers(state, word);
		break;
	case 7:
	case 15:
		/* fmov, fcvt*, umov, smov to a general register; some of the others are meant too. */
		if ((word & 0x5f200000) == 0x1e200000 && !arm64_bits(word, 10, 6))
			set(state, arm64_bits(word, 0, 5), unknown);
		if ((word & 0xbfe0fc00) == 0x0e003c00 || (word & 0xbfe0fc00) == 0x0e002c00)
			set(state, arm64_bits(word, 0, 5), unknown);
		break;
	default:
		break;
	}
}

/* Branches to a register: br, blr, ret, and those that authenticate. */
static enum code_step_flow register_branch(uint32_t word)
{
	switch (arm64_bits(word, 21, 4)) {
	case 0:
	case 8:
		return CODE_FLOW_JUMP_INDIRECT;
	case 1:
	case 9:
		return CODE_FLOW_CALL_INDIRECT;
	case 2:
		/* Through another register than x30 it is a jump. */
		return arm64_bits(word, 5, 5) == DWARF_ARM64_LR || arm64_bits(word, 11, 1) ?
			       CODE_FLOW_RETURN :
			       CODE_FLOW_JUMP_INDIRECT;
	default:
		return CODE_FLOW_STOP;
	}
}

/* Branches, exceptions, system. */
static enum code_step_flow branch(uint32_t word, struct code_state *state, int64_t *target)
{
	if ((word & 0x7c000000) == 0x14000000) {
		*target = arm64_signed_bits(word, 0, 26) * INSTRUCTION_BYTES;
		return arm64_bits(word, 31, 1) ? CODE_FLOW_CALL : CODE_FLOW_JUMP;
	}
	/* cbz, cbnz; b.cond, bc.cond */
	if ((word & 0x7e000000) == 0x34000000 || (word & 0xff000000) == 0x54000000) {
		*target = arm64_signed_bits(word, 5, 19) * INSTRUCTION_BYTES;
		/* b.al */
		return (word & 0xff00000e) == 0x5400000e ? CODE_FLOW_JUMP : CODE_FLOW_BRANCH;
	}
	if ((word & 0x7e000000) == 0x36000000) {
		*target = arm64_signed_bits(word, 5, 14) * INSTRUCTION_BYTES;
		return CODE_FLOW_BRANCH;
	}
	if ((word & 0xfe000000) == 0xd6000000)
		return register_branch(word);
	if ((word & 0xffe0001f) == 0xd4000001)
		return CODE_FLOW_SYSCALL;
	/* brk, hlt, hvc, smc, dcps */
	if ((word & 0xff000000) == 0xd4000000)
		return CODE_FLOW_STOP;
	if (word == 0xd503201f)
		return CODE_FLOW_NOP;
	/* mrs, sysl */
	if (state && (word & 0xffe00000) == 0xd5200000)
		set(state, arm64_bits(word, 0, 5), unknown);
	return (word & 0xff000000) == 0xd5000000 ? CODE_FLOW_NEXT : CODE_FLOW_BAD;
}

void arm64_step(const uint8_t *bytes, size_t size, struct code_state *state, struct code_step *step)
{
	struct byte_reader reader;
	uint32_t word;

	*step = (struct code_step){ .flow = CODE_FLOW_BAD, .length = 1 };
	byte_reader_init(&reader, bytes, size);
	word = byte_reader_u32(&reader);
	if (byte_reader_failed(&reader))
		return;
	step->length = INSTRUCTION_BYTES;
	switch (arm64_bits(word, 25, 4)) {
	/* udf; not allocated; SME */
	case 0:
		if (word >> 16 == 0)
			step->flow = CODE_FLOW_STOP;
		break;
	case 1:
	case 3:
		break;
	case 10:
	case 11:
		step->flow = branch(word, state, &step->target);
		break;
	default:
		step->flow = CODE_FLOW_NEXT;
		if (state)
			apply(state, word);
		break;
	}
}
