/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/judged_path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/base/cleanup.h"
#include "lib/host/mapped_file.h"
#include "lib/host/rooted_path.h"

bool judged_path_may_read(const struct path_judge *judge, pid_t pid, int fd)
{
	struct statx status;

	/* With DONT_SYNC the server of a FUSE file system is not asked. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status))
		return false;
	return !judge->may_read ||
	       judge->may_read(judge->context, pid, status.stx_dev_major, status.stx_dev_minor);
}

static bool may_enter(const void *context, int fd)
{
	const struct judged_root *root = context;

	return judged_path_may_read(root->judge, root->pid, fd);
}

int judged_path_open(const struct judged_root *root, const char *path, int *fd,
		     struct file_key *key)
{
	const struct rooted_path_rules rules = {
		.follows_last = true,
		.may_enter = root->judge->may_read ? may_enter : NULL,
		.context = root,
	};
	_cleanup_(close_fd) int path_fd = -1;

	return rooted_path_open(root->fd, path, &rules, &path_fd) ||
			       regular_file_reopen(path_fd, fd, key) ?
		       -ENOENT :
		       0;
}
