/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/vm_structs.h"

#include <errno.h>
#include <string.h>

#include "interpreters/java/remote_pages.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"

static const char *const symbol_names[VM_SYMBOL_COUNT] = {
	[VM_STRUCTS] = "gHotSpotVMStructs",
	[VM_STRUCT_TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
	[VM_STRUCT_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
	[VM_STRUCT_TYPE_STRING] = "gHotSpotVMStructEntryTypeStringOffset",
	[VM_STRUCT_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[VM_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[VM_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[VM_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[VM_TYPES] = "gHotSpotVMTypes",
	[VM_TYPE_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[VM_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
	[VM_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[VM_INT_CONSTANTS] = "gHotSpotVMIntConstants",
	[VM_INT_CONSTANT_NAME] = "gHotSpotVMIntConstantEntryNameOffset",
	[VM_INT_CONSTANT_VALUE] = "gHotSpotVMIntConstantEntryValueOffset",
	[VM_INT_CONSTANT_STRIDE] = "gHotSpotVMIntConstantEntryArrayStride",
};

/* Sizes of the types of fields. */
static const struct {
	const char *name;
	uint8_t bytes;
} field_types[] = {
	/* An enum of one byte, in the versions that have it under this name. */
	{ "CompLevel", 1 },
	{ "address", 8 },
	{ "bool", 1 },
	{ "int", 4 },
	{ "int16_t", 2 },
	{ "jint", 4 },
	{ "juint", 4 },
	{ "jushort", 2 },
	{ "short", 2 },
	{ "size_t", 8 },
	{ "u1", 1 },
	{ "u2", 2 },
	{ "u4", 4 },
	{ "uint16_t", 2 },
	{ "uint32_t", 4 },
	{ "uint64_t", 8 },
	{ "unsigned char", 1 },
	{ "unsigned int", 4 },
	{ "unsigned short", 2 },
	{ "volatile signed char", 1 },
	{ "volatile unsigned char", 1 },
};

/* A table, by the values of its symbols. */
struct table {
	uint64_t address;
	uint64_t stride;
	/** Offset in an entry of the string that is looked up: the name of the type or of the constant. */
	uint64_t name;
};

struct reading {
	struct remote_pages pages;
	uint64_t values[VM_SYMBOL_COUNT];
	const struct vm_question *questions;
	size_t count;
	struct vm_answer *answers;
	/** The string that was read last; neighbouring entries share theirs. */
	uint64_t name_address;
	char name[VM_STRUCTS_NAME_BYTES];
};

int vm_symbols_find(const struct elf_image *image, struct vm_symbols *symbols)
{
	struct vm_symbols found;
	struct elf_dynamic dynamic;
	int err = elf_dynamic_init(&dynamic, image);

	if (err)
		return err;
	for (int i = 0; i < VM_SYMBOL_COUNT; i++) {
		struct elf_dynamic_symbol symbol;

		err = elf_dynamic_find(&dynamic, image, symbol_names[i], &symbol);
		if (err == -ENOENT && i != VM_STRUCTS)
			return fail(-EOPNOTSUPP, "HotSpot without %s", symbol_names[i]);
		if (err)
			return err;
		found.addresses[i] = symbol.address;
	}
	found.machine = image->machine;
	*symbols = found;
	return 0;
}

static int read_values(struct reading *reading, const struct vm_symbols *symbols, uint64_t bias)
{
	for (int i = 0; i < VM_SYMBOL_COUNT; i++) {
		int err = remote_pages_read(&reading->pages, symbols->addresses[i] + bias,
					    &reading->values[i], sizeof(reading->values[i]));

		if (err)
			return err;
	}
	return 0;
}

/* Checks a table. Constructors of libjvm.so set the stride and the offsets, all but one of which are not 0. */
static int check_table(const struct reading *reading, enum vm_symbol first, enum vm_symbol stride,
		       struct table *table)
{
	table->address = reading->values[first];
	table->stride = reading->values[stride];
	table->name = reading->values[first + 1];
	if (!table->address || !table->stride)
		return fail(-EAGAIN, "%s is not set up yet", symbol_names[first]);
	if (table->stride > VM_STRUCTS_MAX_STRIDE || table->stride % 8)
		return fail(-EBADMSG, "%s has entries of %llu bytes", symbol_names[first],
			    (unsigned long long)table->stride);
	for (int i = first + 1; i < (int)stride; i++)
		if (reading->values[i] > table->stride - 8 || reading->values[i] % 4)
			return fail(-EBADMSG, "%s is %llu", symbol_names[i],
				    (unsigned long long)reading->values[i]);
	return 0;
}

static uint64_t word_of(const uint8_t *entry, uint64_t offset)
{
	uint64_t word;

	memcpy(&word, entry + offset, sizeof(word));
	return word;
}

static uint32_t half_of(const uint8_t *entry, uint64_t offset)
{
	uint32_t half;

	memcpy(&half, entry + offset, sizeof(half));
	return half;
}

/* Reads the string at @address to reading->name, which becomes empty if it is none. */
static int read_name(struct reading *reading, uint64_t address)
{
	int err;

	if (address == reading->name_address)
		return 0;
	reading->name_address = address;
	err = remote_pages_read_string(&reading->pages, address, reading->name,
				       sizeof(reading->name));
	if (!err)
		return 0;
	reading->name[0] = '\0';
	/* A bad string is ignored; other errors, such as a process that is gone, are not. */
	return err == -EFAULT || (err == -E2BIG && reading->pages.bytes_left >= REMOTE_PAGE_BYTES) ?
		       0 :
		       err;
}

static uint8_t bytes_of_type(const char *name)
{
	size_t length = strlen(name);

	if (length && name[length - 1] == '*')
		return 8;
	for (size_t i = 0; i < sizeof(field_types) / sizeof(field_types[0]); i++)
		if (!strcmp(field_types[i].name, name))
			return field_types[i].bytes;
	return 0;
}

static int answer_field(struct reading *reading, const uint8_t *entry, struct vm_answer *answer)
{
	const uint64_t *values = reading->values;
	int err = read_name(reading, word_of(entry, values[VM_STRUCT_TYPE_STRING]));

	if (err)
		return err;
	answer->is_found = true;
	answer->is_static = half_of(entry, values[VM_STRUCT_IS_STATIC]) != 0;
	answer->bytes = bytes_of_type(reading->name);
	answer->value = word_of(entry, answer->is_static ? values[VM_STRUCT_ADDRESS] :
							   values[VM_STRUCT_OFFSET]);
	return 0;
}

/* Answers the questions for an entry of gHotSpotVMStructs, whose type's name is reading->name. */
static int take_field(struct reading *reading, const uint8_t *entry)
{
	uint64_t field = word_of(entry, reading->values[VM_STRUCT_FIELD_NAME]);
	char type[VM_STRUCTS_NAME_BYTES];
	int err = 0;

	memcpy(type, reading->name, sizeof(type));
	for (size_t i = 0; i < reading->count && !err; i++) {
		const struct vm_question *question = &reading->questions[i];

		if (question->kind != VM_FIELD || strcmp(question->type, type) != 0)
			continue;
		err = read_name(reading, field);
		if (!err && !strcmp(question->name, reading->name))
			err = answer_field(reading, entry, &reading->answers[i]);
	}
	return err;
}

static int take_type(struct reading *reading, const uint8_t *entry)
{
	for (size_t i = 0; i < reading->count; i++) {
		const struct vm_question *question = &reading->questions[i];

		if (question->kind != VM_SIZE || strcmp(question->type, reading->name) != 0)
			continue;
		reading->answers[i].is_found = true;
		reading->answers[i].value = word_of(entry, reading->values[VM_TYPE_SIZE]);
	}
	return 0;
}

static int take_constant(struct reading *reading, const uint8_t *entry)
{
	for (size_t i = 0; i < reading->count; i++) {
		const struct vm_question *question = &reading->questions[i];

		if (question->kind != VM_CONSTANT || strcmp(question->name, reading->name) != 0)
			continue;
		reading->answers[i].is_found = true;
		reading->answers[i].value = (uint64_t)(int64_t)(int32_t)half_of(
			entry, reading->values[VM_INT_CONSTANT_VALUE]);
	}
	return 0;
}

/* Calls @take for each entry of a table, with its name in reading->name. */
static int read_table(struct reading *reading, enum vm_symbol first, enum vm_symbol stride,
		      int (*take)(struct reading *reading, const uint8_t *entry))
{
	uint8_t entry[VM_STRUCTS_MAX_STRIDE];
	struct table table;
	int err = check_table(reading, first, stride, &table);

	for (uint32_t i = 0; i < VM_STRUCTS_MAX_ENTRIES && !err; i++) {
		err = remote_pages_read(&reading->pages, table.address + i * table.stride, entry,
					table.stride);
		if (err)
			return err;
		if (!word_of(entry, table.name))
			return 0;
		err = read_name(reading, word_of(entry, table.name));
		if (!err && reading->name[0])
			err = take(reading, entry);
	}
	return err ? err : fail(-EBADMSG, "%s has no end", symbol_names[first]);
}

int vm_structs_read(const struct vm_symbols *symbols, uint64_t bias, struct remote_memory *memory,
		    const struct vm_question *questions, size_t count, struct vm_answer *answers)
{
	struct reading reading = { .questions = questions, .count = count, .answers = answers };
	int err = remote_pages_init(&reading.pages, memory, VM_STRUCTS_MAX_READ_BYTES);

	if (err)
		return err;
	memset(answers, 0, count * sizeof(*answers));
	err = read_values(&reading, symbols, bias);
	if (!err)
		err = read_table(&reading, VM_STRUCTS, VM_STRUCT_STRIDE, take_field);
	if (!err)
		err = read_table(&reading, VM_TYPES, VM_TYPE_STRIDE, take_type);
	if (!err)
		err = read_table(&reading, VM_INT_CONSTANTS, VM_INT_CONSTANT_STRIDE, take_constant);
	remote_pages_deinit(&reading.pages);
	return err;
}
