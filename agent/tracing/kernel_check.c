/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/kernel_check.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/tracing/perf_event.h"
#include "lib/base/cleanup.h"

enum {
	/* As long as the command line of a kernel may be. */
	LINE_BYTES = 2048,
	LEAST_MAJOR = 5,
	LEAST_MINOR = 10,
	RING_BYTES = 1 << 16,
	SAMPLE_PERIOD_NS = 100000000,
	/* The first symbols may have low addresses, or 0: they are offsets in the data of each CPU. */
	SYMBOLS_LOOKED_AT = 1000,
};

struct check {
	void (*take)(void *context, bool is_good, const char *text);
	void *context;
};

static void say(const struct check *check, bool is_good, const char *good, const char *bad)
{
	check->take(check->context, is_good, is_good ? good : bad);
}

/* The first line of a file without its end; false, and "", if it cannot be read. */
static bool read_line(const char *path, char line[LINE_BYTES])
{
	_cleanup_(close_file) FILE *file = fopen(path, "re");
	bool is_read = file && fgets(line, LINE_BYTES, file);

	if (!is_read)
		*line = '\0';
	line[strcspn(line, "\n")] = '\0';
	return is_read;
}

static void check_version(const struct check *check)
{
	unsigned int major = 0, minor = 0;
	struct utsname machine;
	char text[LINE_BYTES];

	if (uname(&machine) || sscanf(machine.release, "%u.%u", &major, &minor) != 2)
		return;
	snprintf(text, sizeof(text), "kernel %s: %d.%d or later is needed", machine.release,
		 LEAST_MAJOR, LEAST_MINOR);
	check->take(check->context,
		    major > LEAST_MAJOR || (major == LEAST_MAJOR && minor >= LEAST_MINOR), text);
}

static void check_btf(const struct check *check)
{
	say(check, !access("/sys/kernel/btf/vmlinux", R_OK), "type information (BTF)",
	    "no type information: /sys/kernel/btf/vmlinux cannot be read; the kernel must be built "
	    "with CONFIG_DEBUG_INFO_BTF, and /sys be mounted");
}

static void check_bpf(const struct check *check)
{
	_cleanup_(close_fd) int array = bpf_map_create(BPF_MAP_TYPE_ARRAY, "check_array",
						       sizeof(uint32_t), sizeof(uint64_t), 1, NULL);
	bool is_refused = array < 0 && (errno == EPERM || errno == EACCES);
	_cleanup_(close_fd) int ring =
		bpf_map_create(BPF_MAP_TYPE_RINGBUF, "check_ring", 0, 0, RING_BYTES, NULL);

	say(check, array >= 0, "bpf(2)",
	    is_refused ? "bpf(2) is not allowed: run as root, or with CAP_BPF and CAP_PERFMON" :
			 "no bpf(2): the kernel must be built with CONFIG_BPF_SYSCALL");
	say(check, ring >= 0, "BPF ring buffers",
	    is_refused ? "BPF ring buffers: not to be seen without bpf(2)" :
			 "no BPF ring buffers: Linux 5.10 or later is needed");
	if (array < 0)
		return;
	/* Without these the agent uses alternatives. */
	say(check, libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1,
	    "bpf_loop: deep stacks in one run",
	    "no bpf_loop (Linux 5.17): deep stacks take a chain of programs, and end sooner");
	say(check,
	    libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_task_pt_regs, NULL) == 1,
	    "bpf_task_pt_regs: user registers of samples in the kernel",
	    "no bpf_task_pt_regs (Linux 5.15): user registers are searched for on the kernel's stack");
}

bool kernel_check_perf_events(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SAMPLE_PERIOD_NS,
		.disabled = 1,
	};
	_cleanup_(close_fd) int fd = perf_event_open_on_cpu(&attributes, 0);

	return fd >= 0;
}

static void check_perf_events(const struct check *check)
{
	char setting[LINE_BYTES], bad[2 * LINE_BYTES];

	read_line("/proc/sys/kernel/perf_event_paranoid", setting);
	snprintf(bad, sizeof(bad),
		 "no perf events of all processes (kernel.perf_event_paranoid is %s): run as root, "
		 "or with CAP_PERFMON",
		 *setting ? setting : "not there");
	say(check, kernel_check_perf_events(), "perf events of all processes", bad);
}

bool kernel_check_has_addresses(const char *kallsyms)
{
	_cleanup_(close_file) FILE *file = fopen(kallsyms, "re");
	char line[LINE_BYTES];
	unsigned long long address = 0;

	for (int i = 0;
	     file && !address && i < SYMBOLS_LOOKED_AT && fgets(line, sizeof(line), file); i++)
		sscanf(line, "%llx", &address);
	return address;
}

static void check_kernel_symbols(const struct check *check)
{
	char setting[LINE_BYTES], bad[2 * LINE_BYTES];

	read_line("/proc/sys/kernel/kptr_restrict", setting);
	snprintf(
		bad, sizeof(bad),
		"addresses in /proc/kallsyms are hidden (kernel.kptr_restrict is %s): functions of "
		"the kernel have no names; CAP_SYSLOG, or 1 there, shows them",
		*setting ? setting : "not there");
	say(check, kernel_check_has_addresses("/proc/kallsyms"), "names of the kernel's functions",
	    bad);
}

enum kernel_lockdown kernel_check_lockdown(const char *setting, const char *command_line)
{
	char line[LINE_BYTES];

	if (read_line(setting, line))
		return strstr(line, "[confidentiality]") ? KERNEL_CONFIDENTIAL :
		       strstr(line, "[integrity]")	 ? KERNEL_INTEGRITY :
							   KERNEL_OPEN;
	/* securityfs may not be mounted. */
	read_line(command_line, line);
	return strstr(line, "lockdown=confidentiality") ? KERNEL_CONFIDENTIAL : KERNEL_OPEN;
}

enum kernel_lockdown kernel_lockdown(void)
{
	return kernel_check_lockdown("/sys/kernel/security/lockdown", "/proc/cmdline");
}

static void check_lockdown(const struct check *check)
{
	enum kernel_lockdown lockdown = kernel_lockdown();

	say(check, lockdown != KERNEL_CONFIDENTIAL,
	    lockdown == KERNEL_INTEGRITY ? "lockdown: integrity, which lets the agent read" :
					   "no lockdown",
	    KERNEL_CONFIDENTIAL_TEXT);
}

static const struct {
	const char *name;
	/* The effect of its absence. */
	const char *loss;
	int number;
	/* CAP_SYS_ADMIN includes it. */
	bool is_of_admin;
} capabilities[] = {
	{ "CAP_BPF", "no BPF programs", CAP_BPF, true },
	{ "CAP_PERFMON", "no perf events, and no BPF programs that read memory", CAP_PERFMON,
	  true },
	{ "CAP_SYS_PTRACE", "processes are not looked into: no names, no user stacks",
	  CAP_SYS_PTRACE, false },
	{ "CAP_DAC_READ_SEARCH", "files that only their owners may read are not unwound",
	  CAP_DAC_READ_SEARCH, false },
	{ "CAP_CHECKPOINT_RESTORE", "programs whose files were deleted or replaced are not unwound",
	  CAP_CHECKPOINT_RESTORE, true },
	{ "CAP_SYSLOG", "functions of the kernel may have no names", CAP_SYSLOG, false },
};

void kernel_check_capabilities(uint64_t effective,
			       void (*take)(void *context, bool is_good, const char *text),
			       void *context)
{
	bool is_admin = effective >> CAP_SYS_ADMIN & 1;
	char text[LINE_BYTES];

	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++) {
		bool is_there = (effective >> capabilities[i].number & 1) ||
				(capabilities[i].is_of_admin && is_admin);

		snprintf(text, sizeof(text), "%s%s%s", capabilities[i].name,
			 is_there ? "" : " is missing: ", is_there ? "" : capabilities[i].loss);
		take(context, is_there, text);
	}
}

static bool read_capabilities(uint64_t *effective)
{
	_cleanup_(close_file) FILE *file = fopen("/proc/self/status", "re");
	char line[LINE_BYTES];
	unsigned long long bits;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %llx", &bits) == 1) {
			*effective = bits;
			return true;
		}
	}
	return false;
}

void kernel_check_all(void (*take)(void *context, bool is_good, const char *text), void *context)
{
	const struct check check = { take, context };
	uint64_t effective;

	check_version(&check);
	check_btf(&check);
	check_bpf(&check);
	check_perf_events(&check);
	check_kernel_symbols(&check);
	check_lockdown(&check);
	if (read_capabilities(&effective))
		kernel_check_capabilities(effective, take, context);
}
