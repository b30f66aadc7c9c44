/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/go/goroutine_layout.h"

#include <elf.h>
#include <string.h>

enum {
	/* Later ones may have moved what is in struct g. */
	LAST_KNOWN_MINOR = 27,
	ARM64_BYTES = 4,
	/* str of 8 bytes with an offset of 12 bits, in words. */
	ARM64_STORE_MASK = 0xffc00000,
	ARM64_STORE = 0xf9000000,
	ARM64_OFFSET_SHIFT = 10,
	ARM64_OFFSET_MASK = 0xfff,
};

/* The newest first. */
static const struct goroutine_layout layouts[] = {
	{ .minor = 26, .labels = 352, .id = 152, .has_label_slice = true },
	{ .minor = 25, .labels = 344, .id = 152, .has_label_slice = true },
	{ .minor = 24, .labels = 352, .id = 160, .has_label_slice = true },
	{ .minor = 23, .labels = 352, .id = 160 },
	{ .minor = 21, .labels = 344, .id = 152 },
	{ .minor = 17, .labels = 360, .id = 152 },
	{ .minor = 15, .labels = 344, .id = 152 },
};

const struct goroutine_layout *goroutine_layout_find(uint32_t minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (minor >= layouts[i].minor && minor <= LAST_KNOWN_MINOR)
			return &layouts[i];
	return NULL;
}

bool goroutine_layout_fits(const struct goroutine_layout *layout, uint16_t machine,
			   const uint8_t *code, size_t size)
{
	uint32_t labels = layout->labels, word;

	if (machine == EM_X86_64)
		return memmem(code, size, &labels, sizeof(labels)) != NULL;
	for (size_t at = 0; at + ARM64_BYTES <= size; at += ARM64_BYTES) {
		memcpy(&word, code + at, sizeof(word));
		if ((word & ARM64_STORE_MASK) == ARM64_STORE &&
		    (word >> ARM64_OFFSET_SHIFT & ARM64_OFFSET_MASK) * 8 == labels)
			return true;
	}
	return false;
}
