/* SPDX-License-Identifier: Apache-2.0 */
/** Samples from stacks in text form, for the viewer's tests (include it after cmocka.h). */
#ifndef VIEWER_TESTS_SAMPLES_H
#define VIEWER_TESTS_SAMPLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/history.h"

enum { STACK_FRAMES_MAX = 64 };

struct told {
	const char *comm;
	const char *thread;
	const char *host;
	const char *user;
	const char *unit;
	const char *command_line;
	const char *parent_comm;
	uint32_t parent;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	uint64_t time_ns;
	/* A weight, and its value. */
	uint8_t origin;
	uint64_t value;
};

/**
 * A trace of @stack, "outer;inner:7;leaf:8:20": interpreted functions, outermost first, each in "x.py" and
 * with its line and column. "!N" is an error frame with that number, and "f[k]" is a kernel function.
 */
static inline struct trace *make_trace(const char *stack)
{
	struct frame frames[STACK_FRAMES_MAX] = { 0 };
	char text[1024], *rest = text, *name;
	bool is_complete = true;
	uint32_t count = 0;
	struct trace *trace;

	snprintf(text, sizeof(text), "%s", stack);
	while (*text && (name = strsep(&rest, ";"))) {
		struct frame *frame = &frames[STACK_FRAMES_MAX - ++count];
		char *line = strchr(name, ':'), *mark = strchr(name, '['), *column;

		*frame = (struct frame){ .kind = FRAME_PYTHON, .function = name, .file = "x.py" };
		if (line) {
			*line = '\0';
			frame->line = (uint32_t)strtoul(line + 1, &column, 10);
			frame->column = *column == ':' ? (uint32_t)atoi(column + 1) : 0;
		}
		if (mark) {
			*mark = '\0';
			*frame = (struct frame){ .kind = FRAME_KERNEL,
						 .function = name,
						 .file = "vmlinux" };
		}
		if (*name == '!') {
			*frame = (struct frame){ .kind = FRAME_ERROR,
						 .error = (uint8_t)atoi(name + 1) };
			is_complete = false;
		}
	}
	trace = trace_create(&frames[STACK_FRAMES_MAX - count], count, is_complete, false);
	assert_non_null(trace);
	return trace;
}

static inline void report_trace(struct history *history, struct trace *trace,
				const struct told *told)
{
	struct reporter *reporter = history_reporter(history);
	struct process_info *process = process_info_create(&(struct process_info){
		.pid = told->pid,
		.executable_path = "/opt/prog",
		.container_id = told->pid % 2 ? "" : "c0ffee",
		.host_name = told->host,
		.user_name = told->user,
		.unit = told->unit,
		.command_line = told->command_line,
		.parent_comm = told->parent_comm,
		.parent_pid = told->parent,
	});
	const struct sample_event event = {
		.sample.trace = trace,
		.time_ns = told->time_ns,
		.value = told->value,
		.sample.origin = told->origin,
		.sample.pid = told->pid,
		.sample.tid = told->tid,
		.sample.cpu = told->cpu,
		.sample.process_comm = told->comm ? told->comm : "prog",
		.sample.thread_comm = told->thread ? told->thread : "thread",
		.sample.process = process,
		.was_known = true,
	};

	assert_non_null(process);
	reporter->ops->report(reporter, &event);
	process_info_unref(process);
}

static inline void report_stack(struct history *history, const char *stack, const struct told *told)
{
	struct trace *trace = make_trace(stack);

	report_trace(history, trace, told);
	trace_unref(trace);
}

#endif
