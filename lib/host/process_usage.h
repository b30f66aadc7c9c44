/* SPDX-License-Identifier: Apache-2.0 */
/** The use of the machine by this process. */
#ifndef LIB_HOST_PROCESS_USAGE_H
#define LIB_HOST_PROCESS_USAGE_H

#include <stdint.h>

struct process_usage {
	double cpu_seconds;
	uint64_t resident_bytes;
	uint64_t virtual_bytes;
	uint64_t open_fds;
	uint64_t max_fds;
};

/** Reads the usage of this process; what cannot be read is 0. */
void process_usage_read(struct process_usage *usage);

#endif
