/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is "hierarchy:controllers:/path/of/groups" (cgroups(7)). Shapes of a group, seen with the
 * cgroup drivers "systemd" and "cgroupfs" of each:
 *
 *	docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, nerdctl-ID.scope,
 *	ID, crio-ID, libpod-ID, SLICE:cri-containerd:ID		ID: 64 hexadecimal digits
 *	TASK-NUMBER						Amazon ECS: 32 digits, a number
 *	machine-NAME.scope, systemd-nspawn@NAME.service		NAME escaped as systemd does
 *	lxc.payload.NAME, lxc/NAME, lxc.payload/NAME
 *	garden/NAME, and an UUID without the last 8 digits
 *
 * Monitors of containers (crio-conmon-ID, libpod-conmon-ID, lxc.monitor.NAME) are outside of them.
 *
 * systemd names the group of a unit by the unit (systemd.unit(5)), with a '_' before names that the kernel uses itself. Its
 * hierarchy is that of version 2, or the one with the name "systemd" in version 1.
 */
#include "lib/host/control_group.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

enum {
	/* Bytes read of a file: enough for a dozen hierarchies of cgroups version 1 with long paths, and a hundred mounts. */
	FILE_MAX_BYTES = 16 << 10,
	ID_DIGITS = 64,
	TASK_DIGITS = 32,
};

/* A part of a text, not terminated. */
struct part {
	const char *text;
	size_t length;
};

static bool starts_with(struct part part, const char *prefix)
{
	return part.length >= strlen(prefix) && !memcmp(part.text, prefix, strlen(prefix));
}

/* Cuts @prefix off, if @part has it and is longer. */
static bool cut_prefix(struct part *part, const char *prefix)
{
	size_t length = strlen(prefix);

	if (part->length == length || !starts_with(*part, prefix))
		return false;
	part->text += length;
	part->length -= length;
	return true;
}

static bool cut_suffix(struct part *part, const char *suffix)
{
	size_t length = strlen(suffix);

	if (part->length <= length || memcmp(part->text + part->length - length, suffix, length))
		return false;
	part->length -= length;
	return true;
}

static bool equals(struct part part, const char *text)
{
	return part.length == strlen(text) && !memcmp(part.text, text, part.length);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static size_t count_hex_digits(struct part part)
{
	size_t count = 0;

	while (count < part.length && is_hex_digit(part.text[count]))
		count++;
	return count;
}

/* --- shapes --- */

/* Finds 64 digits at the end, alone or behind the name of the engine. */
static bool find_digits(struct part group, struct part *id)
{
	struct part before = group;

	if (group.length < ID_DIGITS)
		return false;
	before.length -= ID_DIGITS;
	*id = (struct part){ group.text + before.length, ID_DIGITS };
	if (count_hex_digits(*id) < ID_DIGITS)
		return false;
	if (!before.length)
		return true;
	return !cut_suffix(&before, "conmon-") &&
	       (cut_suffix(&before, "-") || cut_suffix(&before, ":"));
}

static bool is_task(struct part group)
{
	size_t digits = TASK_DIGITS + 1;

	if (group.length <= digits || count_hex_digits(group) != TASK_DIGITS ||
	    group.text[TASK_DIGITS] != '-')
		return false;
	while (digits < group.length && is_digit(group.text[digits]))
		digits++;
	return digits == group.length;
}

/* 8-4-4-4-4 digits. */
static bool is_garden_handle(struct part group)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxx";

	if (group.length != sizeof(shape) - 1)
		return false;
	for (size_t i = 0; i < group.length; i++)
		if (shape[i] == '-' ? group.text[i] != '-' : !is_hex_digit(group.text[i]))
			return false;
	return true;
}

static bool is_named_by_parent(struct part parent)
{
	return equals(parent, "lxc") || equals(parent, "lxc.payload") || equals(parent, "garden");
}

static bool find_name(struct part group, struct part parent, struct part *id)
{
	bool is_scope = cut_suffix(&group, ".scope");

	*id = group;
	/* Machines are containers or virtual machines. Those of QEMU are not containers. */
	if (is_scope)
		return cut_prefix(id, "machine-") && !starts_with(*id, "qemu");
	if (cut_prefix(id, "systemd-nspawn@"))
		return cut_suffix(id, ".service");
	return cut_prefix(id, "lxc.payload.") || is_named_by_parent(parent) || is_task(group) ||
	       is_garden_handle(group);
}

/* --- groups and lines --- */

/* Copies @name and decodes systemd's escapes (\x2d); false if it cannot be an id. */
static bool copy_name(struct part name, char id[CONTAINER_ID_MAX_BYTES])
{
	char copy[CONTAINER_ID_MAX_BYTES];
	size_t count = 0;

	for (size_t i = 0; i < name.length; i++) {
		struct part rest = { name.text + i, name.length - i };
		char c = name.text[i];

		if (cut_prefix(&rest, "\\x") && rest.length >= 2 && is_hex_digit(rest.text[0]) &&
		    is_hex_digit(rest.text[1])) {
			c = text_hex_value(rest.text[0]) << 4 | text_hex_value(rest.text[1]);
			i += 3;
		}
		if (c <= ' ' || c > '~' || count == CONTAINER_ID_MAX_BYTES - 1)
			return false;
		copy[count++] = c;
	}
	memcpy(id, copy, count);
	id[count] = '\0';
	return count;
}

static bool take_group(struct part group, struct part parent, char id[CONTAINER_ID_MAX_BYTES])
{
	struct part bare = group, found;

	if (!cut_suffix(&bare, ".scope"))
		cut_suffix(&bare, ".service");
	return (find_digits(bare, &found) || find_name(group, parent, &found)) &&
	       copy_name(found, id);
}

/* Cuts the last group off @path and returns it; its text is empty when no group is left. */
static struct part cut_last_group(struct part *path)
{
	struct part group = { path->text + path->length, 0 };

	while (path->length && group.text[-1] != '/') {
		group.text--;
		group.length++;
		path->length--;
	}
	if (path->length)
		path->length--;
	return group;
}

static bool is_unit_character(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr(":-_.\\@", c));
}

/* Slices are left out: they have units below them. */
static bool take_unit(struct part group, char unit[UNIT_NAME_MAX_BYTES])
{
	static const char *const suffixes[] = { ".service", ".scope", ".socket", ".mount",
						".swap" };
	struct part bare;
	bool is_unit = false;

	cut_prefix(&group, "_");
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]) && !is_unit; i++) {
		bare = group;
		is_unit = cut_suffix(&bare, suffixes[i]);
	}
	if (!is_unit || group.length >= UNIT_NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < group.length; i++)
		if (!is_unit_character(group.text[i]))
			return false;
	memcpy(unit, group.text, group.length);
	unit[group.length] = '\0';
	return true;
}

/* Takes the innermost container and unit, unless they are known. @has_units: the path is of systemd's hierarchy. */
static void take_path(struct part path, bool has_units, struct control_group *found)
{
	bool has_container = found->container_id[0], has_unit = !has_units || found->unit[0];
	char id[CONTAINER_ID_MAX_BYTES];
	struct part group, parent;

	/* The group was removed while the process was in it. */
	cut_suffix(&path, " (deleted)");
	group = cut_last_group(&path);
	while ((group.length || path.length) && !(has_container && has_unit)) {
		parent = cut_last_group(&path);
		if (take_group(group, parent, id)) {
			if (!has_container)
				memcpy(found->container_id, id, strlen(id) + 1);
			has_container = true;
		} else if (!has_unit) {
			has_unit = take_unit(group, found->unit);
		}
		group = parent;
	}
}

/* @controllers: what stands between the colons of a line. */
static bool is_hierarchy_of_systemd(struct part controllers)
{
	return !controllers.length || equals(controllers, "name=systemd");
}

void control_group_parse(const char *text, size_t size, struct control_group *group)
{
	const char *end = text + size;

	*group = (struct control_group){ 0 };
	while (text < end) {
		const char *line_end = memchr(text, '\n', end - text);
		const char *first = memchr(text, ':', (line_end ? line_end : end) - text);
		const char *second = NULL;

		if (!line_end)
			line_end = end;
		if (first)
			second = memchr(first + 1, ':', line_end - first - 1);
		if (second)
			take_path((struct part){ second + 1, line_end - second - 1 },
				  is_hierarchy_of_systemd(
					  (struct part){ first + 1, second - first - 1 }),
				  group);
		text = line_end + 1;
	}
}

/* Whether all groups are the roots of their hierarchies, as those of a container are in a cgroup namespace of its own. */
static bool is_at_root(const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		const char *line_end = memchr(text, '\n', end - text);

		if (!line_end)
			line_end = end;
		if (line_end - text < 2 || memcmp(line_end - 2, ":/", 2))
			return false;
		text = line_end + 1;
	}
	return size;
}

/*
 * Docker, Podman and CRI-O mount /etc/hostname and others from a folder of the container: /.../containers/ID/... and
 * /.../overlay-containers/ID/...
 */
void control_group_parse_mounts(const char *text, size_t size, char id[CONTAINER_ID_MAX_BYTES])
{
	static const char folder[] = "containers/";
	const char *end = text + size, *at = text;

	id[0] = '\0';
	while ((at = memmem(at, (size_t)(end - at), folder, strlen(folder)))) {
		struct part digits = { at + strlen(folder), ID_DIGITS };

		at += strlen(folder);
		if (end - at <= ID_DIGITS || at[ID_DIGITS] != '/' ||
		    count_hex_digits(digits) < ID_DIGITS)
			continue;
		memcpy(id, at, ID_DIGITS);
		id[ID_DIGITS] = '\0';
		return;
	}
}

/* Reads the start of PID/@name, without a line that is cut; 0 if there is nothing. */
static size_t read_lines(const char *proc_root, pid_t pid, const char *name, char *text,
			 size_t capacity)
{
	char path[PATH_MAX];
	_cleanup_(close_fd) int fd = -1;
	ssize_t size;

	snprintf(path, sizeof(path), "%s/%d/%s", proc_root, pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, capacity);
	if (size <= 0)
		return 0;
	/* The rest of a line that was cut is not known, so the line is dropped. */
	if ((size_t)size == capacity) {
		const char *last = memrchr(text, '\n', size);

		size = last ? last - text : 0;
	}
	return (size_t)size;
}

void control_group_read(const char *proc_root, pid_t pid, struct control_group *group)
{
	char text[FILE_MAX_BYTES];
	size_t size = read_lines(proc_root, pid, "cgroup", text, sizeof(text));

	control_group_parse(text, size, group);
	if (*group->container_id || !is_at_root(text, size))
		return;
	size = read_lines(proc_root, pid, "mountinfo", text, sizeof(text));
	control_group_parse_mounts(text, size, group->container_id);
}
