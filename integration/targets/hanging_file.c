/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A FUSE file system mounted at the directory of argument 1 for the user of argument 2. It has one file, "file", of 1 MB;
 * reads of it are never answered. With an argument 3 it has the files of that directory instead, "perf.map" for each
 * process, and every user may access it; after SIGUSR1 no request is answered, and writes are never answered. When this
 * program ends, the kernel fails the pending requests with an error; the caller unmounts.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, FOLDER = FUSE_ROOT_ID, FILE_NODE = 2, FILES_MAX = 16 };

/* A served file is node FILE_NODE and its index. */
static struct {
	char name[64];
	int fd;
} files[FILES_MAX];
static int file_count;
static const char *source;
static time_t start;
static volatile sig_atomic_t is_silent;

struct answer {
	struct fuse_out_header head;
	union {
		struct fuse_init_out init;
		struct fuse_attr_out attributes;
		struct fuse_entry_out entry;
		struct fuse_open_out open;
		char bytes[1 << 17];
	};
};

static void fall_silent(int number)
{
	(void)number;
	is_silent = 1;
}

static struct fuse_attr attributes_of(uint64_t node)
{
	struct fuse_attr attributes = {
		.ino = node,
		.mode = node == FOLDER ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.size = FILE_BYTES,
		/* Newer than any process. */
		.mtime = start + 3600,
	};
	struct stat status;

	if (source && node != FOLDER && !fstat(files[node - FILE_NODE].fd, &status))
		attributes.size = status.st_size;
	return attributes;
}

/* The node of a name; 0: there is none. */
static uint64_t find_node(const char *name)
{
	char path[4096];
	int fd;

	if (!source)
		return FILE_NODE;
	if (!fnmatch("perf-*.map", name, 0))
		name = "perf.map";
	for (int i = 0; i < file_count; i++)
		if (!strcmp(files[i].name, name))
			return FILE_NODE + i;
	snprintf(path, sizeof(path), "%s/%s", source, name);
	fd = file_count < FILES_MAX ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	snprintf(files[file_count].name, sizeof(files[0].name), "%s", name);
	files[file_count].fd = fd;
	return FILE_NODE + file_count++;
}

static int look_up(const char *name, struct answer *answer)
{
	uint64_t node = find_node(name);

	if (!node) {
		answer->head.error = -ENOENT;
		return 0;
	}
	answer->entry = (struct fuse_entry_out){
		.nodeid = node,
		.attr = attributes_of(node),
		.attr_valid = 1000,
		.entry_valid = 1000,
	};
	return sizeof(answer->entry);
}

static int read_file(const struct fuse_in_header *request, struct answer *answer)
{
	const struct fuse_read_in *in = (const void *)(request + 1);
	size_t size = in->size < sizeof(answer->bytes) ? in->size : sizeof(answer->bytes);
	ssize_t count;

	if (!source)
		return -1;
	count = pread(files[request->nodeid - FILE_NODE].fd, answer->bytes, size, in->offset);
	if (count < 0)
		answer->head.error = -errno;
	return count < 0 ? 0 : (int)count;
}

/* The bytes of the answer after its header; -1: no answer. */
static int answer_to(const struct fuse_in_header *request, struct answer *answer)
{
	const struct fuse_init_in *init = (const void *)(request + 1);

	switch (request->opcode) {
	case FUSE_INIT:
		answer->init = (struct fuse_init_out){
			.major = FUSE_KERNEL_VERSION,
			.minor = init->minor < 31 ? init->minor : 31,
			.max_write = 1 << 16,
		};
		return sizeof(answer->init);
	case FUSE_GETATTR:
		answer->attributes = (struct fuse_attr_out){
			.attr = attributes_of(request->nodeid),
			.attr_valid = 1000,
		};
		return sizeof(answer->attributes);
	case FUSE_LOOKUP:
		return look_up((const char *)(request + 1), answer);
	case FUSE_OPEN:
		answer->open = (struct fuse_open_out){ .open_flags = FOPEN_KEEP_CACHE };
		return sizeof(answer->open);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return 0;
	case FUSE_READ:
		return read_file(request, answer);
	case FUSE_WRITE:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return -1;
	default:
		answer->head.error = -ENOSYS;
		return 0;
	}
}

static void serve(int fd)
{
	static char request[1 << 17];
	static struct answer answer;

	for (;;) {
		ssize_t size = read(fd, request, sizeof(request));
		int bytes;

		if (size < 0 && errno != EINTR)
			return;
		if (size < 0 || is_silent)
			continue;
		answer.head = (struct fuse_out_header){
			.unique = ((struct fuse_in_header *)request)->unique
		};
		bytes = answer_to((const struct fuse_in_header *)request, &answer);
		answer.head.len = sizeof(answer.head) + (bytes > 0 ? bytes : 0);
		if (bytes >= 0 && write(fd, &answer, answer.head.len) < 0)
			perror("answer");
	}
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = fall_silent };
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	if (argc < 3 || argc > 4 || fd < 0) {
		perror("/dev/fuse");
		return 2;
	}
	source = argv[3];
	start = time(NULL);
	sigaction(SIGUSR1, &action, NULL);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%s,group_id=%s%s", fd,
		 argv[2], argv[2], source ? ",allow_other" : "");
	if (mount("hanging_file", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("mount");
		return 2;
	}
	puts("ready");
	fflush(stdout);
	serve(fd);
	return 0;
}
