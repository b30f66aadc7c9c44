/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Events from the kernel: agent/tracing reads them, processes/ acts on them, agent.c connects the two. All
 * calls come from the ring thread and must not block; arguments are borrowed for the call. A side-band event or
 * a process event that the kernel wrote before it took a sample arrives before that sample.
 */
#ifndef LIB_MODEL_EVENTS_H
#define LIB_MODEL_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/process.h"
#include "ebpf/abi/sample.h"

enum side_band_type {
	/** An executable mapping was made or changed. */
	SIDE_BAND_MAPPING,
	/** Records of unknown processes were lost: sync all. */
	SIDE_BAND_LOST,
	/** The kernel has loaded code: start, length, and as the path the name of a BPF program, "" for other code. */
	SIDE_BAND_KERNEL_CODE,
};

struct side_band_event {
	enum side_band_type type;
	/** Time of the change, or of the loss for SIDE_BAND_LOST (CLOCK_MONOTONIC, ns, as in samples). */
	uint64_t time_ns;
	/**
	 * The following fields are for SIDE_BAND_MAPPING: the process, the range and the file; inode 0: no
	 * file.
	 */
	uint32_t pid;
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t start;
	uint64_t length;
	uint64_t offset;
	uint64_t inode;
	/** Path as the process sees it, or a word instead of a path ("//anon"); borrowed. */
	const char *path;
};

struct event_handler {
	void *context;
	/** @bytes is the whole size of the record (abi/sample.h). */
	void (*sample)(void *context, const struct trace_record *record, size_t bytes);
	void (*process_event)(void *context, const struct process_event *process_event);
	/** All process events and side-band events from before @time_ns have been handed out; samples come next. */
	void (*news_end)(void *context, uint64_t time_ns);
	void (*side_band)(void *context, const struct side_band_event *event);
};

#endif
