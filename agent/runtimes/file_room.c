/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/runtimes/file_room.h"

#include <errno.h>
#include <unistd.h>

#include "agent/runtimes/file_copy.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/mapped_file.h"
#include "lib/host/perf_map_file.h"

void file_room_deinit(struct file_room *room)
{
	size_t cursor = 0;
	uint64_t fd;

	while (hash_map_next(&room->files, &cursor, NULL, &fd))
		close((int)fd);
	hash_map_deinit(&room->files);
	if (room->has_reader)
		splice_reader_deinit(&room->reader);
	room->has_reader = false;
}

int file_room_open(struct file_room *room, uint64_t id, uint32_t pid,
		   const struct proc_mapping *mapping, struct file_key *key)
{
	_cleanup_(close_fd) int fd = -1;
	int err;

	if (room->files.count >= FILE_ROOM_MAX)
		return fail(-ENOSPC, "more than %d files on such file systems", FILE_ROOM_MAX);
	err = mapped_file_open(room->proc_root, (pid_t)pid, mapping, &fd, key);
	if (err)
		return err;
	if (hash_map_set(&room->files, id, (uint64_t)fd))
		return fail(-ENOMEM, "no memory for an open file");
	(void)take_fd(fd);
	return 0;
}

void file_room_close(struct file_room *room, uint64_t id)
{
	uint64_t fd;

	if (hash_map_remove(&room->files, id, &fd))
		close((int)fd);
}

/* Makes the reader, with the first file that is read. */
static int open_reader(struct file_room *room)
{
	int err = room->has_reader ? 0 : splice_reader_init(&room->reader);

	room->has_reader |= !err;
	return err;
}

int file_room_prepare(struct file_room *room)
{
	return open_reader(room);
}

int file_room_copy(struct file_room *room, uint64_t id, int *fd)
{
	uint64_t held;
	int err;

	if (!hash_map_find(&room->files, id, &held))
		return fail(-ENOENT, "the file is not open");
	err = open_reader(room);
	return err ? err : file_copy_create(&room->reader, (int)held, fd);
}

int file_room_read(struct file_room *room, const struct code_file *file, uint64_t offset,
		   void *bytes, uint32_t size, struct file_key *key, uint32_t *count)
{
	_cleanup_(close_fd) int fd = -1;
	struct file_key opened;
	ssize_t result;
	int err = file->mapping ? mapped_file_open(room->proc_root, (pid_t)file->pid, file->mapping,
						   &fd, &opened) :
				  perf_map_open(room->proc_root, (pid_t)file->pid, file->since_ns,
						&fd, &opened);

	if (!err)
		err = open_reader(room);
	if (err)
		return err;
	result = splice_reader_read(&room->reader, fd, bytes, size, offset);
	if (result < 0)
		return fail_errno((int)result, "cannot read the code file of process %u",
				  file->pid);
	*key = opened;
	*count = (uint32_t)result;
	return 0;
}
