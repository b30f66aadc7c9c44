/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots that the dynamic linker has not bound yet, in modules with right or damaged tables: a function
 * that is found is exported by a module under the name of the slot, and nothing crashes or takes long.
 * Byte 0 chooses the slot, byte 1 which module exports which name; the rest is damage, first of one
 * module and then of the other.
 */
#include "interpreters/unbound_call.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/elf/fuzz/made_elf.h"

enum { MODULES = 2, NAMES = 4, MODULE_BYTES = 0x100000 };

#define FIRST_BIAS 0x7f0000000000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Module @module exports name i if bit i of @exported is set; all have slots for all names. */
static void make_module(struct made_elf *elf, uint32_t module, uint8_t exported)
{
	static const char *const names[NAMES] = { "pthread_getspecific", "PyThread_get", "a", "b" };
	struct made_symbol symbols[NAMES];

	for (uint32_t i = 0; i < NAMES; i++)
		symbols[i] = (struct made_symbol){ .name = names[i],
						   .address = MADE_START + 0x100 * (i + 1),
						   .is_undefined = !(exported >> i & 1) };
	made_elf_init(elf, EM_X86_64);
	made_elf_set_symbols(elf, symbols, NAMES, 3, module & 1);
	for (uint32_t i = 0; i < NAMES; i++) {
		uint32_t index = 1;

		while (strcmp(elf->strings + elf->symbols[index].st_name, names[i]) != 0)
			index++;
		elf->slots[i] =
			(Elf64_Rela){ .r_offset = MADE_ADDRESS(content) + 8 * i,
				      .r_info = ELF64_R_INFO((uint64_t)index, R_X86_64_JUMP_SLOT) };
	}
}

/* Each module has one file for all runs, since making a file takes most of the time. */
static int file_of(const struct made_elf *elf, uint32_t module)
{
	static int fds[MODULES] = { -1, -1 };

	if (fds[module] < 0)
		fds[module] = memfd_create("module", MFD_CLOEXEC);
	if (pwrite(fds[module], elf, MADE_ELF_BYTES, 0) != (ssize_t)MADE_ELF_BYTES)
		abort();
	return fds[module];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_elf elf;
	struct attach_module modules[MODULES];
	struct attach_target target = { .modules = modules, .module_count = MODULES };
	struct byte_reader reader, part;
	uint8_t slot, exported;
	uint64_t function = 0;
	bool is_damaged = false;
	int err;

	if (size < 3)
		return 0;
	byte_reader_init(&reader, data, size);
	slot = byte_reader_u8(&reader);
	exported = byte_reader_u8(&reader);
	for (uint32_t i = 0; i < MODULES; i++) {
		make_module(&elf, i, exported >> i * NAMES);
		byte_reader_init(&part, data + 2 + i * (size - 2) / 2, (size - 2) / 2);
		is_damaged |= made_elf_damage(&elf, &part);
		modules[i] = (struct attach_module){ .path = "module",
						     .fd = file_of(&elf, i),
						     .bias = FIRST_BIAS + i * MODULE_BYTES };
	}
	err = unbound_call_find(
		&target, modules[slot & 1].bias + MADE_ADDRESS(content) + 8 * (slot >> 1 & 7),
		UINT64_MAX, &function);
	if (is_damaged)
		return 0;
	slot = slot >> 1 & 7;
	if (slot >= NAMES || !((exported | exported >> NAMES) >> slot & 1)) {
		if (err != -ENOENT)
			abort();
	} else if (err || function != modules[!(exported >> slot & 1)].bias + MADE_START +
					      0x100 * (slot + 1U)) {
		abort();
	}
	return 0;
}
