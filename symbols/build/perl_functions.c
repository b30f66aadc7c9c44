/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code is followed in a straight line, with the addresses that registers hold. Behind a jump they are unknown: a name may be
 * missing then, but none is wrong.
 */
#include "symbols/build/perl_functions.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/import_slots.h"
#include "interpreters/x86_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text_builder.h"
#include "lib/base/vector.h"
#include "lib/elf/function_start.h"

enum {
	BOOT_MAX_BYTES = 1 << 20,
	/* Calls that register a sub; the largest modules of Debian have 230. */
	CALLS_MAX = 1 << 12,
	IMPORTS_MAX_BYTES = 8 << 20,
	NAME_MAX_BYTES = 256,
	/* Subs of one function that are named. */
	NAMES_OF_FUNCTION = 4,
	REGISTERS = 16,
	OPCODE_LEA = 0x8d,
	/* Registers that a call may change: rax, rcx, rdx, rsi, rdi, r8 to r11. */
	CHANGED_BY_CALLS = 0x0fc7,
};

/* newXS_...(interpreter, name, function, ...); without threads there is no interpreter. */
static const char *const imports[] = { "Perl_newXS_deffile", "Perl_newXS_flags", "Perl_newXS" };

enum { IMPORT_COUNT = sizeof(imports) / sizeof(imports[0]) };

/* Addresses in the file. */
struct sub {
	uint64_t function;
	uint64_t name;
	/* Subs of one function stay in the order in which they were registered. */
	uint32_t index;
};

VECTOR_DEFINE(sub_vector, struct sub)

bool perl_functions_is_boot(const char *name)
{
	static const char prefix[] = "boot_";

	return !strncmp(name, prefix, sizeof(prefix) - 1);
}

/* --- what the module imports --- */

/* The number of the import with the name at @offset, from 1 on; 0: it is another name. */
static uint64_t import_at(const struct elf_image *image, const struct elf_dynamic *dynamic,
			  uint32_t offset)
{
	char name[sizeof("Perl_newXS_deffile")] = "";
	uint64_t bytes = dynamic->strings_bytes - offset;

	if (offset >= dynamic->strings_bytes ||
	    elf_image_read_address(image, dynamic->strings + offset, name,
				   bytes < sizeof(name) ? bytes : sizeof(name)))
		return 0;
	for (int i = 0; i < IMPORT_COUNT; i++)
		if (!memcmp(name, imports[i], strlen(imports[i]) + 1))
			return (uint64_t)i + 1;
	return 0;
}

/* The imports have no address here; they get small numbers instead. */
static int find_imports(const struct elf_image *image, struct import_slots *slots)
{
	const struct elf_section *section = elf_image_find_section_of_type(image, SHT_DYNSYM);
	_cleanup_(elf_bytes_deinit) struct elf_bytes table = { 0 };
	struct elf_dynamic dynamic;
	int err = elf_dynamic_init(&dynamic, image);

	if (!err)
		err = section ? elf_image_load_section(image, section, IMPORTS_MAX_BYTES, &table) :
				-ENOENT;
	for (size_t i = 0; !err && i < table.size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		uint64_t number;

		memcpy(&symbol, (const char *)table.data + i * sizeof(symbol), sizeof(symbol));
		number = symbol.st_shndx == SHN_UNDEF ? import_at(image, &dynamic, symbol.st_name) :
							0;
		if (number && slots->symbol_count < IMPORT_COUNT)
			slots->symbols[slots->symbol_count++] =
				(struct elf_dynamic_symbol){ .address = number,
							     .index = (uint32_t)i };
	}
	if (!err && !slots->symbol_count)
		err = -ENOENT;
	return err ? err : import_slots_find(slots, image, &dynamic);
}

/* --- the code --- */

static bool is_function(const struct elf_image *image, uint64_t address)
{
	uint64_t start;

	return address && !function_start(image, address, &start) && start == address;
}

/* Adds the sub if the registers have a function's address in @function. */
static int add_sub(const struct elf_image *image, const uint64_t *registers, int name, int function,
		   struct sub_vector *subs)
{
	const struct sub sub = { registers[function], registers[name], (uint32_t)subs->count };

	if (!sub.name || !is_function(image, sub.function))
		return -ENOENT;
	return sub_vector_push(subs, sub) ? fail(-ENOMEM, "no memory for subs of Perl") : 0;
}

/* Applies what the current instruction does to the registers. */
static void follow(const struct x86_code *code, uint64_t *registers)
{
	uint64_t address = x86_code_relative(code, true, OPCODE_LEA);
	uint16_t writes = code->x86.writes;

	if (code->x86.kind == X86_MOVE && code->x86.base < REGISTERS)
		address = registers[code->x86.base];
	if (code->x86.kind == X86_CALL || code->x86.kind == X86_CALL_INDIRECT)
		writes = CHANGED_BY_CALLS;
	else if (code->x86.kind == X86_JUMP || code->x86.kind == X86_JUMP_INDIRECT ||
		 code->x86.kind == X86_RETURN || code->x86.kind == X86_STOP)
		writes = UINT16_MAX;
	for (int i = 0; i < REGISTERS; i++)
		if (writes >> i & 1)
			registers[i] = address;
}

static int find_subs(const struct elf_image *image, const struct import_slots *slots,
		     struct code_range boot, struct sub_vector *subs)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	uint64_t registers[REGISTERS] = { 0 };
	int err = x86_code_init(&code, image, boot, BOOT_MAX_BYTES), calls = 0;

	while (!err && calls < CALLS_MAX && x86_code_next(&code)) {
		uint64_t target = import_slots_target(slots, &code);

		if (target && target <= IMPORT_COUNT) {
			calls++;
			err = add_sub(image, registers, X86_RSI, X86_RDX, subs);
			if (err == -ENOENT)
				err = add_sub(image, registers, X86_RDI, X86_RSI, subs);
			if (err == -ENOENT)
				err = 0;
		}
		follow(&code, registers);
	}
	return err == -ENOMEM ? err : 0;
}

/* --- the names --- */

static int compare_subs(const void *left, const void *right)
{
	const struct sub *one = left, *other = right;

	if (one->function != other->function)
		return one->function < other->function ? -1 : 1;
	return one->index < other->index ? -1 : 1;
}

/* Reads the name at @address; false if it is not one. */
static bool read_name(const struct elf_image *image, uint64_t address, char name[NAME_MAX_BYTES])
{
	uint64_t bytes = elf_image_bytes_at_address(image, address);
	size_t length = 0;

	if (bytes > NAME_MAX_BYTES)
		bytes = NAME_MAX_BYTES;
	if (!bytes || elf_image_read_address(image, address, name, bytes))
		return false;
	while (length < bytes && name[length] > ' ' && name[length] <= '~')
		length++;
	return length && length < bytes && !name[length];
}

/* The part of @name behind the package, if it is the one of @first. */
static const char *without_package(const char *name, const char *first)
{
	const char *end = strrchr(first, ':');
	size_t bytes = end ? (size_t)(end + 1 - first) : 0;

	return strncmp(name, first, bytes) ? name : name + bytes;
}

/* Names the function that @count subs have. */
static void append_names(const struct elf_image *image, const struct sub *subs, size_t count,
			 struct text_builder *text)
{
	char first[NAME_MAX_BYTES], name[NAME_MAX_BYTES];

	text_builder_clear(text);
	if (!read_name(image, subs->name, first))
		return;
	text_builder_append(text, first);
	for (size_t i = 1; i < count && i < NAMES_OF_FUNCTION; i++) {
		if (!read_name(image, subs[i].name, name))
			continue;
		text_builder_append(text, "/");
		text_builder_append(text, without_package(name, first));
	}
	if (count > NAMES_OF_FUNCTION)
		text_builder_append(text, "/...");
}

static int add_functions(const struct elf_image *image, const struct sub_vector *subs,
			 uint32_t order, struct interval_vector *intervals,
			 struct string_table *strings)
{
	_cleanup_(text_builder_deinit) struct text_builder text = { 0 };
	struct function_starts starts;
	size_t count;

	if (function_starts_init(&starts, image))
		return 0;
	for (size_t i = 0; i < subs->count; i += count) {
		const struct sub *first = &subs->items[i];
		struct interval interval = { .start = first->function, .order = order };
		int err;

		for (count = 1;
		     i + count < subs->count && first[count].function == first->function;)
			count++;
		append_names(image, first, count, &text);
		if (text.failed)
			return fail(-ENOMEM, "no memory for names of Perl");
		interval.end = function_starts_above(&starts, first->function);
		if (!text.length || interval.end == UINT64_MAX)
			continue;
		err = string_table_add(strings, text_builder_text(&text), text.length,
				       &interval.value);
		if (err)
			return err;
		if (interval_vector_push(intervals, interval))
			return fail(-ENOMEM, "no memory for functions of Perl");
	}
	return 0;
}

int perl_functions_add(const struct elf_image *image, struct code_range boot, uint32_t order,
		       struct interval_vector *intervals, struct string_table *strings)
{
	_cleanup_(sub_vector_deinit) struct sub_vector subs = { 0 };
	struct import_slots slots = { 0 };
	int err;

	/* Functions are looked up in its table. */
	if (image->machine != EM_X86_64 || !elf_image_find_segment(image, PT_GNU_EH_FRAME) ||
	    elf_image_find_section_of_type(image, SHT_SYMTAB) || find_imports(image, &slots))
		return 0;
	err = find_subs(image, &slots, boot, &subs);
	if (err || !subs.count)
		return err;
	qsort(subs.items, subs.count, sizeof(*subs.items), compare_subs);
	return add_functions(image, &subs, order, intervals, strings);
}
