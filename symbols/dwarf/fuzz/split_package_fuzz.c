/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts units from a package. The input's first eight bytes are an id that is extracted besides
 * those of the index; the rest is the package. Each result must be an ELF file like those that we
 * make.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf/split_package.h"

enum {
	UNITS = 16,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_unit(const struct split_package *package, uint64_t id)
{
	struct byte_vector file = { 0 };
	struct elf_image image;

	if (!split_package_unit(package, id, &file)) {
		if (elf_image_init_memory(&image, file.items, file.count) ||
		    !elf_image_find_section(&image, ".debug_str.dwo"))
			abort();
		elf_image_deinit(&image);
	}
	byte_vector_deinit(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct split_package package;
	uint64_t id;

	if (size < sizeof(id))
		return 0;
	memcpy(&id, data, sizeof(id));
	if (split_package_init(&package, data + sizeof(id), size - sizeof(id)))
		return 0;
	take_unit(&package, id);
	for (uint32_t i = 0; i < package.slot_count && i < UNITS; i++) {
		memcpy(&id, package.hashes + i * sizeof(id), sizeof(id));
		take_unit(&package, id);
	}
	split_package_deinit(&package);
	return 0;
}
