/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/judged_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/host/mapped_file.h"

enum {
	/* Limit of mounts that a path crosses. */
	MOUNTS_MAX = 8,
};

bool judged_path_may_read(const struct path_judge *judge, pid_t pid, int fd)
{
	struct statx status;

	/* With DONT_SYNC the server of a FUSE file system is not asked. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status))
		return false;
	return !judge->may_read ||
	       judge->may_read(judge->context, pid, status.stx_dev_major, status.stx_dev_minor);
}

/*
 * Opens @path with O_PATH, without triggering an automount and without asking a server. Returns a descriptor or
 * -errno.
 */
static int open_path(int folder_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_NO_MAGICLINKS | resolve,
	};
	int fd = syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/*
 * Opens the root of the first other mount along *@path, and moves *@path behind its mount point. A link to
 * another mount is not followed.
 */
static int enter_mount(const struct judged_root *root, int folder_fd, uint64_t resolve,
		       const char **path)
{
	char part[PATH_MAX];
	int fd = 0;

	for (const char *end = *path; *end && fd >= 0;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		if (snprintf(part, sizeof(part), "%.*s", (int)(end - *path), *path) >=
		    (int)sizeof(part))
			return -ENOENT;
		fd = open_path(folder_fd, part, 0, resolve | RESOLVE_NO_XDEV);
		if (fd >= 0)
			close(fd);
		if (fd == -EXDEV)
			*path = end + strspn(end, "/");
	}
	if (fd != -EXDEV)
		return -ENOENT;
	fd = open_path(folder_fd, part, O_NOFOLLOW, resolve);
	if (fd >= 0 && !judged_path_may_read(root->judge, root->pid, fd)) {
		close(fd);
		return -ENOENT;
	}
	return fd;
}

int judged_path_open(const struct judged_root *root, const char *path, int *fd,
		     struct file_key *key)
{
	_cleanup_(close_fd) int mount_fd = -1, path_fd = -1;
	uint64_t resolve = RESOLVE_IN_ROOT;

	path_fd = open_path(root->fd, path, 0,
			    root->judge->may_read ? resolve | RESOLVE_NO_XDEV : resolve);
	for (int i = 0; i < MOUNTS_MAX && path_fd == -EXDEV; i++) {
		int next = enter_mount(root, mount_fd < 0 ? root->fd : mount_fd, resolve, &path);

		close_fd(&mount_fd);
		mount_fd = next;
		resolve = RESOLVE_BENEATH;
		if (next < 0)
			return -ENOENT;
		/* A file may be mounted, too. */
		path_fd = *path ? open_path(next, path, 0, resolve | RESOLVE_NO_XDEV) :
				  fcntl(next, F_DUPFD_CLOEXEC, 0);
	}
	return path_fd < 0 || regular_file_reopen(path_fd, fd, key) ? -ENOENT : 0;
}
