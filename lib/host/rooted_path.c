/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path comes from the watched process, which may exchange folders and links at any time. ".." is never handed to the
 * kernel: the walk begins again at the root, with the parts that are left. So wherever a folder is moved to, each part
 * is looked up in a folder that was reached from the root by names alone.
 */
#include "lib/host/rooted_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

enum {
	/* As the kernel's limit. */
	LINKS_MAX = 40,
	/* Parts that are opened, those of links and of new beginnings included. */
	PARTS_MAX = 4096,
	FOLDER_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC,
};

/* A walk in progress. */
struct walk {
	const struct rooted_path_rules *rules;
	int root_fd;
	/* The folder that was reached, and its path below the root: "" or "/a/b". */
	int fd;
	uint64_t mount_id;
	char done[PATH_MAX];
	/* The path from there on. */
	char rest[PATH_MAX];
	int link_count;
};

static void walk_deinit(struct walk *walk)
{
	close_fd(&walk->fd);
}

/* The type and the mount of an open file. With DONT_SYNC the server of a FUSE file system is not asked. */
static int read_status(int fd, struct statx *status)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID,
		     status) ?
		       -errno :
		       0;
}

static int go_to_root(struct walk *walk)
{
	_cleanup_(close_fd) int fd = openat(walk->root_fd, ".", FOLDER_FLAGS | O_DIRECTORY);
	struct statx status = { 0 };
	int err = fd < 0 ? -errno : read_status(fd, &status);

	if (err)
		return err;
	close_fd(&walk->fd);
	walk->fd = take_fd(fd);
	walk->mount_id = status.stx_mnt_id;
	walk->done[0] = '\0';
	return 0;
}

/* Makes @path, then @behind, the rest, of which @behind may be a part. */
static int set_rest(struct walk *walk, const char *path, const char *behind)
{
	char rest[PATH_MAX];

	if (snprintf(rest, sizeof(rest), "%s/%s", path, behind) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	strcpy(walk->rest, rest);
	return 0;
}

/* Above the root is the root. */
static int go_up(struct walk *walk, const char *behind)
{
	char *slash = strrchr(walk->done, '/');
	int err;

	if (slash)
		*slash = '\0';
	err = set_rest(walk, walk->done, behind);
	return err ? err : go_to_root(walk);
}

static int follow(struct walk *walk, int link_fd, const char *behind)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(link_fd, "", target, sizeof(target) - 1);
	int err;

	if (length < 0)
		return -errno;
	target[length] = '\0';
	if (walk->link_count++ == LINKS_MAX)
		return -ELOOP;
	err = set_rest(walk, target, behind);
	return err || target[0] != '/' ? err : go_to_root(walk);
}

/* Opens the first part of the rest, which is @name, and goes there. @behind is what follows it in the rest. */
static int enter(struct walk *walk, const char *name, const char *behind)
{
	_cleanup_(close_fd) int fd = openat(walk->fd, name, FOLDER_FLAGS);
	size_t length = strlen(walk->done);
	struct statx status = { 0 };
	int err = fd < 0 ? -errno : read_status(fd, &status);

	if (err)
		return err;
	if (status.stx_mnt_id != walk->mount_id && walk->rules->may_enter &&
	    !walk->rules->may_enter(walk->rules->context, fd))
		return -ENOENT;
	if (S_ISLNK(status.stx_mode) && (*behind || walk->rules->follows_last))
		return follow(walk, fd, behind);
	if (snprintf(walk->done + length, sizeof(walk->done) - length, "/%s", name) >=
	    (int)(sizeof(walk->done) - length))
		return -ENAMETOOLONG;
	close(walk->fd);
	walk->fd = take_fd(fd);
	walk->mount_id = status.stx_mnt_id;
	memmove(walk->rest, behind, strlen(behind) + 1);
	return 0;
}

/* Goes through the first part of the rest. */
static int step(struct walk *walk)
{
	char *name = walk->rest + strspn(walk->rest, "/");
	char *end = name + strcspn(name, "/");
	char copy[NAME_MAX + 1];

	if (end - name > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(copy, name, end - name);
	copy[end - name] = '\0';
	if (!strcmp(copy, ".."))
		return go_up(walk, end);
	if (!copy[0] || !strcmp(copy, ".")) {
		memmove(walk->rest, end, strlen(end) + 1);
		return 0;
	}
	return enter(walk, copy, end);
}

int rooted_path_open(int root_fd, const char *path, const struct rooted_path_rules *rules, int *fd)
{
	_cleanup_(walk_deinit) struct walk walk = { .rules = rules, .root_fd = root_fd, .fd = -1 };
	int err = set_rest(&walk, "", path);

	if (!err)
		err = go_to_root(&walk);
	for (int i = 0; i < PARTS_MAX && !err && walk.rest[0]; i++)
		err = step(&walk);
	if (!err && walk.rest[0])
		err = -ELOOP;
	if (!err)
		*fd = take_fd(walk.fd);
	return err;
}
