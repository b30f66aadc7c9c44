/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up exported symbols by name. In correct tables each name is found with its symbol's values, and no
 * other name is; with damaged ones nothing crashes or takes long. Byte 0 chooses the kind of table and the
 * number of buckets, byte 1 the number of symbols; a byte for each makes its name and the rest is damage.
 */
#include "lib/elf/elf_dynamic.h"

#include <errno.h>
#include <stdio.h>

#include "lib/elf/fuzz/made_elf.h"

enum { NAME_BYTES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_symbols(struct byte_reader *reader, uint32_t count, char names[][NAME_BYTES],
			 struct made_symbol *symbols)
{
	for (uint32_t i = 0; i < count; i++) {
		uint8_t choice = byte_reader_u8(reader);

		/* Names of two letters collide in their buckets. */
		snprintf(names[i], NAME_BYTES, "%c%c", 'a' + choice % 13, 'a' + choice / 13 % 9);
		symbols[i] = (struct made_symbol){ .name = names[i],
						   .address = MADE_START + i,
						   .size = i,
						   .is_undefined = choice >= 13 * 9 };
	}
}

/* Whether the symbol that was found is one of the symbols. */
static bool is_one_of(const struct made_symbol *symbols, uint32_t count, const char *name,
		      const struct elf_dynamic_symbol *found)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!symbols[i].is_undefined && !strcmp(symbols[i].name, name) &&
		    symbols[i].address == found->address && symbols[i].size == found->size)
			return true;
	}
	return false;
}

static bool is_defined(const struct made_symbol *symbols, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!symbols[i].is_undefined && !strcmp(symbols[i].name, name))
			return true;
	}
	return false;
}

static void look_up(const struct elf_image *image, const struct elf_dynamic *dynamic,
		    const struct made_symbol *symbols, uint32_t count, bool is_damaged)
{
	for (uint32_t i = 0; i < 13 * 9; i += 3) {
		struct elf_dynamic_symbol found;
		char name[NAME_BYTES];
		int err;

		snprintf(name, sizeof(name), "%c%c", 'a' + i % 13, 'a' + i / 13 % 9);
		err = elf_dynamic_find(dynamic, image, name, &found);
		if (err && err != -ENOENT && err != -EBADMSG)
			abort();
		if (!is_damaged && !err != is_defined(symbols, count, name))
			abort();
		if (!is_damaged && !err && !is_one_of(symbols, count, name, &found))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_elf elf;
	struct made_symbol symbols[MADE_SYMBOLS_MAX];
	char names[MADE_SYMBOLS_MAX][NAME_BYTES], long_name[512] = "";
	struct elf_dynamic_symbol found;
	struct elf_dynamic dynamic;
	struct byte_reader reader;
	struct elf_image image;
	uint8_t choice;
	uint32_t count;
	bool is_damaged;

	byte_reader_init(&reader, data, size);
	choice = byte_reader_u8(&reader);
	count = byte_reader_u8(&reader) % (MADE_SYMBOLS_MAX + 1);
	make_symbols(&reader, count, names, symbols);
	made_elf_init(&elf, EM_X86_64);
	made_elf_set_symbols(&elf, symbols, count, 1 + (choice >> 1) % MADE_BUCKETS_MAX,
			     choice & 1);
	is_damaged = made_elf_damage(&elf, &reader);
	if (elf_image_init_memory(&image, &elf, MADE_ELF_BYTES))
		return 0;
	if (!elf_dynamic_init(&dynamic, &image)) {
		look_up(&image, &dynamic, symbols, count, is_damaged);
		memset(long_name, 'x', sizeof(long_name) - 1);
		if (elf_dynamic_find(&dynamic, &image, long_name, &found) != -ENOENT)
			abort();
	} else if (!is_damaged) {
		abort();
	}
	elf_image_deinit(&image);
	return 0;
}
