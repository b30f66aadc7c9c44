// SPDX-License-Identifier: Apache-2.0
#include "agent/dump/thread_state.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/proc_info.h"

enum {
	PATH_BYTES = 512,
	STAT_BYTES = 1024,
	COMMAND_BYTES = 4096,
	LINE_BYTES = 256,
	KERNEL_FRAMES_MAX = 64,
	/* "traced by NAME (PID)". */
	TRACER_BYTES = 48,
	/* PF_KTHREAD (include/linux/sched.h, Linux 6.18). */
	KERNEL_THREAD_FLAG = 0x00200000,
};

static const char *const system_calls[] = {
#include "build/system_calls.h"
};

/* Reads the start of PID/task/TID/@name, or of PID/@name if @tid is 0, as a text; its length, -errno. */
static ssize_t read_start(const char *proc_root, pid_t pid, pid_t tid, const char *name, char *text,
			  size_t capacity)
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[PATH_BYTES];
	size_t length;

	if (tid)
		snprintf(path, sizeof(path), "%s/%d/task/%d/%s", proc_root, pid, tid, name);
	else
		snprintf(path, sizeof(path), "%s/%d/%s", proc_root, pid, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	length = fread(text, 1, capacity - 1, file);
	if (ferror(file))
		return -ESRCH;
	text[length] = '\0';
	return (ssize_t)length;
}

/* The process that traces the thread, for people; "" if there is none. */
static void read_tracer(const char *proc_root, pid_t pid, pid_t tid, char *tracer, size_t capacity)
{
	char status[4 * STAT_BYTES], name[DUMPED_NAME_BYTES];
	const char *at;
	int number = 0;

	tracer[0] = '\0';
	if (read_start(proc_root, pid, tid, "status", status, sizeof(status)) <= 0)
		return;
	at = strstr(status, "\nTracerPid:");
	if (!at || sscanf(at, "\nTracerPid: %d", &number) != 1 || !number)
		return;
	process_name_read(proc_root, number, name, NULL);
	snprintf(tracer, capacity, "traced by %s (%d)", name, number);
}

/* The name of the system call in which the thread waits; "" if it runs or waits elsewhere. */
static const char *read_system_call(const char *proc_root, pid_t pid, pid_t tid,
				    char number_text[32])
{
	char line[LINE_BYTES];
	long number;

	if (read_start(proc_root, pid, tid, "syscall", line, sizeof(line)) <= 0 ||
	    !isdigit((unsigned char)line[0]))
		return "";
	number = strtol(line, NULL, 10);
	if (number >= 0 && (size_t)number < sizeof(system_calls) / sizeof(system_calls[0]) &&
	    system_calls[number])
		return system_calls[number];
	snprintf(number_text, 32, "system call %ld", number);
	return number_text;
}

/* Whether it has no memory of its own and so is in no system call, though the kernel shows one: number 0. */
static bool is_kernel_thread(const char *state)
{
	unsigned int flags;

	/* STATE PARENT GROUP SESSION TERMINAL TERMINAL-GROUP FLAGS (proc_pid_stat(5)). */
	return sscanf(state, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & KERNEL_THREAD_FLAG;
}

/* @state: the fields behind the name in PID/task/TID/stat. */
static void set_state(const char *proc_root, pid_t pid, const char *state,
		      struct dumped_thread *thread)
{
	char number[32], tracer[TRACER_BYTES];
	const char *call = is_kernel_thread(state) ?
				   "" :
				   read_system_call(proc_root, pid, thread->tid, number);

	read_tracer(proc_root, pid, thread->tid, tracer, sizeof(tracer));
	if (*tracer)
		snprintf(thread->why, sizeof(thread->why), "not stopped: %s", tracer);
	switch (state[1]) {
	case 'R':
		snprintf(thread->state, sizeof(thread->state), "running");
		break;
	case 'D':
		snprintf(thread->state, sizeof(thread->state), "waiting uninterruptibly%s%s",
			 *call ? " in " : "", call);
		snprintf(thread->why, sizeof(thread->why), "not stopped: it waits uninterruptibly");
		break;
	case 'T':
	case 't':
		snprintf(thread->state, sizeof(thread->state), "stopped%s%s", *tracer ? ", " : "",
			 tracer);
		break;
	case 'Z':
	case 'X':
		snprintf(thread->state, sizeof(thread->state), "ended");
		snprintf(thread->why, sizeof(thread->why), "not stopped: it has ended");
		break;
	default:
		snprintf(thread->state, sizeof(thread->state), "waiting%s%s", *call ? " in " : "",
			 call);
	}
}

int thread_state_read(const char *proc_root, pid_t pid, struct dumped_thread *thread)
{
	char stat[STAT_BYTES];
	const char *open, *close;
	size_t length;

	if (read_start(proc_root, pid, thread->tid, "stat", stat, sizeof(stat)) <= 0)
		return fail(-ESRCH, "thread %d of process %d is gone", thread->tid, pid);
	/* TID (NAME) STATE, and any character may be in the name (proc(5)). */
	open = strchr(stat, '(');
	close = strrchr(stat, ')');
	if (!open || !close || close < open || strlen(close) < 3)
		return fail(-ESRCH, "thread %d of process %d is gone", thread->tid, pid);
	length = (size_t)(close - open - 1);
	if (length >= sizeof(thread->name))
		length = sizeof(thread->name) - 1;
	memcpy(thread->name, open + 1, length);
	thread->name[length] = '\0';
	set_state(proc_root, pid, close + 1, thread);
	return 0;
}

void thread_state_add_kernel_frames(const char *proc_root, pid_t pid, struct dumped_thread *thread)
{
	char text[STAT_BYTES * 8];
	char *rest = text, *line;

	if (read_start(proc_root, pid, thread->tid, "stack", text, sizeof(text)) <= 0)
		return;
	/* [<0>] function+0x10/0x20 [module] */
	for (int i = 0; i < KERNEL_FRAMES_MAX && (line = strsep(&rest, "\n")); i++) {
		char *name = strstr(line, "] "), *plus;

		if (!name)
			continue;
		name += 2;
		plus = strstr(name, "+0x");
		if (plus)
			*plus = '\0';
		dumped_thread_add(thread, (struct dumped_frame){ .flags = DUMPED_KERNEL }, name,
				  NULL);
	}
}

void process_name_read(const char *proc_root, pid_t pid, char name[DUMPED_NAME_BYTES],
		       char **command)
{
	char comm[PROC_COMM_MAX_BYTES];
	ssize_t length;

	snprintf(name, DUMPED_NAME_BYTES, "%.*s", DUMPED_NAME_BYTES - 1,
		 proc_comm(proc_root, pid, comm) ? "" : comm);
	if (!command)
		return;
	*command = malloc(COMMAND_BYTES);
	length = *command ? read_start(proc_root, pid, 0, "cmdline", *command, COMMAND_BYTES) : 0;
	/* Each argument ends with a NUL. */
	for (ssize_t i = 0; i + 1 < length; i++) {
		if (!(*command)[i])
			(*command)[i] = ' ';
	}
	if (*command && length <= 0)
		(*command)[0] = '\0';
}
