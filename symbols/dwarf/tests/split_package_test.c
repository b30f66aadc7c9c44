/* SPDX-License-Identifier: Apache-2.0 */
/* Packages made here; symbols/tests/addr2line_test.py tests those of linkers' tools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "lib/elf/tests/elf_builder.h"
#include "symbols/dwarf/split_package.h"

enum {
	UNIT_COUNT = 2,
	SLOT_COUNT = 4,
	COLUMN_COUNT = 3,
	INFO_BYTES = 4,
};

/* Both ids hash to slot 1, so the second one goes to slot 2. */
static const uint64_t ids[UNIT_COUNT] = { 0x1000000001, 0x2000000001 };
static const char strings[] = "zero\0one\0two";

/* A table of offsets with its header of DWARF 5. */
struct offsets {
	uint32_t length;
	uint32_t version;
	uint32_t values[2];
};

struct index {
	uint32_t head[4];
	uint64_t hashes[SLOT_COUNT];
	uint32_t rows[SLOT_COUNT];
	uint32_t columns[COLUMN_COUNT];
	uint32_t offsets[UNIT_COUNT][COLUMN_COUNT];
	uint32_t sizes[UNIT_COUNT][COLUMN_COUNT];
};

static struct index example(uint32_t version)
{
	uint32_t table = version == 2 ? 8 : 16;

	return (struct index){
		.head = { version, COLUMN_COUNT, UNIT_COUNT, SLOT_COUNT },
		.hashes = { 0, ids[0], ids[1], 0 },
		.rows = { 0, 1, 2, 0 },
		.columns = { 1, 3, 6 },
		.offsets = { { 0, 0, 0 }, { INFO_BYTES, 0, table } },
		.sizes = { { INFO_BYTES, 2, table }, { INFO_BYTES, 2, table } },
	};
}

/* @string is the last string offset of the second unit; 9 in a valid example. */
static void build(struct elf_builder *builder, const struct index *index, uint32_t string)
{
	const struct offsets tables[UNIT_COUNT] = {
		{ 12, 5, { 5, 0 } },
		{ 12, 5, { 9, string } },
	};
	static const uint32_t plain_tables[UNIT_COUNT][2] = { { 5, 0 }, { 9, 9 } };

	elf_builder_init(builder, 1);
	elf_builder_add(builder, ".debug_info.dwo", SHT_PROGBITS, 0, "AAAABBBB", 8);
	elf_builder_add(builder, ".debug_abbrev.dwo", SHT_PROGBITS, 0, "ab", 2);
	if (index->head[0] == 2)
		elf_builder_add(builder, ".debug_str_offsets.dwo", SHT_PROGBITS, 0, plain_tables,
				sizeof(plain_tables));
	else
		elf_builder_add(builder, ".debug_str_offsets.dwo", SHT_PROGBITS, 0, tables,
				sizeof(tables));
	elf_builder_add(builder, ".debug_str.dwo", SHT_PROGBITS, 0, strings, sizeof(strings));
	elf_builder_add(builder, ".debug_cu_index", SHT_PROGBITS, 0, index, sizeof(*index));
	elf_builder_finish(builder);
}

static void assert_section(const struct elf_image *image, const char *name, const void *bytes,
			   size_t size)
{
	const struct elf_section *section = elf_image_find_section(image, name);

	assert_non_null(section);
	assert_int_equal(section->size, size);
	assert_memory_equal(image->memory + section->offset, bytes, size);
}

static void check_units(uint32_t version)
{
	static const char *const infos[UNIT_COUNT] = { "AAAA", "BBBB" };
	static const char first[] = "one\0zero", second[] = "two\0two";
	static const uint32_t offsets[UNIT_COUNT][2] = { { 0, 4 }, { 0, 4 } };
	struct index index = example(version);
	struct split_package package = { 0 };
	struct elf_builder builder;

	build(&builder, &index, 9);
	assert_int_equal(split_package_init(&package, builder.bytes, BUILT_BYTES), 0);
	for (int i = 0; i < UNIT_COUNT; i++) {
		struct byte_vector file = { 0 };
		struct elf_image image;
		uint8_t table[16] = { 12, 0, 0, 0, 5, 0, 0, 0 };
		size_t head = version == 2 ? 0 : 8;

		memcpy(table + head, offsets[i], 8);
		assert_int_equal(split_package_unit(&package, ids[i], &file), 0);
		assert_int_equal(elf_image_init_memory(&image, file.items, file.count), 0);
		assert_section(&image, ".debug_info.dwo", infos[i], INFO_BYTES);
		assert_section(&image, ".debug_abbrev.dwo", "ab", 2);
		assert_section(&image, ".debug_str_offsets.dwo", table, head + 8);
		assert_section(&image, ".debug_str.dwo", i ? second : first,
			       i ? sizeof(second) : sizeof(first));
		elf_image_deinit(&image);
		byte_vector_deinit(&file);
	}
	split_package_deinit(&package);
}

static void a_unit_is_taken_out_with_its_own_strings(void **state)
{
	(void)state;
	check_units(5);
	check_units(2);
}

/* The error of opening the package, or else of extracting the second unit. */
static int error_of(const struct index *index, uint32_t string)
{
	struct split_package package = { 0 };
	struct byte_vector file = { 0 };
	struct elf_builder builder;
	int err;

	build(&builder, index, string);
	err = split_package_init(&package, builder.bytes, BUILT_BYTES);
	if (!err) {
		err = split_package_unit(&package, ids[1], &file);
		split_package_deinit(&package);
	}
	byte_vector_deinit(&file);
	return err;
}

static void damage_costs_the_unit(void **state)
{
	struct index index = example(5);

	(void)state;
	index.head[0] = 4;
	assert_int_equal(error_of(&index, 9), -EOPNOTSUPP);
	index = example(5);
	index.head[3] = 3;
	assert_int_equal(error_of(&index, 9), -EBADMSG);
	index = example(5);
	index.head[2] = 1000;
	assert_int_equal(error_of(&index, 9), -EBADMSG);
	index = example(5);
	index.rows[2] = UNIT_COUNT + 1;
	assert_int_equal(error_of(&index, 9), -ENOENT);
	index = example(5);
	index.hashes[2]++;
	assert_int_equal(error_of(&index, 9), -ENOENT);
	/* Other ids use all slots. */
	index = example(5);
	for (int i = 0; i < SLOT_COUNT; i++)
		index.rows[i] = 1;
	index.hashes[2] = 0;
	assert_int_equal(error_of(&index, 9), -ENOENT);
	index = example(5);
	index.sizes[1][0]++;
	assert_int_equal(error_of(&index, 9), -EBADMSG);
	index = example(5);
	index.offsets[1][0] = UINT32_MAX;
	assert_int_equal(error_of(&index, 9), -EBADMSG);
	index = example(5);
	assert_int_equal(error_of(&index, sizeof(strings)), -EBADMSG);
	assert_int_equal(error_of(&index, 9), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_is_taken_out_with_its_own_strings),
		cmocka_unit_test(damage_costs_the_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
