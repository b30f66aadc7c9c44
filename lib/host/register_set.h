/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The general registers of a stopped thread, as ptrace(PTRACE_GETREGSET, NT_PRSTATUS) gives them and as core
 * files hold them, by DWARF number. The layouts are those of struct user_regs_struct in <sys/user.h> (x86-64)
 * and of struct user_pt_regs in <asm/ptrace.h> (arm64); either machine can read both, so that core files can be
 * read elsewhere.
 */
#ifndef LIB_HOST_REGISTER_SET_H
#define LIB_HOST_REGISTER_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/sample.h"

enum {
	/** Bytes of the larger set. */
	REGISTER_SET_MAX_BYTES = 34 * 8,
};

struct register_set {
	/** Indexed as in struct deferred_sample; registers that the machine lacks are 0. */
	uint64_t registers[REGISTER_COUNT_MAX];
	/**
	 * The thread is in a system call, so its pc is behind the instruction that made it. Always false on
	 * arm64, whose set does not have this.
	 */
	bool is_system_call;
	/** fs base of x86-64. 0 on arm64, where the set does not have it (NT_ARM_TLS does). */
	uint64_t thread_pointer;
};

/** Bytes of the set of @machine (EM_X86_64 or EM_AARCH64); 0 for others. */
size_t register_set_bytes(uint16_t machine);

/** Reads a set of register_set_bytes(); -EOPNOTSUPP for other machines, -EBADMSG if it is cut. */
int register_set_read(struct register_set *set, uint16_t machine, const void *bytes, size_t size);

#endif
