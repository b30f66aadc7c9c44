/* SPDX-License-Identifier: Apache-2.0 */
/** Files in memory that nobody can change once they are sealed: reading and closing one waits for no file system. */
#ifndef LIB_BASE_SEALED_FILE_H
#define LIB_BASE_SEALED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Creates an empty file that is not sealed yet; the caller owns *@fd. Errors as of memfd_create(2). */
int sealed_file_create(const char *name, int *fd);

/** Writes all @size bytes. A hole before @offset reads as zeroes and takes no memory. Errors as of pwrite(2). */
int sealed_file_write(int fd, const void *bytes, size_t size, uint64_t offset);

/** Sets the file's size and seals it. Errors as of ftruncate(2) and fcntl(2). */
int sealed_file_seal(int fd, uint64_t size);

/** Frees the contents of a file that is not sealed, and nobody can write to it again. */
void sealed_file_drop(int fd);

/** Whether @fd is a sealed file in memory. */
bool sealed_file_is_one(int fd);

#endif
