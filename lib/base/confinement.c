/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/confinement.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/error.h"

enum { INSTRUCTIONS_PER_RULE = 6 };

#ifdef __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* --- limits --- */

int confinement_limit(int resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return fail_errno(-errno, "cannot set resource limit %d", resource);
	if (value > limit.rlim_max)
		value = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = value;
	if (setrlimit(resource, &limit))
		return fail_errno(-errno, "cannot set resource limit %d", resource);
	return 0;
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Bytes of address space and of private writable memory, which RLIMIT_DATA counts. */
static int read_size(uint64_t *mapped, uint64_t *own)
{
	uint64_t page = sysconf(_SC_PAGESIZE), pages, own_pages;
	FILE *file = fopen("/proc/self/statm", "re");
	int count = file ? fscanf(file, "%lu %*u %*u %*u %*u %lu", &pages, &own_pages) : 0;

	if (file)
		fclose(file);
	if (count != 2)
		return fail(-EIO, "/proc/self/statm does not tell the size");
	*mapped = pages * page;
	*own = own_pages * page;
	return 0;
}

int confinement_limit_memory(uint64_t own_bytes, uint64_t mapped_bytes)
{
	uint64_t mapped = 0, own = 0;
	int err = read_size(&mapped, &own);

	if (err)
		return err;
	err = confinement_limit(RLIMIT_DATA, add_saturated(own, own_bytes));
	if (err)
		return err;
	mapped = add_saturated(mapped, own_bytes);
	return confinement_limit(RLIMIT_AS, add_saturated(mapped, mapped_bytes));
}

/*
 * Nothing that is executed later gets more, even if no_new_privs should not be enough. Only who may set process
 * capabilities may do this.
 */
static void drop_bounding(uint64_t capabilities)
{
	for (uint32_t i = 0; i < 64; i++)
		if (!(capabilities >> i & 1))
			(void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

int confinement_keep_capabilities(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct had[_LINUX_CAPABILITY_U32S_3] = { 0 };
	struct __user_cap_data_struct left[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (capabilities && syscall(SYS_capget, &header, had))
		return fail_errno(-errno, "cannot read capabilities");
	for (uint32_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		left[i].effective = left[i].permitted = had[i].permitted &
							(uint32_t)(capabilities >> (32 * i));
	drop_bounding(capabilities);
	if (syscall(SYS_capset, &header, left))
		return fail_errno(-errno, "cannot drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail_errno(-errno, "cannot drop privileges");
	return 0;
}

int confinement_use_capabilities(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, sets))
		return fail_errno(-errno, "cannot read capabilities");
	for (uint32_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = sets[i].permitted & (uint32_t)(capabilities >> (32 * i));
	return syscall(SYS_capset, &header, sets) ? fail_errno(-errno, "cannot use capabilities") :
						    0;
}

int confinement_drop_privileges(uint64_t capabilities)
{
	int err = confinement_keep_capabilities(capabilities);

	/* Not dumpable: a limit of 0 does not keep core dumps from programs that take them by a pipe. */
	if (!err && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		err = fail_errno(-errno, "cannot drop privileges");
	return err;
}

/* --- the filter --- */

struct filter {
	struct sock_filter instructions[(CONFINEMENT_RULES_MAX + 1) * INSTRUCTIONS_PER_RULE];
	unsigned short count;
};

static void add(struct filter *filter, struct sock_filter instruction)
{
	filter->instructions[filter->count++] = instruction;
}

#define FILTER_LOAD(field)                                                                         \
	((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                    \
				      offsetof(struct seccomp_data, field)))
#define FILTER_AND(value) ((struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (value)))
#define FILTER_RETURN(value) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (value)))
#define FILTER_JUMP(test, value, if_true, if_false)                                                \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (if_true), (if_false)))

static uint32_t action_of(const struct call_rule *rule)
{
	if (rule->kind == CALL_ASKS)
		return SECCOMP_RET_TRAP;
	return rule->kind == CALL_REFUSED ? SECCOMP_RET_ERRNO | rule->value : SECCOMP_RET_ALLOW;
}

/* The number of the call is loaded before the rule, and again after a rule that does not match. */
static void add_rule(struct filter *filter, const struct call_rule *rule)
{
	bool has_condition = rule->kind != CALL_ALLOWED && rule->kind != CALL_ASKS &&
			     rule->kind != CALL_REFUSED;
	bool has_mask = rule->kind == CALL_ALLOWED_NOT_ALL;

	if (!has_condition) {
		add(filter, FILTER_JUMP(BPF_JEQ, rule->call, 0, 1));
		add(filter, FILTER_RETURN(action_of(rule)));
		return;
	}
	add(filter, FILTER_JUMP(BPF_JEQ, rule->call, 0, has_mask ? 5 : 4));
	/* On little endian this is the lower half. The calls take these arguments as int. */
	add(filter, FILTER_LOAD(args[rule->argument]));
	if (has_mask)
		add(filter, FILTER_AND(rule->value));
	switch (rule->kind) {
	case CALL_ALLOWED_EQUAL:
		add(filter, FILTER_JUMP(BPF_JEQ, rule->value, 0, 1));
		break;
	case CALL_ALLOWED_WITH:
		add(filter, FILTER_JUMP(BPF_JSET, rule->value, 0, 1));
		break;
	default:
		add(filter, FILTER_JUMP(has_mask ? BPF_JEQ : BPF_JSET, rule->value, 1, 0));
		break;
	}
	add(filter, FILTER_RETURN(action_of(rule)));
	add(filter, FILTER_LOAD(nr));
}

/* Calls of other architectures, and x32 calls on x86-64, have numbers that match no rule. */
int confinement_filter_calls(const struct call_rule *rules, size_t count)
{
	struct filter filter = { .count = 0 };
	struct sock_fprog program = { .filter = filter.instructions };

	if (count > CONFINEMENT_RULES_MAX)
		return fail(-E2BIG, "filter of %zu system calls", count);
	add(&filter, FILTER_LOAD(arch));
	add(&filter, FILTER_JUMP(BPF_JEQ, OWN_ARCHITECTURE, 1, 0));
	add(&filter, FILTER_RETURN(SECCOMP_RET_KILL_PROCESS));
	add(&filter, FILTER_LOAD(nr));
	for (size_t i = 0; i < count; i++)
		add_rule(&filter, &rules[i]);
	add(&filter, FILTER_RETURN(SECCOMP_RET_ERRNO | EPERM));
	program.len = filter.count;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return fail_errno(-errno, "cannot install the filter of system calls");
	return 0;
}
