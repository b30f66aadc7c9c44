/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How functions of Go are unwound: what they do by their names, and the rules for the sizes of their
 * frames. Sources: cmd/internal/obj/x86/obj6.go, cmd/internal/obj/arm64/obj7.go (frames),
 * runtime/asm_*.s, runtime/sys_linux_*.s, runtime/rt0_linux_*.s of Go 1.16 to 1.27.
 */
#ifndef STACKDELTAS_GO_RULES_H
#define STACKDELTAS_GO_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"

enum {
	/** Longer names are none of those that matter. */
	GO_RULE_NAME_MAX_BYTES = 40,
};

/** What a function is, beside those of enum go_switch (abi/go.h), whose values come first. */
enum go_role {
	GO_ROLE_ORDINARY = 0,
	/** The outermost one of its stack. */
	GO_ROLE_END = 32,
	/** Returns from a signal. */
	GO_ROLE_SIGNAL_RETURN,
	/** Called by C, whose frame pointer it saves. */
	GO_ROLE_FROM_C,
	/** x86-64: calls C with its stack pointer in rbx, for it aligns it. */
	GO_ROLE_ALIGNS,
	/**
	 * Calls C on g0 and keeps where the goroutine's stack was in a callee-saved register alone (x86-64:
	 * r12), which walks do not follow through C.
	 */
	GO_ROLE_LEAVES,
	/** x86-64: takes its return address off the stack that it shares with a child. */
	GO_ROLE_VFORK,
};

/**
 * The role of the function whose name begins with the GO_RULE_NAME_MAX_BYTES bytes at @name, NULs behind
 * it counted in: a value of enum go_role or enum go_switch. @is_flagged: the table has flags
 * for it; @has_flags: it has some for other functions. Wrappers, which have none, bear the names of
 * what they wrap.
 */
uint32_t go_role_of(const char *name, bool is_flagged, bool has_flags);

/**
 * The rule of a function with @role at an address where its frame has @frame_bytes bytes, as Go counts
 * them: without the return address on x86-64, with it on arm64. -1 and less: nothing is known.
 */
void go_rule_make(uint16_t machine, uint32_t role, int32_t frame_bytes, struct unwind_rule *rule);

/** GO_SWITCH_ASMCGOCALL: the rule where rdx or x2 has the stack pointer, on whichever stack. */
void go_rule_make_calling(uint16_t machine, int32_t frame_bytes, struct unwind_rule *rule);

/** arm64, GO_ROLE_FROM_C: the rule where the two words of C's frame record are at sp + @offset. */
void go_rule_make_saved(int32_t frame_bytes, int16_t offset, struct unwind_rule *rule);

/**
 * x86-64, GO_ROLE_ALIGNS and GO_ROLE_LEAVES: the rule where a register (rbx, r12) has the stack pointer of
 * a frame of @frame_bytes.
 */
void go_rule_make_kept(uint32_t role, int32_t frame_bytes, struct unwind_rule *rule);

#endif
