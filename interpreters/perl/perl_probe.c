/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/perl/perl_probe.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/function_table.h"
#include "interpreters/x86_code.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/elf_dynamic.h"
#include "lib/elf/elf_relocations.h"

enum {
	/** Limit of the read-only data that is searched for the version. */
	DATA_MAX_BYTES = 64 << 20,
	/** Limit of the text with the version before the name of the architecture. */
	VERSION_MAX_BYTES = 16,
	/** Limit of a function that is read. */
	FUNCTION_MAX_BYTES = 64 << 10,
	/** A call through a register or memory: opcode ff /2. */
	CALL_OPCODE = 0xff,
};

/** The end of the name of the architecture of a Perl with threads. */
static const char architecture_end[] = "-thread-multi";

struct prober {
	const struct elf_image *image;
	struct elf_dynamic dynamic;
	struct function_table table;
	struct elf_pages pages;
	struct elf_relocations relocations;
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

/* The second number of the version before @end, as in "/5.36.0/x86_64-linux-gnu-thread-multi"; 0: there is none. */
static unsigned int parse_version(const uint8_t *start, const uint8_t *end)
{
	while (end > start && end[-1] && end[-1] != '/')
		end--;
	for (size_t i = 2; i < VERSION_MAX_BYTES && end - start >= (ptrdiff_t)i; i++) {
		char text[VERSION_MAX_BYTES + 1] = "";
		unsigned int minor, patch;
		int length = 0;

		memcpy(text, end - i, i);
		if (sscanf(text, "5.%2u.%2u/%n", &minor, &patch, &length) == 2 && length == (int)i)
			return minor;
	}
	return 0;
}

static int find_version_in(const struct prober *prober, const struct elf_segment *segment,
			   unsigned int *minor)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	const uint8_t *at, *end;
	int err = elf_image_load_range(prober->image, segment->offset, segment->file_bytes,
				       DATA_MAX_BYTES, &bytes);

	if (err)
		return err;
	end = bytes.data + bytes.size;
	for (at = bytes.data; at < end; at++) {
		at = memmem(at, (size_t)(end - at), architecture_end, sizeof(architecture_end));
		if (!at)
			break;
		*minor = parse_version(bytes.data, at);
		if (*minor)
			return 0;
	}
	return -ENOENT;
}

static int find_version(const struct prober *prober, struct perl_file *file)
{
	const struct elf_image *image = prober->image;
	unsigned int minor = 0;
	int err = -ENOENT;

	for (uint32_t i = 0; i < image->segment_count && err == -ENOENT; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_LOAD && !(segment->flags & (PF_X | PF_W)) &&
		    segment->file_bytes)
			err = find_version_in(prober, segment, &minor);
	}
	if (err == -ENOENT)
		return fail(-EOPNOTSUPP,
			    "Perl without threads, or of a version that it does not tell");
	if (err)
		return err;
	snprintf(file->file.version, sizeof(file->file.version), "Perl 5.%u", minor);
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

/* Finds a function that calls the loop, by name. */
static int find_caller(const struct prober *prober, const struct perl_file *file, const char *name,
		       struct perl_code_range *range)
{
	struct code_range found;
	uint64_t behind;
	int err = find_function(prober, name, &found);

	if (!err && !has_call_at(prober, found, file->layout->run, &behind))
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
	uint64_t behind;
	int err = x86_code_init(&code, prober->image, entertry, FUNCTION_MAX_BYTES);

	if (err)
		return err;
	while (x86_code_next_known(&code)) {
		if ((code.x86.kind != X86_CALL && !x86_code_is_jump(&code)) ||
		    x86_code_has(&code, x86_code_target(&code)) ||
		    function_table_find(&prober->table, x86_code_target(&code), &range) ||
		    !has_call_at(prober, range, file->layout->run, &behind))
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

static int fill(struct prober *prober, struct perl_file *file)
{
	int err = find_version(prober, file);

	if (err)
		return err;
	file->machine = prober->image->machine;
	if (file->machine != EM_X86_64)
		return fail(-EOPNOTSUPP, "%s for another machine than x86-64", file->file.version);
	file->key = find_address(prober, "PL_thr_key");
	file->first_interpreter = find_address(prober, "PL_curinterp");
	prober->ops = find_address(prober, "PL_ppaddr");
	if (!file->key || !file->first_interpreter || !prober->ops ||
	    function_table_init(&prober->table, prober->image))
		return fail(-EOPNOTSUPP, "%s without the variables of Debian's",
			    file->file.version);
	elf_relocations_init(&prober->relocations, prober->image);
	return find_code(prober, file);
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
