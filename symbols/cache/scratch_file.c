/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/cache/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/file_folder.h"

static bool has_room(int fd, uint64_t bytes)
{
	struct statfs status;

	if (!bytes)
		return true;
	if (fstatfs(fd, &status))
		return false;
	if (status.f_type == TMPFS_MAGIC && bytes > SCRATCH_IN_MEMORY_MAX_BYTES)
		return false;
	return bytes / status.f_bsize < status.f_bavail / 2;
}

/*
 * Allocates disk space. Without it, a full disk would show as a signal when the mapping is written.
 */
static bool take_room(int fd, uint64_t bytes, bool is_sparse)
{
	if (!bytes)
		return true;
	if (ftruncate(fd, (off_t)bytes))
		return false;
	return is_sparse || !fallocate(fd, 0, 0, (off_t)bytes) || errno == EOPNOTSUPP;
}

static int open_in(const char *folder, uint64_t bytes, bool is_sparse)
{
	_cleanup_(file_folder_deinit) struct file_folder opened = { .fd = -1 };
	_cleanup_(close_fd) int fd = -1;

	return !file_folder_init(&opened, FOLDER_SCRATCH, folder) &&
			       !file_folder_make_unnamed(&opened, &fd) && has_room(fd, bytes) &&
			       take_room(fd, bytes, is_sparse) ?
		       take_fd(fd) :
		       -1;
}

static int open_anywhere(uint64_t bytes, bool is_sparse, int *fd)
{
	static const char *const folders[] = { SCRATCH_FOLDER, SCRATCH_OTHER_FOLDER };
	_cleanup_(close_fd) int opened = -1;

	for (size_t i = 0; opened < 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		opened = open_in(folders[i], bytes, is_sparse);
	if (opened < 0 && bytes > SCRATCH_IN_MEMORY_MAX_BYTES)
		return fail(-ENOSPC, "no room for a file of %" PRIu64 " bytes", bytes);
	if (opened < 0) {
		opened = memfd_create("symbol-cache", MFD_CLOEXEC);
		if (opened < 0)
			return fail_errno(-errno, "a file without a name");
		if (!take_room(opened, bytes, is_sparse))
			return fail_errno(-errno, "a file without a name");
	}
	*fd = take_fd(opened);
	return 0;
}

int scratch_file_open(uint64_t bytes, int *fd)
{
	return open_anywhere(bytes, false, fd);
}

int scratch_file_open_sparse(uint64_t bytes, int *fd)
{
	return open_anywhere(bytes, true, fd);
}
