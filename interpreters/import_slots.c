/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/import_slots.h"

#include <elf.h>

#include "lib/base/cleanup.h"
#include "lib/isa/x86_opcode.h"

enum {
	RELOCATIONS_AT_ONCE = 256,
	/* endbr64, and a jump through memory with a prefix. */
	STUB_MAX_BYTES = 16,
	STUB_MAX_INSTRUCTIONS = 2,
	/* Jumps and calls through memory. */
	GROUP_5 = 0xff,
};

static const struct elf_dynamic_symbol *find_symbol(const struct import_slots *slots,
						    uint64_t index)
{
	for (uint32_t i = 0; index && i < slots->symbol_count; i++)
		if (slots->symbols[i].index == index)
			return &slots->symbols[i];
	return NULL;
}

static void add_slot(struct import_slots *slots, const Elf64_Rela *relocation)
{
	const struct elf_dynamic_symbol *symbol;
	uint64_t type = ELF64_R_TYPE(relocation->r_info);

	if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) ||
	    slots->slot_count == IMPORT_SLOTS_MAX)
		return;
	symbol = find_symbol(slots, ELF64_R_SYM(relocation->r_info));
	if (symbol)
		slots->slots[slots->slot_count++] =
			(struct import_slot){ relocation->r_offset, symbol->address };
}

static int search_table(struct import_slots *slots, uint64_t table, uint64_t bytes)
{
	uint64_t count = bytes / sizeof(Elf64_Rela);

	if (count > IMPORT_SLOTS_MAX_RELOCATIONS)
		count = IMPORT_SLOTS_MAX_RELOCATIONS;
	for (uint64_t i = 0; i < count; i += RELOCATIONS_AT_ONCE) {
		uint64_t left = count - i;
		Elf64_Rela relocations[RELOCATIONS_AT_ONCE];
		int err;

		if (left > RELOCATIONS_AT_ONCE)
			left = RELOCATIONS_AT_ONCE;
		err = elf_image_read_address(slots->image, table + i * sizeof(relocations[0]),
					     relocations, left * sizeof(relocations[0]));
		if (err)
			return err;
		for (uint64_t j = 0; j < left; j++)
			add_slot(slots, &relocations[j]);
	}
	return 0;
}

int import_slots_find(struct import_slots *slots, const struct elf_image *image,
		      const struct elf_dynamic *dynamic)
{
	int err;

	slots->image = image;
	slots->slot_count = 0;
	err = search_table(slots, dynamic->relocations, dynamic->relocations_bytes);
	return err ? err : search_table(slots, dynamic->slots, dynamic->slots_bytes);
}

uint64_t import_slots_at(const struct import_slots *slots, uint64_t slot)
{
	for (uint32_t i = 0; slot && i < slots->slot_count; i++)
		if (slots->slots[i].slot == slot)
			return slots->slots[i].address;
	return 0;
}

uint64_t import_slots_of(const struct import_slots *slots, uint64_t address)
{
	for (uint32_t i = 0; address && i < slots->slot_count; i++)
		if (slots->slots[i].address == address)
			return slots->slots[i].slot;
	return 0;
}

/* The slot that the current instruction jumps or calls through; 0: it is another instruction. */
static uint64_t slot_of_jump(const struct x86_code *code)
{
	struct x86_operands operands;

	if ((code->x86.kind != X86_JUMP_INDIRECT && code->x86.kind != X86_CALL_INDIRECT) ||
	    !code->x86.is_pc_relative ||
	    !x86_decode_operands(x86_code_bytes(code), code->x86.length, &operands) ||
	    operands.map != MAP_ONE_BYTE || operands.opcode != GROUP_5)
		return 0;
	return code->next + (uint64_t)operands.displacement;
}

uint64_t import_slots_target(const struct import_slots *slots, const struct x86_code *code)
{
	_cleanup_(x86_code_deinit) struct x86_code stub = { 0 };
	bool is_direct = code->x86.kind == X86_CALL || x86_code_is_jump(code);
	uint64_t target = is_direct ? x86_code_target(code) : 0, address = 0;

	/* Nothing is read for the code of a program. */
	if (!slots->slot_count)
		return target;
	if (!is_direct)
		return import_slots_at(slots, slot_of_jump(code));
	if (x86_code_init_head(&stub, slots->image, target, STUB_MAX_BYTES))
		return target;
	for (int i = 0; i < STUB_MAX_INSTRUCTIONS && !address && x86_code_next(&stub); i++)
		address = import_slots_at(slots, slot_of_jump(&stub));
	return address ? address : target;
}
