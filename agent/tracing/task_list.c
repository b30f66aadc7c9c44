/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/task_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"

enum {
	/** A multiple of the snapshot's size, so that none is cut at the end of a buffer. */
	FIRST_BYTES = 512 * sizeof(struct task_snapshot),
	/** pid_max is at most 4 Mi. */
	MAX_BYTES = (1 << 22) * sizeof(struct task_snapshot),
};

/* Reads @fd to its end into a new buffer. */
static int read_all(int fd, uint8_t **bytes, size_t *count)
{
	_cleanup_(free_pointer) uint8_t *buffer = NULL;
	size_t capacity = 0, size = 0;
	ssize_t got;

	for (;;) {
		if (size == capacity) {
			size_t wanted = capacity ? 2 * capacity : FIRST_BYTES;
			uint8_t *larger;

			if (wanted > MAX_BYTES)
				return fail(-E2BIG, "more than %zu bytes of tasks", capacity);
			larger = realloc(buffer, wanted);
			if (!larger)
				return -ENOMEM;
			buffer = larger;
			capacity = wanted;
		}
		got = read(fd, buffer + size, capacity - size);
		if (got == 0)
			break;
		/* -EAGAIN: the kernel stopped after skipping a million tasks. */
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return fail_errno(-errno, "cannot read the task iterator");
		if (got > 0)
			size += (size_t)got;
	}
	*bytes = take_pointer(buffer);
	*count = size;
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	uint32_t left = ((const struct task_snapshot *)a)->pid;
	uint32_t right = ((const struct task_snapshot *)b)->pid;

	return (left > right) - (left < right);
}

int task_list_read(struct bpf_loader *loader, struct task_snapshot **tasks, uint32_t *task_count)
{
	_cleanup_(close_fd) int fd = bpf_loader_open_task_iterator(loader);
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	size_t size = 0;
	int err;

	if (fd < 0)
		return fd;
	err = read_all(fd, &bytes, &size);
	if (err)
		return err;
	if (!bytes || size % sizeof(struct task_snapshot))
		return fail(-EBADMSG, "the task iterator gave %zu bytes", size);
	*task_count = (uint32_t)(size / sizeof(struct task_snapshot));
	qsort(bytes, *task_count, sizeof(struct task_snapshot), compare_pids);
	*tasks = (struct task_snapshot *)take_pointer(bytes);
	return 0;
}
