/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/php/php_probe.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/x86_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"
#include "lib/isa/x86_opcode.h"

enum {
	/** Limit of the read-only data that is searched for the version. */
	DATA_MAX_BYTES = 64 << 20,
	/** ZEND_VM_KIND_HYBRID */
	KIND_HYBRID = 4,
	HEAD_BYTES = 96,
};

static const char version_start[] = "Zend Engine v";

struct prober {
	const struct elf_image *image;
	struct elf_dynamic dynamic;
};

/* The address of the exported function or object @name; 0: there is none. */
static uint64_t find_address(const struct prober *prober, const char *name)
{
	struct elf_dynamic_symbol symbol;

	return elf_dynamic_find(&prober->dynamic, prober->image, name, &symbol) ? 0 :
										  symbol.address;
}

/* Finds the text with the version in a read-only segment. */
static int find_text(const struct prober *prober, const struct elf_segment *segment,
		     char text[PHP_VERSION_TEXT_BYTES])
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	const uint8_t *found;
	int err = elf_image_load_range(prober->image, segment->offset, segment->file_bytes,
				       DATA_MAX_BYTES, &bytes);

	if (err)
		return err;
	found = memmem(bytes.data, bytes.size, version_start, sizeof(version_start) - 1);
	if (!found || bytes.size - (size_t)(found - bytes.data) < PHP_VERSION_TEXT_BYTES)
		return -ENOENT;
	memcpy(text, found, PHP_VERSION_TEXT_BYTES);
	return 0;
}

static int find_version_text(const struct prober *prober, char text[PHP_VERSION_TEXT_BYTES])
{
	const struct elf_image *image = prober->image;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		int err;

		if (segment->type != PT_LOAD || segment->flags & (PF_X | PF_W) ||
		    !segment->file_bytes)
			continue;
		err = find_text(prober, segment, text);
		if (err != -ENOENT)
			return err;
	}
	return fail(-EOPNOTSUPP, "PHP of a version that it does not tell");
}

static int find_version(const struct prober *prober, struct php_file *file)
{
	char text[PHP_VERSION_TEXT_BYTES + 1] = "";
	unsigned int major, minor, patch;
	int err = find_version_text(prober, file->version_text);

	if (err)
		return err;
	memcpy(text, file->version_text, PHP_VERSION_TEXT_BYTES);
	if (sscanf(text, "Zend Engine v%2u.%2u.%3u,", &major, &minor, &patch) != 3)
		return fail(-EOPNOTSUPP, "PHP of a version that it does not tell");
	file->layout = php_layout_of((uint16_t)PHP_ENGINE_VERSION(major, minor));
	if (!file->layout)
		return fail(-EOPNOTSUPP, "PHP with Zend Engine %u.%u", major, minor);
	if (!find_address(prober, "executor_globals"))
		file->thread_memory = find_address(prober, "tsrm_get_ls_cache");
	snprintf(file->file.version, sizeof(file->file.version), "PHP %s%s", file->layout->version,
		 file->thread_memory ? " with threads" : "");
	return 0;
}

/* Checks the kind of VM, a constant that zend_vm_kind() returns. */
static int check_kind(const struct prober *prober, const struct php_file *file)
{
	const uint8_t move_to_eax[] = { 0xb8, KIND_HYBRID, 0, 0, 0, 0xc3 };

	if (!php_code_has_bytes(prober->image, find_address(prober, "zend_vm_kind"), move_to_eax,
				sizeof(move_to_eax)))
		return fail(-EOPNOTSUPP,
			    "%s with a VM of another kind than HYBRID, as Clang builds it",
			    file->file.version);
	return 0;
}

/*
 * True if the function @name has an instruction with @opcode and an operand in memory: @offset bytes behind a register, or behind
 * the variable at @variable, if it is not 0.
 */
static bool has_operand(const struct prober *prober, const char *name, uint8_t opcode,
			uint64_t variable, uint16_t offset)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	struct x86_operands operands;
	int err = x86_code_init_head(&code, prober->image, find_address(prober, name), HEAD_BYTES);

	while (!err && x86_code_next(&code)) {
		if (!x86_decode_operands(x86_code_bytes(&code), code.x86.length, &operands) ||
		    operands.map != MAP_ONE_BYTE || operands.opcode != opcode ||
		    !operands.is_memory)
			continue;
		if (operands.is_pc_relative ?
			    variable && code.next + (uint64_t)operands.displacement ==
						variable + offset :
			    operands.displacement == offset)
			return true;
	}
	return false;
}

/*
 * Checks the layout: zend_is_executing() compares EG(current_execute_data) with NULL, and
 * zend_get_executed_filename_ex() loads the file's name.
 */
static int check_layout(const struct prober *prober, const struct php_layout *layout)
{
	enum { COMPARE = 0x83, LOAD = 0x8b };

	if (!has_operand(prober, "zend_get_executed_filename_ex", LOAD, 0, layout->file) ||
	    !has_operand(prober, "zend_is_executing", COMPARE,
			 find_address(prober, "executor_globals"), layout->current))
		return fail(-EOPNOTSUPP, "PHP %s with structs that are not known", layout->version);
	return 0;
}

/* Finds the variable with the version, which get_zend_version() loads. */
static int find_version_pointer(const struct prober *prober, struct php_file *file)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	int err = x86_code_init_head(&code, prober->image, find_address(prober, "get_zend_version"),
				     HEAD_BYTES);

	while (!err && x86_code_next(&code) && code.x86.kind < X86_CALL) {
		file->version_pointer = x86_code_relative(&code, true, 0x8b);
		if (file->version_pointer)
			return 0;
	}
	return fail(-EOPNOTSUPP, "get_zend_version() is not as in %s", file->file.version);
}

/*
 * The address of the exported function or object @name; 0: there is none. The symbol is one of those whose slots will be found.
 */
static uint64_t find_imported(const struct prober *prober, struct import_slots *slots,
			      const char *name)
{
	struct elf_dynamic_symbol symbol;

	if (slots->symbol_count == IMPORT_SLOTS_MAX_SYMBOLS ||
	    elf_dynamic_find(&prober->dynamic, prober->image, name, &symbol))
		return 0;
	slots->symbols[slots->symbol_count++] = symbol;
	return symbol.address;
}

static int find_code(const struct prober *prober, struct php_file *file)
{
	struct import_slots slots = { 0 };
	struct php_symbols symbols = {
		.execute = find_address(prober, "execute_ex"),
		.execute_pointer = find_imported(prober, &slots, "zend_execute_ex"),
		.init = { find_imported(prober, &slots, "zend_init_func_execute_data"),
			  find_imported(prober, &slots, "zend_init_code_execute_data") },
		.calling = { find_address(prober, "zend_call_function"),
			     find_address(prober, "zend_execute") },
		.resume = find_address(prober, "zend_generator_resume"),
		.releasing = find_address(prober, "zend_objects_store_del"),
		.switching = find_address(prober, "zend_fiber_switch_context"),
		.globals = find_address(prober, "executor_globals"),
		.current = file->layout->current,
	};
	int err = 0;

	if (!symbols.execute_pointer)
		err = fail(-EOPNOTSUPP, "%s without zend_execute_ex", file->file.version);
	file->globals =
		find_imported(prober, &slots,
			      file->thread_memory ? "executor_globals_offset" : "executor_globals");
	if (!err && !file->globals)
		err = fail(-EOPNOTSUPP, "%s without executor_globals", file->file.version);
	if (!err)
		err = import_slots_find(&slots, prober->image, &prober->dynamic);
	symbols.slots = slots;
	file->globals_slot = import_slots_of(&slots, file->globals);
	if (!err)
		err = php_code_find(prober->image, &symbols, &file->code);
	if (err)
		return err;
	file->file.range_count = file->code.range_count;
	memcpy(file->file.ranges, file->code.ranges, sizeof(file->code.ranges));
	return 0;
}

static int fill(const struct prober *prober, struct php_file *file)
{
	int err = find_version(prober, file);

	if (err || !file->layout)
		return err ? err : -EOPNOTSUPP;
	if (prober->image->machine != EM_X86_64)
		return fail(-EOPNOTSUPP, "%s for another machine than x86-64", file->file.version);
	err = check_kind(prober, file);
	if (!err)
		err = check_layout(prober, file->layout);
	if (!err)
		err = find_version_pointer(prober, file);
	return err ? err : find_code(prober, file);
}

int php_probe(const struct language *language, const struct elf_image *image,
	      struct php_file **file)
{
	_cleanup_(free_pointer) struct php_file *made = NULL;
	struct prober prober = { .image = image };
	int err;

	/* A file with damaged tables is not reported here. */
	if (elf_dynamic_init(&prober.dynamic, image) || !find_address(&prober, "zend_vm_kind") ||
	    !find_address(&prober, "execute_ex"))
		return -ENOENT;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->file.language = language;
	err = fill(&prober, made);
	if (err)
		return err;
	*file = take_pointer(made);
	return 0;
}

void php_file_release(struct php_file *file)
{
	free(file);
}
