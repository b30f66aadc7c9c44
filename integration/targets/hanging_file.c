/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system at the folder of argument 1, as FUSE mounts it for the user of argument 2, with one file, "file", of 1 MB:
 * reads of it never get an answer. When this program ends the kernel answers them with an error; the caller unmounts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, FOLDER = FUSE_ROOT_ID, FILE_NODE = 2 };

struct answer {
	struct fuse_out_header head;
	union {
		struct fuse_init_out init;
		struct fuse_attr_out attributes;
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	};
};

static struct fuse_attr attributes_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.mode = node == FOLDER ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
		.size = FILE_BYTES,
	};
}

/* The bytes of the answer behind its head; -1: there is none. */
static int answer_to(const struct fuse_in_header *request, struct answer *answer)
{
	const struct fuse_init_in *init = (const void *)(request + 1);

	switch (request->opcode) {
	case FUSE_INIT:
		answer->init.major = FUSE_KERNEL_VERSION;
		answer->init.minor = init->minor < 31 ? init->minor : 31;
		answer->init.max_write = 1 << 16;
		return sizeof(answer->init);
	case FUSE_GETATTR:
		answer->attributes.attr = attributes_of(request->nodeid);
		answer->attributes.attr_valid = 1000;
		return sizeof(answer->attributes);
	case FUSE_LOOKUP:
		answer->entry.nodeid = FILE_NODE;
		answer->entry.attr = attributes_of(FILE_NODE);
		answer->entry.attr_valid = answer->entry.entry_valid = 1000;
		return sizeof(answer->entry);
	case FUSE_OPEN:
		answer->open.open_flags = FOPEN_KEEP_CACHE;
		return sizeof(answer->open);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return 0;
	case FUSE_READ:
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

	for (;;) {
		ssize_t size = read(fd, request, sizeof(request));
		struct answer answer = { .head.unique =
						 ((struct fuse_in_header *)request)->unique };
		int bytes;

		if (size < 0 && errno != EINTR)
			return;
		if (size < 0)
			continue;
		bytes = answer_to((const struct fuse_in_header *)request, &answer);
		answer.head.len = sizeof(answer.head) + (bytes > 0 ? bytes : 0);
		if (bytes >= 0 && write(fd, &answer, answer.head.len) < 0)
			perror("answer");
	}
}

int main(int argc, char **argv)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	if (argc != 3 || fd < 0) {
		perror("/dev/fuse");
		return 2;
	}
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%s,group_id=%s", fd,
		 argv[2], argv[2]);
	if (mount("hanging_file", argv[1], "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("mount");
		return 2;
	}
	puts("ready");
	fflush(stdout);
	serve(fd);
	return 0;
}
