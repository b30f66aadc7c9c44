/* SPDX-License-Identifier: Apache-2.0 */
/* Converts rows to rules. Offsets are hostile: each is checked against the width of its field. */
#include "stackdeltas/cfa_rule.h"

#include <elf.h>

#include "lib/elf/dwarf_constants.h"
#include "stackdeltas/cfa_expression.h"

enum {
	/* Number of the general registers, which the kernel side may know. */
	X86_REGISTER_COUNT = 16,
	ARM64_REGISTER_COUNT = 32,

	/*
	 * Offsets in the struct ucontext to which sp points at glibc's __restore_rt (Linux,
	 * arch/x86/include/uapi/asm/{ucontext,sigcontext}.h).
	 */
	X86_UCONTEXT_RBP = 120,
	X86_UCONTEXT_RSP = 160,
	X86_UCONTEXT_RIP = 168,
	X86_UCONTEXT_RBX = 128,
	/*
	 * CFA offset in libgcc's __morestack: its CFA is rbp + 24. There rbp was saved below two return
	 * addresses, its own and that of its caller, whose frame it represents. Its callee runs on
	 * another stack.
	 */
	X86_MORESTACK_CFA = 24,
};

static bool is_sp(const struct cfa_rule_context *context, uint64_t number)
{
	return number == (context->machine == EM_X86_64 ? DWARF_X86_RSP : DWARF_ARM64_SP);
}

static bool is_fp(const struct cfa_rule_context *context, uint64_t number)
{
	return number == (context->machine == EM_X86_64 ? DWARF_X86_RBP : DWARF_ARM64_FP);
}

static bool is_general_register(const struct cfa_rule_context *context, uint64_t number)
{
	return number < (context->machine == EM_X86_64 ? X86_REGISTER_COUNT : ARM64_REGISTER_COUNT);
}

static bool recognise(const struct cfa_rule_context *context, const struct cfa_value *value,
		      bool starts_with_cfa, struct cfa_expression *expression)
{
	return cfa_expression_recognise(context->section + value->expression.start,
					value->expression.bytes, starts_with_cfa, expression);
}

/* Sets a base register with offset. @kinds: those for sp, fp and another register. */
static enum delta_problem set_base(const struct cfa_rule_context *context, uint64_t number,
				   int64_t offset, const uint8_t kinds[3], struct unwind_rule *rule)
{
	if (offset != (int32_t)offset)
		return DELTA_PROBLEM_CFA_RANGE;
	rule->cfa_offset = offset;
	if (is_sp(context, number)) {
		rule->cfa = kinds[0];
	} else if (is_fp(context, number)) {
		rule->cfa = kinds[1];
	} else if (is_general_register(context, number)) {
		rule->cfa = kinds[2];
		rule->cfa_register = number;
	} else {
		return DELTA_PROBLEM_CFA_EXPRESSION;
	}
	return DELTA_PROBLEM_NONE;
}

static enum delta_problem set_cfa(const struct cfa_rule_context *context,
				  const struct cfa_value *value, struct unwind_rule *rule)
{
	static const uint8_t sums[] = { CFA_SP, CFA_FP, CFA_REGISTER };
	static const uint8_t derefs[] = { CFA_DEREF_SP, CFA_DEREF_FP, CFA_DEREF_REGISTER };
	static const uint8_t indexed[] = { CFA_DEREF_SP_INDEXED, CFA_UNSUPPORTED, CFA_UNSUPPORTED };
	static const uint8_t plts[] = { CFA_PLT, CFA_UNSUPPORTED, CFA_UNSUPPORTED };
	struct cfa_expression expression;

	switch (value->kind) {
	case CFA_VALUE_REGISTER:
		return set_base(context, value->number, value->offset, sums, rule);
	case CFA_VALUE_EXPRESSION:
		break;
	case CFA_VALUE_OUT_OF_RANGE:
		return DELTA_PROBLEM_CFA_RANGE;
	default:
		return DELTA_PROBLEM_NO_CFA;
	}
	if (!recognise(context, value, false, &expression))
		return DELTA_PROBLEM_CFA_EXPRESSION;
	if (expression.addend != (int16_t)expression.addend)
		return DELTA_PROBLEM_CFA_RANGE;
	rule->cfa_addend = expression.addend;
	switch (expression.kind) {
	case CFA_EXPRESSION_SUM:
		return set_base(context, expression.number, expression.offset, sums, rule);
	case CFA_EXPRESSION_DEREF:
		return set_base(context, expression.number, expression.offset, derefs, rule);
	case CFA_EXPRESSION_DEREF_INDEXED:
		if (!is_sp(context, expression.number) ||
		    !is_general_register(context, expression.index_number))
			return DELTA_PROBLEM_CFA_EXPRESSION;
		rule->cfa_register = expression.index_number;
		return set_base(context, expression.number, expression.offset, indexed, rule);
	case CFA_EXPRESSION_PLT:
		if (context->machine != EM_X86_64)
			return DELTA_PROBLEM_CFA_EXPRESSION;
		return set_base(context, expression.number, expression.offset, plts, rule);
	}
	return DELTA_PROBLEM_CFA_EXPRESSION;
}

/* A location from an expression: relative to the CFA, or to the CFA's register. */
static bool set_saved_expression(const struct cfa_rule_context *context,
				 const struct cfa_state *state, const struct cfa_value *value,
				 const struct unwind_rule *rule, uint8_t *kind, int64_t *offset)
{
	struct cfa_expression expression;

	if (!recognise(context, value, true, &expression) || expression.kind != CFA_EXPRESSION_SUM)
		return false;
	*offset = expression.offset;
	if (expression.is_from_cfa) {
		*kind = SAVED_AT_CFA;
		return true;
	}
	if (state->cfa.kind == CFA_VALUE_REGISTER && state->cfa.number == expression.number) {
		*kind = SAVED_AT_CFA;
		return !__builtin_sub_overflow(expression.offset, (int64_t)rule->cfa_offset,
					       offset);
	}
	*kind = SAVED_AT_FP;
	return is_fp(context, expression.number);
}

/* A location whose offset from the CFA does not fit the field may fit as an offset from the CFA's register. */
static bool reach_from_register(const struct cfa_rule_context *context,
				const struct cfa_state *state, const struct unwind_rule *rule,
				uint8_t *kind, int64_t *offset)
{
	if (*kind != SAVED_AT_CFA || state->cfa.kind != CFA_VALUE_REGISTER ||
	    __builtin_add_overflow(*offset, (int64_t)rule->cfa_offset, offset) ||
	    *offset != (int16_t)*offset)
		return false;
	*kind = is_sp(context, state->cfa.number) ? SAVED_AT_SP : SAVED_AT_FP;
	return is_sp(context, state->cfa.number) || is_fp(context, state->cfa.number);
}

/* Sets the location of the caller's value of register @number; false if a rule cannot express it. */
static bool set_saved(const struct cfa_rule_context *context, const struct cfa_state *state,
		      const struct cfa_value *value, const struct unwind_rule *rule,
		      uint64_t number, uint8_t *kind, int16_t *field)
{
	uint8_t saved = SAVED_SAME;
	int64_t offset = 0;

	switch (value->kind) {
	case CFA_VALUE_UNSPECIFIED:
	case CFA_VALUE_SAME:
		break;
	case CFA_VALUE_UNDEFINED:
		saved = SAVED_UNDEFINED;
		break;
	case CFA_VALUE_AT_CFA:
		saved = SAVED_AT_CFA;
		offset = value->offset;
		break;
	case CFA_VALUE_REGISTER:
		if (value->number == number)
			break;
		if (!is_general_register(context, value->number))
			return false;
		saved = SAVED_IN_REGISTER;
		offset = value->number;
		break;
	case CFA_VALUE_EXPRESSION:
		if (!set_saved_expression(context, state, value, rule, &saved, &offset))
			return false;
		break;
	default:
		return false;
	}
	if (offset != (int16_t)offset &&
	    !reach_from_register(context, state, rule, &saved, &offset))
		return false;
	*kind = saved;
	*field = offset;
	return true;
}

/* True for a value stored at rsp + @offset, as glibc's __restore_rt expresses it. */
static bool is_stored_at_sp(const struct cfa_rule_context *context, const struct cfa_value *value,
			    int64_t offset)
{
	struct cfa_expression expression;

	return value->kind == CFA_VALUE_EXPRESSION &&
	       recognise(context, value, true, &expression) &&
	       expression.kind == CFA_EXPRESSION_SUM && !expression.is_from_cfa &&
	       is_sp(context, expression.number) && expression.offset == offset;
}

static bool is_signal_trampoline(const struct cfa_rule_context *context,
				 const struct cfa_state *state, const struct unwind_rule *rule)
{
	/* arm64: only __kernel_rt_sigreturn of the vDSO marks its frame so. */
	if (context->machine == EM_AARCH64)
		return context->is_signal_frame;
	return rule->cfa == CFA_DEREF_SP && rule->cfa_offset == X86_UCONTEXT_RSP &&
	       rule->cfa_addend == 0 &&
	       is_stored_at_sp(context, &state->return_address, X86_UCONTEXT_RIP) &&
	       is_stored_at_sp(context, &state->frame_pointer, X86_UCONTEXT_RBP);
}

/* True if the row does not contradict that the caller's sp is the CFA. */
static bool is_stack_pointer_cfa(const struct cfa_value *value)
{
	return value->kind == CFA_VALUE_UNSPECIFIED || value->kind == CFA_VALUE_SAME ||
	       (value->kind == CFA_VALUE_IS_CFA && !value->offset);
}

/*
 * Location of the caller's rbx. Few functions have one that does not fit the field, and none of these
 * calls one of the few functions whose CFA is in rbx.
 */
static uint8_t rbx_slot(const struct cfa_rule_context *context, const struct cfa_state *state,
			const struct unwind_rule *rule)
{
	uint8_t kind;
	int16_t offset;

	if (!set_saved(context, state, &state->rbx, rule, DWARF_X86_RBX, &kind, &offset))
		return RBX_LOST;
	if (kind == SAVED_SAME)
		return 0;
	if (kind != SAVED_AT_CFA || offset % 8 || offset >= 0 || offset <= -8 * RBX_LOST)
		return RBX_LOST;
	return offset / -8;
}

static bool is_at_cfa(const struct cfa_value *value, int64_t offset)
{
	return value->kind == CFA_VALUE_AT_CFA && value->offset == offset;
}

/* True for setcontext() once it uses the new stack: the CFA is the struct ucontext. */
static bool is_context(const struct cfa_rule_context *context, const struct cfa_state *state,
		       const struct unwind_rule *rule)
{
	return context->machine == EM_X86_64 && rule->cfa == CFA_REGISTER && !rule->cfa_offset &&
	       is_at_cfa(&state->stack_pointer, X86_UCONTEXT_RSP) &&
	       is_at_cfa(&state->return_address, X86_UCONTEXT_RIP) &&
	       is_at_cfa(&state->frame_pointer, X86_UCONTEXT_RBP) &&
	       is_at_cfa(&state->rbx, X86_UCONTEXT_RBX);
}

/*
 * True for longjmp() once it has read its buffer, which is the CFA: the registers that matter are in
 * other registers. Only rbx is at the CFA then, and is declared lost.
 */
static bool is_stack_pointer_in_register(const struct cfa_rule_context *context,
					 const struct cfa_state *state)
{
	return state->stack_pointer.kind == CFA_VALUE_REGISTER &&
	       is_general_register(context, state->stack_pointer.number) &&
	       state->return_address.kind == CFA_VALUE_REGISTER &&
	       state->frame_pointer.kind != CFA_VALUE_AT_CFA &&
	       state->frame_pointer.kind != CFA_VALUE_EXPRESSION;
}

static bool is_morestack(const struct unwind_rule *rule)
{
	return rule->cfa == CFA_FP && rule->cfa_offset == X86_MORESTACK_CFA &&
	       rule->ra == SAVED_AT_CFA && rule->ra_offset == -8 && rule->fp == SAVED_AT_CFA &&
	       rule->fp_offset == -X86_MORESTACK_CFA;
}

/* @rule can be used if there is no problem, or only one with the frame pointer. */
static enum delta_problem make_rule(const struct cfa_rule_context *context,
				    const struct cfa_state *state, struct unwind_rule *rule)
{
	bool is_x86 = context->machine == EM_X86_64;
	enum delta_problem problem = set_cfa(context, &state->cfa, rule);

	if (problem)
		return problem;
	if (is_signal_trampoline(context, state, rule)) {
		*rule = (struct unwind_rule){ .cfa = CFA_SIGNAL };
		return DELTA_PROBLEM_NONE;
	}
	if (is_context(context, state, rule)) {
		*rule = (struct unwind_rule){ .cfa = CFA_CONTEXT,
					      .cfa_register = rule->cfa_register };
		return DELTA_PROBLEM_NONE;
	}
	if (is_stack_pointer_in_register(context, state)) {
		*rule = (struct unwind_rule){ .cfa = CFA_REGISTER,
					      .cfa_register = state->stack_pointer.number,
					      .flags = RULE_SWITCHES_STACK,
					      .rbx_slot = is_x86 ? RBX_LOST : 0 };
	} else if (!is_stack_pointer_cfa(&state->stack_pointer)) {
		return DELTA_PROBLEM_STACK_POINTER;
	}
	if (!set_saved(context, state, &state->return_address, rule,
		       is_x86 ? DWARF_X86_RIP : DWARF_ARM64_LR, &rule->ra, &rule->ra_offset))
		return DELTA_PROBLEM_RETURN_ADDRESS;
	/* x86 has no link register in which a return address could still be. */
	if (is_x86 && rule->ra == SAVED_SAME)
		return DELTA_PROBLEM_RETURN_ADDRESS;
	if (is_x86 && !rule->rbx_slot)
		rule->rbx_slot = rbx_slot(context, state, rule);
	if (!set_saved(context, state, &state->frame_pointer, rule,
		       is_x86 ? DWARF_X86_RBP : DWARF_ARM64_FP, &rule->fp, &rule->fp_offset)) {
		rule->fp = SAVED_UNDEFINED;
		return DELTA_PROBLEM_FRAME_POINTER;
	}
	if (is_x86 && is_morestack(rule))
		rule->flags |= RULE_SWITCHES_STACK;
	return DELTA_PROBLEM_NONE;
}

enum delta_problem cfa_rule_make(const struct cfa_rule_context *context,
				 const struct cfa_state *state, struct unwind_rule *rule)
{
	struct unwind_rule result = { 0 };
	enum delta_problem problem;

	/* The outermost frame needs no CFA, and often has no valid one. */
	if (state->return_address.kind == CFA_VALUE_UNDEFINED) {
		*rule = (struct unwind_rule){ .cfa = CFA_END };
		return DELTA_PROBLEM_NONE;
	}
	problem = make_rule(context, state, &result);
	if (problem && problem != DELTA_PROBLEM_FRAME_POINTER)
		result = (struct unwind_rule){ .cfa = CFA_UNSUPPORTED };
	*rule = result;
	return problem;
}
