/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with slots for its own symbols, damaged, and any code in it: what a slot or an instruction leads to is the address
 * of one of the symbols, or what the instruction itself says.
 *
 * covers: import_slots.c
 */
#include "interpreters/import_slots.h"

#include "lib/elf/fuzz/made_elf.h"

enum { NAMES = 3, CODE = 0x100, CODE_BYTES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_library(struct made_elf *elf)
{
	static const char *const names[NAMES] = { "a", "b", "c" };
	static const uint8_t stub[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25 };
	struct made_symbol symbols[NAMES];
	int32_t distance = -(int32_t)(CODE + sizeof(stub) + 4);

	for (uint32_t i = 0; i < NAMES; i++)
		symbols[i] = (struct made_symbol){ .name = names[i],
						   .address = MADE_START + 0x100 * (i + 1) };
	made_elf_init(elf, EM_X86_64);
	made_elf_set_symbols(elf, symbols, NAMES, 2, true);
	for (uint64_t i = 0; i < NAMES; i++)
		elf->slots[i] = (Elf64_Rela){ .r_offset = MADE_ADDRESS(content) + 8 * i,
					      .r_info = ELF64_R_INFO(i + 1, R_X86_64_JUMP_SLOT) };
	memcpy(elf->content + CODE, stub, sizeof(stub));
	memcpy(elf->content + CODE + sizeof(stub), &distance, sizeof(distance));
}

static bool is_symbol(const struct import_slots *slots, uint64_t address)
{
	for (uint32_t i = 0; i < slots->symbol_count; i++)
		if (slots->symbols[i].address == address)
			return true;
	return false;
}

static void check_code(const struct import_slots *slots, const struct elf_image *image,
		       uint64_t address)
{
	struct x86_code code = { 0 };

	if (!x86_code_init_head(&code, image, address, CODE_BYTES))
		while (x86_code_next_known(&code)) {
			uint64_t target = import_slots_target(slots, &code);
			bool is_direct = code.x86.kind == X86_CALL || x86_code_is_jump(&code);

			if (target && !is_symbol(slots, target) &&
			    !(is_direct && target == x86_code_target(&code)))
				abort();
		}
	x86_code_deinit(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_elf elf;
	struct import_slots slots = { 0 };
	struct elf_image image = { 0 };
	struct elf_dynamic dynamic;
	struct byte_reader reader;
	size_t code_bytes = size < CODE_BYTES ? size : CODE_BYTES;

	make_library(&elf);
	memcpy(elf.content + CODE + 16, data, code_bytes);
	byte_reader_init(&reader, data + code_bytes, size - code_bytes);
	made_elf_damage(&elf, &reader);
	if (elf_image_init_memory(&image, (const uint8_t *)&elf, MADE_ELF_BYTES))
		return 0;
	if (!elf_dynamic_init(&dynamic, &image)) {
		slots.symbol_count = !elf_dynamic_find(&dynamic, &image, "a", &slots.symbols[0]);
		slots.symbol_count += !elf_dynamic_find(&dynamic, &image, "b",
							&slots.symbols[slots.symbol_count]);
		if (!import_slots_find(&slots, &image, &dynamic)) {
			for (uint64_t i = 0; i < NAMES; i++) {
				uint64_t slot = MADE_ADDRESS(content) + 8 * i;
				uint64_t address = import_slots_at(&slots, slot);

				if (address && (!is_symbol(&slots, address) ||
						!import_slots_of(&slots, address)))
					abort();
			}
			check_code(&slots, &image, MADE_ADDRESS(content) + CODE + 16);
		}
	}
	elf_image_deinit(&image);
	return 0;
}
