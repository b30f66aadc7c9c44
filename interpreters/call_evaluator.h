/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The virtual machine that thread_local.h uses to follow instructions: registers, flags and a chunk of
 * stack. Each value is a number, a thread-local word, or unknown. The instructions of x86-64 and arm64
 * are in files of their own. Steps, calls and stack are bounded.
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
	/** The result of `depth` loads that start at the thread pointer, plus `number`. */
	VALUE_THREAD,
	/** The stack pointer of the call, plus `number`. */
	VALUE_STACK,
};

struct value {
	uint8_t kind;
	uint8_t depth;
	/** The number is an immediate of the code; it was not read from memory. */
	bool is_immediate;
	int32_t offsets[THREAD_LOCAL_MAX_LOADS];
	uint64_t number;
};

/** The operands of the last comparison. */
struct comparison {
	struct value left;
	struct value right;
	uint8_t bytes;
	/** `left` is compared with 0, as by `test` and `and`. */
	bool is_test;
};

struct evaluator {
	struct remote_memory *memory;
	/** Its modules are searched for the targets of unbound calls. NULL: unbound calls are not followed. */
	const struct attach_target *target;
	/** Limit for unbound calls, on the clock of the thread's CPU time. */
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
	/** The bytes of code that were read last, at address code_start. */
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

/** A number added to or subtracted from a value of the thread or the stack keeps its kind. */
struct value value_add(struct value left, struct value right);
struct value value_subtract(struct value left, struct value right);

/** Keeps the lower @bytes bytes; a pointer becomes unknown. */
struct value value_cut(struct value value, uint8_t bytes);

/** Returns at least @wanted bytes of code at pc, and their number in *@count; NULL and *@err on error. */
const uint8_t *evaluator_fetch(struct evaluator *evaluator, size_t wanted, size_t *count, int *err);

/** Loads @bytes (1, 2, 4, 8) bytes at @address. */
int evaluator_load(struct evaluator *evaluator, struct value address, uint8_t bytes,
		   struct value *value);

/** Stores to the stack; any other store is dropped. */
void evaluator_store(struct evaluator *evaluator, struct value address, uint8_t bytes,
		     struct value value);

/** Decides whether @condition holds after the last comparison; -EOPNOTSUPP if that is unknown. */
int evaluator_decide(const struct evaluator *evaluator, enum condition condition, bool *holds);

/** Calls @target, which returns to @return_address; -EOPNOTSUPP beyond EVALUATOR_MAX_CALLS. */
int evaluator_call(struct evaluator *evaluator, struct value target, uint64_t return_address);
int evaluator_jump(struct evaluator *evaluator, struct value target);

/** Finds the function that the dynamic linker would bind to @slot; -EAGAIN if no module has it. */
int evaluator_bind(const struct evaluator *evaluator, struct value slot, struct value *target);

void evaluator_return(struct evaluator *evaluator);

#endif
