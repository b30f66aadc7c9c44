/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/** Reads Perl's stacks and contexts (cop.h), and says what a context is and what level it begins (perl_step.bpf.h). */
#ifndef EBPF_PERL_CONTEXTS_BPF_H
#define EBPF_PERL_CONTEXTS_BPF_H

#include "ebpf/abi/perl.h"
#include "ebpf/safe_reads.bpf.h"
#include "ebpf/state.bpf.h"

enum {
	/* cop.h: words of a PERL_SI and of a PERL_CONTEXT, the same since 5.32. */
	PERL_STACK_WORDS = 6,
	PERL_CONTEXT_WORDS = 13,
	PERL_CONTEXT_BYTES = 8 * PERL_CONTEXT_WORDS,
	/* Limit of the contexts of a stack; a recursion of this depth would take GBs. */
	PERL_CONTEXTS_MAX = 1 << 24,
	/* PERLSI_...: why a stack was made. The last one is for MULTICALL. */
	PERL_STACK_MAIN = 1,
	PERL_STACK_SORT = 3,
	PERL_STACK_BLOCK = 10,
	/* CXt_...: kinds of contexts, in the low bits of their first byte. */
	PERL_KIND_MASK = 0xf,
	PERL_KIND_NULL = 0,
	PERL_KIND_BLOCK = 2,
	PERL_KIND_SUB = 9,
	PERL_KIND_FORMAT = 10,
	PERL_KIND_EVAL = 11,
	PERL_KIND_DEFER = 13,
	/* CXp_...: flags of subs and of evals. */
	PERL_SUB_MULTICALL = 0x10,
	/* Code in a regular expression. */
	PERL_SUB_IS_PATTERN = 0x40,
	/* Such code that runs in the sub around it. */
	PERL_SUB_IS_FAKE = 0x80,
	PERL_EVAL_TEXT = 0x20,
	PERL_EVAL_BLOCK = 0x40,
	/* `try`, which no backtrace shows. */
	PERL_EVAL_TRY = 0x80,
	/* The type of an entry of the savestack, in its last word (SAVE_MASK). */
	PERL_SAVED_MASK = 0x3f,
};

enum perl_caller {
	/** Perl_call_sv(), Perl_amagic_call() */
	PERL_CALLER_SUB = 1,
	/** Perl_eval_sv() */
	PERL_CALLER_EVAL,
	/** perl_run() */
	PERL_CALLER_RUN,
	/** docatch() */
	PERL_CALLER_CATCH,
	/** Another one: sort, a regular expression, a module in C. */
	PERL_CALLER_BLOCK,
};

/** How a level begins. */
enum perl_level {
	PERL_LEVEL_NONE,
	PERL_LEVEL_SUB,
	PERL_LEVEL_EVAL,
	/** A block that C code calls again and again. */
	PERL_LEVEL_BLOCK,
	PERL_LEVEL_MAIN,
	/** A sub or eval whose context was popped. */
	PERL_LEVEL_LEFT,
};

/** How much of the innermost context is written. */
enum perl_context_state {
	PERL_CONTEXT_WHOLE,
	/** The context of a sub that has not begun, which is left out. */
	PERL_CONTEXT_BEGINS,
	PERL_CONTEXT_UNKNOWN,
};

/** The result of perl_settle(): what the pending loop has of the contexts that are left. */
enum perl_share {
	PERL_SHARE_LEVEL,
	PERL_SHARE_NONE,
	PERL_SHARE_UNKNOWN,
};

/** The parts of a PERL_CONTEXT that are used. */
struct perl_context {
	/** Kind and flags; the number of entries of the savestack before it. */
	__u32 kind;
	__u32 saved_count;
	/** The COP that its caller has come to. */
	__u64 cop;
	__u64 retop;
	/** The CV of a sub. */
	__u64 cv;
	/** The innermost JMPENV when an eval began, on the native stack. */
	__u64 catch;
};

static __always_inline bool perl_is_in(const struct perl_code_range *range, __u64 address)
{
	return address - range->start < (__u64)(range->end - range->start);
}

/* Reads the context at @index of the stack. */
static __always_inline bool perl_read_context(const struct perl_unwind *unwind, __u32 index,
					      struct perl_context *context)
{
	__u64 words[PERL_CONTEXT_WORDS];
	__u64 address = unwind->contexts + (__u64)index * PERL_CONTEXT_BYTES;

	if (bpf_probe_read_user(words, sizeof(words), (const void *)address))
		return false;
	context->kind = (__u8)words[0];
	/* The kind of a sort's block, which begins its stack. While a loop of `for` is pushed it has none either. */
	if ((context->kind & PERL_KIND_MASK) == PERL_KIND_NULL &&
	    (index || unwind->stack_type != PERL_STACK_SORT))
		context->kind = PERL_KIND_BLOCK;
	context->saved_count = words[0] >> 32;
	context->cop = words[2];
	context->retop = words[6];
	context->cv = words[9];
	context->catch = words[12];
	return true;
}

/* Reads the innermost context that is left. */
static __always_inline bool perl_read_top(const struct perl_unwind *unwind,
					  struct perl_context *context)
{
	return unwind->left && perl_read_context(unwind, unwind->left - 1, context);
}

/* Reads the PERL_SI at @address. */
static __always_inline bool perl_read_stack(struct perl_unwind *unwind, __u64 address)
{
	__u64 words[PERL_STACK_WORDS];
	__u32 count;

	if (!address || bpf_probe_read_user(words, sizeof(words), (const void *)address))
		return false;
	/* The index of the innermost one is -1 if there is none. */
	count = (__u32)words[4] + 1;
	unwind->contexts = words[1];
	unwind->previous = words[2];
	unwind->left = count;
	unwind->sub_index = words[5];
	unwind->stack_type = words[5] >> 32;
	return count <= PERL_CONTEXTS_MAX;
}

static __always_inline bool perl_is_at_bottom(const struct perl_unwind *unwind)
{
	return unwind->stack_type == PERL_STACK_MAIN || !unwind->previous;
}

static __always_inline enum perl_level perl_level_of(const struct perl_context *context)
{
	switch (context->kind & PERL_KIND_MASK) {
	case PERL_KIND_NULL:
	case PERL_KIND_DEFER:
		return PERL_LEVEL_BLOCK;
	case PERL_KIND_SUB:
		if (context->kind & PERL_SUB_MULTICALL)
			return PERL_LEVEL_BLOCK;
		return context->retop ? PERL_LEVEL_NONE : PERL_LEVEL_SUB;
	case PERL_KIND_FORMAT:
		return context->retop ? PERL_LEVEL_NONE : PERL_LEVEL_SUB;
	case PERL_KIND_EVAL:
		/* The eval around a sub that C code calls has none either; an eval at the end of a block may have none. */
		return context->kind & (PERL_EVAL_BLOCK | PERL_EVAL_TRY) || context->retop ?
			       PERL_LEVEL_NONE :
			       PERL_LEVEL_EVAL;
	default:
		return PERL_LEVEL_NONE;
	}
}

/* The kind of code that the context has a frame for; 0: it has none. */
static __always_inline __u32 perl_code_of(const struct perl_context *context)
{
	switch (context->kind & PERL_KIND_MASK) {
	case PERL_KIND_SUB:
		/* While its CV is freed it has none. */
		return context->kind & PERL_SUB_IS_FAKE || !context->cv ? 0 : PERL_CODE_SUB;
	case PERL_KIND_FORMAT:
		return context->cv ? PERL_CODE_SUB : 0;
	case PERL_KIND_EVAL:
		if (context->kind & PERL_EVAL_TRY)
			return 0;
		return context->kind & (PERL_EVAL_BLOCK | PERL_EVAL_TEXT) ? PERL_CODE_EVAL :
									    PERL_CODE_FILE;
	default:
		return 0;
	}
}

/* True if the context is one of those whose innermost one's index the stack has (si_cxsubix). */
static __always_inline bool perl_has_index(const struct perl_context *context)
{
	__u32 kind = context->kind & PERL_KIND_MASK;

	return kind == PERL_KIND_SUB || kind == PERL_KIND_FORMAT ||
	       (kind == PERL_KIND_EVAL && !(context->kind & PERL_EVAL_TRY));
}

/* True if the context has the position of a caller of its own, and not of the code around it. */
static __always_inline bool perl_is_call(const struct perl_context *context)
{
	return perl_has_index(context) && !((context->kind & PERL_KIND_MASK) == PERL_KIND_SUB &&
					    context->kind & PERL_SUB_IS_FAKE);
}

/*
 * The level that the context begins for the pending loop. A call at the end of a block has no op to return to either, so a
 * loop that runs a block ends with that, and so does one in a frame for an exception on the stack of a block.
 */
static __always_inline enum perl_level perl_level_for(const struct perl_unwind *unwind,
						      const struct perl_context *context)
{
	enum perl_level level = perl_level_of(context);

	if (level != PERL_LEVEL_BLOCK &&
	    (unwind->caller == PERL_CALLER_BLOCK ||
	     (unwind->caller == PERL_CALLER_CATCH &&
	      (unwind->stack_type == PERL_STACK_SORT || unwind->stack_type == PERL_STACK_BLOCK))))
		return PERL_LEVEL_NONE;
	return level;
}

static __always_inline bool perl_fits(__u32 level, __u32 caller)
{
	switch (level) {
	case PERL_LEVEL_SUB:
		return caller == PERL_CALLER_SUB;
	case PERL_LEVEL_EVAL:
		return caller == PERL_CALLER_EVAL;
	case PERL_LEVEL_BLOCK:
		return caller == PERL_CALLER_BLOCK;
	case PERL_LEVEL_MAIN:
		return caller == PERL_CALLER_RUN;
	case PERL_LEVEL_LEFT:
		return caller == PERL_CALLER_SUB || caller == PERL_CALLER_EVAL;
	default:
		return false;
	}
}

#endif
