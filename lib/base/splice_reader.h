/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Reads files at an offset by splice(2), in place of pread(2). The kernel has no splice for /proc/PID/mem, and every read(2)
 * of it begins at address 0, where nothing is mapped. So a process that may splice and read but neither pread nor seek can
 * open files of all processes (which takes CAP_SYS_PTRACE) without being able to read their memory.
 *
 * One thread.
 */
#ifndef LIB_BASE_SPLICE_READER_H
#define LIB_BASE_SPLICE_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct splice_reader {
	/** The pipe through which the bytes come. */
	int from;
	int to;
};

/** -errno, with text. */
int splice_reader_init(struct splice_reader *reader);
void splice_reader_deinit(struct splice_reader *reader);

/**
 * Reads up to @size bytes, fewer only at the end of the file. Returns their number or -errno; -EINVAL also for a file whose
 * file system has no splice.
 */
ssize_t splice_reader_read(struct splice_reader *reader, int fd, void *bytes, size_t size,
			   uint64_t offset);

#endif
