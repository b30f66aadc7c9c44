/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The slabs: one flat space of 16-byte cells for all tables in which something is looked up per frame.
 *
 * `slabs` is an array of maps; each inner map is an mmapable array of SLAB_CELLS cells. Cell number
 * c is element c & (SLAB_CELLS - 1) of slab c >> SLAB_SHIFT, so a table may run over the border of
 * two neighbouring slabs. All inner maps have the same max_entries, which lets the verifier inline
 * both lookups. User space writes through mmap and unmaps again (mapped pages count as its own
 * memory). Cell 0 is never allocated: a cell number of 0 means "none".
 *
 * Tables, each in consecutive cells:
 *	mapping table    struct mapping_row, two cells a row (abi/process.h)
 *	unwind header    struct unwind_header, two cells
 *	page index       __u32, four to a cell: number of the first row at or after each page of
 *	                 UNWIND_PAGE_BYTES of text; one entry more than there are pages
 *	rows             offsets in the page, __u8, sixteen to a cell; in the cells right behind them
 *	                 rule ids, __u16, eight to a cell: 3 bytes a row
 *	rules            struct unwind_rule, one cell each
 *	code checks      struct code_check, two to a cell, in the cells right behind the page index of a
 *	                 copy of anonymous code (abi/code_copy.h)
 *
 * A row is valid from its address up to the next row's. The row for an address is the last one at or
 * below it: search the page's rows; if all are above, it is the row just before the page's first.
 * A page before which there is no row at all starts with a row of its own.
 *
 * Publishing an executable:
 *	1. write rules, rows, page index and header into free cells
 *	2. one aligned 8-byte release store of the descriptor word
 * Retiring: store 0 to the word, wait for a grace period in which every running program ends (one
 * for all pending), then free the cells. A reader loads the word once and reaches everything else
 * through it, so it needs no barrier (address dependency). It detects that a slot was used again by
 * the generation in the word.
 */
#ifndef EBPF_ABI_SLAB_H
#define EBPF_ABI_SLAB_H

#include <linux/types.h>

enum {
	CELL_BYTES = 16,
	SLAB_SHIFT = 17,
	SLAB_CELLS = 1 << SLAB_SHIFT,
	SLAB_BYTES = SLAB_CELLS * CELL_BYTES,
	/** Bound of -max-map-memory: 2 GiB of slabs. */
	SLAB_MAX_COUNT = 1024,

	UNWIND_PAGE_SHIFT = 8,
	UNWIND_PAGE_BYTES = 1 << UNWIND_PAGE_SHIFT,
	UNWIND_MAX_RULES = 1 << 16,
	/** 1 GiB of text. */
	UNWIND_MAX_PAGES = 1 << 22,
};

struct cell {
	__u64 words[2];
};

_Static_assert(sizeof(struct cell) == CELL_BYTES, "struct cell is ABI");

/**
 * Element of the mmapable array `executables`, indexed by the slot in the executable id.
 */
struct executable_descriptor {
	/** Header cell in bits 27..0, low 36 bits of the id's generation above; 0 when retired. */
	__u64 word;
	/** For eviction: programs that use the executable set it to 1, user space clears it. */
	__u64 used;
};

enum {
	DESCRIPTOR_CELL_BITS = 28,
};

static inline __u64 descriptor_word(__u64 executable_id, __u32 header_cell)
{
	return executable_id >> 16 << DESCRIPTOR_CELL_BITS | header_cell;
}

/** Cells of the offsets of @row_count rows; the rule ids follow them. */
static inline __u32 unwind_offset_cells(__u32 row_count)
{
	return row_count / CELL_BYTES + (row_count % CELL_BYTES != 0);
}

/** Cells of the rule ids of @row_count rows. */
static inline __u32 unwind_rule_id_cells(__u32 row_count)
{
	return row_count / (CELL_BYTES / 2) + (row_count % (CELL_BYTES / 2) != 0);
}

/** Cells of the page index of @page_count pages. */
static inline __u32 unwind_index_cells(__u32 page_count)
{
	return page_count / 4 + 1;
}

struct unwind_header {
	/** ELF virtual address of the first page, a multiple of UNWIND_PAGE_BYTES. */
	__u64 text_start;
	__u32 page_count;
	__u32 page_index_cell;
	__u32 row_cell;
	__u32 row_count;
	__u32 rule_cell;
	__u32 rule_count;
};

_Static_assert(sizeof(struct unwind_header) == 32, "struct unwind_header is two cells");

/** How the canonical frame address is computed. sp, fp and registers are this frame's. */
enum cfa_kind {
	/** Nothing is known about this address (UNWIND_NO_INFO). */
	CFA_NONE = 0,
	/** The outermost frame: the return address is undefined. */
	CFA_END = 1,
	/** sp + cfa_offset */
	CFA_SP = 2,
	/** fp + cfa_offset */
	CFA_FP = 3,
	/** registers[cfa_register] + cfa_offset; only where all registers are known */
	CFA_REGISTER = 4,
	/** *(sp + cfa_offset) + cfa_addend */
	CFA_DEREF_SP = 5,
	/** *(fp + cfa_offset) + cfa_addend */
	CFA_DEREF_FP = 6,
	/** *(registers[cfa_register] + cfa_offset) + cfa_addend */
	CFA_DEREF_REGISTER = 7,
	/** PLT of x86: sp + cfa_offset + ((pc & 15) >= cfa_addend ? 8 : 0) */
	CFA_PLT = 8,
	/** Signal trampoline: all registers from the rt_sigframe that sp points to */
	CFA_SIGNAL = 9,
	/** A rule that the fields below cannot express (UNWIND_UNSUPPORTED_RULE). */
	CFA_UNSUPPORTED = 10,
	/**
	 * x86-64: the registers of the struct ucontext that registers[cfa_register] points to; pc is a
	 * return address. setcontext() on its last instructions.
	 */
	CFA_CONTEXT = 11,
	/**
	 * *(sp + cfa_offset + 8 * registers[cfa_register]) + cfa_addend: OpenSSL's Montgomery
	 * multiplication, which keeps its caller's sp above an array.
	 */
	CFA_DEREF_SP_INDEXED = 12,
	/**
	 * The unwinder of the language cfa_addend (enum frame_kind) steps out of this frame, since its runtime may have
	 * switched stacks here. The language defines cfa_register and cfa_offset. For Go cfa_register is an enum go_switch
	 * (abi/go.h), and if the stack was not switched the rule is that of CFA_SP. With RULE_LOOP there is no rule for
	 * the runtime's code here.
	 */
	CFA_LANGUAGE = 13,
	/**
	 * HotSpot's stubs on the stack of a continuation's entry, or below frames that are being copied there.
	 * The entry begins at sp + cfa_offset, or, if cfa_addend is not 0, at sp + cfa_offset + rbx rounded up
	 * to a multiple of cfa_addend. The return address is the first code address from there on; the saved
	 * frame pointer precedes it.
	 */
	CFA_JAVA_ENTRY = 14,
	CFA_KIND_COUNT = 15,
};

/** Location of the caller's value of a register. */
enum saved_kind {
	/** Unchanged: still in the register (the link register, for a return address). */
	SAVED_SAME = 0,
	/** At CFA + offset. */
	SAVED_AT_CFA = 1,
	/** At fp + offset (realigned stacks). */
	SAVED_AT_FP = 2,
	/** Not recoverable. */
	SAVED_UNDEFINED = 3,
	/**
	 * In registers[offset], a DWARF number: glibc's vfork keeps its return address in rdi. Only
	 * where all registers are known.
	 */
	SAVED_IN_REGISTER = 4,
	/** At sp + offset: for frames so large that their CFA is out of the offset's range. */
	SAVED_AT_SP = 5,
	/**
	 * HotSpot's stubs: in the JVM's thread structure, at r15 (arm64: x28) + offset. Only for a return
	 * address, and where all registers are known.
	 */
	SAVED_IN_THREAD = 6,
	SAVED_KIND_COUNT = 7,
};

enum rule_flag {
	/** Not proven: the caller's frame is flagged FRAME_GUESS. */
	RULE_GUESS = 1 << 0,
	/** The caller's stack is another one and may lie below this one (split stacks). */
	RULE_SWITCHES_STACK = 1 << 1,
	/**
	 * Behind a clone(): the rule is for the parent. In the child, which has 0 in the result register
	 * and another stack, the frame is the outermost one.
	 */
	RULE_ENDS_IN_CHILD = 1 << 2,
	/** Code that runs interpreted functions (abi/runtime.h). */
	RULE_LOOP = 1 << 3,
	/**
	 * Code of a library that makes coroutines by copying parts of the stack away and back (greenlet). Where a
	 * language's frames are used up, this frame is the outermost one of a coroutine: what lies above is another one's.
	 */
	RULE_COPIES_STACKS = 1 << 4,
	/** With CFA_END: a stack begins here that the program has made. A language may know from where the program came to it. */
	RULE_BEGINS_STACK = 1 << 5,
};

enum {
	/** Value of unwind_rule.rbx_slot: the caller's value is not recoverable. */
	RBX_LOST = 255,
};

/** One way to step to the caller; the caller's sp is the CFA. */
struct unwind_rule {
	__u8 cfa;
	/** DWARF register number, for CFA_REGISTER and CFA_DEREF_REGISTER. */
	__u8 cfa_register;
	/** enum saved_kind of the return address and of the frame pointer. */
	__u8 ra;
	__u8 fp;
	__s32 cfa_offset;
	__s16 cfa_addend;
	/** enum rule_flag */
	__u8 flags;
	/**
	 * x86-64: location of the caller's rbx, in which some functions keep the CFA while they call
	 * others (_dl_runtime_resolve). 0: unchanged; n: at CFA - 8n; RBX_LOST.
	 */
	__u8 rbx_slot;
	__s16 ra_offset;
	__s16 fp_offset;
};

_Static_assert(sizeof(struct unwind_rule) == CELL_BYTES, "struct unwind_rule is one cell");

#endif
