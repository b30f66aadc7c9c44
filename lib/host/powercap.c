/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/powercap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

enum {
	/* A number of 64 bits, a sign and a line end. */
	NUMBER_BYTES = 24,
	UJ_PER_JOULE = 1000000,
};

/* Reads @path up to its first line end. -EBADMSG for an empty file, and for a line that does not fit. */
static int read_line(const char *path, char *line, size_t bytes)
{
	_cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t count = fd < 0 ? -1 : read(fd, line, bytes);
	char *end;

	if (count < 0)
		return fail_errno(-errno, "cannot read %s", path);
	if ((size_t)count == bytes)
		return fail(-EBADMSG, "%s is too long", path);
	line[count] = '\0';
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	return *line ? 0 : fail(-EBADMSG, "%s is empty", path);
}

static int read_number(const char *path, uint64_t *number)
{
	char line[NUMBER_BYTES] = "", *end;
	uint64_t value;
	int err = read_line(path, line, sizeof(line));

	if (err)
		return err;
	errno = 0;
	value = strtoull(line, &end, 10);
	if (line[0] < '0' || line[0] > '9' || *end || errno)
		return fail(-EBADMSG, "%s has no number: %s", path, line);
	*number = value;
	return 0;
}

static void zone_path(char path[PATH_MAX], const char *sys_root, const char *folder,
		      const char *file)
{
	snprintf(path, PATH_MAX, "%s/class/powercap/%s/%s", sys_root, folder, file);
}

/* --- zones --- */

static bool find_kind(const char *name, enum energy_kind *kind)
{
	if (text_starts_with(name, "package")) {
		*kind = ENERGY_PACKAGE;
		return true;
	}
	for (int i = ENERGY_CORE; i <= ENERGY_DRAM; i++)
		if (!strcmp(name, energy_kind_names[i])) {
			*kind = (enum energy_kind)i;
			return true;
		}
	return false;
}

/* "package-1" and "package-1-die-0" are of package 1. */
static int32_t package_of(const char *name)
{
	uint32_t number;

	return sscanf(name, "package-%" SCNu32, &number) == 1 && number < INT32_MAX ?
		       (int32_t)number :
		       POWERCAP_NO_PACKAGE;
}

/*
 * Sets @name to that of the zone around @folder, "intel-rapl:0" around "intel-rapl:0:1"; to the folder's if that cannot be read.
 * False if there is none around it.
 */
static bool read_parent(const char *sys_root, const char *folder, char name[POWERCAP_NAME_BYTES])
{
	char parent[POWERCAP_NAME_BYTES], path[PATH_MAX];
	const char *last = strrchr(folder, ':');

	if (strchr(folder, ':') == last)
		return false;
	snprintf(parent, sizeof(parent), "%.*s", (int)(last - folder), folder);
	zone_path(path, sys_root, parent, "name");
	if (read_line(path, name, POWERCAP_NAME_BYTES))
		snprintf(name, POWERCAP_NAME_BYTES, "%s", parent);
	return true;
}

static bool has_name(const struct powercap_zone_vector *zones, const char *name)
{
	for (size_t i = 0; i < zones->count; i++)
		if (!strcmp(zones->items[i].name, name))
			return true;
	return false;
}

static int add_zone(const char *sys_root, const char *folder, struct powercap_zone_vector *zones)
{
	char path[PATH_MAX], name[POWERCAP_NAME_BYTES], parent[POWERCAP_NAME_BYTES];
	struct powercap_zone zone = { 0 };
	int err;

	zone_path(path, sys_root, folder, "name");
	err = read_line(path, name, sizeof(name));
	if (err)
		return err;
	if (!find_kind(name, &zone.kind))
		return 0;
	if (read_parent(sys_root, folder, parent)) {
		zone.package = package_of(parent);
		snprintf(zone.name, sizeof(zone.name), "%s %s", parent, name);
	} else {
		zone.package = package_of(name);
		snprintf(zone.name, sizeof(zone.name), "%s", name);
	}
	/* Another driver shows the same zone. */
	if (has_name(zones, zone.name))
		return 0;
	if (zones->count >= POWERCAP_ZONES_MAX)
		return fail(-E2BIG, "there are more than %d powercap zones", POWERCAP_ZONES_MAX);
	snprintf(zone.folder, sizeof(zone.folder), "%.*s", POWERCAP_NAME_BYTES - 1, folder);
	return powercap_zone_vector_push(zones, zone);
}

/* "intel-rapl:0" and what is in it, and no type of zones, such as "intel-rapl". */
static int is_zone(const struct dirent *entry)
{
	return strchr(entry->d_name, ':') && strstr(entry->d_name, "rapl") &&
	       strlen(entry->d_name) < POWERCAP_NAME_BYTES;
}

/* The driver of the CPU's registers comes first, since it has the most zones. */
static int compare_entries(const struct dirent **left, const struct dirent **right)
{
	const char *a = (*left)->d_name, *b = (*right)->d_name;
	int order = text_starts_with(b, "intel-rapl:") - text_starts_with(a, "intel-rapl:");

	return order ? order : strcmp(a, b);
}

int powercap_find_zones(const char *sys_root, struct powercap_zone_vector *zones)
{
	struct dirent **entries;
	char path[PATH_MAX];
	int count, result = 0;

	snprintf(path, sizeof(path), "%s/class/powercap", sys_root);
	count = scandir(path, &entries, is_zone, compare_entries);
	if (count < 0)
		return errno == ENOENT ? 0 : fail_errno(-errno, "cannot read %s", path);
	for (int i = 0; i < count; i++) {
		int err = add_zone(sys_root, entries[i]->d_name, zones);

		result = result ? result : err;
		free(entries[i]);
	}
	free(entries);
	return result;
}

int powercap_zone_read(const char *sys_root, struct powercap_zone *zone, uint64_t now_ns,
		       double *joules)
{
	char path[PATH_MAX];
	uint64_t now_uj, range_uj, spent_uj;
	double most_uj, seconds;
	int err;

	zone_path(path, sys_root, zone->folder, "max_energy_range_uj");
	err = read_number(path, &range_uj);
	if (err)
		return err;
	zone_path(path, sys_root, zone->folder, "energy_uj");
	err = read_number(path, &now_uj);
	if (err)
		return err;
	if (now_uj > range_uj)
		return fail(-EBADMSG, "%s has %" PRIu64 ", which is over the zone's maximum", path,
			    now_uj);
	spent_uj = now_uj - zone->last_uj + (now_uj < zone->last_uj ? range_uj : 0);
	seconds = (double)(now_ns - zone->last_ns) / NS_PER_SECOND;
	most_uj = (seconds + 1) * POWERCAP_MAX_WATTS * UJ_PER_JOULE;
	err = 0;
	if (!zone->last_ns)
		spent_uj = 0;
	else if (most_uj > (double)range_uj + POWERCAP_MAX_WATTS * (double)UJ_PER_JOULE)
		err = fail(-ERANGE, "%s was not read for %.0f s, and may have wrapped twice", path,
			   seconds);
	else if ((double)spent_uj > most_uj)
		err = fail(-ERANGE, "%s went from %" PRIu64 " to %" PRIu64 " in %.3f s", path,
			   zone->last_uj, now_uj, seconds);
	zone->last_uj = now_uj;
	zone->last_ns = now_ns;
	if (!err)
		*joules = (double)spent_uj / UJ_PER_JOULE;
	return err;
}

int32_t powercap_package_of_cpu(const char *sys_root, uint32_t cpu)
{
	char path[PATH_MAX];
	uint64_t package;

	snprintf(path, sizeof(path),
		 "%s/devices/system/cpu/cpu%" PRIu32 "/topology/physical_package_id", sys_root,
		 cpu);
	/* "-1" where the kernel does not know it. */
	return read_number(path, &package) || package >= INT32_MAX ? POWERCAP_NO_PACKAGE :
								     (int32_t)package;
}
