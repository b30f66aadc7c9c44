/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The machine on which thread_local.h follows instructions: registers, flags and a piece of stack
 * that hold numbers, thread-local words, or what is not known. Parts of x86-64 and arm64 are in
 * files of their own. Everything is bounded: steps, calls, stack.
 */
#ifndef INTERPRETERS_CALL_EVALUATOR_H
#define INTERPRETERS_CALL_EVALUATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interpreters/language.h"
#include "interpreters/thread_local.h"

enum {
	EVALUATOR_MAX_STEPS = 512,
	EVALUATOR_MAX_CALLS = 8,
	EVALUATOR_STACK_WORDS = 64,
	EVALUATOR_REGISTERS = 32,
	EVALUATOR_FETCH_BYTES = 64,
};

enum value_kind {
	VALUE_UNKNOWN,
	/** A number: `number`. */
	VALUE_NUMBER,
	/** What `depth` loads from the thread pointer on give, plus `number`. */
	VALUE_THREAD,
	/** The stack pointer of the call, plus `number`. */
	VALUE_STACK,
};

struct value {
	uint8_t kind;
	uint8_t depth;
	/** An immediate of the code, and not read from memory. */
	bool is_immediate;
	int32_t offsets[THREAD_LOCAL_MAX_LOADS];
	uint64_t number;
};

/** The operands of the last comparison. */
struct comparison {
	struct value left;
	struct value right;
	uint8_t bytes;
	/** As by `test` and `and`: is `left` 0? */
	bool is_test;
};

struct evaluator {
	struct remote_memory *memory;
	/** Whose modules tell where unbound calls lead; NULL: none. */
	const struct attach_target *target;
	/** Of the thread's CPU time, for unbound calls. */
	uint64_t deadline_ns;
	uint64_t pc;
	struct value registers[EVALUATOR_REGISTERS];
	struct comparison flags;
	/** Words below the stack pointer of the call. */
	struct value stack[EVALUATOR_STACK_WORDS];
	uint64_t return_addresses[EVALUATOR_MAX_CALLS];
	uint32_t call_count;
	/** The call has returned. */
	bool is_done;
	/** Bytes of code that were read last. */
	uint8_t code[EVALUATOR_FETCH_BYTES];
	uint64_t code_start;
	uint32_t code_bytes;
};

enum condition {
	CONDITION_EQUAL,
	CONDITION_BELOW,
	CONDITION_BELOW_EQUAL,
	CONDITION_LESS,
	CONDITION_LESS_EQUAL,
	CONDITION_NEGATIVE,
};

struct value value_number(uint64_t number, bool is_immediate);

/** Sums and differences keep what is reached from the thread or the stack. */
struct value value_add(struct value left, struct value right);
struct value value_subtract(struct value left, struct value right);

/** The lower @bytes bytes; a pointer that is cut is not known. */
struct value value_cut(struct value value, uint8_t bytes);

/** At least @wanted bytes of code at pc, NULL after an error in *@err. *@count: those there are. */
const uint8_t *evaluator_fetch(struct evaluator *evaluator, size_t wanted, size_t *count, int *err);

/** Loads @bytes (1, 2, 4, 8) from what @address is. */
int evaluator_load(struct evaluator *evaluator, struct value address, uint8_t bytes,
		   struct value *value);

/** Stores go to the stack, or nowhere. */
void evaluator_store(struct evaluator *evaluator, struct value address, uint8_t bytes,
		     struct value value);

/** Whether @condition holds after the last comparison; -EOPNOTSUPP if that cannot be told. */
int evaluator_decide(const struct evaluator *evaluator, enum condition condition, bool *holds);

/** To @target, to come back to @return_address; -EOPNOTSUPP beyond EVALUATOR_MAX_CALLS. */
int evaluator_call(struct evaluator *evaluator, struct value target, uint64_t return_address);
int evaluator_jump(struct evaluator *evaluator, struct value target);

/** Where the function that @slot stands for is, in place of the binding of it; -EAGAIN if nowhere. */
int evaluator_bind(const struct evaluator *evaluator, struct value slot, struct value *target);

void evaluator_return(struct evaluator *evaluator);

#endif
