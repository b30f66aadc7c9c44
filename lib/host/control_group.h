/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The container and the systemd unit of a process, from the path of its control group. Containers are known by the group
 * names of Docker, containerd, CRI-O, Podman, Kubernetes, LXC, systemd-nspawn and Garden. Both versions of cgroups
 * are supported. Processes can make groups below their own and choose the names, so the result is cleaned but
 * proves nothing.
 */
#ifndef LIB_HOST_CONTROL_GROUP_H
#define LIB_HOST_CONTROL_GROUP_H

#include <stddef.h>
#include <sys/types.h>

enum {
	/** Bytes of an id with its NUL. Longer names are not taken for containers. */
	CONTAINER_ID_MAX_BYTES = 128,
	/** Bytes of a unit's name with its NUL (UNIT_NAME_MAX of systemd). Longer names are not taken for units. */
	UNIT_NAME_MAX_BYTES = 256,
};

/** "" where there is none. */
struct control_group {
	/** 64 hexadecimal digits, or the container's name, in printable ASCII characters. */
	char container_id[CONTAINER_ID_MAX_BYTES];
	/** "nginx.service", as systemd writes it: letters, digits and ":-_.\@". */
	char unit[UNIT_NAME_MAX_BYTES];
};

/**
 * Looks for a container in @text, lines of /proc/PID/cgroup: in the first line that has any, the innermost one. The unit is
 * the innermost one in systemd's own hierarchy that is no container.
 */
void control_group_parse(const char *text, size_t size, struct control_group *group);

/** Looks for a container in @text, lines of /proc/PID/mountinfo: the first folder of one; "" if there is none. */
void control_group_parse_mounts(const char *text, size_t size, char id[CONTAINER_ID_MAX_BYTES]);

/**
 * Reads the control group of the process @pid; empty also if the process is gone. In a cgroup namespace of its own a
 * container's groups have no names, as the agent's own container has; then the id is that in the paths of its mounts.
 * @proc_root is "/proc" or a test's folder.
 */
void control_group_read(const char *proc_root, pid_t pid, struct control_group *group);

#endif
