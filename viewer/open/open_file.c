/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/open/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/byte_reader.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "viewer/open/gunzip.h"
#include "viewer/open/open_folded.h"
#include "viewer/open/open_otlp.h"
#include "viewer/open/open_pprof.h"

enum {
	FILE_MAX_MIB = 256,
	UNPACKED_MAX_MIB = 1024,
	/*
	 * Bytes of a file that are searched for non-text. Binary formats have such bytes earlier.
	 */
	TEXT_SEARCHED_BYTES = 4096,
};

/* Wire types of protocol buffers. */
enum wire_type {
	WIRE_VARINT = 0,
	WIRE_64_BITS = 1,
	WIRE_BYTES = 2,
	WIRE_32_BITS = 5,
};

enum {
	WIRE_TYPE_BITS = 3,
	/* Here pprof has strings; OTLP has only fields 1 and 2. */
	PPROF_TEXTS = 6,
	OTLP_LAST_FIELD = 2,
};

enum profile_format {
	FORMAT_NONE,
	FORMAT_PPROF,
	FORMAT_OTLP,
	FORMAT_FOLDED,
};

/* Finds the format whose top-level fields match the whole file. */
static enum profile_format message_format(const void *bytes, size_t count)
{
	enum profile_format format = FORMAT_OTLP;
	struct byte_reader reader;

	byte_reader_init(&reader, bytes, count);
	while (byte_reader_left(&reader)) {
		uint64_t tag = byte_reader_uleb128(&reader);

		if (tag >> WIRE_TYPE_BITS == PPROF_TEXTS)
			format = FORMAT_PPROF;
		else if (tag >> WIRE_TYPE_BITS > OTLP_LAST_FIELD && format == FORMAT_OTLP)
			format = FORMAT_NONE;
		switch (tag & ((1 << WIRE_TYPE_BITS) - 1)) {
		case WIRE_VARINT:
			byte_reader_uleb128(&reader);
			break;
		case WIRE_64_BITS:
			byte_reader_skip(&reader, 8);
			break;
		case WIRE_BYTES:
			byte_reader_skip(&reader, byte_reader_uleb128(&reader));
			break;
		case WIRE_32_BITS:
			byte_reader_skip(&reader, 4);
			break;
		default:
			return FORMAT_NONE;
		}
	}
	return byte_reader_failed(&reader) ? FORMAT_NONE : format;
}

/* True if the first line ends in a number and the first bytes have no control characters. */
static bool is_folded(const char *text, size_t count)
{
	const char *end = memchr(text, '\n', count);
	size_t searched = count < TEXT_SEARCHED_BYTES ? count : TEXT_SEARCHED_BYTES;

	if (!end)
		end = text + count;
	for (size_t i = 0; i < searched; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t')
			return false;
	return end > text && end[-1] >= '0' && end[-1] <= '9';
}

int open_bytes(char *bytes, size_t count, struct opened_samples *opened)
{
	size_t max_bytes = (size_t)UNPACKED_MAX_MIB << 20;

	bytes[count] = '\0';
	if (is_folded(bytes, count))
		return open_folded(bytes, count, opened);
	switch (count ? message_format(bytes, count) : FORMAT_NONE) {
	case FORMAT_PPROF:
		return open_pprof(bytes, count, max_bytes, opened);
	case FORMAT_OTLP:
		return open_otlp(bytes, count, max_bytes, opened);
	default:
		return fail(
			-EBADMSG,
			"it is neither pprof nor folded stacks nor OTLP, as -output writes them to .pb.gz, .folded and .otlp");
	}
}

/* Reads the whole file and decompresses gzip; the caller frees it; it has room for a NUL. */
static int read_file(int fd, char **bytes, size_t *count)
{
	_cleanup_(free_pointer) char *content = NULL;
	struct stat stat;
	ssize_t got = 0;
	size_t length = 0;

	if (fstat(fd, &stat))
		return fail_errno(-errno, "cannot be read");
	if (!S_ISREG(stat.st_mode))
		return fail(-EBADMSG, "it is no regular file");
	if (stat.st_size > (off_t)FILE_MAX_MIB << 20)
		return fail(-EBADMSG, "it has more than %d MiB", FILE_MAX_MIB);
	content = malloc((size_t)stat.st_size + 1);
	if (!content)
		return -ENOMEM;
	while (length < (size_t)stat.st_size &&
	       (got = read(fd, content + length, (size_t)stat.st_size - length)) > 0)
		length += (size_t)got;
	if (got < 0)
		return fail_errno(-errno, "cannot be read");
	if (is_gzip(content, length))
		return gunzip(content, length, (size_t)UNPACKED_MAX_MIB << 20, bytes, count);
	*bytes = take_pointer(content);
	*count = length;
	return 0;
}

static int read_profile(const char *path, struct opened_samples *opened)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_(free_pointer) char *bytes = NULL;
	struct stat stat;
	size_t count;
	int err;

	if (fd < 0)
		return fail(-errno, "%s", strerror(errno));
	err = read_file(fd, &bytes, &count);
	if (err)
		return err;
	/* The default for a profile without its own time. */
	if (!fstat(fd, &stat))
		opened->start_ns = (uint64_t)stat.st_mtim.tv_sec * NS_PER_SECOND;
	return open_bytes(bytes, count, opened);
}

int open_file(const char *path, struct opened_samples *opened)
{
	int err = read_profile(path, opened);

	if (err == -ENOMEM)
		return fail(-ENOMEM, "cannot open %s: no memory for it", path);
	if (err)
		return fail(-EINVAL, "cannot open %s: %s", path, error_text());
	return opened->total ? 0 :
			       fail(-EINVAL, "cannot open %s: there are no samples in it", path);
}
