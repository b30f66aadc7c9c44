/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Knows the devices whose files can be opened and read without the risk of hanging: those of file systems on
 * this host's own disks and memory. Files on all others (network, FUSE, unknown) are read by other processes.
 * The list is read from /proc/PID/mountinfo and cached for a while.
 *
 * An overlay counts as local, although a layer beneath it may be on a network.
 */
#ifndef AGENT_PROCESSES_LOCAL_DEVICES_H
#define AGENT_PROCESSES_LOCAL_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/hash_map.h"

/** Not thread-safe. The sync thread has one; the threads that make names share one under a lock of theirs. */
struct local_devices {
	/** Device -> device_kind. */
	struct hash_map kinds;
	uint64_t forget_ns;
};

/** Nothing is read before the first query. */
void local_devices_init(struct local_devices *devices);
void local_devices_deinit(struct local_devices *devices);

/** Whether the device of a file that process @pid has mapped is local. */
bool local_devices_contain(struct local_devices *devices, const char *proc_root, pid_t pid,
			   uint32_t major, uint32_t minor, uint64_t now_ns);

/** Lists up to @max of the known local devices; returns their number. */
uint32_t local_devices_list(const struct local_devices *devices, uint64_t *list, uint32_t max);

/** Parses the device and the file system's type in a line of mountinfo (proc(5)); false if it has none. */
bool mountinfo_line_parse(const char *line, size_t length, uint64_t *device, bool *is_local);

#endif
