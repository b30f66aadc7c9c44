/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/range_jobs.h"

#include <stdlib.h>

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

void range_job_destroy(struct range_job *job)
{
	binary_unref(job->binary);
	free(job);
}
