/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_BASE_FILE_KEY_H
#define AGENT_BASE_FILE_KEY_H

#include <stdint.h>

/** What tells one state of a file from another; the internal key of files. */
struct file_key {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

#endif
