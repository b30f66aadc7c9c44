/* SPDX-License-Identifier: Apache-2.0 */
/** Binaries whose ranges are to be made, in the order in which they came. Not thread-safe. */
#ifndef SYMBOLS_RANGE_JOBS_H
#define SYMBOLS_RANGE_JOBS_H

#include <sys/types.h>

#include "lib/host/binary_file.h"
#include "lib/model/binary.h"
#include "symbols/range_source.h"

struct range_job {
	struct range_job *next;
	/** A reference. */
	struct binary *binary;
	pid_t pid;
	enum range_depth depth;
	/** So that symbols, which take little time, are there also of files that are closed or deleted meanwhile. */
	struct borrowed_file file;
	uint64_t since_ns;
};

/** All zero is empty. */
struct range_job_queue {
	struct range_job *first;
	struct range_job *last;
};

void range_jobs_push(struct range_job_queue *queue, struct range_job *job);

/** NULL if there is none; the caller's. */
struct range_job *range_jobs_pop(struct range_job_queue *queue);

/** Gives back files of jobs that have waited for long, where they are in the way (lib/host/binary_file.h). */
void range_jobs_return_files(struct range_job_queue *queue, uint64_t now_ns);

/** NULL without memory. Takes a reference on @binary. */
struct range_job *range_job_create(struct binary *binary, pid_t pid, enum range_depth depth);

/** Says why it has failed (lib/base/error.h), unless many do. Any thread, one at a time. */
void range_job_log_failed(const struct range_job *job);

void range_job_destroy(struct range_job *job);

#endif
