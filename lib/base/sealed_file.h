/* SPDX-License-Identifier: Apache-2.0 */
/** Files in memory that nobody can change once they are sealed: reading and closing one waits for no file system. */
#ifndef LIB_BASE_SEALED_FILE_H
#define LIB_BASE_SEALED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An empty one that is not sealed yet; the caller owns *@fd. As memfd_create(2) says. */
int sealed_file_create(const char *name, int *fd);

/** All of it; a hole before @offset reads as zeroes and takes no memory. As pwrite(2) says. */
int sealed_file_write(int fd, const void *bytes, size_t size, uint64_t offset);

/** Gives it @size bytes and seals it. As ftruncate(2) and fcntl(2) say. */
int sealed_file_seal(int fd, uint64_t size);

/** Whether @fd is one that is sealed. */
bool sealed_file_is_one(int fd);

#endif
