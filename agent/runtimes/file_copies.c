/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/file_copies.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 512 };

void file_copies_init(struct file_copies *copies)
{
	*copies = (struct file_copies){ .count = 0 };
	pthread_mutex_init(&copies->lock, NULL);
}

/* To be called with the lock held. */
static void drop(struct file_copies *copies, uint32_t i)
{
	close(copies->items[i].fd);
	copies->bytes -= copies->items[i].bytes;
	copies->items[i] = copies->items[--copies->count];
}

void file_copies_deinit(struct file_copies *copies)
{
	while (copies->count)
		drop(copies, 0);
	pthread_mutex_destroy(&copies->lock);
}

int file_copies_find(struct file_copies *copies, uint64_t id, uint64_t now_ns)
{
	int fd = -1;

	pthread_mutex_lock(&copies->lock);
	for (uint32_t i = 0; i < copies->count; i++)
		if (copies->items[i].id == id) {
			copies->items[i].used_ns = now_ns;
			fd = fcntl(copies->items[i].fd, F_DUPFD_CLOEXEC, 0);
		}
	pthread_mutex_unlock(&copies->lock);
	return fd;
}

/* To be called with the lock held. */
static void drop_least_used(struct file_copies *copies)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < copies->count; i++)
		if (copies->items[i].used_ns < copies->items[least].used_ns)
			least = i;
	drop(copies, least);
}

void file_copies_add(struct file_copies *copies, uint64_t id, int fd, uint64_t now_ns)
{
	struct cached_copy copy = { .id = id, .used_ns = now_ns };
	struct stat status;

	if (fstat(fd, &status))
		return;
	copy.bytes = (uint64_t)status.st_blocks * BLOCK_BYTES;
	copy.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy.fd < 0)
		return;
	pthread_mutex_lock(&copies->lock);
	for (uint32_t i = copies->count; i-- > 0;)
		if (copies->items[i].id == id)
			drop(copies, i);
	while (copies->count && (copies->count == FILE_COPIES_MAX ||
				 copies->bytes + copy.bytes > FILE_COPIES_MAX_BYTES))
		drop_least_used(copies);
	copies->items[copies->count++] = copy;
	copies->bytes += copy.bytes;
	pthread_mutex_unlock(&copies->lock);
}

void file_copies_expire(struct file_copies *copies, uint64_t since_ns)
{
	pthread_mutex_lock(&copies->lock);
	for (uint32_t i = copies->count; i-- > 0;)
		if (copies->items[i].used_ns < since_ns)
			drop(copies, i);
	pthread_mutex_unlock(&copies->lock);
}
