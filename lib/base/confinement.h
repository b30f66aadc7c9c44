/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a process of ours gives up before it reads hostile bytes: memory beyond a limit, capabilities, core dumps, and all
 * system calls but those that it needs. For processes that were started for that: there is no way back.
 */
#ifndef LIB_BASE_CONFINEMENT_H
#define LIB_BASE_CONFINEMENT_H

#include <stddef.h>
#include <stdint.h>

enum { CONFINEMENT_RULES_MAX = 48 };

enum call_rule_kind {
	CALL_ALLOWED,
	/** A SIGSYS in place of the call: its handler answers. */
	CALL_ASKS,
	/** Allowed if argument @argument is @value, or has none of the bits of @value; only its lower half counts. */
	CALL_ALLOWED_EQUAL,
	CALL_ALLOWED_WITHOUT,
};

struct call_rule {
	/** SYS_... */
	int call;
	enum call_rule_kind kind;
	int argument;
	uint32_t value;
};

/** Lowers both limits of @resource (RLIMIT_...) to @value, if they are higher. */
int confinement_limit(int resource, uint64_t value);

/**
 * So many bytes of memory of its own beyond what the process has, and so many of address space for files beyond those:
 * allocations fail. @mapped_bytes UINT64_MAX: no limit.
 */
int confinement_limit_memory(uint64_t own_bytes, uint64_t mapped_bytes);

/**
 * No capabilities but those of @kept, a bit for each (1 << CAP_...), as far as they are there, no new ones, no core
 * dumps, not to be traced. The calling thread's, so before others are started.
 */
int confinement_drop_privileges(uint64_t kept);

/**
 * For the calling thread: calls that no rule allows fail with EPERM, so that a library that tries something else, as
 * another version of it may, goes on without. CONFINEMENT_RULES_MAX rules at most.
 */
int confinement_filter_calls(const struct call_rule *rules, size_t count);

#endif
