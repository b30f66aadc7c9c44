/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How the code of a library uses its own exported functions and variables: by slots (the GOT) that the dynamic linker fills,
 * because another file may have a symbol of the same name, or a copy of the variable. Calls go to a stub (the PLT), which jumps
 * through a slot. Code of a program, or of a library that was linked with -Bsymbolic, uses the symbols themselves.
 */
#ifndef INTERPRETERS_IMPORT_SLOTS_H
#define INTERPRETERS_IMPORT_SLOTS_H

#include <stdint.h>

#include "interpreters/x86_code.h"
#include "lib/elf/elf_dynamic.h"
#include "lib/elf/elf_image.h"

enum {
	/** Limit of symbols that are added, and of the slots that they have: one for code that loads, one for a stub. */
	IMPORT_SLOTS_MAX_SYMBOLS = 16,
	IMPORT_SLOTS_MAX = 2 * IMPORT_SLOTS_MAX_SYMBOLS,
	/** Limit of relocations that are searched, in each of the two tables. */
	IMPORT_SLOTS_MAX_RELOCATIONS = 1 << 18,
};

/** ELF virtual addresses. The image is borrowed. Nothing to free. */
struct import_slots {
	const struct elf_image *image;
	struct elf_dynamic_symbol symbols[IMPORT_SLOTS_MAX_SYMBOLS];
	uint32_t symbol_count;
	struct import_slot {
		uint64_t slot;
		uint64_t address;
	} slots[IMPORT_SLOTS_MAX];
	uint32_t slot_count;
};

/**
 * Finds the slots of the symbols that @slots->symbols has, which elf_dynamic_find() found in @image; a symbol with index 0 has
 * none. -EBADMSG.
 */
int import_slots_find(struct import_slots *slots, const struct elf_image *image,
		      const struct elf_dynamic *dynamic);

/** The symbol's address whose slot is at @slot; 0: it is none of the slots. */
uint64_t import_slots_at(const struct import_slots *slots, uint64_t slot);
/** The slot of the symbol at @address that code loads from or that a stub jumps through; 0: it has none. */
uint64_t import_slots_of(const struct import_slots *slots, uint64_t address);
/**
 * The target of a call or a direct jump, the current instruction. If it leads through the slot of a symbol that is the symbol's
 * address. 0: another instruction.
 */
uint64_t import_slots_target(const struct import_slots *slots, const struct x86_code *code);

#endif
