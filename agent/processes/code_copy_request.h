/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A request to copy code from a process's memory and to make rows of it (code_copies.h). A load thread runs it: it has the
 * memory read in the home of that user (runtime_home.h), and the copy analysed by the process that parses
 * executables. The copy's bytes are freed when the request ends.
 */
#ifndef AGENT_PROCESSES_CODE_COPY_REQUEST_H
#define AGENT_PROCESSES_CODE_COPY_REQUEST_H

#include <stdint.h>

#include "agent/runtimes/elf_home.h"
#include "agent/runtimes/runtime_home.h"
#include "ebpf/abi/process.h"
#include "lib/base/hash128.h"
#include "lib/model/stack_deltas.h"

/** Code of a process. It refers to nothing, so it may outlive the process. */
struct code_range_of_process {
	uint32_t pid;
	struct process_identity identity;
	/** A range that copied_code_is_range() allows. Rows of its first lead_bytes and its last tail_bytes bytes are not wanted. */
	uint64_t start;
	uint64_t bytes;
	uint64_t lead_bytes;
	uint64_t tail_bytes;
};

struct code_copy_request {
	struct code_range_of_process code;
	/** The content of an earlier copy of the range; zeroes: there is none. It is not analysed again. */
	struct hash128 known;
};

/** The result of a request. The receiver deinits the deltas. */
struct code_copy_answer {
	struct code_range_of_process code;
	/**
	 * 0; -ETIME: reading took too long; -EAGAIN: not now; -ESRCH, -EFAULT, -EHOSTDOWN and others of
	 * runtime_home_ops.read() and elf_home_ops.analyse_copy().
	 */
	int err;
	/** The content equals the known one, and there are no deltas. */
	bool is_unchanged;
	struct hash128 content;
	struct stack_deltas deltas;
	/** Time that it took. */
	uint64_t cost_ns;
};

/** Any thread that may wait. @parser NULL: the copy is analysed here. */
void code_copy_request_run(const struct code_copy_request *request, const char *proc_root,
			   struct runtime_home *home, struct elf_home *parser,
			   struct code_copy_answer *answer);

/** The answer to a request that is not run. */
struct code_copy_answer code_copy_request_refuse(const struct code_copy_request *request, int err);

#endif
