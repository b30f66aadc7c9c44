/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The unwinders of the kernel side, compiled for user space from the same source
 * (ebpf/native_step.bpf.h, python_step.bpf.h), over emulated helpers. For tests, and for unwinds that the
 * kernel could not make, such as those of deferred samples.
 *
 * It trusts nothing that it reads from the process, and the tables need not be right: the lookups check
 * their bounds here. Re-entrant: unwinds in several threads are independent.
 */
#ifndef EBPF_HOST_EMULATED_UNWIND_H
#define EBPF_HOST_EMULATED_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/sample.h"
#include "ebpf/abi/slab.h"

struct vm_area_struct;

/** The unwinder's access to memory. Returned pointers are borrowed until the unwind ends. */
struct emulated_memory {
	void *context;
	/** The SLAB_CELLS cells of slab @index, NULL if there is none. */
	struct cell *(*slab)(void *context, uint32_t index);
	/** The descriptor at @slot, below EXECUTABLE_SLOT_COUNT; `used` is set by the unwind. */
	struct executable_descriptor *(*executable)(void *context, uint32_t slot);
	/** Copies @size bytes at @address of the process; 0, or nonzero if not all can be read. */
	int (*read_user)(void *context, uint64_t address, void *bytes, size_t size);
	/** As read_user() for the kernel's memory, which only uprobes need; may be NULL. */
	int (*read_kernel)(void *context, uint64_t address, void *bytes, size_t size);
	/**
	 * Fills @area with the kernel's area of the process that contains @address; 0, or nonzero if there
	 * is none. May be NULL: then only the mapping table is used.
	 */
	int (*find_area)(void *context, uint64_t address, struct vm_area_struct *area);
};

/** The start of an unwind. */
struct emulated_start {
	/** By DWARF number, as in struct deferred_sample. */
	uint64_t registers[REGISTER_COUNT_MAX];
	/** Flags of the first frame: FRAME_RETURN_ADDRESS also where pc is behind a system call instruction. */
	uint8_t frame_flags;
	/** enum deferred_unknown; 0: all registers are known, as those of a leaf. */
	uint8_t unknown;
	/** The process's mapping table. */
	uint32_t mapping_cell;
	uint32_t mapping_count;
	/** Kernel address of the task's struct uprobe_task; 0: it has no uprobes. */
	uint64_t uprobe_task;
	/** The process's runtime table; 0: it has none. */
	uint32_t runtime_cell;
	/** The thread pointer, for interpreters: fs base, tpidr_el0. */
	uint64_t thread_pointer;
};

struct emulated_trace {
	/** UNWIND_OK if the thread's entry was reached; else the error, which is also the last frame. */
	enum unwind_error error;
	/** Why interpreted frames are missing, for which there is an error frame among the others; or 0. */
	enum unwind_error interpreter_error;
	/** An address outside the mapping table, 0 if there was none. */
	uint64_t unknown_address;
	uint32_t word_count;
	uint64_t words[TRACE_MAX_WORDS];
	/** For each word the pc of its frame in the process; for interpreted frames that of the native frame. */
	uint64_t pcs[TRACE_MAX_WORDS];
};

/** Returns the emulated machine, to which the unwind's registers must belong: EM_... of <elf.h>. */
uint16_t emulated_machine(void);

/** Returns the stack pointer of @start. */
uint64_t emulated_stack_pointer(const struct emulated_start *start);

/** Unwinds as the kernel side does, with the same limits. Always fills @trace. */
void emulated_unwind(const struct emulated_memory *memory, const struct emulated_start *start,
		     struct emulated_trace *trace);

#endif
