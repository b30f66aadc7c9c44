// SPDX-License-Identifier: Apache-2.0
/*
 * The filter is a list of allowed calls in groups. A library that gets another version may need a call that is missing
 * here: it then fails with EPERM, or with ENOSYS where libraries have an older call to go on with. A filter cannot read
 * memory, so no call may have its flags there (openat2), and none makes a file or opens one for writing by its name.
 */
#include "agent/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "agent/runtimes/elf_protocol.h"
#include "agent/runtimes/file_protocol.h"
#include "agent/runtimes/host_protocol.h"
#include "agent/runtimes/proc_protocol.h"
#include "agent/tracing/kernel_check.h"
#include "lib/base/child_process.h"
#include "lib/base/confinement.h"
#include "lib/base/error.h"
#include "lib/base/launcher.h"
#include "lib/base/log.h"
#include "symbols/build/symbol_cache_maker_child.h"
#include "symbols/cache/scratch_file.h"
#include "symbols/debuginfod.h"

/* Headers of before Linux 5.17 do not have it. */
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

enum { PRIVILEGED_PORTS = 1024 };

#define BIT(capability) (1ULL << (capability))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- programs --- */

static void list_folder(struct launch_lists *lists, enum folder_kind kind, const char *path)
{
	if (lists->folder_count < LAUNCH_FOLDERS_MAX)
		lists->folders[lists->folder_count++] =
			(struct launch_folder){ .kind = kind, .path = path };
}

int privileges_start_launcher(const struct options *options)
{
	struct launch_lists lists = {
		.rules = {
			{ OWN_PROGRAM, "runtimes", HOST_ARGUMENT, false, false },
			{ OWN_PROGRAM, "files", FILE_HOST_ARGUMENT, false, false },
			{ OWN_PROGRAM, "proc", PROC_HOST_ARGUMENT, false, false },
			{ OWN_PROGRAM, "parse", ELF_HOST_ARGUMENT, false, false },
			{ OWN_PROGRAM, "make-symbols", SYMBOL_CACHE_MAKER_ARGUMENT, false, false },
			{ DEBUGINFOD_PROGRAM, DEBUGINFOD_PROGRAM, DEBUGINFOD_KIND, true, true },
		},
		.rule_count = 6,
	};

	list_folder(&lists, FOLDER_SCRATCH, SCRATCH_FOLDER);
	list_folder(&lists, FOLDER_SCRATCH, SCRATCH_OTHER_FOLDER);
	if (options->cache_dir)
		list_folder(&lists, FOLDER_CACHE, options->cache_dir);
	/* For one output too many no file can be made, which is an error at the start. */
	for (uint32_t i = 0; i < options->output_count; i++)
		list_folder(&lists, FOLDER_OUTPUT, options->outputs[i]);
	return launcher_start(&lists);
}

/* --- capabilities --- */

/* Needed for sampling; docs/security.md has a row for each. */
#define SAMPLING                                                                                   \
	(BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) |        \
	 BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYSLOG) | BIT(CAP_SYS_NICE))

/* Whether the port of @address, "host:port", is one that only privileged processes may have. */
static bool is_privileged(const char *address)
{
	const char *colon = address ? strrchr(address, ':') : NULL;
	int port = colon ? atoi(colon + 1) : 0;

	return port > 0 && port < PRIVILEGED_PORTS;
}

/*
 * Kernels of some distributions (Debian, Ubuntu) refuse perf events above level 2 of kernel.perf_event_paranoid to all but
 * CAP_SYS_ADMIN. That is then kept for as long as the agent runs, since CPUs may come.
 */
static bool needs_admin(void)
{
	bool is_enough;

	if (confinement_use_capabilities(SAMPLING))
		return false;
	is_enough = kernel_check_perf_events();
	(void)confinement_use_capabilities(UINT64_MAX);
	if (is_enough || !kernel_check_perf_events())
		return false;
	log_debug(
		"perf events are refused to CAP_PERFMON (kernel.perf_event_paranoid); CAP_SYS_ADMIN "
		"is kept");
	return true;
}

uint64_t privileges_needed(const struct options *options)
{
	bool reads_files_only = options->open_count || options->upload_count;
	uint64_t needed = reads_files_only ? BIT(CAP_DAC_READ_SEARCH) : SAMPLING;

	if (!reads_files_only && needs_admin())
		needed |= BIT(CAP_SYS_ADMIN);
	if (is_privileged(options->viewer.address) || is_privileged(options->receive.address) ||
	    is_privileged(options->metrics.address))
		needed |= BIT(CAP_NET_BIND_SERVICE);
	/* Signals are passed on to a command, which may change its user. */
	if (options->command)
		needed |= BIT(CAP_KILL);
	return needed;
}

/* Linux 5.10 charges maps to this limit, and raising it takes CAP_SYS_RESOURCE. */
static void lift_memory_limit(void)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	(void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

/* --- system calls --- */

#define ALLOWED(name)                                                                              \
	{                                                                                          \
		.call = SYS_##name                                                                 \
	}
#define ALLOWED_WITHOUT(name, number, without)                                                     \
	{                                                                                          \
		.call = SYS_##name, .kind = CALL_ALLOWED_WITHOUT, .argument = (number),            \
		.value = (without)                                                                 \
	}
#define ALLOWED_EQUAL(name, number, equal)                                                         \
	{                                                                                          \
		.call = SYS_##name, .kind = CALL_ALLOWED_EQUAL, .argument = (number),              \
		.value = (equal)                                                                   \
	}
/* The requests of linux/perf_event.h, which is included by tracing/ only. */
#define PERF_ENABLE _IO('$', 0)
#define PERF_DISABLE _IO('$', 1)
#define PERF_SET_PROGRAM _IOW('$', 8, uint32_t)
#define REFUSED(name)                                                                              \
	{                                                                                          \
		.call = SYS_##name, .kind = CALL_REFUSED, .value = ENOSYS                          \
	}

/* The launcher opens files for writing (lib/base/file_folder.h). */
#define FLAGS_FOR_WRITING (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

/* The most frequent ones come first. */
static const struct call_rule base_calls[] = {
	ALLOWED(futex),
	ALLOWED(read),
	ALLOWED(pread64),
	ALLOWED(bpf),
	ALLOWED(epoll_pwait),
	ALLOWED(ppoll),
	ALLOWED(write),
	ALLOWED(recvmsg),
	ALLOWED(sendmsg),
	ALLOWED(close),
	ALLOWED_WITHOUT(openat, 2, FLAGS_FOR_WRITING),
	ALLOWED(fstat),
	ALLOWED(newfstatat),
	ALLOWED(madvise),
	ALLOWED(munmap),
	{ .call = SYS_mmap,
	  .kind = CALL_ALLOWED_NOT_ALL,
	  .argument = 2,
	  .value = PROT_WRITE | PROT_EXEC },
	ALLOWED_WITHOUT(mprotect, 2, PROT_EXEC),
	ALLOWED(clock_nanosleep),
	ALLOWED(nanosleep),
	ALLOWED(clock_gettime),
	ALLOWED(clock_getres),
	ALLOWED(gettimeofday),
	/* Memory. */
	ALLOWED(brk),
	ALLOWED(mremap),
	ALLOWED(memfd_create),
	ALLOWED(membarrier),
	ALLOWED(mincore),
	ALLOWED(getrandom),
	/* Files. */
	ALLOWED(close_range),
	ALLOWED(readv),
	ALLOWED(preadv),
	ALLOWED(pwrite64),
	ALLOWED(writev),
	ALLOWED(lseek),
	ALLOWED(statx),
	ALLOWED(statfs),
	ALLOWED(fstatfs),
	ALLOWED(faccessat),
	ALLOWED(faccessat2),
	ALLOWED(readlinkat),
	ALLOWED(getdents64),
	ALLOWED(getcwd),
	ALLOWED(fcntl),
	ALLOWED(dup),
	ALLOWED(dup3),
	ALLOWED(pipe2),
	ALLOWED(flock),
	ALLOWED(fadvise64),
	ALLOWED(fallocate),
	ALLOWED(ftruncate),
	ALLOWED(fsync),
	ALLOWED(fdatasync),
	ALLOWED(utimensat),
	ALLOWED(sendfile),
	/* Events and time. */
	ALLOWED(epoll_create1),
	ALLOWED(epoll_ctl),
	ALLOWED(pselect6),
	ALLOWED(eventfd2),
	ALLOWED(signalfd4),
	ALLOWED(timerfd_create),
	ALLOWED(timerfd_settime),
	ALLOWED(timerfd_gettime),
	ALLOWED(restart_syscall),
	/* Perf events, terminals, and what is to be read in a socket. */
	ALLOWED(perf_event_open),
	ALLOWED_EQUAL(ioctl, 1, PERF_ENABLE),
	ALLOWED_EQUAL(ioctl, 1, PERF_DISABLE),
	ALLOWED_EQUAL(ioctl, 1, PERF_SET_PROGRAM),
	ALLOWED_EQUAL(ioctl, 1, FIONREAD),
	ALLOWED_EQUAL(ioctl, 1, FIONBIO),
	ALLOWED_EQUAL(ioctl, 1, TCGETS),
	ALLOWED_EQUAL(ioctl, 1, TCSETS),
	ALLOWED_EQUAL(ioctl, 1, TCSETSW),
	ALLOWED_EQUAL(ioctl, 1, TCSETSF),
	ALLOWED_EQUAL(ioctl, 1, TIOCGWINSZ),
	/* Threads of this process. clone3() has its flags in memory. */
	{ .call = SYS_clone, .kind = CALL_ALLOWED_WITH, .value = CLONE_THREAD },
	REFUSED(clone3),
	ALLOWED(set_robust_list),
	ALLOWED(get_robust_list),
	ALLOWED(rseq),
	ALLOWED(exit),
	ALLOWED(exit_group),
	ALLOWED(gettid),
	ALLOWED(getpid),
	ALLOWED(getppid),
	ALLOWED(tgkill),
	ALLOWED(getcpu),
	ALLOWED(sched_yield),
	ALLOWED(sched_getaffinity),
	ALLOWED(sched_getscheduler),
	ALLOWED(sched_setscheduler),
	ALLOWED(sched_getparam),
	ALLOWED(sched_get_priority_min),
	ALLOWED(sched_get_priority_max),
	ALLOWED(getpriority),
	ALLOWED(setpriority),
	ALLOWED_EQUAL(prctl, 0, PR_SET_NAME),
	ALLOWED_EQUAL(prctl, 0, PR_GET_NAME),
	ALLOWED_EQUAL(prctl, 0, PR_SET_VMA),
	ALLOWED(rt_sigaction),
	ALLOWED(rt_sigprocmask),
	ALLOWED(rt_sigreturn),
	ALLOWED(rt_sigtimedwait),
	ALLOWED(sigaltstack),
	/* Processes that the launcher has started. */
	ALLOWED(wait4),
	ALLOWED(waitid),
	ALLOWED(pidfd_open),
	ALLOWED_EQUAL(kill, 1, SIGKILL),
	ALLOWED_EQUAL(socketpair, 0, AF_UNIX),
	ALLOWED(getsockopt),
	ALLOWED(setsockopt),
	ALLOWED(shutdown),
	ALLOWED(recvfrom),
	ALLOWED(sendto),
	/* The process and the machine. */
	ALLOWED(getuid),
	ALLOWED(geteuid),
	ALLOWED(getgid),
	ALLOWED(getegid),
	ALLOWED(capget),
	ALLOWED(getrlimit),
	ALLOWED(setrlimit),
	ALLOWED_EQUAL(prlimit64, 0, 0),
	ALLOWED(getrusage),
	ALLOWED(times),
	ALLOWED(sysinfo),
	ALLOWED(uname),
#ifdef __x86_64__
	/* Older names, which arm64 does not have. */
	ALLOWED(epoll_wait),
	ALLOWED(poll),
	ALLOWED(select),
	ALLOWED_WITHOUT(open, 1, FLAGS_FOR_WRITING),
	ALLOWED(stat),
	ALLOWED(lstat),
	ALLOWED(access),
	ALLOWED(readlink),
	ALLOWED(dup2),
	ALLOWED(pipe),
	ALLOWED(eventfd),
	ALLOWED(epoll_create),
	ALLOWED(time),
	ALLOWED(arch_prctl),
#endif
};

/* For the page, metrics, a collector, and profiles of other machines. */
static const struct call_rule network_calls[] = {
	ALLOWED_EQUAL(socket, 0, AF_INET),
	ALLOWED_EQUAL(socket, 0, AF_INET6),
	/* The resolver asks services of this machine, and which addresses it has. */
	ALLOWED_EQUAL(socket, 0, AF_UNIX),
	ALLOWED_EQUAL(socket, 0, AF_NETLINK),
	ALLOWED(bind),
	ALLOWED(listen),
	ALLOWED(accept),
	ALLOWED(accept4),
	ALLOWED(connect),
	ALLOWED(getsockname),
	ALLOWED(getpeername),
	ALLOWED(recvmmsg),
	ALLOWED(sendmmsg),
	ALLOWED_EQUAL(ioctl, 1, SIOCGIFINDEX),
};

static bool has_network(const struct options *options)
{
	return options->collector.address || options->receive.address || options->metrics.address ||
	       options->open_count || options_have_page(options);
}

static int filter_calls(const struct options *options, int command_fd)
{
	struct call_rule rules[COUNT_OF(base_calls) + COUNT_OF(network_calls) + 1];
	size_t count = COUNT_OF(base_calls);

	memcpy(rules, base_calls, sizeof(base_calls));
	if (has_network(options)) {
		memcpy(rules + count, network_calls, sizeof(network_calls));
		count += COUNT_OF(network_calls);
	}
	if (command_fd >= 0)
		rules[count++] =
			(struct call_rule)ALLOWED_EQUAL(pidfd_send_signal, 0, (uint32_t)command_fd);
	return confinement_filter_calls(rules, count);
}

int privileges_drop(const struct options *options, int command_fd)
{
	int err;

	lift_memory_limit();
	err = confinement_keep_capabilities(privileges_needed(options));
	if (err)
		return err;
	if (filter_calls(options, command_fd))
		log_warn("%s; going on without", error_text());
	return 0;
}
