/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search tries at most four paths in each of two roots, and one in the folder of fetched files. The root of
 * a process, or a mount in it, may be a FUSE file system whose server never answers. So the device of each
 * mount is read from the kernel's memory and judged by the caller before anything is looked up there.
 */
#include "lib/elf/debug_file.h"
#include "lib/elf/elf_notes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/read_exactly.h"
#include "lib/host/judged_path.h"

enum {
	LINK_MAX_BYTES = NAME_MAX + 16,
	CRC_BYTES = 4,
	CRC_CHUNK_BYTES = 64 << 10,
};

static const char debug_folder[] = "usr/lib/debug";

/* The file whose debug file is looked for. */
struct debug_target {
	const struct elf_image *image;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	/* 0: none */
	uint32_t build_id_bytes;
	/* "" if there is no link. */
	char link[NAME_MAX + 1];
	uint32_t crc;
};

int debug_link_parse(const void *bytes, size_t size, const char **name, uint32_t *crc)
{
	const char *end = size ? memchr(bytes, '\0', size) : NULL;
	size_t length, crc_offset;

	if (!end)
		return fail(-EBADMSG, ".gnu_debuglink without a name");
	length = end - (const char *)bytes;
	crc_offset = (length + CRC_BYTES) & ~(size_t)(CRC_BYTES - 1);
	if (!length || length > NAME_MAX || memchr(bytes, '/', length) ||
	    crc_offset + CRC_BYTES > size)
		return fail(-EBADMSG, ".gnu_debuglink of %zu bytes", size);
	memcpy(crc, (const char *)bytes + crc_offset, CRC_BYTES);
	*name = bytes;
	return 0;
}

static void read_link(const struct elf_image *image, struct debug_target *target)
{
	const struct elf_section *section = elf_image_find_section(image, ".gnu_debuglink");
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	const char *name;

	if (section && !elf_image_load_section(image, section, LINK_MAX_BYTES, &bytes) &&
	    !debug_link_parse(bytes.data, bytes.size, &name, &target->crc))
		strcpy(target->link, name);
}

static const struct elf_segment *text_segment(const struct elf_image *image)
{
	for (uint32_t i = 0; i < image->segment_count; i++)
		if (image->segments[i].type == PT_LOAD && image->segments[i].flags & PF_X)
			return &image->segments[i];
	return NULL;
}

/* Whether the code is at the same addresses. The debug file of another build would give wrong names. */
static bool has_same_text(const struct elf_image *image, const struct elf_image *debug)
{
	const struct elf_section *text = elf_image_find_section(image, ".text");
	const struct elf_section *debug_text = elf_image_find_section(debug, ".text");
	const struct elf_segment *segment = text_segment(image);
	const struct elf_segment *debug_segment = text_segment(debug);

	if (image->machine != debug->machine)
		return false;
	if (text && debug_text)
		return text->address == debug_text->address && text->size == debug_text->size;
	return segment && debug_segment && segment->address == debug_segment->address &&
	       segment->memory_bytes == debug_segment->memory_bytes;
}

static bool has_crc(int fd, uint64_t size, uint32_t wanted)
{
	uint8_t chunk[CRC_CHUNK_BYTES];
	uLong crc = crc32(0, NULL, 0);

	if (size > DEBUG_FILE_CRC_MAX_BYTES)
		return false;
	for (uint64_t offset = 0; offset < size;) {
		size_t bytes = size - offset < sizeof(chunk) ? size - offset : sizeof(chunk);

		if (read_exactly(fd, offset, chunk, bytes))
			return false;
		crc = crc32(crc, chunk, bytes);
		offset += bytes;
	}
	return crc == wanted;
}

static bool belongs(const struct debug_target *target, int fd, bool is_by_link)
{
	_cleanup_(elf_image_deinit) struct elf_image debug = { .fd = -1 };
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes;

	if (elf_image_init_fd(&debug, fd) || !has_same_text(target->image, &debug))
		return false;
	if (target->build_id_bytes && !elf_image_build_id(&debug, build_id, &build_id_bytes))
		return build_id_bytes == target->build_id_bytes &&
		       !memcmp(build_id, target->build_id, build_id_bytes);
	return is_by_link && has_crc(fd, debug.size, target->crc);
}

/*
 * Names from a debug file are shown for all processes that have the file. So the owner of the debug file must
 * be root, our user or the owner of the file. It must not be somebody who made a root with other people's files
 * in it.
 */
static bool is_of_owner(int file_fd, int fd)
{
	struct stat debug, file;

	if (fstat(fd, &debug))
		return false;
	return !debug.st_uid || debug.st_uid == geteuid() ||
	       (file_fd >= 0 && !fstat(file_fd, &file) && file.st_uid == debug.st_uid);
}

/* A root in which files are looked up. */
struct searched_root {
	const struct debug_file_search *search;
	enum debug_file_root kind;
	struct judged_root judged;
};

/* Opens the regular file at @path, if its owner may say what belongs to @file_fd. */
static int open_below(const struct searched_root *root, const char *path, int file_fd, int *fd)
{
	_cleanup_(close_fd) int opened = -1;
	struct file_key key;

	if (root->search->open)
		return root->search->open(root->search->open_context, root->kind, path, fd);
	if (judged_path_open(&root->judged, path, &opened, &key) || !is_of_owner(file_fd, opened))
		return -ENOENT;
	*fd = take_fd(opened);
	return 0;
}

/* Opens the file at @path below a root, if it is a debug file of @target. */
static int try_path(const struct searched_root *root, const char *path,
		    const struct debug_target *target, bool is_by_link, int *fd)
{
	_cleanup_(close_fd) int opened = -1;

	if (open_below(root, path, target->image->fd, &opened) ||
	    !belongs(target, opened, is_by_link))
		return -ENOENT;
	*fd = take_fd(opened);
	return 0;
}

/* Puts @bytes into @text, which has room for them, as hexadecimal digits. */
static const char *put_digits(const uint8_t *bytes, uint32_t count, char *text)
{
	for (uint32_t i = 0; i < count; i++)
		sprintf(text + 2 * (size_t)i, "%02x", bytes[i]);
	return text;
}

static int try_build_id(const struct searched_root *root, const struct debug_target *target,
			int *fd)
{
	char digits[2 * BUILD_ID_MAX_BYTES + 1] = "";
	char path[sizeof(debug_folder) + 32 + sizeof(digits)];

	if (target->build_id_bytes < 2)
		return -ENOENT;
	put_digits(target->build_id, target->build_id_bytes, digits);
	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", debug_folder, digits,
		 digits + 2);
	return try_path(root, path, target, false, fd);
}

static int try_fetched(const struct searched_root *root, const struct debug_target *target, int *fd)
{
	char digits[2 * BUILD_ID_MAX_BYTES + 1] = "";
	char path[sizeof(digits) + 32];

	if (!target->build_id_bytes)
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/debuginfo",
		 put_digits(target->build_id, target->build_id_bytes, digits));
	return try_path(root, path, target, false, fd);
}

static int try_links(const struct searched_root *root, const char *file_path,
		     const struct debug_target *target, int *fd)
{
	/* Prefix and suffix of the file's folder. */
	static const struct {
		const char *before;
		const char *behind;
	} folders[] = { { "", "" }, { "", "/.debug" }, { debug_folder, "" } };
	const char *slash = file_path ? strrchr(file_path, '/') : NULL;
	char path[PATH_MAX];
	int err = -ENOENT;

	if (!target->link[0] || !slash || file_path[0] != '/')
		return -ENOENT;
	for (size_t i = 0; err && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (snprintf(path, sizeof(path), "%s%.*s%s/%s", folders[i].before,
			     (int)(slash - file_path), file_path, folders[i].behind,
			     target->link) < (int)sizeof(path))
			err = try_path(root, path, target, true, fd);
	return err;
}

int debug_file_open_root(const struct debug_file_search *search, pid_t pid, int *fd)
{
	_cleanup_(close_fd) int root_fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/root", search->proc_root, pid);
	root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || !judged_path_may_read(&search->judge, pid, root_fd))
		return -ENOENT;
	*fd = take_fd(root_fd);
	return 0;
}

/* The root may have been opened, and judged readable, while the process lived. */
static int get_root(const struct debug_file_search *search, pid_t pid, int *fd)
{
	int root_fd;

	if (!search->has_root || pid != search->pid)
		return debug_file_open_root(search, pid, fd);
	root_fd = fcntl(search->root_fd, F_DUPFD_CLOEXEC, 0);
	if (root_fd < 0)
		return -ENOENT;
	*fd = root_fd;
	return 0;
}

/* The process of a root. Links in the folder of fetched files are followed as our own process would. */
static pid_t pid_of(const struct debug_file_search *search, enum debug_file_root root)
{
	switch (root) {
	case DEBUG_ROOT_HOST:
		return DEBUG_FILE_HOST_PID;
	case DEBUG_ROOT_PROCESS:
		return search->pid;
	default:
		return getpid();
	}
}

/* Opens a root as *@fd, which the caller owns; -1 if that is another process's to do. */
static int enter_root(const struct debug_file_search *search, enum debug_file_root kind, int *fd,
		      struct searched_root *root)
{
	int root_fd = -1;

	*root = (struct searched_root){ .search = search, .kind = kind };
	if (search->open)
		return 0;
	root->judged = (struct judged_root){ .pid = pid_of(search, kind), .judge = &search->judge };
	if (kind == DEBUG_ROOT_PROCESS && (!search->pid || search->pid == DEBUG_FILE_HOST_PID))
		return -ENOENT;
	if (kind != DEBUG_ROOT_FETCHED) {
		int err = get_root(search, root->judged.pid, &root_fd);

		if (err)
			return err;
	} else if (search->fetched) {
		root_fd = open(search->fetched, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (root_fd < 0)
		return -ENOENT;
	root->judged.fd = root_fd;
	*fd = root_fd;
	return 0;
}

static int try_root(const struct debug_file_search *search, enum debug_file_root kind,
		    const struct debug_target *target, int *fd)
{
	_cleanup_(close_fd) int root_fd = -1;
	struct searched_root root;

	if (enter_root(search, kind, &root_fd, &root))
		return -ENOENT;
	if (kind == DEBUG_ROOT_FETCHED)
		return try_fetched(&root, target, fd);
	if (!try_build_id(&root, target, fd))
		return 0;
	return try_links(&root, search->path, target, fd);
}

int debug_file_open(const struct debug_file_search *search, const struct elf_image *image, int *fd)
{
	struct debug_target target = { .image = image };

	if (elf_image_build_id(image, target.build_id, &target.build_id_bytes))
		target.build_id_bytes = 0;
	read_link(image, &target);
	if (!target.build_id_bytes && !target.link[0])
		return fail(-ENOENT, "neither a build id nor a debug link");
	/* The result is used for every process that has the file, so the host's root is searched first. */
	for (int root = 0; root < DEBUG_ROOT_COUNT; root++)
		if (!try_root(search, root, &target, fd))
			return 0;
	return fail(-ENOENT, "no debug file that belongs");
}

int debug_file_open_below(const struct debug_file_search *search, enum debug_file_root root,
			  const char *path, int file_fd, int *fd)
{
	_cleanup_(close_fd) int root_fd = -1;
	struct searched_root searched;

	if (enter_root(search, root, &root_fd, &searched) ||
	    open_below(&searched, path, file_fd, fd))
		return fail(-ENOENT, "no regular file at a debug file's path");
	return 0;
}

int debug_file_open_path(const struct debug_file_search *search, const char *path, int file_fd,
			 int *fd)
{
	if (path[0] != '/')
		return fail(-EINVAL, "a debug file's path without a folder");
	if (!debug_file_open_below(search, DEBUG_ROOT_HOST, path, file_fd, fd))
		return 0;
	return debug_file_open_below(search, DEBUG_ROOT_PROCESS, path, file_fd, fd);
}
