/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/range_jobs.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

/* How long a job that waits keeps a file that is in the way. */
#define FILE_MAX_NS (NS_PER_SECOND / 2)

void range_jobs_push(struct range_job_queue *queue, struct range_job *job)
{
	job->next = NULL;
	if (queue->last)
		queue->last->next = job;
	else
		queue->first = job;
	queue->last = job;
}

struct range_job *range_jobs_pop(struct range_job_queue *queue)
{
	struct range_job *job = queue->first;

	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->last = NULL;
	return job;
}

void range_jobs_return_files(struct range_job_queue *queue, uint64_t now_ns)
{
	for (struct range_job *job = queue->first; job; job = job->next)
		if (now_ns > job->since_ns + FILE_MAX_NS && binary_file_is_in_the_way(job->binary))
			binary_file_return(&job->file);
}

struct range_job *range_job_create(struct binary *binary, pid_t pid, enum range_depth depth)
{
	struct range_job *job = malloc(sizeof(*job));

	if (!job)
		return NULL;
	*job = (struct range_job){ .binary = binary_ref(binary),
				   .pid = pid,
				   .depth = depth,
				   .file = { .fd = -1 },
				   .since_ns = clock_monotonic_ns() };
	if (depth == RANGE_DEPTH_SYMBOLS)
		job->file = binary_file_borrow(binary);
	return job;
}

void range_job_log_failed(const struct range_job *job)
{
	static struct log_limit limit = { .interval_ns = NS_PER_SECOND, .burst = 20 };
	uint64_t suppressed;

	if (log_limit_allow(&limit, clock_monotonic_ns(), &suppressed))
		log_debug("no %s of %s: %s", job->depth == RANGE_DEPTH_FULL ? "lines" : "symbols",
			  job->binary->path, error_text());
}

void range_job_destroy(struct range_job *job)
{
	binary_file_return(&job->file);
	binary_unref(job->binary);
	free(job);
}
