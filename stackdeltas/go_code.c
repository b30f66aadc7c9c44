/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over the functions finds the spans, the second one makes the rows. */
#include "stackdeltas/go_code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/go_function.h"
#include "lib/isa/x86_decode.h"
#include "stackdeltas/go_arm64.h"
#include "stackdeltas/go_rules.h"

enum {
	/* Limit of the bytes that are read of functions that switch stacks in parts of their code; they have 210. */
	PARTED_MAX_BYTES = 256,
	PARTS_MAX = 2,
	/* Nothing calls a signal trampoline, but its address - 1 is looked up. */
	SIGNAL_RETURN_LEAD_BYTES = 1,
	/* Functions are aligned to 32 bytes at most. */
	PADDING_MAX_BYTES = 32,
};

static const struct unwind_rule no_rule = { .cfa = CFA_NONE };

/* A function and its role. */
struct known_function {
	struct go_function function;
	uint32_t role;
};

struct row_writer {
	struct go_code *code;
	struct delta_builder *builder;
	/* The range of the rows; start is above the last row. */
	uint64_t start;
	uint64_t end;
	/* End of the functions that were read. */
	uint64_t covered_end;
};

static int add_to_spans(struct go_code *code, uint32_t index, const struct go_function *function)
{
	struct go_span_vector *spans = &code->spans;
	struct go_span *last = spans->count ? &spans->items[spans->count - 1] : NULL;

	if (last && last->end == function->start && last->first + last->count == index) {
		last->end = function->end;
		last->count++;
		return 0;
	}
	if (last && function->start < last->end)
		return fail(-EBADMSG, "functions of Go are not sorted");
	if (spans->count == GO_MAX_SPANS)
		return fail(-E2BIG, "more than %d spans of Go's functions", GO_MAX_SPANS);
	return go_span_vector_push(spans, (struct go_span){ .start = function->start,
							    .end = function->end,
							    .first = index,
							    .count = 1 });
}

static int find_spans(struct go_code *code)
{
	for (uint32_t i = 0; i < code->table.header.function_count; i++) {
		struct go_function function;
		int err = go_function_read(&code->table, i, &function);

		/* A damaged function leaves a gap. */
		if (err == -ENOMEM)
			return err;
		if (err || function.start == function.end)
			continue;
		code->has_flags |= function.flags != 0;
		if (function.pcsp)
			err = add_to_spans(code, i, &function);
		if (err)
			return err;
	}
	return 0;
}

int go_code_create(const struct elf_image *image, struct go_code **code)
{
	struct go_code *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for Go's table");
	err = go_table_init(&created->table, image);
	if (!err)
		err = find_spans(created);
	if (err) {
		go_code_destroy(created);
		return err;
	}
	*code = created;
	return 0;
}

void go_code_destroy(struct go_code *code)
{
	if (!code)
		return;
	go_table_deinit(&code->table);
	go_span_vector_deinit(&code->spans);
	free(code);
}

/* Adds the part of the row in the writer's range. Rows stay in order even if the file changes while it is read. */
static int add_row(struct row_writer *writer, uint64_t start, uint64_t end,
		   const struct unwind_rule *rule)
{
	uint32_t number;
	int err;

	if (start < writer->start)
		start = writer->start;
	if (start >= end || start >= writer->end)
		return 0;
	err = delta_builder_intern(writer->builder, rule, &number);
	if (!err)
		err = delta_builder_add(writer->builder, start, number);
	writer->start = start + 1;
	return err;
}

/* A part of a function with another rule than the rest. */
struct part {
	uint64_t start;
	/* GO_SWITCH_ASMCGOCALL: up to this address rdx has the stack pointer, which is stored then. */
	uint64_t call;
	uint64_t end;
};

/* Finds the first matching instruction of @code at or behind *@at; moves *@at behind it. */
static bool find_instruction(const uint8_t *code, size_t bytes, size_t *at,
			     bool (*is_wanted)(const struct x86_instruction *))
{
	struct x86_instruction instruction;

	while (*at < bytes && x86_decode(code + *at, bytes - *at, &instruction)) {
		*at += instruction.length;
		if (is_wanted(&instruction))
			return true;
	}
	return false;
}

static bool saves_sp(const struct x86_instruction *instruction)
{
	return instruction->kind == X86_MOVE && instruction->reg == X86_RBX &&
	       instruction->base == X86_RSP;
}

static bool saves_sp_in_r12(const struct x86_instruction *instruction)
{
	return instruction->kind == X86_MOVE && instruction->reg == X86_R12 &&
	       instruction->base == X86_RSP;
}

static bool takes_sp_from_r12(const struct x86_instruction *instruction)
{
	return instruction->kind == X86_MOVE && instruction->reg == X86_RSP &&
	       instruction->base == X86_R12;
}

static bool sets_sp(const struct x86_instruction *instruction)
{
	return (instruction->kind == X86_LOAD || instruction->kind == X86_MOVE) &&
	       instruction->reg == X86_RSP;
}

static bool moves_or_sets_sp(const struct x86_instruction *instruction)
{
	return sets_sp(instruction) ||
	       (instruction->kind == X86_ADD && instruction->reg == X86_RSP);
}

/* Finds the first and the second change of the stack pointer, in a function with a part of its own. */
static bool find_ends(uint32_t role, const uint8_t *code, size_t bytes, size_t *from, size_t *to)
{
	*to = *from;
	if (!find_instruction(code, bytes, from,
			      role == GO_ROLE_ALIGNS	    ? saves_sp :
			      role == GO_ROLE_LEAVES	    ? saves_sp_in_r12 :
			      role == GO_SWITCH_SYSTEMSTACK ? sets_sp :
							      moves_or_sets_sp))
		return false;
	*to = *from;
	return find_instruction(code, bytes, to,
				role == GO_ROLE_LEAVES ? takes_sp_from_r12 : sets_sp);
}

/* Returns the offset of the first call in [@from, @to); @from if there is none. */
static size_t find_call(const uint8_t *code, size_t from, size_t to)
{
	struct x86_instruction instruction;

	for (size_t at = from; at < to && x86_decode(code + at, to - at, &instruction);
	     at += instruction.length)
		if (instruction.kind == X86_CALL || instruction.kind == X86_CALL_INDIRECT)
			return at;
	return from;
}

/*
 * x86-64: finds the parts of @function, two at most, in which its stack is another one than the caller's, or the stack
 * pointer is in another register. Returns their number. Called on the thread's own stack, systemstack() and
 * asmcgocall() do not switch, which only the address of an instruction shows.
 */
static uint32_t find_parts(struct go_table *table, const struct go_function *function,
			   uint32_t role, struct part parts[PARTS_MAX])
{
	uint64_t available = function->end - function->start;
	size_t bytes = available < PARTED_MAX_BYTES ? available : PARTED_MAX_BYTES;
	size_t from = 0, to;
	uint8_t code[PARTED_MAX_BYTES];
	uint32_t count = 0;

	if (elf_pages_read_address(&table->pages, function->start, code, bytes))
		return 0;
	while (count < PARTS_MAX && find_ends(role, code, bytes, &from, &to)) {
		parts[count++] = (struct part){
			.start = function->start + from,
			.call = function->start +
				(role == GO_SWITCH_ASMCGOCALL ? find_call(code, from, to) : from),
			.end = function->start + to,
		};
		from = to;
	}
	return count;
}

static bool has_parts(uint16_t machine, uint32_t role)
{
	return machine == EM_X86_64 &&
	       (role == GO_ROLE_ALIGNS || role == GO_ROLE_LEAVES || role == GO_SWITCH_SYSTEMSTACK ||
		role == GO_SWITCH_ASMCGOCALL);
}

/* Only the addresses of [value->start, value->end) that are in a part get the rule of the role. */
static int add_parted_rows(struct row_writer *writer, const struct known_function *known,
			   const struct go_value *value)
{
	struct unwind_rule rule, plain, before;
	struct part parts[PARTS_MAX];
	uint32_t count = find_parts(&writer->code->table, &known->function, known->role, parts);
	uint64_t at = value->start;
	int err = 0;

	go_rule_make(EM_X86_64, GO_ROLE_ORDINARY, value->value, &plain);
	if (known->role == GO_ROLE_ALIGNS || (known->role == GO_ROLE_LEAVES && count))
		go_rule_make_in_register(known->role, value->value, &rule);
	else
		go_rule_make(EM_X86_64, known->role, value->value, &rule);
	go_rule_make_calling(EM_X86_64, value->value, &before);
	/* The runtime is built in another way: the stack pointer shows the stack nearly as well. */
	if (!count && known->role != GO_ROLE_ALIGNS)
		return add_row(writer, value->start, value->end, &rule);
	for (uint32_t i = 0; !err && i < count; i++) {
		uint64_t start = parts[i].start > at ? parts[i].start : at;
		uint64_t end = parts[i].end < value->end ? parts[i].end : value->end;
		uint64_t call = parts[i].call < end ? parts[i].call : end;

		if (start >= end)
			continue;
		err = add_row(writer, at, start, &plain);
		if (!err)
			err = add_row(writer, start, call, &before);
		if (!err)
			err = add_row(writer, call > start ? call : start, end, &rule);
		at = end;
	}
	return err ? err : add_row(writer, at, value->end, &plain);
}

static void make_arm64(const struct known_function *known, const struct go_arm64_part *part,
		       int32_t frame_bytes, struct unwind_rule *rule)
{
	switch (part->kind) {
	case GO_ARM64_SWITCHED:
		go_rule_make(EM_AARCH64, known->role, frame_bytes, rule);
		break;
	case GO_ARM64_CALLING:
		go_rule_make_calling(EM_AARCH64, frame_bytes, rule);
		break;
	case GO_ARM64_GROWING:
		go_rule_make(EM_AARCH64, GO_SWITCH_GROWING, frame_bytes, rule);
		break;
	case GO_ARM64_POPPED:
		go_rule_make(EM_AARCH64, GO_ROLE_ORDINARY, 0, rule);
		break;
	case GO_ARM64_SAVED:
		go_rule_make_saved(frame_bytes, part->offset, rule);
		break;
	}
}

static uint32_t find_arm64_parts(struct go_table *table, const struct known_function *known,
				 struct go_arm64_part parts[GO_ARM64_PARTS_MAX])
{
	const struct go_function *function = &known->function;
	uint64_t available = function->end - function->start;
	size_t bytes = available < GO_ARM64_MAX_BYTES ? available : GO_ARM64_MAX_BYTES;
	uint8_t code[GO_ARM64_MAX_BYTES];

	if (elf_pages_read_address(&table->pages, function->start, code, bytes))
		return 0;
	return go_arm64_find_parts(known->role, function->start, function->end, code, bytes, parts);
}

/* As add_parted_rows() for arm64, where most functions that switch stacks do so in the middle. */
static int add_arm64_rows(struct row_writer *writer, const struct known_function *known,
			  const struct go_value *value)
{
	struct go_arm64_part parts[GO_ARM64_PARTS_MAX];
	uint32_t count = find_arm64_parts(&writer->code->table, known, parts);
	uint64_t at = value->start;
	struct unwind_rule rule, plain;
	int err = 0;

	go_rule_make(EM_AARCH64, known->role == GO_ROLE_FROM_C ? GO_ROLE_FROM_C : GO_ROLE_ORDINARY,
		     value->value, &plain);
	for (uint32_t i = 0; !err && i < count; i++) {
		uint64_t start = parts[i].start > at ? parts[i].start : at;
		uint64_t end = parts[i].end < value->end ? parts[i].end : value->end;

		if (start >= end)
			continue;
		make_arm64(known, &parts[i], value->value, &rule);
		err = add_row(writer, at, start, &plain);
		if (!err)
			err = add_row(writer, start, end, &rule);
		at = end;
	}
	return err ? err : add_row(writer, at, value->end, &plain);
}

static bool has_arm64_parts(uint16_t machine, uint32_t role)
{
	return machine == EM_AARCH64 &&
	       (role == GO_SWITCH_SYSTEMSTACK || role == GO_SWITCH_ASMCGOCALL ||
		role == GO_SWITCH_MCALL || role == GO_SWITCH_MORESTACK || role == GO_SWITCH_GOGO ||
		role == GO_SWITCH_GROWING || role == GO_ROLE_FROM_C);
}

/* Adds the function's rows up to @end, its end or shortly before. */
static int add_function(struct row_writer *writer, const struct known_function *known, uint64_t end)
{
	const struct go_function *function = &known->function;
	uint16_t machine = writer->code->table.pages.image->machine;
	uint64_t covered_end = function->start;
	struct unwind_rule rule;
	struct go_values values;
	struct go_value value;
	int32_t frame_bytes = 0;
	int more = 0, err;

	/* A function of the first pass does not exist any more. */
	err = add_row(writer, writer->covered_end, function->start, &no_rule);
	go_values_init(&values, &writer->code->table, function, function->pcsp);
	while (!err && (more = go_values_next(&values, &value)) > 0 && value.start < end) {
		if (value.end > end)
			value.end = end;
		go_rule_make(machine, known->role, value.value, &rule);
		/* Assembly makes room below its frame; the return address stays at the frame's lower end. */
		if (!frame_bytes)
			frame_bytes = value.value;
		if (machine == EM_AARCH64 && rule.cfa == CFA_SP && rule.ra == SAVED_AT_SP &&
		    value.value > frame_bytes && value.value - frame_bytes <= INT16_MAX)
			rule.ra_offset = (int16_t)(value.value - frame_bytes);
		if (has_parts(machine, known->role))
			err = add_parted_rows(writer, known, &value);
		else if (has_arm64_parts(machine, known->role))
			err = add_arm64_rows(writer, known, &value);
		else
			err = add_row(writer, value.start, value.end, &rule);
		covered_end = value.end;
	}
	/* The table ends with the code; the padding up to the next function never runs. */
	if (!err && (more < 0 || end > covered_end + PADDING_MAX_BYTES)) {
		go_rule_make(machine, known->role, -1, &rule);
		err = add_row(writer, covered_end, end, &rule);
	}
	writer->covered_end = end;
	return err;
}

static int read_known(struct go_code *code, uint32_t index, struct known_function *known)
{
	char name[GO_RULE_NAME_MAX_BYTES];
	int err = go_function_read(&code->table, index, &known->function);

	if (err)
		return err;
	go_function_name_start(&code->table, &known->function, name, sizeof(name));
	known->role = go_role_of(name, known->function.flags != 0, code->has_flags);
	return 0;
}

/* Finds the first function of @span that ends behind @address; they were sorted when the span was made. */
static int find_first(struct go_code *code, const struct go_span *span, uint64_t address,
		      uint32_t *index)
{
	uint32_t low = span->first, high = span->first + span->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct go_function function;
		int err = go_function_read(&code->table, middle, &function);

		if (err)
			return err;
		if (function.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*index = low;
	return 0;
}

static int add_functions(struct row_writer *writer, const struct go_span *span)
{
	struct known_function known, next;
	uint32_t index, last = span->first + span->count;
	int err = find_first(writer->code, span, writer->start, &index);

	if (!err && index < last)
		err = read_known(writer->code, index, &next);
	while (!err && index < last) {
		uint64_t end;

		known = next;
		if (known.function.start >= writer->end)
			break;
		end = known.function.end;
		if (++index < last) {
			err = read_known(writer->code, index, &next);
			if (!err && next.role == GO_ROLE_SIGNAL_RETURN)
				end -= SIGNAL_RETURN_LEAD_BYTES;
		}
		if (known.role == GO_ROLE_SIGNAL_RETURN)
			known.function.start -= SIGNAL_RETURN_LEAD_BYTES;
		if (!err)
			err = add_function(writer, &known, end);
	}
	return err;
}

int go_code_add_rows(struct go_code *code, const struct go_span *span, uint64_t start, uint64_t end,
		     struct delta_builder *builder)
{
	struct row_writer writer = {
		.code = code,
		.builder = builder,
		.start = start,
		.end = end,
		.covered_end = start,
	};
	int err = add_functions(&writer, span);

	if (err && err != -EBADMSG)
		return err;
	/* The file has changed since the spans were found: the rest gets no rule. */
	return add_row(&writer, writer.covered_end, end, &no_rule);
}
