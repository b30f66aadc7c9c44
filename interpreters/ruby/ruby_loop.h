/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the machine code of libruby tells: where vm_exec() is, the function that executes instructions, and the table of
 * symbols. Only x86-64. The bytes are hostile; any are fine, and what is of another shape is refused.
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
	/** Of one function, vm_exec() or smaller. */
	RUBY_LOOP_MAX_BYTES = 64 << 10,
	/** The function that executes instructions is larger than all others that vm_exec() calls. */
	RUBY_LOOP_CORE_MIN_BYTES = 8 << 10,
	/** Code of the whole file. */
	RUBY_LOOP_MAX_TEXT_BYTES = 64 << 20,
	/** Calls of vm_exec() that are looked at. */
	RUBY_LOOP_MAX_CALLS = 256,
	/** The register of x86-64 that vm_exec.c has the control frame in, by the hardware's and DWARF's number. */
	RUBY_LOOP_FRAME_REGISTER = 15,
};

/** ELF virtual addresses. */
struct ruby_loop {
	/** vm_exec() itself. */
	struct code_range function;
	/** With the parts that the compiler has moved away, sorted. */
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t range_count;
	/** vm_exec_core() */
	struct code_range core;
};

/** Where a pointer of the runtime's lies, or where the process has the address of that; address 0: not known. */
struct ruby_pointer {
	uint64_t address;
	bool is_indirect;
};

/** Where the garbage collector's flags are found. */
struct ruby_collector {
	/** To the rb_vm_t. */
	struct ruby_pointer vm;
	/** In the rb_vm_t: the garbage collector; in that: the flags. */
	uint16_t vm_collector;
	uint16_t flags;
};

/** Where @function jumps to in the end; -EOPNOTSUPP if that is not one other function. */
int ruby_loop_follow_jump(const struct elf_image *image, struct code_range function,
			  uint64_t *address);

/** What there is of the loop whose vm_exec() begins at @address; -EOPNOTSUPP if it is of another shape, -EBADMSG. */
int ruby_loop_find(const struct elf_image *image, uint64_t address, struct ruby_loop *loop);

/** Whether the innermost control frame is kept where the layout and the register say; else -EOPNOTSUPP. */
int ruby_loop_check(const struct elf_image *image, const struct ruby_loop *loop,
		    const struct ruby_layout *layout);

/** As ruby_process.returning, sorted by the calls; -EOPNOTSUPP if the code is of another shape. */
int ruby_loop_find_returning(const struct elf_image *image, const struct ruby_loop *loop,
			     const struct ruby_layout *layout,
			     struct ruby_code_range ranges[RUBY_RETURNING_MAX]);

/**
 * As ruby_process.entering, of a loop that is called at @called; with the functions that rb_iseq_eval() at @eval calls, of
 * which one pushes control frames. -EOPNOTSUPP if there are none, or more than fit.
 */
int ruby_loop_find_entering(const struct elf_image *image, uint64_t called, struct code_range eval,
			    struct ruby_code_range ranges[RUBY_ENTERING_MAX]);

/** Whether the small function at @address loads through exactly the @count offsets @expected and returns. */
bool ruby_loop_has_loads(const struct elf_image *image, uint64_t address, const int64_t *expected,
			 uint32_t count);

/**
 * Where the pointer to an execution context is that all threads share, by the code of rb_thread_current() at @address, which
 * loads its thread and object where the layout has them; else -EOPNOTSUPP.
 */
int ruby_loop_find_context(const struct elf_image *image, uint64_t address,
			   const struct ruby_layout *layout, struct ruby_pointer *pointer);

/** Where the garbage collector's flags are, by the code of rb_during_gc() at @address; -EOPNOTSUPP. */
int ruby_loop_find_collector(const struct elf_image *image, uint64_t address,
			     struct ruby_collector *collector);

/**
 * Whether coroutine_transfer() at @address saves six registers on the stack, rbp at the highest address, rbx below it, and
 * then the stack pointer where its first argument points to.
 */
bool ruby_loop_saves_registers(const struct elf_image *image, uint64_t address);

/** Where ruby_global_symbols lies, by the code of rb_id2str() at @address; -EOPNOTSUPP. */
int ruby_loop_find_symbols(const struct elf_image *image, uint64_t address, uint64_t *symbols);

#endif
