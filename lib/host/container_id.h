/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the container of a process in the path of its control group, by the group names of Docker, containerd,
 * CRI-O, Podman, Kubernetes, LXC, systemd-nspawn and Garden. Both versions of cgroups are supported. Processes
 * can make groups below their own and choose the names, so the result is cleaned but proves nothing.
 */
#ifndef LIB_HOST_CONTAINER_ID_H
#define LIB_HOST_CONTAINER_ID_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** Bytes of an id with its NUL. Longer names are not taken for containers. */
	CONTAINER_ID_MAX_BYTES = 128,
};

/**
 * Looks for a container in @text, lines of /proc/PID/cgroup: in the first line that has any, the innermost one.
 * The id is 64 hexadecimal digits, or the container's name; it consists of printable ASCII characters. "" if
 * there is none.
 */
void container_id_parse(const char *text, size_t size, char id[CONTAINER_ID_MAX_BYTES]);

/** Looks for a container in @text, lines of /proc/PID/mountinfo: the first folder of one; "" if there is none. */
void container_id_parse_mounts(const char *text, size_t size, char id[CONTAINER_ID_MAX_BYTES]);

/**
 * Reads the container of the process @pid; "" also if the process is gone. In a cgroup namespace of its own a container's
 * groups have no names, as the agent's own container has; then the id is that in the paths of its mounts. @proc_root is "/proc" or a test's
 * folder.
 */
void container_id_read(const char *proc_root, pid_t pid, char id[CONTAINER_ID_MAX_BYTES]);

#endif
