/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter lets pass what is listed, sends calls that name files to a signal handler, which answers
 * them in place of the kernel, and refuses the rest with EPERM: a library that tries something else, as
 * another version of it may, goes on without.
 */
#include "symbols/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/error.h"

enum {
	/* Of split units that are open at once, and more. */
	OPEN_FILES_MAX = 256,
	RULES_MAX = 48,
	INSTRUCTIONS_PER_RULE = 6,
};

#ifdef __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static const struct sandbox_files *sandbox_files;

/* --- limits --- */

static int set_limit(int resource, uint64_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return fail_errno(-errno, "limit %d", resource);
	if (value > limit.rlim_max)
		value = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = value;
	if (setrlimit(resource, &limit))
		return fail_errno(-errno, "limit %d", resource);
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

static int limit_memory(const struct sandbox_limits *limits)
{
	uint64_t mapped = 0, own = 0;
	int err = read_size(&mapped, &own);

	if (err)
		return err;
	err = set_limit(RLIMIT_DATA, add_saturated(own, limits->memory_bytes));
	if (err)
		return err;
	mapped = add_saturated(mapped, limits->memory_bytes);
	return set_limit(RLIMIT_AS, add_saturated(mapped, limits->mapped_bytes));
}

static int set_limits(const struct sandbox_limits *limits)
{
	uint64_t seconds = limits->cpu_ns / NS_PER_SECOND + !!(limits->cpu_ns % NS_PER_SECOND);
	struct rlimit cpu = { .rlim_cur = seconds, .rlim_max = add_saturated(seconds, 1) };
	int err = limit_memory(limits);

	if (!err && setrlimit(RLIMIT_CPU, &cpu))
		err = fail_errno(-errno, "limit of CPU time");
	if (!err)
		err = set_limit(RLIMIT_FSIZE, limits->output_bytes);
	if (!err)
		err = set_limit(RLIMIT_NOFILE, OPEN_FILES_MAX);
	if (!err)
		err = set_limit(RLIMIT_CORE, 0);
	return err;
}

/*
 * All of this is a favour to others: where it is refused, the work is done without. The nice value is that of
 * the thread that asked: as idle as can be, nothing would ever be read on a busy host.
 */
static void step_back(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

static int drop_privileges(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capset, &header, none))
		return fail_errno(-errno, "giving up capabilities");
	/* Not dumpable: a limit of 0 does not keep core dumps from programs that take them by a pipe. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return fail_errno(-errno, "giving up privileges");
	return 0;
}

/* --- calls that name files --- */

/* Arguments and the result of the call that a signal was sent for. */
#ifdef __x86_64__
static uint64_t argument_of(const ucontext_t *context, int i)
{
	static const int registers[] = { REG_RDI, REG_RSI, REG_RDX, REG_R10 };

	return context->uc_mcontext.gregs[registers[i]];
}

static void set_result(ucontext_t *context, int64_t result)
{
	context->uc_mcontext.gregs[REG_RAX] = result;
}
#else
static uint64_t argument_of(const ucontext_t *context, int i)
{
	return context->uc_mcontext.regs[i];
}

static void set_result(ucontext_t *context, int64_t result)
{
	context->uc_mcontext.regs[0] = result;
}
#endif

/* The only links that there are: those of open files. */
static int64_t read_link(const char *path, char *buffer, size_t size)
{
	static const char folder[] = "/proc/self/fd/";
	const char *target;
	size_t length;

	if (strncmp(path, folder, strlen(folder)) != 0)
		return -EINVAL;
	target = sandbox_files->file_path((int)strtol(path + strlen(folder), NULL, 10));
	if (!target)
		return -ENOENT;
	length = strlen(target);
	if (length > size)
		length = size;
	memcpy(buffer, target, length);
	return (int64_t)length;
}

/* fstat() of some C libraries. */
static int64_t get_status(int fd, const char *path, void *status)
{
	if (path[0])
		return -ENOENT;
	return syscall(SYS_fstat, fd, status) ? -errno : 0;
}

static void answer(int signal, siginfo_t *info, void *data)
{
	ucontext_t *context = data;
	int64_t result = -EPERM;
	int saved_errno = errno;

	(void)signal;
#define TEXT_ARGUMENT(i) ((char *)(uintptr_t)argument_of(context, i))
	if (info->si_syscall == SYS_openat)
		result = sandbox_files->open_file(TEXT_ARGUMENT(1));
	else if (info->si_syscall == SYS_readlinkat)
		result = read_link(TEXT_ARGUMENT(1), TEXT_ARGUMENT(2), argument_of(context, 3));
	else if (info->si_syscall == SYS_newfstatat)
		result = get_status((int)argument_of(context, 0), TEXT_ARGUMENT(1),
				    TEXT_ARGUMENT(2));
#ifdef SYS_readlink
	else if (info->si_syscall == SYS_readlink)
		result = read_link(TEXT_ARGUMENT(0), TEXT_ARGUMENT(1), argument_of(context, 2));
#endif
#undef TEXT_ARGUMENT
	errno = saved_errno;
	set_result(context, result);
}

/* --- the filter --- */

enum rule_kind {
	RULE_ALLOW,
	RULE_ASK,
	/* Allowed if argument @argument is @value, or has none of the bits of @value. */
	RULE_ALLOW_EQUAL,
	RULE_ALLOW_WITHOUT,
};

struct rule {
	int call;
	enum rule_kind kind;
	int argument;
	uint32_t value;
};

static const struct rule fixed_rules[] = {
	{ .call = SYS_read },
	{ .call = SYS_pread64 },
	{ .call = SYS_write },
	{ .call = SYS_pwrite64 },
	{ .call = SYS_lseek },
	{ .call = SYS_close },
	{ .call = SYS_fstat },
	{ .call = SYS_fcntl, .kind = RULE_ALLOW_EQUAL, .argument = 1, .value = F_GETFD },
	{ .call = SYS_fcntl, .kind = RULE_ALLOW_EQUAL, .argument = 1, .value = F_GETFL },
	{ .call = SYS_mmap, .kind = RULE_ALLOW_WITHOUT, .argument = 2, .value = PROT_EXEC },
	{ .call = SYS_mprotect, .kind = RULE_ALLOW_WITHOUT, .argument = 2, .value = PROT_EXEC },
	{ .call = SYS_mremap },
	{ .call = SYS_munmap },
	{ .call = SYS_madvise },
	{ .call = SYS_brk },
	{ .call = SYS_futex },
	{ .call = SYS_sched_yield },
	{ .call = SYS_clock_gettime },
	{ .call = SYS_getrandom },
	{ .call = SYS_memfd_create },
	{ .call = SYS_gettid },
	{ .call = SYS_getpid },
	/* By it qsort() of glibc up to 2.38 knows that there is memory for a merge sort. */
	{ .call = SYS_sysinfo },
	{ .call = SYS_rt_sigprocmask },
	{ .call = SYS_rt_sigreturn },
	{ .call = SYS_sigaltstack },
	{ .call = SYS_exit },
	{ .call = SYS_exit_group },
	{ .call = SYS_openat, .kind = RULE_ASK },
	{ .call = SYS_readlinkat, .kind = RULE_ASK },
	{ .call = SYS_newfstatat, .kind = RULE_ASK },
#ifdef SYS_readlink
	{ .call = SYS_readlink, .kind = RULE_ASK },
#endif
};

struct filter {
	struct sock_filter instructions[RULES_MAX * INSTRUCTIONS_PER_RULE];
	unsigned short count;
};

static void add(struct filter *filter, struct sock_filter instruction)
{
	filter->instructions[filter->count++] = instruction;
}

#define FILTER_LOAD(field)                                                                         \
	((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                    \
				      offsetof(struct seccomp_data, field)))
#define FILTER_RETURN(value) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (value)))
#define FILTER_JUMP(test, value, if_true, if_false)                                                \
	((struct sock_filter)BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), (if_true), (if_false)))

/* The number of the call is loaded before and, where the rule does not hold, afterwards. */
static void add_rule(struct filter *filter, const struct rule *rule)
{
	uint32_t action = rule->kind == RULE_ASK ? SECCOMP_RET_TRAP : SECCOMP_RET_ALLOW;

	if (rule->kind == RULE_ALLOW || rule->kind == RULE_ASK) {
		add(filter, FILTER_JUMP(BPF_JEQ, rule->call, 0, 1));
		add(filter, FILTER_RETURN(action));
		return;
	}
	add(filter, FILTER_JUMP(BPF_JEQ, rule->call, 0, 4));
	/* Little endian: the lower half. The calls take these as int. */
	add(filter, FILTER_LOAD(args[rule->argument]));
	if (rule->kind == RULE_ALLOW_EQUAL)
		add(filter, FILTER_JUMP(BPF_JEQ, rule->value, 0, 1));
	else
		add(filter, FILTER_JUMP(BPF_JSET, rule->value, 1, 0));
	add(filter, FILTER_RETURN(action));
	add(filter, FILTER_LOAD(nr));
}

/* Calls of other architectures, and on x86-64 those of x32, have numbers that match none. */
static int install_filter(int socket)
{
	const struct rule socket_rules[] = {
		{ .call = SYS_sendto, .kind = RULE_ALLOW_EQUAL, .value = (uint32_t)socket },
		{ .call = SYS_recvmsg, .kind = RULE_ALLOW_EQUAL, .value = (uint32_t)socket },
	};
	struct filter filter = { .count = 0 };
	struct sock_fprog program = { .filter = filter.instructions };

	_Static_assert(sizeof(fixed_rules) / sizeof(fixed_rules[0]) + 4 < RULES_MAX, "room");
	add(&filter, FILTER_LOAD(arch));
	add(&filter, FILTER_JUMP(BPF_JEQ, OWN_ARCHITECTURE, 1, 0));
	add(&filter, FILTER_RETURN(SECCOMP_RET_KILL_PROCESS));
	add(&filter, FILTER_LOAD(nr));
	for (size_t i = 0; i < sizeof(fixed_rules) / sizeof(fixed_rules[0]); i++)
		add_rule(&filter, &fixed_rules[i]);
	for (size_t i = 0; i < sizeof(socket_rules) / sizeof(socket_rules[0]); i++)
		add_rule(&filter, &socket_rules[i]);
	add(&filter, FILTER_RETURN(SECCOMP_RET_ERRNO | EPERM));
	program.len = filter.count;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return fail_errno(-errno, "filter of system calls");
	return 0;
}

int sandbox_enter(const struct sandbox_limits *limits, const struct sandbox_files *files)
{
	/* NODEFER: a handler may ask for the status of a file that it has opened. */
	struct sigaction action = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER };
	int err;

	sandbox_files = files;
	if (sigaction(SIGSYS, &action, NULL))
		return fail_errno(-errno, "handler of system calls");
	step_back();
	err = set_limits(limits);
	if (!err)
		err = drop_privileges();
	return err ? err : install_filter(files->socket);
}
