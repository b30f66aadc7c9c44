/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Perl's data for the kernel side: struct perl_process, one for each process. attach() in interpreters/perl fills it, and it
 * is published as abi/runtime.h describes. Nothing here depends on a version: versions differ in offsets.
 *
 * An interpreter, which each thread of Perl has one of, is a struct; in a Perl without threads it is a set of variables. It has a
 * list of stacks (PERL_SI), the innermost first. Each has an array
 * of contexts (PERL_CONTEXT): subs, evals, blocks and loops. Perl_runops_standard(), the pending native frame, runs those up
 * to one that has been entered by C code: its retop, the op to return to, is 0.
 *
 * A frame has three words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_PERL, 0, address of the sub's glob (GV), or of a sub without one (CV)); 0 for code without a sub
 *	word 1	position << 32 | fingerprint
 *	word 2	mark << 48 | address of the name of the file that the position is in; 0: not known
 *
 * position: the line in bits 0 to 23, an enum perl_code, and PERL_HAS_GLOB if the address is a glob's. A closure is often
 * freed before it is named; the glob of its name stays.
 *
 * fingerprint: fingerprint_end() of the following, or 0: they could not be read.
 *	- the enum perl_code
 *	- for a sub the address of its package's stash, the address of its name (HEK), and the first PERL_NAME_WORDS words of
 *	  that, which are its hash, its length and its beginning
 *	- the words of the file's name up to its NUL, at most PERL_FILE_WORDS; bytes behind the NUL count as 0. They should be
 *	  all of it: `require` looks for a longer name first (NAME.pmc), often in the memory of one that was just freed
 *
 * mark: the upper half of a fingerprint of the sub alone, since a file's name is often freed before its sub.
 */
#ifndef EBPF_ABI_PERL_H
#define EBPF_ABI_PERL_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

enum {
	PERL_LINE_MASK = (1 << 24) - 1,
	PERL_CODE_SHIFT = 24,
	PERL_CODE_MASK = 7,
	PERL_HAS_GLOB = 1 << 27,
};

/** Kinds of code that a frame is for. */
enum perl_code {
	PERL_CODE_SUB = 1,
	/** `eval`, of a block or a text. */
	PERL_CODE_EVAL,
	/** A file that `require`, `use` or `do` runs. */
	PERL_CODE_FILE,
	/** The program's main file. */
	PERL_CODE_MAIN,
};

enum {
	PERL_CALLING_MAX = 2,
	PERL_LEAVING_MAX = 2,
	PERL_NAME_WORDS = 2,
	PERL_FILE_WORDS = 32,
	PERL_FILE_BYTES = 8 * PERL_FILE_WORDS,
	/** In word 2. */
	PERL_MARK_SHIFT = 48,
	/** In all versions. In an SV: its body; in a CV's body: stash, first op, GV or name, flags;
	 *  in a GV's body: name, stash; in an op: its function. */
	PERL_BODY = 0,
	PERL_CV_STASH = 32,
	PERL_CV_START = 40,
	PERL_CV_GLOB = 56,
	PERL_CV_FLAGS = 92,
	PERL_GLOB_NAME = 32,
	PERL_GLOB_STASH = 40,
	PERL_OP_FUNCTION = 16,
	/** In an op: its number, in the lower bits of a __u16. */
	PERL_OP_NUMBER = 32,
	PERL_OP_NUMBER_MASK = 0x1ff,
	/** In all versions: numbers of ops behind the one of `enter`, and before and behind the one of `entertry`. */
	PERL_FROM_ENTER_TO_ENTERITER = 3,
	PERL_FROM_ENTER_TO_ENTERLOOP = 5,
	PERL_FROM_ENTER_TO_RETURN = 7,
	PERL_FROM_LEAVEEVAL_TO_ENTERTRY = 1,
	PERL_FROM_ENTERTRY_TO_LEAVETRY = 1,
	/** A CV's flag: it has a name instead of a GV. */
	PERL_CV_IS_NAMED = 0x8000,
	/** In the name of a glob (HEK) that stands for a file: the file's name, behind "_<". */
	PERL_GLOB_FILE = 10,
	/** In a COP: a read of PERL_COP_WORDS words, which has the line in the upper half of the first, and the file's name. */
	PERL_COP_READ = 32,
	PERL_COP_WORDS = 3,
};

/** ELF virtual addresses [start, end). */
struct perl_code_range {
	__u32 start;
	__u32 end;
};

struct perl_process {
	/** Path to the interpreter of a thread; of depth 0: there is one for all threads, a set of variables. */
	struct thread_local_path interpreter;
	/** An address in the process minus this is an ELF virtual address of the runtime. */
	__u64 bias;
	/** Address of Perl_runops_standard() in the process. */
	__u64 loop;
	/** Return address in it of the call of an op, an ELF virtual address. */
	__u64 loop_return;

	/** The functions that call the loop: for a sub, for `eval` of a text, for the main program, for an exception's frame. */
	struct perl_code_range calling[PERL_CALLING_MAX];
	struct perl_code_range evaluating;
	struct perl_code_range running;
	struct perl_code_range catching;
	/** The functions that begin a sub, end it, replace it (goto), and leave contexts for an exception. */
	struct perl_code_range entering;
	struct perl_code_range leaving[PERL_LEAVING_MAX];
	struct perl_code_range replacing;
	struct perl_code_range dying;

	/**
	 * PL_op, PL_curcop, PL_curstackinfo, PL_savestack, PL_savestack_ix (a __u32), PL_runops: offsets in the interpreter, or
	 * addresses in the process of the variables.
	 */
	__u64 op;
	__u64 cop;
	__u64 stack;
	__u64 saved;
	__u64 saved_count;
	__u64 run;

	/** Numbers of ops that push a context. */
	__u16 enter;
	__u16 entertry;
	__u16 subst;
	/** The type of an entry of the savestack with a PL_op (SAVEt_OP). */
	__u16 saved_op_type;
	/** The loop executes the op that calls a sub for C code (5.38 and later); before it was called for what follows. */
	__u16 calls_in_loop;
	/** A COP has a glob (GV) with the name of its file, and not that name: in a Perl without threads. */
	__u16 has_file_globs;
	__u16 reserved[6];
};

_Static_assert(sizeof(struct perl_process) == 192, "struct perl_process is 12 cells");

/** The mark of a sub by the sum of what the fingerprint includes of it. */
static inline __u64 perl_mark(__u64 sum)
{
	return fingerprint_end(fingerprint_mix(0, sum)) >> 16;
}

/** The word @word of a text with all bytes behind the first NUL cleared. *@has_end: there is a NUL. */
static inline __u64 perl_text_word(__u64 word, int *has_end)
{
	/* The lowest set bit is in the first byte that is 0; wrong ones are in later bytes only. */
	__u64 zeros = (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;

	*has_end = zeros != 0;
	return zeros ? word & (((zeros & -zeros) >> 7) - 1) : word;
}

#endif
