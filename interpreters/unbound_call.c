/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/unbound_call.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"

enum { SLOTS_AT_ONCE = 64, NAME_MAX_BYTES = 128 };

/* The name of symbol @index. */
static int read_name(const struct elf_dynamic *dynamic, const struct elf_image *image,
		     uint64_t index, char name[NAME_MAX_BYTES])
{
	uint64_t address, left;
	Elf64_Sym symbol;
	int err = elf_image_read_address(image, dynamic->symbols + index * sizeof(symbol), &symbol,
					 sizeof(symbol));

	if (err)
		return err;
	address = dynamic->strings + symbol.st_name;
	left = elf_image_bytes_at_address(image, address);
	memset(name, 0, NAME_MAX_BYTES);
	err = elf_image_read_address(image, address, name,
				     left < NAME_MAX_BYTES ? left : NAME_MAX_BYTES);
	if (err)
		return err;
	return name[0] && memchr(name, 0, NAME_MAX_BYTES) ? 0 : -ENOENT;
}

/* The name in the relocation of the slot at ELF address @slot. */
static int find_name(const struct elf_dynamic *dynamic, const struct elf_image *image,
		     uint64_t slot, char name[NAME_MAX_BYTES])
{
	uint64_t count = dynamic->slots_bytes / sizeof(Elf64_Rela);

	count = count < UNBOUND_CALL_MAX_SLOTS ? count : UNBOUND_CALL_MAX_SLOTS;
	for (uint64_t i = 0; i < count; i += SLOTS_AT_ONCE) {
		uint64_t left = count - i < SLOTS_AT_ONCE ? count - i : SLOTS_AT_ONCE;
		Elf64_Rela slots[SLOTS_AT_ONCE];
		int err = elf_image_read_address(image, dynamic->slots + i * sizeof(slots[0]),
						 slots, left * sizeof(slots[0]));

		if (err)
			return err;
		for (uint64_t j = 0; j < left; j++) {
			if (slots[j].r_offset == slot)
				return read_name(dynamic, image, ELF64_R_SYM(slots[j].r_info),
						 name);
		}
	}
	return -ENOENT;
}

/* The name of the slot, if the slot belongs to this module. */
static int name_in_module(const struct attach_module *module, uint64_t slot,
			  char name[NAME_MAX_BYTES])
{
	struct elf_image image = { 0 };
	struct elf_dynamic dynamic;
	int err = elf_image_init_fd(&image, module->fd);

	if (!err && !elf_image_bytes_at_address(&image, slot - module->bias))
		err = -ENOENT;
	if (!err)
		err = elf_dynamic_init(&dynamic, &image);
	if (!err)
		err = find_name(&dynamic, &image, slot - module->bias, name);
	elf_image_deinit(&image);
	return err;
}

static int find_in_module(const struct attach_module *module, const char *name, uint64_t *function)
{
	struct elf_image image = { 0 };
	struct elf_dynamic dynamic;
	struct elf_dynamic_symbol symbol;
	int err = elf_image_init_fd(&image, module->fd);

	if (!err)
		err = elf_dynamic_init(&dynamic, &image);
	if (!err)
		err = elf_dynamic_find(&dynamic, &image, name, &symbol);
	elf_image_deinit(&image);
	if (!err && symbol.type != STT_FUNC)
		err = -ENOENT;
	if (!err)
		*function = module->bias + symbol.address;
	return err;
}

static bool is_over(uint64_t deadline_ns)
{
	return clock_thread_cpu_ns() >= deadline_ns;
}

int unbound_call_find_name(const struct attach_target *target, const char *name,
			   uint64_t deadline_ns, uint64_t *function)
{
	for (uint32_t i = 0; i < target->module_count; i++) {
		if (is_over(deadline_ns))
			return fail(-EOPNOTSUPP, "%s takes too long to find", name);
		if (!find_in_module(&target->modules[i], name, function))
			return 0;
	}
	return fail(-ENOENT, "nothing exports %s", name);
}

int unbound_call_find(const struct attach_target *target, uint64_t slot, uint64_t deadline_ns,
		      uint64_t *function)
{
	char name[NAME_MAX_BYTES] = "";
	int err = -ENOENT;

	for (uint32_t i = 0; i < target->module_count && err; i++) {
		if (is_over(deadline_ns))
			return fail(-EOPNOTSUPP,
				    "the function for the slot at %#" PRIx64
				    " takes too long to find",
				    slot);
		err = name_in_module(&target->modules[i], slot, name);
	}
	if (err)
		return fail(-ENOENT, "no relocation for the slot at %#" PRIx64, slot);
	return unbound_call_find_name(target, name, deadline_ns, function);
}
