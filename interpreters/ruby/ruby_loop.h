/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds, in the machine code of libruby, vm_exec(), the function that executes instructions, and the table of symbols.
 * Only x86-64. The bytes are hostile: any are accepted, and code of another shape is refused.
 */
#ifndef INTERPRETERS_RUBY_RUBY_LOOP_H
#define INTERPRETERS_RUBY_RUBY_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/ruby.h"
#include "interpreters/language.h"
#include "interpreters/ruby/ruby_layout.h"
#include "lib/elf/elf_image.h"

enum {
	/** Limit of the size of a function; vm_exec() is the largest that is read. */
	RUBY_LOOP_MAX_BYTES = 64 << 10,
	/** The function that executes instructions is larger than all others that vm_exec() calls. */
	RUBY_LOOP_CORE_MIN_BYTES = 8 << 10,
	/** Limit of the code of the whole file. */
	RUBY_LOOP_MAX_TEXT_BYTES = 64 << 20,
	/** Limit of calls in vm_exec() that are checked. */
	RUBY_LOOP_MAX_CALLS = 256,
	/** Offset of the state in a struct rb_vm_tag, without the jump buffer. */
	RUBY_TAG_STATE = 24,
	/** Sizes of the buffers of __builtin_setjmp() and setjmp(). */
	RUBY_JUMP_BUFFER_BUILTIN = 40,
	RUBY_JUMP_BUFFER = 200,
	/** The register of x86-64 in which vm_exec.c keeps the control frame; the hardware's and DWARF's number. */
	RUBY_LOOP_FRAME_REGISTER = 15,
};

/** ELF virtual addresses. */
struct ruby_loop {
	/** vm_exec() itself. */
	struct code_range function;
	/** vm_exec() with its cold parts, sorted. */
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t range_count;
	/** vm_exec_core() */
	struct code_range core;
};

/** Address of a pointer of the runtime, or with is_indirect the address of a word with that address; 0: unknown. */
struct ruby_pointer {
	uint64_t address;
	bool is_indirect;
};

/** The location of the garbage collector's flags. */
struct ruby_collector {
	/** Pointer to the rb_vm_t. */
	struct ruby_pointer vm;
	/** Offset of the garbage collector in the rb_vm_t, and of the flags in the collector. */
	uint16_t vm_collector;
	uint16_t flags;
};

/** Finds the target of @function's final jump; -EOPNOTSUPP if that is not exactly one other function. */
int ruby_loop_follow_jump(const struct elf_image *image, struct code_range function,
			  uint64_t *address);

/** Finds the loop whose vm_exec() begins at @address; -EOPNOTSUPP if it has another shape, -EBADMSG. */
int ruby_loop_find(const struct elf_image *image, uint64_t address, struct ruby_loop *loop);

/** Checks that the loop keeps the innermost control frame in the register and field of @layout; else -EOPNOTSUPP. */
int ruby_loop_check(const struct elf_image *image, const struct ruby_loop *loop,
		    const struct ruby_layout *layout);

/**
 * Finds the size of a jump buffer, which depends on the compiler with which Ruby was built; -EOPNOTSUPP if the code has another
 * shape.
 */
int ruby_loop_find_jump_buffer(const struct elf_image *image, const struct ruby_loop *loop,
			       const struct ruby_layout *layout, uint16_t *bytes);

/** Finds ruby_process.returning, sorted by the calls; -EOPNOTSUPP if the code has another shape. */
int ruby_loop_find_returning(const struct elf_image *image, const struct ruby_loop *loop,
			     const struct ruby_layout *layout,
			     struct ruby_code_range ranges[RUBY_RETURNING_MAX]);

/** Finds ruby_process.code_returns; -EOPNOTSUPP if there are more than fit. */
int ruby_loop_find_code_returns(const struct elf_image *image, const struct ruby_loop *loop,
				struct ruby_code_range ranges[RUBY_CODE_RETURNS_MAX]);

/**
 * Finds ruby_process.entering for a loop that is called at @called. The result includes the functions that
 * rb_iseq_eval() at @eval calls, because one of them pushes control frames. -EOPNOTSUPP if there are none, or more than
 * fit.
 */
int ruby_loop_find_entering(const struct elf_image *image, uint64_t called, struct code_range eval,
			    struct ruby_code_range ranges[RUBY_ENTERING_MAX]);

/** True if the small function at @address loads through exactly the @count offsets @expected and returns. */
bool ruby_loop_has_loads(const struct elf_image *image, uint64_t address, const int64_t *expected,
			 uint32_t count);

/**
 * Finds the pointer to an execution context that all threads share, in the code of rb_thread_current() at @address.
 * That code must load the thread and its object at the offsets of @layout; else -EOPNOTSUPP.
 */
int ruby_loop_find_context(const struct elf_image *image, uint64_t address,
			   const struct ruby_layout *layout, struct ruby_pointer *pointer);

/** Finds the garbage collector's flags in the code of rb_during_gc() at @address; -EOPNOTSUPP. */
int ruby_loop_find_collector(const struct elf_image *image, uint64_t address,
			     struct ruby_collector *collector);

/**
 * True if coroutine_transfer() at @address saves six registers on the stack, rbp at the highest address and rbx below
 * it, and then stores the stack pointer through its first argument.
 */
bool ruby_loop_saves_registers(const struct elf_image *image, uint64_t address);

/** Finds ruby_global_symbols in the code of rb_id2str() at @address; -EOPNOTSUPP. */
int ruby_loop_find_symbols(const struct elf_image *image, uint64_t address, uint64_t *symbols);

#endif
