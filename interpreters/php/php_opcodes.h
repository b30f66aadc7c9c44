/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The instructions of one function (zend_op, Zend/zend_compile.h), copied from a process: lines, jumps, and the lines that
 * may be executed between two instructions. Instructions are named by their index. All content is hostile; no question takes
 * more than O(n) time in the number of instructions.
 */
#ifndef INTERPRETERS_PHP_PHP_OPCODES_H
#define INTERPRETERS_PHP_PHP_OPCODES_H

#include "ebpf/abi/php.h"
#include "lib/host/remote_memory.h"

enum {
	/** Limit of the instructions of a function. */
	PHP_OPCODES_MAX = 4096,
	/** Index that means no instruction. */
	PHP_OPCODE_NONE = -1,
};

/** Owns its memory. */
struct php_opcodes {
	/** Address of the first instruction. */
	uint64_t address;
	int32_t count;
	uint8_t *bytes;
};

/** A line, and whether no other one is possible. */
struct php_line {
	uint32_t line;
	bool is_only;
};

/** Copies @count instructions. -E2BIG, -EFAULT, -ESRCH, -ENOMEM. */
int php_opcodes_read(struct php_opcodes *opcodes, struct remote_memory *memory, uint64_t address,
		     uint32_t count);
void php_opcodes_deinit(struct php_opcodes *opcodes);

/** Index of the instruction at @address, or PHP_OPCODE_NONE. */
int32_t php_opcodes_index(const struct php_opcodes *opcodes, uint64_t address);
uint32_t php_opcodes_line(const struct php_opcodes *opcodes, int32_t index);

/**
 * The conditional jump that can continue at @index, and in *@other where it continues otherwise. The instruction in front
 * of @index is preferred. PHP_OPCODE_NONE: there is none.
 */
int32_t php_opcodes_branch_to(const struct php_opcodes *opcodes, int32_t index, int32_t *other);

/** The instruction behind @index on the shortest way to @last; PHP_OPCODE_NONE: there is none. */
int32_t php_opcodes_next(const struct php_opcodes *opcodes, int32_t index, int32_t last);

/**
 * The lines of the instructions that are on the ways from @first to each of @count @lasts, one at least; the result is that of
 * the last such instruction. @is_before: without the first one of @lasts, unless it is @first.
 */
struct php_line php_opcodes_between(const struct php_opcodes *opcodes, int32_t first,
				    const int32_t *lasts, uint32_t count, bool is_before);
/** The same from @first to the next call, return or jump; the result is that of @first. */
struct php_line php_opcodes_after(const struct php_opcodes *opcodes, int32_t first);
/**
 * The same from the last call or jump in front of @last, or from the beginning behind the parameters; the result is that of
 * @last. @is_call: only calls and the beginning count.
 */
struct php_line php_opcodes_before(const struct php_opcodes *opcodes, int32_t last, bool is_call);

#endif
