/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds control groups in the mounted hierarchies of both versions. @mountinfo is "/proc/self/mountinfo" or a test's file.
 * What is searched is bounded: CGROUP_SEARCH_MAX groups.
 */
#ifndef LIB_HOST_CGROUP_TREE_H
#define LIB_HOST_CGROUP_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	CGROUP_PATH_MAX_BYTES = 4096,
	/** Bytes of a controller's name, or of "name=" and a hierarchy's, with its NUL. */
	CGROUP_CONTROLLER_MAX_BYTES = 32,
	CGROUP_DEPTH_MAX = 16,
	CGROUP_SEARCH_MAX = 100000,
	/** Characters of a container's id that stand for all of it. */
	CONTAINER_PREFIX_MIN = 4,
};

struct cgroup_location {
	char path[CGROUP_PATH_MAX_BYTES];
	/**
	 * The name of a cgroup v1 controller as the kernel's types have it; "name=systemd" for a hierarchy of version 1 without
	 * any; "" for cgroup v2.
	 */
	char controller[CGROUP_CONTROLLER_MAX_BYTES];
};

/**
 * Sets @location to the directory @path, if that is below a mount of cgroup v2 or v1. -ENOENT if it is not.
 */
int cgroup_locate(const char *mountinfo, const char *path, struct cgroup_location *location);

/**
 * Finds the group of the container with the id @id, or whose id begins with it; in version 2 if it is there. -ENOENT;
 * -EEXIST if there are two such containers.
 */
int cgroup_find_container(const char *mountinfo, const char *id, struct cgroup_location *location);

/**
 * Sets @path to that of the group of version 2 with the id @id (the inode number of its directory), in which the process @pid is:
 * "/system.slice/nginx.service". -ENOENT if the process is gone or in another group. @proc_root is "/proc" or a test's folder.
 */
int cgroup_path_of_process(const char *mountinfo, const char *proc_root, pid_t pid, uint64_t id,
			   char path[CGROUP_PATH_MAX_BYTES]);

/** Finds the group of this name, such as "nginx.service". -ENOENT; -EEXIST if there are two. */
int cgroup_find_unit(const char *mountinfo, const char *unit, struct cgroup_location *location);

/** Whether @controller, of a location, stands for a hierarchy that has a name and no controllers. */
bool cgroup_is_named(const char *controller);

/**
 * Finds the number of a hierarchy with a name in @text, lines of /proc/PID/cgroup: "9:name=systemd:/user.slice". -ENOENT.
 * @controller is that of a location.
 */
int cgroup_find_hierarchy(const char *text, const char *controller, uint32_t *number);

#endif
