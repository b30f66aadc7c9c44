/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers emit only code into text, so decoding the instructions in sequence finds nearly all of them.
 * Behind data the sweep is out of step until the next known start. A missed block only costs its function
 * the verification.
 */
#include "stackdeltas/code/code_sweep.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "stackdeltas/code/code_trial.h"
#include "stackdeltas/code/known_code.h"
#include "stackdeltas/code/stack_switch.h"

enum {
	/* REX.W, opcode, ModRM, displacement */
	LEA_PC_BYTES = 7,
	/* Opcode, immediate */
	IMMEDIATE_BYTES = 5,
	/* Optimising compilers align functions to this. */
	FUNCTION_ALIGNMENT = 16,
};

struct sweep {
	const struct code_chunk *chunk;
	struct code_marks *marks;
	const struct code_hints *hints;
	size_t next_start;
	size_t next_pointer;
	/* Only padding since an instruction without a next one. */
	bool is_after_end;
};

bool code_start_is_likely(const struct code_chunk *chunk, uint32_t offset)
{
	struct code_state state, entry;
	struct code_step step;

	if (known_code_is_landing(chunk->machine, chunk->bytes, chunk->size, offset))
		return true;
	if (chunk->machine == EM_X86_64 && (chunk->address + offset) % FUNCTION_ALIGNMENT)
		return false;
	code_state_init(&entry, chunk->machine);
	state = entry;
	chunk->step(chunk->bytes + offset, chunk->size - offset, &state, &step);
	if (step.flow == CODE_FLOW_RETURN)
		return code_state_is_entry(&state, chunk->machine);
	return state.sp.kind == CODE_FROM_CFA && state.sp.offset < entry.sp.offset;
}

bool code_start_follows(const struct code_chunk *chunk, const struct code_marks *marks,
			uint32_t next)
{
	uint32_t offset = next;
	struct code_step step;

	while (offset < chunk->size && offset - next < FUNCTION_ALIGNMENT) {
		chunk->step(chunk->bytes + offset, chunk->size - offset, NULL, &step);
		if (step.flow != CODE_FLOW_NOP)
			break;
		offset += step.length;
	}
	if (offset >= chunk->size)
		return false;
	if (marks->marks[offset] & CODE_MARK_TAKEN)
		return true;
	if (offset == next)
		return false;
	/* Within a function only targets of jumps are aligned. */
	if (!code_marks_is_leader(marks, offset))
		return (chunk->address + offset) % FUNCTION_ALIGNMENT == 0;
	return code_start_is_likely(chunk, offset);
}

static void add_leader(struct code_marks *marks, uint32_t offset)
{
	marks->leader_bits[offset / 64] |= (uint64_t)1 << offset % 64;
}

static void add_start(struct code_marks *marks, uint32_t offset)
{
	add_leader(marks, offset);
	marks->marks[offset] |= CODE_MARK_START;
}

/* Finds the offset of the target of @step; false if that is not in the chunk. */
static bool find_target(const struct code_chunk *chunk, uint32_t offset,
			const struct code_step *step, uint32_t *target)
{
	int64_t sum = offset + step->target;

	if (sum < 0 || sum >= chunk->size)
		return false;
	*target = sum;
	return true;
}

/* True for the padding of linkers and assemblers: no-ops, int3, udf, zeros. */
static bool is_padding(const struct code_chunk *chunk, uint32_t offset, struct code_step *step)
{
	if (step->flow == CODE_FLOW_NOP || step->flow == CODE_FLOW_STOP)
		return true;
	if (chunk->machine != EM_X86_64 || chunk->bytes[offset])
		return false;
	step->length = 1;
	return true;
}

bool code_takes_address(uint16_t machine, const uint8_t *bytes, uint32_t length, uint64_t address,
			uint64_t *taken)
{
	int32_t number;

	if (machine != EM_X86_64 || length < IMMEDIATE_BYTES)
		return false;
	if (length == LEA_PC_BYTES && (bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x8d &&
	    (bytes[2] & 0xc7) == 0x05) {
		memcpy(&number, bytes + 3, sizeof(number));
		*taken = address + length + number;
		return true;
	}
	if (bytes[0] >> 4 == 4) {
		bytes++;
		length--;
	}
	if (bytes[0] != 0xc7 && ((bytes[0] & 0xf8) != 0xb8 || length != IMMEDIATE_BYTES) &&
	    bytes[0] != 0x68)
		return false;
	memcpy(&number, bytes + length - sizeof(number), sizeof(number));
	*taken = number;
	return number >= CODE_FIXED_ADDRESS;
}

/* Without memory the start is not recognized. */
static void add_stack_start(struct code_marks *marks, uint32_t offset)
{
	if (!marks->stack_start_bits)
		marks->stack_start_bits =
			calloc(marks->size / 64 + 1, sizeof(*marks->stack_start_bits));
	if (marks->stack_start_bits)
		marks->stack_start_bits[offset / 64] |= (uint64_t)1 << offset % 64;
}

static void mark_taken(struct sweep *sweep, uint32_t offset, uint32_t length)
{
	const struct code_chunk *chunk = sweep->chunk;
	uint64_t taken;
	uint32_t target;

	if (!code_takes_address(chunk->machine, chunk->bytes + offset, length,
				chunk->address + offset, &taken))
		return;
	if (taken - chunk->address < chunk->size)
		sweep->marks->marks[taken - chunk->address] |= CODE_MARK_TAKEN;
	target = offset + stack_start_stored(chunk->bytes + offset, chunk->size - offset);
	if (!chunk->is_hotspot && target > offset && target < chunk->size)
		add_stack_start(sweep->marks, target);
}

/* True if data has the address of @offset, which grows from call to call. */
static bool is_pointed(struct sweep *sweep, uint32_t offset)
{
	const struct code_hints *hints = sweep->hints;

	while (sweep->next_pointer < hints->pointer_count &&
	       hints->pointers[sweep->next_pointer] - sweep->chunk->address < offset)
		sweep->next_pointer++;
	return sweep->next_pointer < hints->pointer_count &&
	       hints->pointers[sweep->next_pointer] - sweep->chunk->address == offset;
}

static void mark_step(struct sweep *sweep, uint32_t offset, struct code_step *step)
{
	struct code_marks *marks = sweep->marks;
	uint32_t target, next = offset + step->length;
	size_t entry;

	if (sweep->is_after_end && !(marks->marks[offset] & CODE_MARK_START)) {
		if (is_padding(sweep->chunk, offset, step)) {
			for (uint32_t i = 0; i < step->length; i++)
				marks->marks[offset + i] |= CODE_MARK_PADDING;
			return;
		}
		add_leader(marks, offset);
		marks->marks[offset] |= CODE_MARK_AFTER_END;
	}
	sweep->is_after_end = false;
	/* An address between instructions is some other number. */
	if (is_pointed(sweep, offset))
		marks->marks[offset] |= CODE_MARK_TAKEN;
	switch (step->flow) {
	case CODE_FLOW_CALL:
		if (find_target(sweep->chunk, offset, step, &target) && target != next)
			add_start(marks, target);
		/* fall through */
	case CODE_FLOW_CALL_INDIRECT:
		if (next < sweep->chunk->size)
			add_leader(marks, next);
		break;
	case CODE_FLOW_JUMP:
	case CODE_FLOW_BRANCH:
		if (find_target(sweep->chunk, offset, step, &target)) {
			add_leader(marks, target);
			marks->marks[target] |= CODE_MARK_JUMPED;
		}
		sweep->is_after_end = step->flow == CODE_FLOW_JUMP;
		break;
	case CODE_FLOW_JUMP_INDIRECT:
	case CODE_FLOW_RETURN:
	case CODE_FLOW_STOP:
		sweep->is_after_end = true;
		break;
	case CODE_FLOW_SYSCALL:
		sweep->is_after_end = known_code_syscall(sweep->chunk->machine, sweep->chunk->bytes,
							 sweep->chunk->size, offset,
							 &entry) == KNOWN_SYSCALL_EXIT;
		break;
	default:
		mark_taken(sweep, offset, step->length);
		break;
	}
}

static void sweep_all(struct sweep *sweep)
{
	const struct code_chunk *chunk = sweep->chunk;
	const struct code_hints *hints = sweep->hints;
	struct code_step step;

	sweep->is_after_end = true;
	for (uint32_t offset = 0; offset < chunk->size; offset += step.length) {
		uint32_t limit = chunk->size;

		while (sweep->next_start < hints->start_count &&
		       hints->starts[sweep->next_start] - chunk->address <= offset)
			sweep->next_start++;
		/* No instruction extends over a known start. */
		if (sweep->next_start < hints->start_count)
			limit = hints->starts[sweep->next_start] - chunk->address;
		chunk->step(chunk->bytes + offset, limit - offset, NULL, &step);
		if (step.flow == CODE_FLOW_BAD && step.length > limit - offset)
			step.length = limit - offset;
		mark_step(sweep, offset, &step);
	}
}

/*
 * Marks all code at which stacks begin. Its address is looked up as that of a return address, one byte lower: in the code that
 * enters the first function, without which it is not accepted, since that byte would be the end of another function.
 */
static void mark_stack_starts(const struct code_chunk *chunk, struct code_marks *marks)
{
	uint32_t size, jump_end;

	if (!marks->stack_start_bits)
		return;
	for (uint32_t offset = 0; offset < chunk->size; offset += size) {
		size = 1;
		if (!code_marks_begins_stack(marks, offset))
			continue;
		size = stack_start_bytes(chunk->bytes + offset, chunk->size - offset, &jump_end);
		if (size && jump_end && code_marks_begins_stack(marks, offset + jump_end)) {
			for (uint32_t i = 0; i < size; i++)
				add_stack_start(marks, offset + i);
			continue;
		}
		marks->stack_start_bits[offset / 64] &= ~((uint64_t)1 << offset % 64);
		size = 1;
	}
}

/*
 * Where an address was taken and a function is likely to start, one does start. The code before it is then
 * the call of a function that does not return. No function starts where a stack begins: nothing calls that code.
 */
static void mark_taken_starts(const struct code_chunk *chunk, struct code_marks *marks)
{
	for (uint32_t offset = 0; offset < chunk->size; offset++) {
		if (!(marks->marks[offset] & CODE_MARK_TAKEN))
			continue;
		if (!code_marks_begins_stack(marks, offset) &&
		    code_trial_is_taken_start(chunk, marks, offset)) {
			add_leader(marks, offset);
			marks->marks[offset] |= CODE_MARK_AFTER_END;
		} else {
			marks->marks[offset] &= ~CODE_MARK_TAKEN;
		}
	}
}

static void count_ranks(struct code_marks *marks, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++) {
		marks->leader_ranks[i] = marks->leader_count;
		marks->leader_count += __builtin_popcountll(marks->leader_bits[i]);
	}
}

int code_marks_init(struct code_marks *marks, const struct code_chunk *chunk,
		    const struct code_hints *hints)
{
	uint64_t entry = hints->entry;
	struct sweep sweep = {
		.chunk = chunk,
		.marks = marks,
		.hints = hints,
	};
	uint32_t words = chunk->size / 64 + 1;

	memset(marks, 0, sizeof(*marks));
	marks->size = chunk->size;
	marks->marks = calloc(chunk->size + 1, sizeof(*marks->marks));
	marks->leader_bits = calloc(words, sizeof(*marks->leader_bits));
	marks->leader_ranks = calloc(words, sizeof(*marks->leader_ranks));
	if (!marks->marks || !marks->leader_bits || !marks->leader_ranks)
		return fail(-ENOMEM, "no memory to analyse %u bytes of code", chunk->size);
	for (size_t i = 0; i < hints->start_count; i++) {
		add_start(marks, hints->starts[i] - chunk->address);
		marks->marks[hints->starts[i] - chunk->address] |= CODE_MARK_GIVEN;
	}
	for (size_t i = 0; i < hints->called_count; i++)
		add_start(marks, hints->called[i] - chunk->address);
	for (size_t i = 0; i < hints->jumped_count; i++)
		marks->marks[hints->jumped[i] - chunk->address] |= CODE_MARK_JUMPED;
	if (entry >= chunk->address && entry - chunk->address < chunk->size)
		add_start(marks, entry - chunk->address);
	sweep_all(&sweep);
	mark_stack_starts(chunk, marks);
	mark_taken_starts(chunk, marks);
	count_ranks(marks, words);
	return 0;
}

void code_marks_clear_leaders(struct code_marks *marks, const struct code_chunk *chunk)
{
	uint32_t words = chunk->size / 64 + 1;

	memset(marks->leader_bits, 0, words * sizeof(*marks->leader_bits));
	memset(marks->leader_ranks, 0, words * sizeof(*marks->leader_ranks));
	marks->leader_count = 0;
}

uint32_t code_marks_next_leader(const struct code_marks *marks, uint32_t offset)
{
	while (offset < marks->size) {
		uint64_t word = marks->leader_bits[offset / 64] >> offset % 64;

		if (word)
			return offset + __builtin_ctzll(word);
		offset = (offset / 64 + 1) * 64;
	}
	return marks->size;
}

void code_marks_deinit(struct code_marks *marks)
{
	free(marks->marks);
	free(marks->leader_bits);
	free(marks->leader_ranks);
	free(marks->stack_start_bits);
	memset(marks, 0, sizeof(*marks));
}
