/* SPDX-License-Identifier: Apache-2.0 */
/* Values are followed through registers in the order of instructions; jumps are ignored. */
#include "interpreters/python/python_unpushed.h"

#include <string.h>

#include "interpreters/python/code_cursor.h"

enum {
	/* Limits of instructions between those that belong together. */
	END_MAX_INSTRUCTIONS = 48,
	BEGIN_MAX_INSTRUCTIONS = 256,
	RETURN_MAX_INSTRUCTIONS = 16,
	POP_MAX_INSTRUCTIONS = 8,
	WORD_BYTES = 8,
};

/** python_process.unpushed under construction. */
struct unpushed {
	struct python_code_range *ranges;
	uint32_t count;
};

static void add_unpushed(struct unpushed *unpushed, uint64_t start, uint64_t end)
{
	if (unpushed->count < PYTHON_MAX_RANGES && end <= UINT32_MAX)
		unpushed->ranges[unpushed->count++] =
			(struct python_code_range){ .start = (uint32_t)start,
						    .end = (uint32_t)end };
}

static uint64_t end_of(const struct code_cursor *cursor)
{
	return cursor->address + cursor->length;
}

static bool is_in(uint32_t set, uint8_t reg)
{
	return reg < CODE_REGISTERS && set & 1U << reg;
}

/* True if a register of @set is stored at @displacement from a register other than the stack pointer. */
static bool stores(const struct code_cursor *cursor, uint32_t set, int64_t displacement)
{
	const struct code_instruction *instruction = &cursor->instruction;

	if (instruction->kind != CODE_STORE ||
	    instruction->base == cursor->registers->stack_pointer ||
	    instruction->base == CODE_NO_REGISTER)
		return false;
	return (is_in(set, instruction->reg) && instruction->displacement == displacement) ||
	       (is_in(set, instruction->second) &&
		instruction->displacement + WORD_BYTES == displacement);
}

/* The registers that are loaded with the word at @displacement from a register other than the stack pointer. */
static uint32_t loads(const struct code_cursor *cursor, int64_t displacement)
{
	const struct code_instruction *instruction = &cursor->instruction;

	if (instruction->kind != CODE_LOAD ||
	    instruction->base == cursor->registers->stack_pointer ||
	    instruction->base == CODE_NO_REGISTER)
		return 0;
	if (instruction->displacement == displacement && instruction->reg < CODE_REGISTERS)
		return 1U << instruction->reg;
	if (instruction->displacement + WORD_BYTES == displacement &&
	    instruction->second < CODE_REGISTERS)
		return 1U << instruction->second;
	return 0;
}

/* Adds the code from the beginning to the end of the store of the frame, an argument, to tstate->frame. */
static void find_push(struct code_cursor *cursor, const struct python_layout *layout,
		      struct unpushed *unpushed)
{
	uint32_t frames =
		1U << cursor->registers->arguments[layout->version >= PYTHON_VERSION(3, 9)];

	for (uint32_t i = 0; i < BEGIN_MAX_INSTRUCTIONS && code_cursor_next(cursor); i++) {
		const struct code_instruction *instruction = &cursor->instruction;

		if (stores(cursor, frames, layout->frame.thread_frame)) {
			add_unpushed(unpushed, cursor->start, end_of(cursor));
			return;
		}
		if (instruction->kind == CODE_MOVE && is_in(frames, instruction->base))
			frames |= 1U << instruction->reg;
		else if (instruction->kind == CODE_CALL || instruction->kind == CODE_CALL_INDIRECT)
			frames &= cursor->registers->saved;
		else
			frames &= ~instruction->writes;
	}
}

/* The end of the return to which the code at @address leads without a branch; 0: it does not. */
static uint64_t return_after(const struct code_cursor *cursor, uint64_t address)
{
	struct code_cursor copy = *cursor;

	code_cursor_go(&copy, address);
	for (uint32_t i = 0; i < RETURN_MAX_INSTRUCTIONS && code_cursor_next(&copy); i++) {
		switch (copy.instruction.kind) {
		case CODE_RETURN:
			return end_of(&copy);
		case CODE_RESTORE:
		case CODE_ADD:
		case CODE_MOVE:
		case CODE_LOAD:
			continue;
		default:
			return 0;
		}
	}
	return 0;
}

/* False for instructions that cannot follow the pop of a frame: code after it runs on to the exit of the function. */
static bool goes_on(uint8_t kind)
{
	return kind != CODE_CALL_INDIRECT && kind != CODE_STOP;
}

/* Adds the code from @popped to the end of the current jump, if the jump leaves the function. */
static void leave_by_jump(const struct code_cursor *cursor, uint64_t popped,
			  struct unpushed *unpushed)
{
	uint64_t target = 0, end = 0;
	bool is_inside;

	code_cursor_target(cursor, &target);
	is_inside = code_cursor_has(cursor, target);
	if (is_inside)
		end = return_after(cursor, target);
	if (end || !is_inside)
		add_unpushed(unpushed, popped, end_of(cursor));
	if (end)
		add_unpushed(unpushed, target, end);
}

/*
 * Adds the code from the end of each `tstate->frame = f->f_back` to the exit of the function. Other pairs of moves look
 * the same; the right one is followed by code that leads straight to a return or to another function.
 */
static void find_pops(struct code_cursor *cursor, const struct python_layout *layout,
		      struct unpushed *unpushed)
{
	uint64_t popped = 0;
	uint32_t since = 0, loaded_since = 0, loaded = 0;

	while (code_cursor_next(cursor)) {
		uint8_t kind = cursor->instruction.kind;
		uint32_t found = loads(cursor, layout->frame.previous);

		if (popped && kind == CODE_RETURN) {
			add_unpushed(unpushed, popped, end_of(cursor));
			popped = 0;
		} else if (popped && kind == CODE_JUMP) {
			leave_by_jump(cursor, popped, unpushed);
			popped = 0;
		} else if (popped && (++since > END_MAX_INSTRUCTIONS || !goes_on(kind))) {
			popped = 0;
		}
		if (found) {
			loaded = found;
			loaded_since = 0;
		} else if (stores(cursor, loaded, layout->frame.thread_frame)) {
			popped = end_of(cursor);
			since = 0;
			loaded = 0;
		} else if (++loaded_since > POP_MAX_INSTRUCTIONS ||
			   cursor->instruction.writes & loaded) {
			loaded = 0;
		}
	}
}

/** A stack slot, relative to a register. base CODE_NO_REGISTER: none. */
struct stack_slot {
	uint8_t base;
	int64_t displacement;
};

/* Updates the stack slots that registers point to, as far as they are known, after the instruction. */
static void follow_slots(const struct code_cursor *cursor, struct stack_slot *slots)
{
	const struct code_instruction *instruction = &cursor->instruction;

	for (uint32_t i = 0; i < CODE_REGISTERS; i++) {
		if (instruction->writes & 1U << i)
			slots[i].base = CODE_NO_REGISTER;
	}
	/* The frame pointer may also hold any other pointer. */
	if (instruction->kind == CODE_ADD && instruction->reg < CODE_REGISTERS &&
	    instruction->reg != instruction->base &&
	    (instruction->base == cursor->registers->stack_pointer ||
	     instruction->base == cursor->registers->frame_pointer))
		slots[instruction->reg] =
			(struct stack_slot){ instruction->base, instruction->displacement };
}

/* True if the instruction writes the word at @slot. */
static bool writes_slot(const struct code_cursor *cursor, struct stack_slot slot)
{
	const struct code_instruction *instruction = &cursor->instruction;

	return instruction->kind == CODE_STORE && instruction->base == slot.base &&
	       instruction->displacement <= slot.displacement &&
	       slot.displacement < instruction->displacement + instruction->stored_bytes;
}

/* Adds the code between `tstate->cframe = &cframe` and the store to cframe.current_frame. */
static void find_cframe(struct code_cursor *cursor, const struct python_layout *layout,
			struct unpushed *unpushed)
{
	struct stack_slot slots[CODE_REGISTERS], current = { .base = CODE_NO_REGISTER };
	uint64_t installed = 0;

	for (uint32_t i = 0; i < CODE_REGISTERS; i++)
		slots[i].base = CODE_NO_REGISTER;
	for (uint32_t i = 0; i < BEGIN_MAX_INSTRUCTIONS && code_cursor_next(cursor); i++) {
		uint8_t reg = cursor->instruction.reg;

		if (installed && writes_slot(cursor, current)) {
			add_unpushed(unpushed, installed, end_of(cursor));
			return;
		}
		if (!installed && reg < CODE_REGISTERS && slots[reg].base != CODE_NO_REGISTER &&
		    stores(cursor, 1U << reg, layout->frame.thread_cframe)) {
			installed = end_of(cursor);
			current = slots[reg];
			current.displacement += layout->frame.cframe_frame;
			continue;
		}
		follow_slots(cursor, slots);
	}
}

int python_unpushed_find(const struct elf_image *image, const struct python_layout *layout,
			 uint64_t start, const struct code_range *ranges, uint32_t count,
			 struct python_code_range unpushed[PYTHON_MAX_RANGES])
{
	struct unpushed found = { .ranges = unpushed };

	memset(unpushed, 0, sizeof(*unpushed) * PYTHON_MAX_RANGES);
	if (layout->version > PYTHON_VERSION(3, 12))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		__attribute__((cleanup(code_cursor_deinit))) struct code_cursor cursor = { 0 };
		bool is_entered = start >= ranges[i].start && start < ranges[i].end;
		int err = code_cursor_init(&cursor, image, ranges[i]);

		if (err)
			return err;
		if (layout->version >= PYTHON_VERSION(3, 11)) {
			if (is_entered)
				find_cframe(&cursor, layout, &found);
			continue;
		}
		if (is_entered) {
			find_push(&cursor, layout, &found);
			code_cursor_go(&cursor, cursor.start);
		}
		find_pops(&cursor, layout, &found);
	}
	return 0;
}
