// SPDX-License-Identifier: Apache-2.0
/* Names of groups are the system's or a container's: they are compared, and never used as anything else. */
#include "lib/host/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/host/control_group.h"

enum {
	LINE_BYTES = 8192,
	MOUNTS_MAX = 32,
};

#define NAME_PREFIX "name="

struct cgroup_mount {
	char point[CGROUP_PATH_MAX_BYTES];
	/* "" for version 2. */
	char controller[CGROUP_CONTROLLER_MAX_BYTES];
};

struct cgroup_mounts {
	struct cgroup_mount items[MOUNTS_MAX];
	uint32_t count;
};

/* --- mounts --- */

/* A hierarchy without controllers, as systemd's, has a name. */
static bool read_name(const char *options, char controller[CGROUP_CONTROLLER_MAX_BYTES])
{
	const char *at = options;

	while (at && !text_starts_with(at, NAME_PREFIX)) {
		at = strchr(at, ',');
		at += at != NULL;
	}
	if (!at || strcspn(at, ",\n") >= CGROUP_CONTROLLER_MAX_BYTES)
		return false;
	snprintf(controller, CGROUP_CONTROLLER_MAX_BYTES, "%.*s", (int)strcspn(at, ",\n"), at);
	return true;
}

/* A hierarchy with several controllers goes by the first, and one with a name and controllers by these. */
static bool read_controller(const char *options, char controller[CGROUP_CONTROLLER_MAX_BYTES])
{
	static const char *const known[] = { "pids",	"memory",   "cpu",     "cpuacct",
					     "cpuset",	"devices",  "freezer", "blkio",
					     "net_cls", "net_prio", "hugetlb", "perf_event",
					     "rdma",	"misc" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *at = options;
		size_t length = strlen(known[i]);

		while (at) {
			if (!strncmp(at, known[i], length) && strchr(",\n", at[length])) {
				/* The kernel's own name of it. */
				strcpy(controller, strcmp(known[i], "blkio") ? known[i] : "io");
				return true;
			}
			at = strchr(at, ',');
			at += at != NULL;
		}
	}
	return read_name(options, controller);
}

/* A line of mountinfo: ids, device, root, mount point, options, optional fields, "-", type, source, options (proc(5)). */
static bool read_mount(const char *line, struct cgroup_mount *mount)
{
	const char *dash = strstr(line, " - ");
	char type[16], options[512];

	mount->controller[0] = '\0';
	if (!dash || sscanf(line, "%*s %*s %*s %*s %4095s", mount->point) != 1 ||
	    sscanf(dash, " - %15s %*s %511s", type, options) != 2)
		return false;
	if (!strcmp(type, "cgroup2"))
		return true;
	strncat(options, "\n", sizeof(options) - strlen(options) - 1);
	return !strcmp(type, "cgroup") && read_controller(options, mount->controller);
}

/* Version 2 comes first. */
static void read_mounts(const char *mountinfo, struct cgroup_mounts *mounts)
{
	_cleanup_(close_file) FILE *file = fopen(mountinfo, "re");
	char line[LINE_BYTES];

	mounts->count = 0;
	while (file && mounts->count < MOUNTS_MAX && fgets(line, sizeof(line), file)) {
		struct cgroup_mount *mount = &mounts->items[mounts->count];

		if (!read_mount(line, mount))
			continue;
		if (!*mount->controller && mounts->count) {
			struct cgroup_mount first = mounts->items[0];

			mounts->items[0] = *mount;
			*mount = first;
		}
		mounts->count++;
	}
}

static bool is_below(const char *path, const char *point)
{
	size_t length = strlen(point);

	return !strncmp(path, point, length) && (path[length] == '/' || !path[length]);
}

static void set_location(const struct cgroup_mount *mount, const char *path,
			 struct cgroup_location *location)
{
	snprintf(location->path, sizeof(location->path), "%s", path);
	memcpy(location->controller, mount->controller, sizeof(location->controller));
}

int cgroup_locate(const char *mountinfo, const char *path, struct cgroup_location *location)
{
	_cleanup_(free_pointer) struct cgroup_mounts *mounts = malloc(sizeof(*mounts));
	_cleanup_(free_pointer) char *real = realpath(path, NULL);
	const struct cgroup_mount *found = NULL;
	struct stat status;

	if (!mounts)
		return -ENOMEM;
	if (!real)
		return -errno;
	if (stat(real, &status) || !S_ISDIR(status.st_mode))
		return -ENOENT;
	read_mounts(mountinfo, mounts);
	for (uint32_t i = 0; i < mounts->count; i++) {
		const struct cgroup_mount *mount = &mounts->items[i];

		if (is_below(real, mount->point) &&
		    (!found || strlen(mount->point) > strlen(found->point)))
			found = mount;
	}
	if (!found)
		return -ENOENT;
	set_location(found, real, location);
	return 0;
}

bool cgroup_is_named(const char *controller)
{
	return text_starts_with(controller, NAME_PREFIX);
}

int cgroup_find_hierarchy(const char *text, const char *controller, uint32_t *number)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		char name[CGROUP_CONTROLLER_MAX_BYTES];
		uint32_t found;

		line += *line == '\n';
		if (sscanf(line, "%" SCNu32 ":%31[^:\n]", &found, name) != 2 ||
		    strcmp(name, controller))
			continue;
		*number = found;
		return 0;
	}
	return -ENOENT;
}

/* --- the search --- */

struct search {
	/* Whether the group is the wanted one. @path: below the mount point, @name: its last part. */
	bool (*is_wanted)(struct search *search, const char *path, const char *name);
	const char *wanted;
	/* The id of the container that was found. */
	char id[CONTAINER_ID_MAX_BYTES];
	const struct cgroup_mount *mount;
	struct cgroup_location *location;
	uint32_t found_count;
	uint32_t left;
};

static bool is_container(struct search *search, const char *path, const char *name)
{
	char line[CGROUP_PATH_MAX_BYTES + 8];
	const char *id;
	struct control_group group;
	int length = snprintf(line, sizeof(line), "0::%s", path);

	(void)name;
	if (length <= 0 || length >= (int)sizeof(line))
		return false;
	control_group_parse(line, (size_t)length, &group);
	id = group.container_id;
	if (!*id || (strcmp(id, search->wanted) && (strlen(search->wanted) < CONTAINER_PREFIX_MIN ||
						    !text_starts_with(id, search->wanted))))
		return false;
	/* The same container in groups of its own engine is no second one. */
	if (search->found_count && !strcmp(search->id, id))
		return false;
	memcpy(search->id, id, sizeof(search->id));
	return true;
}

static bool is_unit(struct search *search, const char *path, const char *name)
{
	(void)path;
	return !strcmp(name, search->wanted);
}

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Searches below @path, whose last part begins at @length. The groups of a wanted one are not searched. */
static void search_below(struct search *search, char path[CGROUP_PATH_MAX_BYTES], size_t length,
			 uint32_t depth)
{
	_cleanup_(close_directory) DIR *directory = opendir(path);
	size_t point_length = strlen(search->mount->point);
	struct dirent *entry;

	while (directory && search->left && (entry = readdir(directory))) {
		size_t name_length = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    length + 1 + name_length >= CGROUP_PATH_MAX_BYTES)
			continue;
		search->left--;
		path[length] = '/';
		memcpy(path + length + 1, entry->d_name, name_length + 1);
		if (search->is_wanted(search, path + point_length, entry->d_name)) {
			if (!search->found_count++)
				set_location(search->mount, path, search->location);
		} else if (depth < CGROUP_DEPTH_MAX) {
			search_below(search, path, length + 1 + name_length, depth + 1);
		}
		path[length] = '\0';
	}
}

/* Searches one hierarchy after the other, until one has it. */
static int search_mounts(const char *mountinfo, struct search *search,
			 struct cgroup_location *location)
{
	_cleanup_(free_pointer) struct cgroup_mounts *mounts = malloc(sizeof(*mounts));
	_cleanup_(free_pointer) struct cgroup_location *found = calloc(1, sizeof(*found));
	char path[CGROUP_PATH_MAX_BYTES];

	if (!mounts || !found)
		return -ENOMEM;
	read_mounts(mountinfo, mounts);
	search->location = found;
	search->left = CGROUP_SEARCH_MAX;
	for (uint32_t i = 0; i < mounts->count && !search->found_count; i++) {
		search->mount = &mounts->items[i];
		memcpy(path, search->mount->point, sizeof(path));
		search_below(search, path, strlen(path), 0);
	}
	if (!search->found_count)
		return -ENOENT;
	if (search->found_count > 1)
		return -EEXIST;
	*location = *found;
	return 0;
}

int cgroup_find_container(const char *mountinfo, const char *id, struct cgroup_location *location)
{
	struct search search = { .is_wanted = is_container, .wanted = id };

	return search_mounts(mountinfo, &search, location);
}

int cgroup_find_unit(const char *mountinfo, const char *unit, struct cgroup_location *location)
{
	struct search search = { .is_wanted = is_unit, .wanted = unit };

	return search_mounts(mountinfo, &search, location);
}

/* Reads the path of the process's group of version 2 without the line's end; false if it has none. */
static bool read_process_path(const char *proc_root, pid_t pid, char path[CGROUP_PATH_MAX_BYTES])
{
	static const char start[] = "0::";
	_cleanup_(close_file) FILE *file = NULL;
	char name[CGROUP_PATH_MAX_BYTES], line[LINE_BYTES];

	snprintf(name, sizeof(name), "%s/%d/cgroup", proc_root, (int)pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		size_t length = strcspn(line, "\n");

		if (strncmp(line, start, strlen(start)) != 0)
			continue;
		line[length] = '\0';
		if (length - strlen(start) >= CGROUP_PATH_MAX_BYTES)
			return false;
		strcpy(path, line + strlen(start));
		return true;
	}
	return false;
}

int cgroup_path_of_process(const char *mountinfo, const char *proc_root, pid_t pid, uint64_t id,
			   char path[CGROUP_PATH_MAX_BYTES])
{
	_cleanup_(free_pointer) struct cgroup_mounts *mounts = malloc(sizeof(*mounts));
	char found[CGROUP_PATH_MAX_BYTES], directory[2 * CGROUP_PATH_MAX_BYTES];
	struct stat status;

	if (!mounts)
		return -ENOMEM;
	read_mounts(mountinfo, mounts);
	if (!mounts->count || *mounts->items[0].controller ||
	    !read_process_path(proc_root, pid, found))
		return -ENOENT;
	snprintf(directory, sizeof(directory), "%s%s", mounts->items[0].point, found);
	if (stat(directory, &status) || status.st_ino != id)
		return -ENOENT;
	strcpy(path, found);
	return 0;
}
