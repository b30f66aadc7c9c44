/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/splice_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/base/error.h"

int splice_reader_init(struct splice_reader *reader)
{
	int pipe[2];

	if (pipe2(pipe, O_CLOEXEC))
		return fail_errno(-errno, "cannot make a pipe to read files");
	reader->from = pipe[0];
	reader->to = pipe[1];
	return 0;
}

void splice_reader_deinit(struct splice_reader *reader)
{
	close(reader->from);
	close(reader->to);
}

/* Takes the @size bytes that are in the pipe. */
static int take(const struct splice_reader *reader, char *bytes, size_t size)
{
	while (size) {
		ssize_t count = read(reader->from, bytes, size);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return count ? -errno : -EIO;
		bytes += count;
		size -= (size_t)count;
	}
	return 0;
}

ssize_t splice_reader_read(struct splice_reader *reader, int fd, void *bytes, size_t size,
			   uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		off_t from = (off_t)(offset + done);
		ssize_t count = splice(fd, &from, reader->to, NULL, size - done, 0);
		int err;

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (!count)
			break;
		err = take(reader, (char *)bytes + done, (size_t)count);
		if (err)
			return err;
		done += (size_t)count;
	}
	return (ssize_t)done;
}
