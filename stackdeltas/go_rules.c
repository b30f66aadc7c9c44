/* SPDX-License-Identifier: Apache-2.0 */
#include "stackdeltas/go_rules.h"

#include <elf.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "ebpf/abi/go.h"

enum {
	X86_RETURN_ADDRESS_BYTES = 8,
	X86_RBX = 3,
	X86_RDX = 1,
	X86_R12 = 12,
	ARM64_X2 = 2,
	/* Frame size of asyncPreempt() on its last instructions: it has popped the words above its frame, too. */
	ARM64_INJECTED_BYTES = -16,
	/* crosscall2 stores the frame pointer below its return address and, from 1.21 on, below a copy of that. */
	C_FRAME_POINTER_OFFSET = -16,
};

struct named_role {
	const char *name;
	uint8_t role;
	/* There may be a wrapper of the same name. */
	bool is_wrapped;
};

static const struct named_role roles[] = {
	{ "runtime.goexit", GO_ROLE_END, true },
	{ "runtime.mstart", GO_ROLE_END, true },
	{ "runtime.rt0_go", GO_ROLE_END, true },
	{ "_rt0_amd64", GO_ROLE_END, false },
	{ "_rt0_amd64_linux", GO_ROLE_END, false },
	{ "_rt0_arm64_linux", GO_ROLE_END, false },
	{ "runtime.systemstack", GO_SWITCH_SYSTEMSTACK, true },
	{ "runtime.mcall", GO_SWITCH_MCALL, true },
	{ "runtime.morestack", GO_SWITCH_MORESTACK, true },
	{ "runtime.morestack_noctxt", GO_SWITCH_GROWING, true },
	{ "runtime.asmcgocall", GO_SWITCH_ASMCGOCALL, true },
	{ "runtime.cgocallback", GO_SWITCH_CGOCALLBACK, true },
	{ "runtime.nanotime1", GO_SWITCH_VDSO, true },
	{ "runtime.walltime", GO_SWITCH_VDSO, true },
	{ "runtime.walltime1", GO_SWITCH_VDSO, true },
	{ "runtime.vgetrandom1", GO_SWITCH_VDSO, true },
	{ "time.now", GO_SWITCH_VDSO, true },
	{ "runtime.gogo", GO_SWITCH_GOGO, true },
	{ "gogo", GO_SWITCH_GOGO, false },
	{ "runtime.execute", GO_SWITCH_EXECUTE, false },
	{ "runtime.recovery", GO_SWITCH_RECOVERY, false },
	{ "runtime.clone", GO_SWITCH_CLONE, true },
	{ "runtime.sigpanic", GO_SWITCH_INJECTED, false },
	{ "runtime.asyncPreempt", GO_SWITCH_INJECTED, true },
	{ "runtime.debugCallV1", GO_SWITCH_INJECTED, true },
	{ "runtime.debugCallV2", GO_SWITCH_INJECTED, true },
	{ "runtime.sigreturn", GO_ROLE_SIGNAL_RETURN, false },
	{ "runtime.sigreturn__sigaction", GO_ROLE_SIGNAL_RETURN, false },
	{ "crosscall2", GO_ROLE_FROM_C, false },
	{ "syscall.rawVforkSyscall", GO_ROLE_VFORK, true },
	{ "runtime.sigfwd", GO_ROLE_ALIGNS, true },
	{ "runtime.callCgoSigaction", GO_ROLE_ALIGNS, true },
	{ "runtime.callCgoMmap", GO_ROLE_ALIGNS, true },
	{ "runtime.callCgoMunmap", GO_ROLE_ALIGNS, true },
	/* Functions of -race, -msan, -asan and for libFuzzer. */
	{ "racecall", GO_ROLE_LEAVES, false },
	{ "msancall", GO_ROLE_LEAVES, false },
	{ "asancall", GO_ROLE_LEAVES, false },
	{ "runtime.libfuzzerCall", GO_ROLE_LEAVES, true },
	{ "runtime.libfuzzerCall4", GO_ROLE_LEAVES, true },
	{ "runtime.libfuzzerCallTraceIntCmp", GO_ROLE_LEAVES, true },
	{ "runtime.libfuzzerCallWithTwoByteBuffers", GO_ROLE_LEAVES, true },
	{ "end_of_function", GO_ROLE_LEAVES, false },
};

uint32_t go_role_of(const char *name, bool is_flagged, bool has_flags)
{
	/* The fast path for nearly all functions: those with a role are in a few packages, or in none. */
	if (strncmp(name, "runtime.", strlen("runtime.")) != 0 && name[0] != 't' &&
	    name[0] != 's' && memchr(name, '.', GO_RULE_NAME_MAX_BYTES))
		return GO_ROLE_ORDINARY;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (strncmp(name, roles[i].name, GO_RULE_NAME_MAX_BYTES) != 0)
			continue;
		return roles[i].is_wrapped && has_flags && !is_flagged ? GO_ROLE_ORDINARY :
									 roles[i].role;
	}
	return GO_ROLE_ORDINARY;
}

/* Makes the ordinary rule. The caller's frame pointer is not needed: the table has the sizes of Go's frames. */
static void make_plain(uint16_t machine, int32_t frame_bytes, struct unwind_rule *rule)
{
	*rule = (struct unwind_rule){
		.cfa = CFA_SP,
		.cfa_offset = frame_bytes,
		.fp = SAVED_UNDEFINED,
		.rbx_slot = RBX_LOST,
	};
	if (machine == EM_X86_64) {
		rule->cfa_offset += X86_RETURN_ADDRESS_BYTES;
		rule->ra = SAVED_AT_CFA;
		rule->ra_offset = -X86_RETURN_ADDRESS_BYTES;
	} else if (frame_bytes) {
		/* The link register is stored at the lower end of the frame. */
		rule->ra = SAVED_AT_SP;
	}
}

/*
 * Makes the rule of a function that C calls. It follows C's conventions: also on arm64 it makes its frame by itself,
 * and stores its return address later.
 */
static void make_from_c(uint16_t machine, int32_t frame_bytes, struct unwind_rule *rule)
{
	if (!frame_bytes || machine == EM_AARCH64) {
		rule->fp = SAVED_SAME;
		rule->ra = machine == EM_AARCH64 ? SAVED_SAME : rule->ra;
		return;
	}
	rule->fp = SAVED_AT_CFA;
	rule->fp_offset = C_FRAME_POINTER_OFFSET;
}

/* Makes the rule for a return address in r12 and the caller's stack. */
static void make_popped(uint16_t machine, struct unwind_rule *rule)
{
	make_plain(machine, 0, rule);
	rule->cfa_offset = 0;
	rule->ra = SAVED_IN_REGISTER;
	rule->ra_offset = X86_R12;
}

void go_rule_make(uint16_t machine, uint32_t role, int32_t frame_bytes, struct unwind_rule *rule)
{
	*rule = (struct unwind_rule){ .cfa = CFA_NONE };
	if (role == GO_ROLE_END || role == GO_ROLE_SIGNAL_RETURN) {
		rule->cfa = role == GO_ROLE_END ? CFA_END : CFA_SIGNAL;
		return;
	}
	if (role == GO_ROLE_LEAVES)
		return;
	if (role == GO_ROLE_VFORK && frame_bytes == -X86_RETURN_ADDRESS_BYTES) {
		make_popped(machine, rule);
		return;
	}
	if (role == GO_SWITCH_INJECTED && machine == EM_AARCH64 &&
	    frame_bytes == ARM64_INJECTED_BYTES) {
		make_plain(machine, 0, rule);
		rule->cfa = CFA_LANGUAGE;
		rule->cfa_addend = FRAME_GO;
		rule->cfa_register = role;
		rule->cfa_offset = frame_bytes;
		return;
	}
	if (frame_bytes < 0 || frame_bytes > INT32_MAX - X86_RETURN_ADDRESS_BYTES)
		return;
	make_plain(machine, frame_bytes, rule);
	if (role == GO_ROLE_FROM_C) {
		make_from_c(machine, frame_bytes, rule);
	} else if (role && role < GO_ROLE_END &&
		   (role != GO_SWITCH_GROWING || machine == EM_AARCH64)) {
		rule->cfa = CFA_LANGUAGE;
		rule->cfa_addend = FRAME_GO;
		rule->cfa_register = role;
	}
}

void go_rule_make_calling(uint16_t machine, int32_t frame_bytes, struct unwind_rule *rule)
{
	go_rule_make(machine, GO_ROLE_ORDINARY, frame_bytes, rule);
	if (rule->cfa != CFA_SP)
		return;
	rule->cfa = CFA_REGISTER;
	rule->cfa_register = machine == EM_X86_64 ? X86_RDX : ARM64_X2;
	rule->flags = RULE_SWITCHES_STACK;
	/* The rule does not depend on the other stack's pointer. */
	if (rule->ra == SAVED_AT_SP && frame_bytes <= INT16_MAX) {
		rule->ra = SAVED_AT_CFA;
		rule->ra_offset = (int16_t)-frame_bytes;
	}
}

void go_rule_make_saved(int32_t frame_bytes, int16_t offset, struct unwind_rule *rule)
{
	go_rule_make(EM_AARCH64, GO_ROLE_FROM_C, frame_bytes, rule);
	if (rule->cfa != CFA_SP || offset + 16 > frame_bytes)
		return;
	rule->fp = SAVED_AT_SP;
	rule->fp_offset = offset;
	rule->ra = SAVED_AT_SP;
	rule->ra_offset = (int16_t)(offset + 8);
}

void go_rule_make_in_register(uint32_t role, int32_t frame_bytes, struct unwind_rule *rule)
{
	go_rule_make(EM_X86_64, GO_ROLE_ORDINARY, frame_bytes, rule);
	if (rule->cfa != CFA_SP)
		return;
	rule->cfa = CFA_REGISTER;
	rule->cfa_register = X86_RBX;
	if (role == GO_ROLE_LEAVES) {
		rule->cfa_register = X86_R12;
		rule->flags = RULE_SWITCHES_STACK;
	}
}
