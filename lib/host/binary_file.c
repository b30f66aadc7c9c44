/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/binary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/urgent_thread.h"
#include "lib/host/mapped_file.h"

/* How long a file that was not found at its path is not looked for again. */
#define NO_SEARCH_NS NS_PER_SECOND

/* Guards the descriptors of all binaries; urgent threads take it too, for a moment. */
static pthread_mutex_t descriptors_lock;
static pthread_once_t has_lock = PTHREAD_ONCE_INIT;

static void init_lock(void)
{
	urgent_lock_init(&descriptors_lock);
}

static void lock_descriptors(void)
{
	pthread_once(&has_lock, init_lock);
	pthread_mutex_lock(&descriptors_lock);
}

static void unlock_descriptors(void)
{
	pthread_mutex_unlock(&descriptors_lock);
}

bool binary_file_is_known(const struct binary *binary)
{
	bool is_known;

	lock_descriptors();
	is_known = binary->fd >= 0 || binary->held || binary->is_let_go;
	unlock_descriptors();
	return is_known;
}

/* To be called with the lock held. */
static bool is_lost(const struct binary *binary)
{
	return binary->held && binary->held->ops->is_lost(binary->held);
}

bool binary_file_is_let_go(const struct binary *binary)
{
	bool is_let_go;

	lock_descriptors();
	is_let_go = binary->is_let_go || is_lost(binary);
	unlock_descriptors();
	return is_let_go;
}

bool binary_file_is_in_the_way(const struct binary *binary)
{
	struct stat root;

	return binary_file_is_let_go(binary) &&
	       (stat("/", &root) || root.st_dev != binary->key.device);
}

/* Returns the descriptor of a copy, or -1. To be called without the lock. */
static int copy_held(const struct binary *binary, struct held_file *held)
{
	int fd, err = held->ops->copy(held, &fd);

	if (err)
		fail(err, "%s: %s", binary->path, error_text());
	held_file_unref(held);
	return err ? -1 : fd;
}

/*
 * Whether the file's contents are no longer those that the binary was made of. A file that was renamed or deleted has a new
 * ctime, but the same contents.
 */
static bool is_rewritten(const struct binary *binary, int fd)
{
	struct file_key key;

	return binary->key.inode && !file_key_of_fd(fd, &key) &&
	       (key.size != binary->key.size || key.mtime_ns != binary->key.mtime_ns);
}

bool binary_file_is_valid(const struct borrowed_file *file)
{
	return file->binary->may_hang || !is_rewritten(file->binary, file->fd);
}

struct borrowed_file binary_file_borrow(const struct binary *binary)
{
	struct borrowed_file file = { .binary = (struct binary *)binary };
	struct held_file *held;

	lock_descriptors();
	file.fd = binary->fd;
	file.binary->reader_count += file.fd >= 0;
	held = binary->held ? held_file_ref(binary->held) : NULL;
	unlock_descriptors();
	if (held) {
		file.fd = copy_held(binary, held);
	} else if (file.fd < 0) {
		fail(-1, "%s: its file was closed", binary->path);
	} else if (is_rewritten(binary, file.fd)) {
		binary_file_return(&file);
		fail(-1, "%s: it was written anew", binary->path);
	}
	return file;
}

static int open_by_path(const struct binary *binary, const struct path_judge *judge)
{
	_cleanup_(close_fd) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct judged_root root = { .fd = root_fd, .pid = getpid(), .judge = judge };
	_cleanup_(close_fd) int fd = -1;
	struct file_key key;

	if (root_fd < 0 || !judged_path_may_read(judge, root.pid, root_fd) ||
	    judged_path_open(&root, binary->path, &fd, &key))
		return fail(-1, "%s: it is not there any more", binary->path);
	if (memcmp(&key, &binary->key, sizeof(key)) != 0)
		return fail(-1, "%s: it is another file now", binary->path);
	return take_fd(fd);
}

static bool is_to_be_searched(const struct binary *binary)
{
	bool is_to_be;

	lock_descriptors();
	is_to_be = binary->is_let_go && clock_monotonic_ns() >= binary->no_search_ns;
	unlock_descriptors();
	return is_to_be;
}

static void note_search_failed(struct binary *binary)
{
	lock_descriptors();
	binary->no_search_ns = clock_monotonic_ns() + NO_SEARCH_NS;
	unlock_descriptors();
}

struct borrowed_file binary_file_open(const struct binary *binary, const struct path_judge *judge)
{
	struct borrowed_file file = binary_file_borrow(binary);

	if (file.fd >= 0 || !judge || binary->may_hang || !is_to_be_searched(binary))
		return file;
	file.fd = open_by_path(binary, judge);
	if (file.fd < 0)
		note_search_failed(file.binary);
	return file;
}

/* Returns the descriptor if it is to be closed now, otherwise -1. To be called with the lock held. */
static int take_unused(struct binary *binary)
{
	int fd = binary->fd;

	if (!binary->is_let_go || binary->reader_count)
		return -1;
	binary->fd = -1;
	return fd;
}

void binary_file_return(struct borrowed_file *file)
{
	int fd = file->fd;

	if (fd < 0)
		return;
	lock_descriptors();
	if (fd == file->binary->fd) {
		file->binary->reader_count--;
		fd = take_unused(file->binary);
	}
	unlock_descriptors();
	close_fd(&fd);
	file->fd = -1;
}

void binary_file_let_go(struct binary *binary)
{
	struct held_file *held = NULL;
	int fd = -1;

	lock_descriptors();
	if ((binary->fd >= 0 || binary->held) && binary->key.inode) {
		binary->is_let_go = true;
		fd = take_unused(binary);
		held = binary->held;
		binary->held = NULL;
	}
	unlock_descriptors();
	close_fd(&fd);
	held_file_unref(held);
}

void binary_file_take(struct binary *binary, int fd, struct held_file *held)
{
	struct held_file *unused = held;

	lock_descriptors();
	if (held && (is_lost(binary) || (binary->is_let_go && !binary->held))) {
		unused = binary->held;
		binary->held = held;
	} else if (!held && binary->is_let_go && binary->fd < 0) {
		binary->fd = fd;
		fd = -1;
	}
	binary->is_let_go = false;
	unlock_descriptors();
	close_fd(&fd);
	held_file_unref(unused);
}
