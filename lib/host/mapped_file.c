/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are first opened with O_PATH, which calls no driver and does not wait. Then their type is checked, and
 * only regular files are opened for reading. Paths come from the process and are resolved below its own root,
 * where absolute links and ".." cannot lead out.
 */
#include "lib/host/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/host/proc_info.h"
#include "lib/host/rooted_path.h"

static int64_t timespec_ns(struct timespec time)
{
	return (int64_t)((uint64_t)time.tv_sec * NS_PER_SECOND + time.tv_nsec);
}

static int file_key_of_status(const struct stat *status, struct file_key *key)
{
	if (!S_ISREG(status->st_mode))
		return fail(-EOPNOTSUPP, "not a regular file");
	*key = (struct file_key){
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = status->st_size,
		.mtime_ns = timespec_ns(status->st_mtim),
		.ctime_ns = timespec_ns(status->st_ctim),
	};
	return 0;
}

int file_key_of_fd(int fd, struct file_key *key)
{
	struct stat status;

	if (fstat(fd, &status))
		return fail_errno(-errno, "fstat");
	return file_key_of_status(&status, key);
}

static void map_file_path(char path[PATH_MAX], const char *proc_root, pid_t pid,
			  const struct proc_mapping *mapping)
{
	snprintf(path, PATH_MAX, "%s/%d/map_files/%" PRIx64 "-%" PRIx64, proc_root, pid,
		 mapping->start, mapping->end);
}

static int note_living(void *context, pid_t tid, const char *path)
{
	char target[1];

	/* Reading the link asks no file system; access() would ask the one that it leads to. */
	if (readlink(path, target, sizeof(target)) < 0)
		return -ESRCH;
	*(pid_t *)context = tid;
	return 0;
}

/*
 * The links of a leader that has exited lead nowhere (map_files gives ESRCH), and task/TID has no map_files.
 * But /proc/TID exists for every thread, though it is not listed. Returns a living thread of @pid, or @pid
 * itself.
 */
static pid_t living_thread(const char *proc_root, pid_t pid)
{
	pid_t living = pid;

	proc_try_threads(proc_root, pid, "root", note_living, &living);
	return living;
}

int mapped_file_key(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
		    struct file_key *key)
{
	struct stat status;
	char path[PATH_MAX];
	int err;

	map_file_path(path, proc_root, pid, mapping);
	err = stat(path, &status) ? -errno : 0;
	if (err == -ESRCH) {
		map_file_path(path, proc_root, living_thread(proc_root, pid), mapping);
		err = stat(path, &status) ? -errno : 0;
	}
	if (err)
		return fail_errno(err, "cannot stat %s", path);
	return file_key_of_status(&status, key);
}

int regular_file_reopen(int path_fd, int *fd, struct file_key *key)
{
	_cleanup_(close_fd) int opened = -1;
	char link[64];
	int err;

	err = file_key_of_fd(path_fd, key);
	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	/* O_NONBLOCK: the owner may hold a lease on the file, and we do not wait for it. */
	opened = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (opened < 0)
		return fail_errno(-errno, "cannot open a mapped file");
	err = file_key_of_fd(opened, key);
	if (err)
		return err;
	*fd = take_fd(opened);
	return 0;
}

static int open_map_file(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
			 int *fd, struct file_key *key)
{
	_cleanup_(close_fd) int path_fd = -1;
	char path[PATH_MAX];

	map_file_path(path, proc_root, pid, mapping);
	path_fd = open(path, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return fail_errno(-errno, "open of %s", path);
	return regular_file_reopen(path_fd, fd, key);
}

int mapped_file_open_mapping(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
			     int *fd, struct file_key *key)
{
	int err = open_map_file(proc_root, pid, mapping, fd, key);

	return err == -ESRCH ?
		       open_map_file(proc_root, living_thread(proc_root, pid), mapping, fd, key) :
		       err;
}

/*
 * Opens the file at @path below the root of the process, if it is the one that is mapped. @mapping is NULL if
 * any file will do.
 */
static int open_below_root(int root_fd, const char *path, const struct proc_mapping *mapping,
			   int *fd, struct file_key *key)
{
	_cleanup_(close_fd) int path_fd = -1;
	struct stat status;
	int err = rooted_path_open(root_fd, path, &(struct rooted_path_rules){ 0 }, &path_fd);

	if (err)
		return err;
	if (fstat(path_fd, &status))
		return -errno;
	if (mapping &&
	    (status.st_ino != mapping->inode || major(status.st_dev) != mapping->device_major ||
	     minor(status.st_dev) != mapping->device_minor))
		return -ENOENT;
	return regular_file_reopen(path_fd, fd, key);
}

static int open_root(const char *proc_root, pid_t pid, int *fd)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/root", proc_root, pid);
	*fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

int mapped_file_open_in_root(const char *proc_root, pid_t pid, const char *path, int *fd,
			     struct file_key *key)
{
	_cleanup_(close_fd) int root_fd = -1;
	int err = open_root(proc_root, pid, &root_fd);

	return err ? err : open_below_root(root_fd, path, NULL, fd, key);
}

static int open_by_path(const char *proc_root, pid_t pid, const struct proc_mapping *mapping,
			int *fd, struct file_key *key)
{
	_cleanup_(close_fd) int root_fd = -1;
	char path[PATH_MAX];
	int err;

	if (mapping->path[0] != '/')
		return -ENOENT;
	err = open_root(proc_root, pid, &root_fd);
	if (err)
		return err;
	err = open_below_root(root_fd, mapping->path, mapping, fd, key);
	if (!err || !mapping->is_deleted)
		return err;
	/* The mark " (deleted)" may be part of the real name. */
	if (snprintf(path, sizeof(path), "%s (deleted)", mapping->path) >= (int)sizeof(path))
		return err;
	return open_below_root(root_fd, path, mapping, fd, key);
}

int mapped_file_open(const char *proc_root, pid_t pid, const struct proc_mapping *mapping, int *fd,
		     struct file_key *key)
{
	int err = mapped_file_open_mapping(proc_root, pid, mapping, fd, key);
	char path[PATH_MAX];

	if (!err || err == -EOPNOTSUPP)
		return err;
	err = open_by_path(proc_root, err == -ESRCH ? living_thread(proc_root, pid) : pid, mapping,
			   fd, key);
	if (!err || err == -EOPNOTSUPP)
		return err;
	snprintf(path, sizeof(path), "%s/%d", proc_root, pid);
	if (access(path, F_OK))
		return fail(-ESRCH, "process %d is gone", pid);
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
		return fail_errno(err, "open of %s", mapping->path);
	return fail(-ENOENT, "%s of process %d cannot be reached", mapping->path, pid);
}
