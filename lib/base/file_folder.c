/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/file_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/launcher.h"
#include "lib/base/text.h"

/* The name of the file at @path. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A cache is ours alone: nobody else can have put links or files into it. */
static int check_cache(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	return status.st_uid == geteuid() && !(status.st_mode & (S_IRWXG | S_IRWXO)) ? 0 : -EPERM;
}

int file_folder_open(struct file_folder *folder)
{
	size_t length = last_part(folder->path) - folder->path;
	_cleanup_(close_fd) int fd = -1;
	char path[PATH_MAX];
	int err = 0;

	if (folder->kind != FOLDER_OUTPUT)
		length = strlen(folder->path);
	if (length >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, folder->path, length);
	path[length] = '\0';
	fd = open(length ? path : ".", O_PATH | O_DIRECTORY | O_CLOEXEC |
					       (folder->kind == FOLDER_CACHE ? O_NOFOLLOW : 0));
	if (fd < 0)
		return -errno;
	if (folder->kind == FOLDER_CACHE)
		err = check_cache(fd);
	if (!err)
		folder->fd = take_fd(fd);
	return err;
}

int file_folder_init(struct file_folder *folder, enum folder_kind kind, const char *path)
{
	*folder = (struct file_folder){ .kind = kind, .path = path, .fd = -1 };
	return launcher_find_folder(kind, path, &folder->listed) ? 0 : file_folder_open(folder);
}

void file_folder_deinit(struct file_folder *folder)
{
	close_fd(&folder->fd);
	folder->fd = -1;
}

/* --- what is asked for --- */

/* Whether @name is a text, and one part of a path. */
static bool is_name(const char name[FOLDER_NAME_BYTES])
{
	return name[0] && memchr(name, '\0', FOLDER_NAME_BYTES) && !strchr(name, '/') &&
	       strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool is_temporary(const char *name)
{
	return text_starts_with(name, FOLDER_TEMPORARY_PREFIX) &&
	       text_ends_with(name, FOLDER_TEMPORARY_SUFFIX);
}

static bool is_allowed(const struct file_folder *folder, const struct folder_request *request)
{
	switch (folder->kind) {
	case FOLDER_CACHE:
		return request->kind <= FOLDER_REMOVE && is_name(request->name) &&
		       (request->kind != FOLDER_MOVE || is_name(request->new_name));
	case FOLDER_OUTPUT:
		return request->kind <= FOLDER_REMOVE && is_name(request->name) &&
		       is_temporary(request->name);
	case FOLDER_SCRATCH:
		return request->kind == FOLDER_MAKE_UNNAMED;
	}
	return false;
}

int file_folder_do(const struct file_folder *folder, const struct folder_request *request, int *fd)
{
	const char *name = request->name, *new_name = request->new_name;
	/* Outputs are for who has started the agent, as the umask says. */
	mode_t mode = folder->kind == FOLDER_OUTPUT ? 0666 : 0600;
	int result = -1;

	if (!is_allowed(folder, request))
		return -EPERM;
	switch (request->kind) {
	case FOLDER_MAKE:
		result = openat(folder->fd, name,
				O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		break;
	case FOLDER_MOVE:
		if (folder->kind == FOLDER_OUTPUT)
			new_name = last_part(folder->path);
		return renameat(folder->fd, name, folder->fd, new_name) ? -errno : 0;
	case FOLDER_REMOVE:
		return unlinkat(folder->fd, name, 0) ? -errno : 0;
	case FOLDER_MAKE_UNNAMED:
		result = openat(folder->fd, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
		break;
	}
	if (result < 0)
		return -errno;
	*fd = result;
	return 0;
}

/* --- those who ask --- */

/* *@fd becomes the file that is made, or -1. */
static int ask(const struct file_folder *folder, enum folder_request_kind kind, const char *name,
	       const char *new_name, int *fd)
{
	struct folder_request request = { .kind = kind, .folder = folder->listed };

	*fd = -1;
	if (snprintf(request.name, sizeof(request.name), "%s", name) >= (int)sizeof(request.name) ||
	    snprintf(request.new_name, sizeof(request.new_name), "%s", new_name) >=
		    (int)sizeof(request.new_name))
		return -ENAMETOOLONG;
	return folder->fd < 0 ? launcher_ask_folder(&request, fd) :
				file_folder_do(folder, &request, fd);
}

int file_folder_make(const struct file_folder *folder, const char *name, int *fd)
{
	int made, err = ask(folder, FOLDER_MAKE, name, "", &made);

	if (!err)
		*fd = made;
	return err;
}

int file_folder_move(const struct file_folder *folder, const char *name, const char *new_name)
{
	int made;

	return ask(folder, FOLDER_MOVE, name, new_name, &made);
}

int file_folder_remove(const struct file_folder *folder, const char *name)
{
	int made;

	return ask(folder, FOLDER_REMOVE, name, "", &made);
}

int file_folder_make_unnamed(const struct file_folder *folder, int *fd)
{
	int made, err = ask(folder, FOLDER_MAKE_UNNAMED, "", "", &made);

	if (!err)
		*fd = made;
	return err;
}
