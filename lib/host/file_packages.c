/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/file_packages.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/hash_map.h"
#include "lib/host/line_reader.h"

enum {
	DATABASE_MAX_BYTES = 64 << 20,
	/* The limit for the sum of all lists of files. */
	LISTS_MAX_BYTES = 128 << 20,
	PACKAGES_MAX = 20000,
	OS_RELEASE_MAX_BYTES = 64 << 10,
};

struct search {
	const struct judged_root *root;
	struct file_package *packages;
	size_t count;
	/* Maps a path without a leading "/usr" to its index. */
	struct hash_map indexes;
	enum package_format format;
	/* The package whose files are read. */
	char name[PACKAGE_NAME_MAX_BYTES];
	char architecture[PACKAGE_NAME_MAX_BYTES];
	bool is_same;
	uint32_t package_count;
	uint64_t list_bytes;
	/* The folder of the files that follow, for apk. */
	char folder[PATH_MAX];
};

/*
 * On most systems /lib is a link to /usr/lib, and so are others. Databases have files by the one or the other path, so both are
 * taken for the same.
 */
static const char *without_usr(const char *path, size_t *length)
{
	static const char usr[] = "/usr/";

	if (*length < sizeof(usr) || strncmp(path, usr, sizeof(usr) - 1) != 0)
		return path;
	*length -= sizeof(usr) - 2;
	return path + sizeof(usr) - 2;
}

/* Copies a text that fits. */
static void copy_text(char *to, size_t bytes, const char *text, size_t length)
{
	if (length >= bytes)
		length = 0;
	memcpy(to, text, length);
	to[length] = '\0';
}

static void take_file(struct search *search, const char *path, size_t length)
{
	uint64_t index;

	path = without_usr(path, &length);
	if (!*search->name || !hash_map_find_bytes(&search->indexes, path, length, &index))
		return;
	search->packages[index].format = search->format;
	memcpy(search->packages[index].name, search->name, sizeof(search->name));
}

static int read_lines(const struct judged_root *root, const char *path, uint64_t max_bytes,
		      line_fn take_line, void *context)
{
	_cleanup_(close_fd) int fd = -1;
	struct file_key key;
	int err = judged_path_open(root, path, &fd, &key);

	return err ? err : lines_of_fd(fd, max_bytes, take_line, context);
}

/* --- dpkg --- */

static int take_path(void *context, const char *line, size_t length)
{
	struct search *search = context;

	search->list_bytes += length + 1;
	take_file(search, line, length);
	return search->list_bytes > LISTS_MAX_BYTES ? -E2BIG : 0;
}

/* Names that could lead elsewhere are no packages'. */
static bool is_plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

static void read_list(struct search *search)
{
	char path[2 * PACKAGE_NAME_MAX_BYTES + 64];

	if (!is_plain(search->name) || !is_plain(search->architecture) ||
	    search->list_bytes > LISTS_MAX_BYTES || ++search->package_count > PACKAGES_MAX)
		return;
	snprintf(path, sizeof(path), "/var/lib/dpkg/info/%s%s%s.list", search->name,
		 search->is_same ? ":" : "", search->is_same ? search->architecture : "");
	/* A package that is not installed any more has no list. */
	read_lines(search->root, path, LISTS_MAX_BYTES, take_path, search);
}

/* The rest of a line that begins with @field; NULL for other lines. */
static const char *value_of(const char *line, size_t length, const char *field, size_t *left)
{
	size_t bytes = strlen(field);

	if (length < bytes || memcmp(line, field, bytes) != 0)
		return NULL;
	*left = length - bytes;
	return line + bytes;
}

/* dpkg's status file: paragraphs with an empty line between them (deb-control(5)). */
static int take_status(void *context, const char *line, size_t length)
{
	struct search *search = context;
	const char *value;
	size_t left;

	if (!length) {
		read_list(search);
		*search->name = *search->architecture = '\0';
		search->is_same = false;
	} else if ((value = value_of(line, length, "Package: ", &left))) {
		copy_text(search->name, sizeof(search->name), value, left);
	} else if ((value = value_of(line, length, "Architecture: ", &left))) {
		copy_text(search->architecture, sizeof(search->architecture), value, left);
	} else if ((value = value_of(line, length, "Multi-Arch: ", &left))) {
		search->is_same = left == 4 && !memcmp(value, "same", 4);
	}
	return 0;
}

/* --- apk --- */

/* "P:" begins a package, "F:" a folder, and "R:" is a file in it. */
static int take_apk(void *context, const char *line, size_t length)
{
	struct search *search = context;
	char path[2 * PATH_MAX];
	const char *value;
	size_t left;

	if ((value = value_of(line, length, "P:", &left))) {
		copy_text(search->name, sizeof(search->name), value, left);
	} else if ((value = value_of(line, length, "F:", &left))) {
		copy_text(search->folder, sizeof(search->folder), value, left);
	} else if ((value = value_of(line, length, "R:", &left)) && left < PATH_MAX) {
		int bytes =
			snprintf(path, sizeof(path), "/%s/%.*s", search->folder, (int)left, value);

		take_file(search, path, (size_t)bytes);
	}
	return 0;
}

/* --- all --- */

static int index_paths(struct search *search, const char *const *paths)
{
	int err = 0;

	for (size_t i = 0; i < search->count && !err; i++) {
		size_t length = strlen(paths[i]);
		const char *path = without_usr(paths[i], &length);

		err = hash_map_set_bytes(&search->indexes, path, length, i);
	}
	return err;
}

int file_packages_find(const struct judged_root *root, const char *const *paths, size_t count,
		       struct file_package *packages)
{
	struct search search = { .root = root, .packages = packages, .count = count };
	int err = index_paths(&search, paths);

	memset(packages, 0, count * sizeof(*packages));
	if (!err) {
		search.format = PACKAGE_DPKG;
		err = read_lines(root, "/var/lib/dpkg/status", DATABASE_MAX_BYTES, take_status,
				 &search);
		/* The last paragraph needs no empty line. */
		if (!err)
			read_list(&search);
	}
	if (err == -ENOENT) {
		search.format = PACKAGE_APK;
		err = read_lines(root, "/lib/apk/db/installed", DATABASE_MAX_BYTES, take_apk,
				 &search);
	}
	hash_map_deinit(&search.indexes);
	/* Equal paths have one index, the last one's. */
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (*packages[i].name && !strcmp(paths[i], paths[j]))
				packages[j] = packages[i];
	return err;
}

/* --- the distribution --- */

static const struct {
	const char *id;
	const char *address;
} servers[] = {
	{ "debian", "https://debuginfod.debian.net" },
	{ "ubuntu", "https://debuginfod.ubuntu.com" },
	{ "fedora", "https://debuginfod.fedoraproject.org" },
	{ "centos", "https://debuginfod.centos.org" },
	{ "arch", "https://debuginfod.archlinux.org" },
	{ "opensuse", "https://debuginfod.opensuse.org" },
	{ "void", "https://debuginfod.s.voidlinux.org" },
};

struct distribution {
	const char *own;
	const char *alike;
};

/* The server of the first id in a list with spaces between them, which may be quoted. */
static const char *server_of(const char *ids, size_t length)
{
	while (length > 0) {
		size_t skipped = 0, id = 0;

		while (skipped < length && strchr(" \"'", ids[skipped]))
			skipped++;
		ids += skipped;
		length -= skipped;
		while (id < length && !strchr(" \"'", ids[id]))
			id++;
		for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
			size_t known = strlen(servers[i].id);

			/* "opensuse-leap" */
			if (id >= known && !memcmp(ids, servers[i].id, known) &&
			    (id == known || ids[known] == '-'))
				return servers[i].address;
		}
		ids += id;
		length -= id;
	}
	return NULL;
}

/* os-release(5) */
static int take_os_release(void *context, const char *line, size_t length)
{
	struct distribution *distribution = context;
	const char *value;
	size_t left;

	if ((value = value_of(line, length, "ID=", &left)))
		distribution->own = server_of(value, left);
	else if ((value = value_of(line, length, "ID_LIKE=", &left)))
		distribution->alike = server_of(value, left);
	return 0;
}

const char *distribution_debuginfod(const struct judged_root *root)
{
	struct distribution distribution = { 0 };

	if (read_lines(root, "/etc/os-release", OS_RELEASE_MAX_BYTES, take_os_release,
		       &distribution) == -ENOENT)
		read_lines(root, "/usr/lib/os-release", OS_RELEASE_MAX_BYTES, take_os_release,
			   &distribution);
	return distribution.own ? distribution.own : distribution.alike;
}
