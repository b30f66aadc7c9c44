/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/call_evaluator.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "interpreters/unbound_call.h"
#include "lib/base/error.h"

struct value value_number(uint64_t number, bool is_immediate)
{
	return (struct value){ .kind = VALUE_NUMBER,
			       .number = number,
			       .is_immediate = is_immediate };
}

struct value value_add(struct value left, struct value right)
{
	if (left.kind == VALUE_NUMBER && right.kind != VALUE_NUMBER) {
		struct value swapped = left;

		left = right;
		right = swapped;
	}
	if (left.kind == VALUE_UNKNOWN || right.kind != VALUE_NUMBER)
		return (struct value){ 0 };
	left.number += right.number;
	left.is_immediate = left.is_immediate && right.is_immediate;
	return left;
}

struct value value_subtract(struct value left, struct value right)
{
	if (right.kind != VALUE_NUMBER)
		return (struct value){ 0 };
	right.number = -right.number;
	return value_add(left, right);
}

struct value value_cut(struct value value, uint8_t bytes)
{
	if (bytes >= 8)
		return value;
	/* A thread-local value that is cut can still be compared; see evaluator_decide(). */
	if (value.kind == VALUE_NUMBER)
		value.number &= (UINT64_C(1) << bytes * 8) - 1;
	else if (value.kind != VALUE_THREAD || !value.depth || value.number)
		value = (struct value){ 0 };
	return value;
}

const uint8_t *evaluator_fetch(struct evaluator *evaluator, size_t wanted, size_t *count, int *err)
{
	uint64_t offset = evaluator->pc - evaluator->code_start;

	if (evaluator->pc < evaluator->code_start || offset + wanted > evaluator->code_bytes) {
		uint32_t bytes = EVALUATOR_FETCH_BYTES;

		evaluator->code_bytes = 0;
		*err = remote_memory_read(evaluator->memory, evaluator->pc, evaluator->code, bytes);
		if (*err == -EFAULT) {
			/* The mapping ends. Read up to the end of the page, or a single byte. */
			bytes = 4096 - (evaluator->pc & 4095);
			bytes = bytes < EVALUATOR_FETCH_BYTES ? bytes : 1;
			*err = remote_memory_read(evaluator->memory, evaluator->pc, evaluator->code,
						  bytes);
		}
		if (*err)
			return NULL;
		evaluator->code_start = evaluator->pc;
		evaluator->code_bytes = bytes;
		offset = 0;
	}
	*err = 0;
	*count = evaluator->code_bytes - offset;
	return evaluator->code + offset;
}

/* The word of the stack at @address; NULL if the stack has no such word. */
static struct value *stack_word(struct evaluator *evaluator, struct value address)
{
	uint64_t below = -address.number;

	if (address.kind != VALUE_STACK || !below || below % 8 || below / 8 > EVALUATOR_STACK_WORDS)
		return NULL;
	return &evaluator->stack[below / 8 - 1];
}

static int load_from_thread(struct value address, uint8_t bytes, struct value *value)
{
	int64_t offset = (int64_t)address.number;

	/* A part of a word cannot be the pointer, but it may be compared. */
	if (address.depth == THREAD_LOCAL_MAX_LOADS || offset != (int32_t)offset) {
		*value = (struct value){ 0 };
		return 0;
	}
	(void)bytes;
	*value = address;
	value->is_immediate = false;
	value->number = 0;
	value->offsets[value->depth++] = (int32_t)offset;
	return 0;
}

int evaluator_load(struct evaluator *evaluator, struct value address, uint8_t bytes,
		   struct value *value)
{
	const struct value *word;
	uint64_t number = 0;
	int err;

	switch (address.kind) {
	case VALUE_NUMBER:
		err = remote_memory_read(evaluator->memory, address.number, &number, bytes);
		if (!err)
			*value = value_number(number, false);
		return err;
	case VALUE_THREAD:
		return load_from_thread(address, bytes, value);
	case VALUE_STACK:
		word = stack_word(evaluator, address);
		*value = word ? value_cut(*word, bytes) : (struct value){ 0 };
		return 0;
	default:
		*value = (struct value){ 0 };
		return 0;
	}
}

void evaluator_store(struct evaluator *evaluator, struct value address, uint8_t bytes,
		     struct value value)
{
	struct value *word = stack_word(evaluator, address);

	if (word)
		*word = value_cut(value, bytes);
}

static int64_t sign_extended(uint64_t number, uint8_t bytes)
{
	unsigned int shift = 64 - bytes * 8;

	return (int64_t)(number << shift) >> shift;
}

/* True for an immediate that means "nothing here": 0 or -1. */
static bool is_nothing(const struct value *value, uint8_t bytes)
{
	int64_t number = sign_extended(value->number, bytes);

	return value->kind == VALUE_NUMBER && value->is_immediate && (number == 0 || number == -1);
}

int evaluator_decide(const struct evaluator *evaluator, enum condition condition, bool *holds)
{
	const struct comparison *flags = &evaluator->flags;
	uint64_t left = flags->left.number, right = flags->right.number;
	int64_t signed_left, signed_right;

	if (!flags->bytes)
		return fail(-EOPNOTSUPP, "a branch at %#" PRIx64 " by what is not known",
			    evaluator->pc);
	if (flags->left.kind != VALUE_NUMBER || flags->right.kind != VALUE_NUMBER) {
		/* A comparison of a thread-local value: the value is there, and its checks succeed. */
		if (condition != CONDITION_EQUAL)
			return fail(-EOPNOTSUPP, "an inequality of the thread's at %#" PRIx64,
				    evaluator->pc);
		*holds = !flags->is_test && !is_nothing(&flags->right, flags->bytes) &&
			 !is_nothing(&flags->left, flags->bytes);
		return 0;
	}
	signed_left = sign_extended(left, flags->bytes);
	signed_right = sign_extended(right, flags->bytes);
	if (flags->bytes < 8) {
		left &= (UINT64_C(1) << flags->bytes * 8) - 1;
		right &= (UINT64_C(1) << flags->bytes * 8) - 1;
	}
	switch (condition) {
	case CONDITION_EQUAL:
		*holds = left == right;
		break;
	case CONDITION_BELOW:
		*holds = left < right;
		break;
	case CONDITION_BELOW_EQUAL:
		*holds = left <= right;
		break;
	case CONDITION_LESS:
		*holds = signed_left < signed_right;
		break;
	case CONDITION_LESS_EQUAL:
		*holds = signed_left <= signed_right;
		break;
	case CONDITION_NEGATIVE:
		*holds = sign_extended(left - right, flags->bytes) < 0;
		break;
	}
	return 0;
}

int evaluator_jump(struct evaluator *evaluator, struct value target)
{
	if (target.kind != VALUE_NUMBER)
		return fail(-EOPNOTSUPP, "a jump at %#" PRIx64 " to what is not known",
			    evaluator->pc);
	evaluator->pc = target.number;
	return 0;
}

int evaluator_call(struct evaluator *evaluator, struct value target, uint64_t return_address)
{
	if (evaluator->call_count == EVALUATOR_MAX_CALLS)
		return fail(-EOPNOTSUPP, "calls of calls at %#" PRIx64, evaluator->pc);
	evaluator->return_addresses[evaluator->call_count++] = return_address;
	return evaluator_jump(evaluator, target);
}

int evaluator_bind(const struct evaluator *evaluator, struct value slot, struct value *target)
{
	uint64_t function;
	int err;

	if (!evaluator->target || slot.kind != VALUE_NUMBER)
		return fail(-EOPNOTSUPP, "a call at %#" PRIx64 " that is not bound", evaluator->pc);
	err = unbound_call_find(evaluator->target, slot.number, evaluator->deadline_ns, &function);
	/* While the program is being loaded, the module that exports it may not be mapped yet. */
	if (err)
		return err == -ENOENT ? -EAGAIN : err;
	*target = value_number(function, false);
	return 0;
}

void evaluator_return(struct evaluator *evaluator)
{
	if (!evaluator->call_count)
		evaluator->is_done = true;
	else
		evaluator->pc = evaluator->return_addresses[--evaluator->call_count];
}
