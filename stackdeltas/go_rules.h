/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Roles of Go functions, by their names, and the unwind rules for the sizes of their frames. Sources:
 * cmd/internal/obj/x86/obj6.go, cmd/internal/obj/arm64/obj7.go (frames),
 * runtime/asm_*.s, runtime/sys_linux_*.s, runtime/rt0_linux_*.s of Go 1.16 to 1.27.
 */
#ifndef STACKDELTAS_GO_RULES_H
#define STACKDELTAS_GO_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"

enum {
	/** Limit of the names that have a role. */
	GO_RULE_NAME_MAX_BYTES = 40,
};

/** Roles of functions, in addition to enum go_switch (abi/go.h), whose values come first. */
enum go_role {
	GO_ROLE_ORDINARY = 0,
	/** The outermost function of its stack. */
	GO_ROLE_END = 32,
	/** Returns from a signal. */
	GO_ROLE_SIGNAL_RETURN,
	/** Called by C, whose frame pointer it saves. */
	GO_ROLE_FROM_C,
	/** x86-64: aligns the stack pointer before it calls C, and keeps the old one in rbx. */
	GO_ROLE_ALIGNS,
	/**
	 * Calls C on g0 and keeps the goroutine's stack pointer only in a callee-saved register (x86-64: r12), which
	 * walks do not follow through C.
	 */
	GO_ROLE_LEAVES,
	/** x86-64: pops its return address from the stack that it shares with a child. */
	GO_ROLE_VFORK,
};

/**
 * Returns the role of a function, a value of enum go_role or enum go_switch, by the first
 * GO_RULE_NAME_MAX_BYTES bytes of its name at @name, padded with NULs. @is_flagged: the table has flags for
 * this function; @has_flags: the table has flags at all. Wrappers have no flags, and have the names of the
 * functions that they wrap.
 */
uint32_t go_role_of(const char *name, bool is_flagged, bool has_flags);

/**
 * Makes the rule of a function with @role at an address where its frame has @frame_bytes bytes, as Go counts
 * them: without the return address on x86-64, with it on arm64. Negative: the size is not known.
 */
void go_rule_make(uint16_t machine, uint32_t role, int32_t frame_bytes, struct unwind_rule *rule);

/** GO_SWITCH_ASMCGOCALL: makes the rule where rdx or x2 has the stack pointer, on either stack. */
void go_rule_make_calling(uint16_t machine, int32_t frame_bytes, struct unwind_rule *rule);

/** arm64, GO_ROLE_FROM_C: makes the rule where the two words of C's frame record are at sp + @offset. */
void go_rule_make_saved(int32_t frame_bytes, int16_t offset, struct unwind_rule *rule);

/**
 * x86-64, GO_ROLE_ALIGNS and GO_ROLE_LEAVES: makes the rule where a register (rbx, r12) has the stack pointer
 * of a frame of @frame_bytes.
 */
void go_rule_make_in_register(uint32_t role, int32_t frame_bytes, struct unwind_rule *rule);

#endif
