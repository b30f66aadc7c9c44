/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter allows the listed calls. Calls that name files go to a signal handler,
 * which answers them instead of the kernel. All others fail with EPERM, so that a library that
 * tries something else, as other versions may, goes on without it.
 */
#include "symbols/build/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
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

#include "lib/base/clock.h"
#include "lib/base/confinement.h"
#include "lib/base/error.h"

enum {
	/* Split units that are open at the same time, and some more. */
	OPEN_FILES_MAX = 256,
};

static const struct sandbox_files *sandbox_files;

/* --- limits --- */

static int set_limits(const struct sandbox_limits *limits)
{
	uint64_t seconds = limits->cpu_ns / NS_PER_SECOND + !!(limits->cpu_ns % NS_PER_SECOND);
	struct rlimit cpu = { .rlim_cur = seconds, .rlim_max = seconds + 1 };
	int err = confinement_limit_memory(limits->memory_bytes, limits->mapped_bytes);

	if (!err && setrlimit(RLIMIT_CPU, &cpu))
		err = fail_errno(-errno, "cannot limit the CPU time");
	if (!err)
		err = confinement_limit(RLIMIT_FSIZE, limits->output_bytes);
	if (!err)
		err = confinement_limit(RLIMIT_NOFILE, OPEN_FILES_MAX);
	if (!err)
		err = confinement_limit(RLIMIT_CORE, 0);
	return err;
}

/*
 * All of this is for the benefit of other processes: if a step is refused, the work is done without
 * it. The nice value stays that of the requesting thread: with the lowest priority, nothing would
 * ever be read on a busy host.
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

/* --- calls that name files --- */

/* Arguments and result of the system call that caused the signal. */
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

/* Only links of open files can be read. */
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

/* fstat() in some C libraries. */
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

static const struct call_rule fixed_rules[] = {
	{ .call = SYS_read },
	{ .call = SYS_pread64 },
	{ .call = SYS_write },
	{ .call = SYS_pwrite64 },
	{ .call = SYS_lseek },
	{ .call = SYS_close },
	{ .call = SYS_fstat },
	{ .call = SYS_fcntl, .kind = CALL_ALLOWED_EQUAL, .argument = 1, .value = F_GETFD },
	{ .call = SYS_fcntl, .kind = CALL_ALLOWED_EQUAL, .argument = 1, .value = F_GETFL },
	{ .call = SYS_mmap, .kind = CALL_ALLOWED_WITHOUT, .argument = 2, .value = PROT_EXEC },
	{ .call = SYS_mprotect, .kind = CALL_ALLOWED_WITHOUT, .argument = 2, .value = PROT_EXEC },
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
	/* qsort() of glibc up to 2.38 uses it to check that there is memory for a merge sort. */
	{ .call = SYS_sysinfo },
	{ .call = SYS_rt_sigprocmask },
	{ .call = SYS_rt_sigreturn },
	{ .call = SYS_sigaltstack },
	{ .call = SYS_exit },
	{ .call = SYS_exit_group },
	{ .call = SYS_openat, .kind = CALL_ASKS },
	{ .call = SYS_readlinkat, .kind = CALL_ASKS },
	{ .call = SYS_newfstatat, .kind = CALL_ASKS },
#ifdef SYS_readlink
	{ .call = SYS_readlink, .kind = CALL_ASKS },
#endif
};

enum { FIXED_RULES = sizeof(fixed_rules) / sizeof(fixed_rules[0]) };

static int install_filter(int socket)
{
	const struct call_rule socket_rules[] = {
		{ .call = SYS_sendto, .kind = CALL_ALLOWED_EQUAL, .value = (uint32_t)socket },
		{ .call = SYS_recvmsg, .kind = CALL_ALLOWED_EQUAL, .value = (uint32_t)socket },
	};
	struct call_rule rules[FIXED_RULES + 2];

	memcpy(rules, fixed_rules, sizeof(fixed_rules));
	memcpy(rules + FIXED_RULES, socket_rules, sizeof(socket_rules));
	return confinement_filter_calls(rules, FIXED_RULES + 2);
}

int sandbox_enter(const struct sandbox_limits *limits, const struct sandbox_files *files)
{
	/* NODEFER: the handler may call fstat() on a file that it has opened. */
	struct sigaction action = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER };
	int err;

	sandbox_files = files;
	if (sigaction(SIGSYS, &action, NULL))
		return fail_errno(-errno, "cannot set the handler of system calls");
	step_back();
	err = set_limits(limits);
	if (!err)
		err = confinement_drop_privileges(0);
	return err ? err : install_filter(files->socket);
}
