/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/build/symbol_cache_maker_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/decompress.h"
#include "symbols/build/sandbox.h"
#include "symbols/cache/big_bytes.h"
#include "symbols/dwarf/dwarf_problem.h"
#include "symbols/dwarf/dwarf_symbols.h"
#include "symbols/dwarf/split_package.h"
#include "symbols/dwarf/unpacked_elf.h"

enum {
	EXIT_USAGE = 2,
	/* Limit of .dwo files and dwz's common file. */
	NAMED_FILES_BYTES = 1 << 30,
};

enum file_role {
	FILE_ELF,
	FILE_OUTPUT,
	FILE_DEBUG,
};

/*
 * The received data, and the paths of the files: read before the file system becomes inaccessible.
 */
static struct {
	struct symbol_cache_maker_request request;
	int fds[SYMBOL_CACHE_MAKER_FILES_MAX];
	int fd_count;
	char paths[SYMBOL_CACHE_MAKER_FILES_MAX][PATH_MAX];
} job;

static const char package_end[] = ".dwp";

/* The package with the units that libdw searches for in separate files. */
static struct {
	/* -1: there is no package. */
	int fd;
	struct split_package file;
	bool is_open;
	/* The unit for the next open, -1 for none. */
	int unit_fd;
} package = { .fd = -1, .unit_fd = -1 };

/* Receives exactly @size bytes, and at most @capacity descriptors. */
static int receive(void *bytes, size_t size, int *fds, int capacity, int *fd_count)
{
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	union {
		char bytes[CMSG_SPACE(SYMBOL_CACHE_MAKER_FILES_MAX * sizeof(int))];
		struct cmsghdr header;
	} control;
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(capacity * sizeof(int)),
	};
	const struct cmsghdr *header;
	ssize_t received = recvmsg(SYMBOL_CACHE_MAKER_SOCKET, &message, MSG_CMSG_CLOEXEC);

	*fd_count = 0;
	if (received != (ssize_t)size || message.msg_flags & MSG_CTRUNC)
		return -EIO;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS) {
		*fd_count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(header), *fd_count * sizeof(int));
	}
	return 0;
}

/* A message is only as long as its text. */
static int send_message(const struct symbol_cache_maker_message *message)
{
	size_t size = offsetof(struct symbol_cache_maker_message, text) + strlen(message->text) + 1;

	return send(SYMBOL_CACHE_MAKER_SOCKET, message, size, MSG_NOSIGNAL) == (ssize_t)size ? 0 :
											       -EIO;
}

static bool is_package(const char *path, size_t length)
{
	size_t end_length = strlen(package_end);

	return length > end_length && !strcmp(path + length - end_length, package_end);
}

/* Sends the request @message and returns the descriptor; -1 if there is none. */
static int ask(struct symbol_cache_maker_message *message)
{
	int fd, fd_count;

	if (send_message(message) ||
	    receive(message, offsetof(struct symbol_cache_maker_message, text), &fd, 1, &fd_count))
		return -1;
	return fd_count ? fd : -1;
}

static int ask_scratch(uint64_t bytes, int *fd)
{
	static struct symbol_cache_maker_message message;

	message = (struct symbol_cache_maker_message){ .kind = SYMBOL_CACHE_MAKER_OPEN_SCRATCH,
						       .bytes = bytes };
	*fd = ask(&message);
	return *fd >= 0 ? 0 : fail(-EAGAIN, "no room to unpack sections");
}

static int ask_big_bytes(int *fd)
{
	static struct symbol_cache_maker_message message;

	message = (struct symbol_cache_maker_message){ .kind = SYMBOL_CACHE_MAKER_OPEN_BIG_BYTES };
	*fd = ask(&message);
	return *fd >= 0 ? 0 : -EAGAIN;
}

static int ask_path(const char *path)
{
	static struct symbol_cache_maker_message message;
	size_t length = strlen(path);

	if (path[0] != '/' || length >= sizeof(message.text))
		return -ENOENT;
	message.kind = SYMBOL_CACHE_MAKER_OPEN;
	memcpy(message.text, path, length + 1);
	return ask(&message);
}

/* --- compressed sections --- */

/* The decompressed copy of the current file; its path is that of the original. */
static struct {
	int fd;
	int original_fd;
} unpacked = { .fd = -1 };

static int unpack(const struct elf_image *image, int *fd)
{
	int err = unpacked_elf_make(image, ask_scratch, fd);

	if (err)
		return err;
	unpacked.fd = *fd;
	unpacked.original_fd = image->fd;
	return 0;
}

/* Returns the file that libdw reads instead of @fd, which is closed if it is a different one. */
static int unpack_named(int fd)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	int made;

	if (elf_image_init_fd(&image, fd) || unpacked_elf_make(&image, ask_scratch, &made) ||
	    made < 0)
		return fd;
	close(fd);
	return made;
}

/*
 * Called in the signal handler of a system call that this thread has made, so no library is
 * interrupted at an arbitrary point. Versions of libdw that support packages ask for those first.
 */
static int open_named(const char *path)
{
	int fd;

	if (package.unit_fd >= 0 && !is_package(path, strlen(path)))
		return take_fd(package.unit_fd);
	fd = ask_path(path);
	return fd >= 0 ? unpack_named(fd) : -ENOENT;
}

/* --- packages of split units --- */

static void find_package(void)
{
	char path[PATH_MAX];

	for (int i = 0; i < job.fd_count && package.fd < 0; i++) {
		if (i == FILE_OUTPUT || snprintf(path, sizeof(path), "%s%s", job.paths[i],
						 package_end) >= (int)sizeof(path))
			continue;
		package.fd = ask_path(path);
	}
}

/* The package is mapped, like everything that libdw reads. */
static void open_package(void)
{
	struct stat status;
	void *bytes;

	if (package.fd < 0)
		return;
	package.fd = unpack_named(package.fd);
	bytes = fstat(package.fd, &status) || !status.st_size ?
			MAP_FAILED :
			mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, package.fd, 0);
	if (bytes != MAP_FAILED && !split_package_init(&package.file, bytes, status.st_size))
		package.is_open = true;
}

/* Makes the file that open_named() returns next. */
static uint64_t provide_split(uint64_t id)
{
	struct byte_vector file = { 0 };
	uint64_t bytes = 0;

	close_fd(&package.unit_fd);
	package.unit_fd = -1;
	if (package.is_open && !split_package_unit(&package.file, id, &file)) {
		bytes = file.count;
		package.unit_fd = memfd_create("split unit", MFD_CLOEXEC);
		if (package.unit_fd >= 0 &&
		    write(package.unit_fd, file.items, bytes) != (ssize_t)bytes) {
			close(package.unit_fd);
			package.unit_fd = -1;
		}
	}
	byte_vector_deinit(&file);
	return bytes;
}

static const char *path_of(int fd)
{
	if (fd == unpacked.fd)
		fd = unpacked.original_fd;
	for (int i = 0; i < job.fd_count; i++)
		if (job.fds[i] == fd && job.paths[i][0])
			return job.paths[i];
	return NULL;
}

static void read_paths(void)
{
	for (int i = 0; i < job.fd_count; i++) {
		char link[64];
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", job.fds[i]);
		length = readlink(link, job.paths[i], sizeof(job.paths[i]) - 1);
		job.paths[i][length > 0 ? length : 0] = '\0';
	}
}

static int enter_sandbox(void)
{
	static const struct sandbox_files files = {
		.open_file = open_named,
		.file_path = path_of,
		.socket = SYMBOL_CACHE_MAKER_SOCKET,
	};
	const struct symbol_cache_maker_limits *limits = &job.request.limits;
	struct sandbox_limits sandbox = {
		.cpu_ns = limits->cpu_ns,
		.memory_bytes = limits->memory_bytes,
		.mapped_bytes = NAMED_FILES_BYTES + UNPACKED_MAX_BYTES + BIG_BYTES_MAX,
		.output_bytes = limits->output_bytes,
	};
	struct stat status;

	for (int i = 0; i < job.fd_count; i++) {
		if (i != FILE_OUTPUT && !fstat(job.fds[i], &status))
			sandbox.mapped_bytes += status.st_size;
	}
	if (package.fd >= 0 && !fstat(package.fd, &status))
		sandbox.mapped_bytes += status.st_size;
	return sandbox_enter(&sandbox, &files);
}

static int write_cache(void)
{
	static struct symbol_cache_writer writer;
	static struct elf_image image, debug;
	int err = elf_image_init_fd(&image, job.fds[FILE_ELF]);
	bool has_debug;

	if (err)
		return err;
	open_package();
	has_debug = job.fd_count > FILE_DEBUG && !elf_image_init_fd(&debug, job.fds[FILE_DEBUG]);
	err = make_symbol_cache_of(&image, has_debug ? &debug : NULL, job.request.depth, &writer);
	return err ? err :
		     symbol_cache_writer_finish(&writer, job.request.key, job.fds[FILE_OUTPUT]);
}

static int start(void)
{
	/* No other descriptor should be inherited, but a library may have opened one. */
	(void)syscall(SYS_close_range, SYMBOL_CACHE_MAKER_SOCKET + 1, ~0U, 0);
	if (receive(&job.request, sizeof(job.request), job.fds, SYMBOL_CACHE_MAKER_FILES_MAX,
		    &job.fd_count) ||
	    job.fd_count <= FILE_OUTPUT)
		return -EIO;
	/* Otherwise the name would be that of the link through which the program is started. */
	(void)prctl(PR_SET_NAME, "make-symbols");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != job.request.parent)
		return -ESRCH;
	read_paths();
	if (job.request.depth == SYMBOL_DEPTH_FULL)
		find_package();
	decompress_prepare();
	dwarf_symbols_provide_split(provide_split);
	dwarf_symbols_provide_unpacked(unpack);
	big_bytes_use_files(ask_big_bytes);
	return 0;
}

void symbol_cache_maker_child(void)
{
	struct symbol_cache_maker_message result = { .kind = SYMBOL_CACHE_MAKER_RESULT };

	/* Most likely the program was started by hand. */
	if (start())
		_exit(EXIT_USAGE);
	result.error = enter_sandbox();
	if (!result.error)
		result.error = write_cache();
	snprintf(result.text, sizeof(result.text), "%s",
		 result.error ? error_text() : dwarf_problem_text());
	/* Nothing is freed: the process ends here. */
	_exit(send_message(&result) ? EXIT_USAGE : 0);
}
