/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Hand-written rules for code that is recognised by its exact bytes, since its instructions alone do not
 * show the effect: system calls that start a thread, end one, or return from a signal.
 */
#ifndef STACKDELTAS_CODE_KNOWN_CODE_H
#define STACKDELTAS_CODE_KNOWN_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum known_syscall {
	KNOWN_SYSCALL_NONE,
	/**
	 * clone in musl's __clone: the child resumes at offset @entry, on a stack without a caller
	 * (src/thread/{x86_64,aarch64}/clone.s of musl 1.2).
	 */
	KNOWN_SYSCALL_CLONE,
	/** exit or exit_group: does not return. */
	KNOWN_SYSCALL_EXIT,
	/** rt_sigreturn in a signal trampoline, whose first instruction is at offset @entry. */
	KNOWN_SYSCALL_SIGNAL_RETURN,
};

/**
 * True if an indirect call may land at @offset: endbr64, or bti c or paciasp on arm64. Compilers emit
 * them at functions and not at targets of jump tables (on x86 such jumps have a prefix for this).
 */
bool known_code_is_landing(uint16_t machine, const uint8_t *bytes, size_t size, size_t offset);

/** Recognises the system call at @offset of the @size bytes at @bytes; *@entry is an offset in them. */
enum known_syscall known_code_syscall(uint16_t machine, const uint8_t *bytes, size_t size,
				      size_t offset, size_t *entry);

#endif
