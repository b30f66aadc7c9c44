/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIB_MODEL_FILE_KEY_H
#define LIB_MODEL_FILE_KEY_H

#include <stdint.h>

/** The agent's internal key of a file. Two states of a file have different keys. */
struct file_key {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

#endif
