/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/perl/perl_probe.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/function_table.h"
#include "interpreters/import_slots.h"
#include "interpreters/x86_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"
#include "lib/elf/elf_relocations.h"

enum {
	/** Limit of a function that is read. */
	FUNCTION_MAX_BYTES = 64 << 10,
	/** A call through a register or memory: opcode ff /2. */
	CALL_OPCODE = 0xff,
	/** Limit of instructions from the one that has the address of PL_runops to the call through it. */
	CALL_MAX_DISTANCE = 6,
};

struct prober {
	const struct elf_image *image;
	struct elf_dynamic dynamic;
	struct function_table table;
	struct elf_pages pages;
	struct elf_relocations relocations;
	/** The slots of a library without threads for the variables that it exports. */
	struct import_slots slots;
	/** Address of PL_ppaddr. */
	uint64_t ops;
};

static int find_symbol(const struct prober *prober, const char *name,
		       struct elf_dynamic_symbol *symbol)
{
	return elf_dynamic_find(&prober->dynamic, prober->image, name, symbol);
}

/* The address of the exported function or object @name; 0: there is none. */
static uint64_t find_address(const struct prober *prober, const char *name)
{
	struct elf_dynamic_symbol symbol;

	return find_symbol(prober, name, &symbol) ? 0 : symbol.address;
}

static int find_function(const struct prober *prober, const char *name, struct code_range *range)
{
	struct elf_dynamic_symbol symbol;

	if (find_symbol(prober, name, &symbol) || !symbol.size)
		return fail(-EOPNOTSUPP, "Perl without %s()", name);
	*range = (struct code_range){ symbol.address, symbol.address + symbol.size };
	return 0;
}

/* Finds the function @name, which executes the op with number @op. Where it is exported its entry has no address yet. */
static int find_op(struct prober *prober, const char *name, uint16_t op, struct code_range *range)
{
	uint64_t address;
	int err;

	if (find_address(prober, name))
		return find_function(prober, name, range);
	err = elf_relocations_word(&prober->relocations, &prober->pages,
				   prober->ops + 8 * (uint64_t)op, &address);
	if (!err)
		err = function_table_find(&prober->table, address, range);
	return err ? fail(-EOPNOTSUPP, "PL_ppaddr is without %s()", name) : 0;
}

static struct perl_code_range to_range(struct code_range range)
{
	return (struct perl_code_range){ (uint32_t)range.start, (uint32_t)range.end };
}

/* Finds the version in the constant PL_version. */
static int find_version(const struct prober *prober, struct perl_file *file)
{
	uint64_t address = find_address(prober, "PL_version");
	uint8_t minor;

	if (!address || elf_image_read_address(prober->image, address, &minor, sizeof(minor)))
		return fail(-EOPNOTSUPP, "Perl of a version that it does not tell");
	snprintf(file->file.version, sizeof(file->file.version), "Perl 5.%u%s", minor,
		 file->is_threaded ? "" : " without threads");
	file->layout = perl_layout_of(minor);
	return file->layout ? 0 : fail(-EOPNOTSUPP, "%s", file->file.version);
}

/* True if the current instruction is a call of the function at @offset in the object that a register points to. */
static bool is_call_at(const struct x86_code *code, int64_t offset)
{
	struct x86_operands operands;

	return code->x86.kind == X86_CALL_INDIRECT &&
	       x86_decode_operands(x86_code_bytes(code), code->x86.length, &operands) &&
	       operands.opcode == CALL_OPCODE && operands.is_memory && !operands.is_pc_relative &&
	       operands.base != X86_NO_REGISTER && operands.index == X86_NO_REGISTER &&
	       operands.displacement == offset;
}

/* True if the code in @range calls the function at @offset in an object. *@behind is the address behind the first such call. */
static bool has_call_at(const struct prober *prober, struct code_range range, int64_t offset,
			uint64_t *behind)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };

	if (x86_code_init(&code, prober->image, range, FUNCTION_MAX_BYTES))
		return false;
	while (x86_code_next_known(&code)) {
		if (is_call_at(&code, offset)) {
			*behind = code.next;
			return true;
		}
	}
	return false;
}

/* True if the current instruction has the address @variable in an operand, or that of its slot. */
static bool has_address(const struct prober *prober, const struct x86_code *code, uint64_t variable)
{
	struct x86_operands operands;
	uint64_t address;

	if (!code->x86.is_pc_relative ||
	    !x86_decode_operands(x86_code_bytes(code), code->x86.length, &operands))
		return false;
	address = code->next + (uint64_t)operands.displacement;
	return address == variable || import_slots_at(&prober->slots, address) == variable;
}

/* True if the code in @range calls the function in the variable PL_runops. */
static bool has_call_of_variable(const struct prober *prober, struct code_range range,
				 uint64_t variable)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	uint32_t distance = CALL_MAX_DISTANCE;

	if (x86_code_init(&code, prober->image, range, FUNCTION_MAX_BYTES))
		return false;
	while (x86_code_next_known(&code)) {
		distance = has_address(prober, &code, variable) ? 0 : distance + 1;
		if (code.x86.kind == X86_CALL_INDIRECT && distance < CALL_MAX_DISTANCE)
			return true;
	}
	return false;
}

/* True if the code in @range calls the loop. */
static bool calls_loop(const struct prober *prober, const struct perl_file *file,
		       struct code_range range)
{
	uint64_t behind;

	if (file->is_threaded)
		return has_call_at(prober, range, file->layout->run, &behind);
	return has_call_of_variable(prober, range, file->variables[PERL_VARIABLE_RUN].address);
}

/* Finds a function that calls the loop, by name. */
static int find_caller(const struct prober *prober, const struct perl_file *file, const char *name,
		       struct perl_code_range *range)
{
	struct code_range found;
	int err = find_function(prober, name, &found);

	if (!err && !calls_loop(prober, file, found))
		err = fail(-EOPNOTSUPP, "%s() is not as in %s", name, file->file.version);
	if (!err)
		*range = to_range(found);
	return err;
}

/* Finds docatch(): the function that calls the loop and that @entertry calls or jumps to. */
static int find_catching(const struct prober *prober, struct code_range entertry,
			 struct perl_file *file)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	struct code_range range;
	int err = x86_code_init(&code, prober->image, entertry, FUNCTION_MAX_BYTES);

	if (err)
		return err;
	while (x86_code_next_known(&code)) {
		if ((code.x86.kind != X86_CALL && !x86_code_is_jump(&code)) ||
		    x86_code_has(&code, x86_code_target(&code)) ||
		    function_table_find(&prober->table, x86_code_target(&code), &range) ||
		    !calls_loop(prober, file, range))
			continue;
		file->catching = to_range(range);
		return 0;
	}
	return fail(-EOPNOTSUPP, "docatch() is not as in %s", file->file.version);
}

/* Finds die_unwind(), which Perl_croak_sv() calls at its end. Some versions export it. */
static int find_dying(const struct prober *prober, struct perl_file *file)
{
	_cleanup_(x86_code_deinit) struct x86_code code = { 0 };
	uint64_t target = 0;
	struct code_range range;
	int err;

	if (find_address(prober, "Perl_die_unwind")) {
		err = find_function(prober, "Perl_die_unwind", &range);
	} else {
		err = find_function(prober, "Perl_croak_sv", &range);
		if (!err)
			err = x86_code_init(&code, prober->image, range, FUNCTION_MAX_BYTES);
		/* Nothing but padding follows, since it does not return. */
		while (!err && x86_code_next_known(&code)) {
			if (code.x86.kind == X86_CALL)
				target = x86_code_target(&code);
			else if (code.x86.kind != X86_NOP)
				target = 0;
		}
		if (!err && (!target || function_table_find(&prober->table, target, &range)))
			err = fail(-EOPNOTSUPP, "Perl_croak_sv() is not as in %s",
				   file->file.version);
	}
	if (!err)
		file->dying = to_range(range);
	return err;
}

static int find_ops(struct prober *prober, struct perl_file *file)
{
	const struct perl_layout *layout = file->layout;
	const struct {
		const char *name;
		uint16_t op;
		struct perl_code_range *range;
	} ops[] = {
		{ "Perl_pp_leavesub", layout->leavesub, &file->leaving[0] },
		{ "Perl_pp_leavesublv", layout->leavesublv, &file->leaving[1] },
		{ "Perl_pp_goto", layout->goto_sub, &file->replacing },
		{ "Perl_pp_entersub", layout->entersub, &file->entering },
	};
	struct code_range range;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(ops) / sizeof(ops[0]); i++) {
		err = find_op(prober, ops[i].name, ops[i].op, &range);
		if (!err)
			*ops[i].range = to_range(range);
	}
	if (!err)
		err = find_op(prober, "Perl_pp_entertry", layout->entertry, &range);
	return err ? err : find_catching(prober, range, file);
}

/* Finds the loop, which calls the functions of ops. */
static int find_loop(const struct prober *prober, struct perl_file *file)
{
	struct code_range loop;
	int err = find_function(prober, "Perl_runops_standard", &loop);

	if (!err && !has_call_at(prober, loop, PERL_OP_FUNCTION, &file->loop_return))
		err = fail(-EOPNOTSUPP, "Perl_runops_standard() is not as in %s",
			   file->file.version);
	if (err)
		return err;
	file->loop = loop.start;
	file->file.ranges[0] = loop;
	file->file.range_count = 1;
	return 0;
}

static int find_code(struct prober *prober, struct perl_file *file)
{
	int err = find_loop(prober, file);

	if (!err)
		err = find_caller(prober, file, "Perl_call_sv", &file->calling[0]);
	if (!err)
		err = find_caller(prober, file, "Perl_amagic_call", &file->calling[1]);
	if (!err)
		err = find_caller(prober, file, "Perl_eval_sv", &file->evaluating);
	if (!err)
		err = find_caller(prober, file, "perl_run", &file->running);
	if (!err)
		err = find_dying(prober, file);
	return err ? err : find_ops(prober, file);
}

/* Finds the variables that are the interpreter of a Perl without threads. */
static int find_variables(struct prober *prober, struct perl_file *file)
{
	static const char *const names[PERL_VARIABLE_COUNT] = {
		[PERL_VARIABLE_OP] = "PL_op",
		[PERL_VARIABLE_COP] = "PL_curcop",
		[PERL_VARIABLE_STACK] = "PL_curstackinfo",
		[PERL_VARIABLE_SAVED] = "PL_savestack",
		[PERL_VARIABLE_SAVED_COUNT] = "PL_savestack_ix",
		[PERL_VARIABLE_RUN] = "PL_runops",
	};
	struct import_slots *slots = &prober->slots;
	int err;

	for (size_t i = 0; i < PERL_VARIABLE_COUNT; i++) {
		if (find_symbol(prober, names[i], &slots->symbols[i]))
			return fail(-EOPNOTSUPP, "Perl without %s", names[i]);
		file->variables[i].address = slots->symbols[i].address;
	}
	slots->symbol_count = PERL_VARIABLE_COUNT;
	err = import_slots_find(slots, prober->image, &prober->dynamic);
	for (size_t i = 0; !err && i < PERL_VARIABLE_COUNT; i++)
		file->variables[i].slot = import_slots_of(slots, file->variables[i].address);
	return err;
}

static int fill(struct prober *prober, struct perl_file *file)
{
	int err;

	file->key = find_address(prober, "PL_thr_key");
	file->is_threaded = file->key;
	err = find_version(prober, file);
	if (err)
		return err;
	file->machine = prober->image->machine;
	if (file->machine != EM_X86_64)
		return fail(-EOPNOTSUPP, "%s for another machine than x86-64", file->file.version);
	file->first_interpreter = find_address(prober, "PL_curinterp");
	prober->ops = find_address(prober, "PL_ppaddr");
	if (!file->first_interpreter || !prober->ops ||
	    function_table_init(&prober->table, prober->image))
		return fail(-EOPNOTSUPP, "%s without the variables of Debian's",
			    file->file.version);
	elf_relocations_init(&prober->relocations, prober->image);
	if (!file->is_threaded)
		err = find_variables(prober, file);
	return err ? err : find_code(prober, file);
}

int perl_probe(const struct language *language, const struct elf_image *image,
	       struct perl_file **file)
{
	_cleanup_(free_pointer) struct perl_file *made = NULL;
	struct prober prober = { .image = image };
	int err;

	/* A file with damaged tables is not reported here. */
	if (elf_dynamic_init(&prober.dynamic, image) || !find_address(&prober, "perl_alloc") ||
	    !find_address(&prober, "Perl_runops_standard"))
		return -ENOENT;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->file.language = language;
	elf_pages_init(&prober.pages, image);
	err = fill(&prober, made);
	elf_pages_deinit(&prober.pages);
	if (err)
		return err;
	*file = take_pointer(made);
	return 0;
}

void perl_file_release(struct perl_file *file)
{
	free(file);
}
