/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Confines a process of ours before it reads hostile bytes: it gives up memory beyond a limit, capabilities,
 * core dumps, and all system calls but those that it needs. There is no way back.
 */
#ifndef LIB_BASE_CONFINEMENT_H
#define LIB_BASE_CONFINEMENT_H

#include <stddef.h>
#include <stdint.h>

enum { CONFINEMENT_RULES_MAX = 256 };

enum call_rule_kind {
	CALL_ALLOWED,
	/** The call raises SIGSYS instead; the signal's handler supplies the result. */
	CALL_ASKS,
	/**
	 * The call is allowed if argument @argument equals @value, has none of the bits of @value, has one of
	 * them, or has not all of them. Only the lower half of the argument counts.
	 */
	CALL_ALLOWED_EQUAL,
	CALL_ALLOWED_WITHOUT,
	CALL_ALLOWED_WITH,
	CALL_ALLOWED_NOT_ALL,
	/** The call fails with error @value instead of EPERM: with ENOSYS libraries try another one. */
	CALL_REFUSED,
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
 * Lets the process allocate @own_bytes more memory of its own, and map @mapped_bytes of address space for files
 * beyond that; then allocations fail. @mapped_bytes UINT64_MAX: no limit.
 */
int confinement_limit_memory(uint64_t own_bytes, uint64_t mapped_bytes);

/**
 * Drops all capabilities but those in @capabilities (a bit for each, 1 << CAP_...), also for programs that are started
 * later, and prevents new ones. It acts on the calling thread, so call it before others are started.
 */
int confinement_keep_capabilities(uint64_t capabilities);

/** Puts those of @capabilities into effect that the thread is permitted, and no others, until the next call. */
int confinement_use_capabilities(uint64_t capabilities);

/** As confinement_keep_capabilities(), and prevents core dumps and tracing. */
int confinement_drop_privileges(uint64_t capabilities);

/**
 * Filters the calling thread's system calls. Calls that no rule allows fail with EPERM, so that another version
 * of a library, which may try further calls, goes on without them. CONFINEMENT_RULES_MAX rules at most.
 */
int confinement_filter_calls(const struct call_rule *rules, size_t count);

#endif
