/* SPDX-License-Identifier: Apache-2.0 */
/**
 * File ids, the outward names of files: the first 16 bytes of SHA-256 over the first 4096 bytes, the last
 * min(size, 4096) bytes and the size as big-endian 64 bits. The kernel and its modules have no readable file;
 * their id is FNV-128a of the GNU build id in lower-case hex, as in other agents.
 *
 * Two files with different content can have the same id, so an id is never a key inside the agent.
 */
#ifndef LIB_HOST_FILE_ID_H
#define LIB_HOST_FILE_ID_H

#include <stddef.h>
#include <stdint.h>

#include "lib/model/binary.h"

/** Id of the regular file @fd; -EBADMSG if it shrinks meanwhile, or an error of fstat or pread. */
int file_id_of_file(int fd, struct file_id *file_id);

/** Id of a file with the content @bytes. */
int file_id_of_memory(const void *bytes, size_t size, struct file_id *file_id);

/** Id of a kernel or module, from its build id. */
void file_id_of_build_id(const uint8_t *build_id, size_t build_id_bytes, struct file_id *file_id);

#endif
