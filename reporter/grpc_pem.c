/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/grpc_pem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"

enum {
	PEM_MAX_BYTES = 8 << 20,
};

static const char pem_mark[] = "-----BEGIN ";

int grpc_pem_read(const char *path, const char *kind, char **text)
{
	_cleanup_(free_pointer) char *bytes = NULL;
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat file;
	ssize_t count;

	if (fd < 0 || fstat(fd, &file))
		return fail(-EINVAL, "cannot read the %s %s: %s", kind, path, strerror(errno));
	if (!S_ISREG(file.st_mode) || file.st_size > PEM_MAX_BYTES)
		return fail(-EINVAL, "the %s %s is no file of PEM text", kind, path);
	bytes = malloc(file.st_size + 1);
	if (!bytes)
		return fail(-ENOMEM, "no memory for the %s %s", kind, path);
	count = read(fd, bytes, file.st_size);
	if (count < 0)
		return fail(-EINVAL, "cannot read the %s %s: %s", kind, path, strerror(errno));
	bytes[count] = '\0';
	if (!strstr(bytes, pem_mark))
		return fail(-EINVAL, "the %s %s holds no PEM text (%s...)", kind, path, pem_mark);
	*text = take_pointer(bytes);
	return 0;
}

/* Hashes only the members: the padding between them is undefined. */
static uint64_t add_state(uint64_t state, const struct stat *file)
{
	const uint64_t facts[] = {
		state,
		file->st_dev,
		file->st_ino,
		(uint64_t)file->st_size,
		(uint64_t)file->st_mtim.tv_sec,
		(uint64_t)file->st_mtim.tv_nsec,
		(uint64_t)file->st_ctim.tv_sec,
		(uint64_t)file->st_ctim.tv_nsec,
	};

	return hash64_bytes(facts, sizeof(facts));
}

uint64_t grpc_pem_files_state(const char *const *paths, size_t count)
{
	uint64_t state = 0;

	for (size_t i = 0; i < count; i++) {
		struct stat file = { 0 };

		if (paths[i] && stat(paths[i], &file))
			file = (struct stat){ 0 };
		state = add_state(state, &file);
	}
	return state;
}
