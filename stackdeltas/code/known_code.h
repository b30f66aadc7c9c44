/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hand-written rules for code that is known by its very bytes and that its instructions alone do not
 * explain: system calls which start a thread, end one, or return from a signal.
 */
#ifndef STACKDELTAS_CODE_KNOWN_CODE_H
#define STACKDELTAS_CODE_KNOWN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum known_syscall {
	KNOWN_SYSCALL_NONE,
	/**
	 * clone, as musl's __clone does it: the child goes on at @place, on a stack without a caller
	 * (src/thread/{x86_64,aarch64}/clone.s of musl 1.2).
	 */
	KNOWN_SYSCALL_CLONE,
	/** exit or exit_group: does not come back. */
	KNOWN_SYSCALL_EXIT,
	/** rt_sigreturn, whose first instruction is at @place: a signal trampoline. */
	KNOWN_SYSCALL_SIGNAL_RETURN,
};

/**
 * True if an indirect call may land at @offset: endbr64, and bti c or paciasp on arm64. Compilers put
 * them at functions and not where tables of jumps lead (on x86 those jumps have a prefix for it).
 */
bool known_code_is_landing(uint16_t machine, const uint8_t *bytes, size_t size, size_t offset);

/** What the system call at @offset of the @size bytes at @bytes is; the place is an offset, too. */
enum known_syscall known_code_syscall(uint16_t machine, const uint8_t *bytes, size_t size,
				      size_t offset, size_t *place);

#endif
