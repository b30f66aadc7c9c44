/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which container a process is in, as the path of its control group tells it: by the names that
 * Docker, containerd, CRI-O, Podman, Kubernetes, LXC, systemd-nspawn and Garden give to theirs. Both
 * versions of cgroups. Processes can make groups below their own, and name them as they like: the
 * answer is what they say, cleaned, and no proof.
 */
#ifndef LIB_HOST_CONTAINER_ID_H
#define LIB_HOST_CONTAINER_ID_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** With the NUL. Longer names of containers are none. */
	CONTAINER_ID_MAX_BYTES = 128,
};

/**
 * Looks for a container in @text, lines of /proc/PID/cgroup: in the first line that has one, the
 * innermost. The id is 64 hexadecimal digits, or the container's name; it consists of printable
 * ASCII characters. "" if there is none.
 */
void container_id_parse(const char *text, size_t size, char id[CONTAINER_ID_MAX_BYTES]);

/** The same for the process @pid; "" if it is gone as well. @proc_root is "/proc" or a test's. */
void container_id_read(const char *proc_root, pid_t pid, char id[CONTAINER_ID_MAX_BYTES]);

#endif
