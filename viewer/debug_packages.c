/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/debug_packages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/text_builder.h"
#include "lib/host/file_packages.h"

enum {
	/* When there are more, all are forgotten. */
	ADVICE_MAX_COUNT = 4096,
	HOST_PID = 1,
};

void debug_packages_init(struct debug_packages *packages, const char *proc_root,
			 const struct path_judge *judge)
{
	*packages = (struct debug_packages){ .proc_root = proc_root, .judge = judge };
}

static void forget(struct debug_packages *packages)
{
	size_t cursor = 0;
	uint64_t advice;

	while (hash_map_next(&packages->advice, &cursor, NULL, &advice))
		free((char *)(uintptr_t)advice);
	hash_map_deinit(&packages->advice);
}

void debug_packages_deinit(struct debug_packages *packages)
{
	forget(packages);
}

const char *debug_packages_advice(const struct debug_packages *packages,
				  const struct binary *binary)
{
	const char *advice = hash_map_get_pointer(&packages->advice, binary_identity(binary));

	return advice && *advice ? advice : NULL;
}

static bool is_wanted(const struct debug_packages *packages, const struct nameless_file *file)
{
	uint64_t known;

	return !file->binary->is_elsewhere && !file->binary->is_kernel &&
	       *file->binary->path == '/' &&
	       !hash_map_find(&packages->advice, binary_identity(file->binary), &known);
}

/* Debian builds the C library's debug package by itself; of all others it is made in one way. */
static void append_package_name(struct text_builder *text, const struct file_package *package)
{
	bool is_dbg = package->format == PACKAGE_APK || !strcmp(package->name, "libc6");

	text_builder_append_name(text, package->name);
	text_builder_append(text, is_dbg ? "-dbg" : "-dbgsym");
}

static int add_advice(struct debug_packages *packages, const struct binary *binary,
		      const struct file_package *package, const char *server)
{
	struct text_builder text = { 0 };
	bool has_server = server && binary->build_id_bytes;
	char *advice;
	int err;

	if (*package->name) {
		text_builder_append(&text, "Install ");
		append_package_name(&text, package);
	}
	if (has_server)
		text_builder_format(&text, "%s -debuginfod with DEBUGINFOD_URLS=%s",
				    *package->name ? ", or use" : "Use", server);
	if (text.length)
		text_builder_append(&text, ".");
	advice = text.failed ? NULL : strdup(text_builder_text(&text));
	text_builder_deinit(&text);
	err = advice ? hash_map_set_pointer(&packages->advice, binary_identity(binary), advice) :
		       -ENOMEM;
	if (err)
		free(advice);
	return err;
}

static int open_root_of(const struct debug_packages *packages, pid_t pid, struct judged_root *root)
{
	char path[PATH_MAX];

	*root = (struct judged_root){ .pid = pid, .judge = packages->judge };
	snprintf(path, sizeof(path), "%s/%d/root", packages->proc_root, pid);
	root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root->fd < 0 ? -ENOENT : 0;
}

/* The root of a process in the container of @files[0] that is there; the host has process 1, too. -ENOENT. */
static int open_root(const struct debug_packages *packages, const struct nameless_file *files,
		     size_t count, struct judged_root *root)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(files[i].container, files->container) &&
		    !open_root_of(packages, (pid_t)files[i].pid, root))
			return 0;
	return *files->container ? -ENOENT : open_root_of(packages, HOST_PID, root);
}

/* Looks up all wanted files that are in the container of @files[0]. */
static int look_up_container(struct debug_packages *packages, const struct nameless_file *files,
			     size_t count)
{
	_cleanup_(free_pointer) const char **paths = calloc(count, sizeof(*paths));
	_cleanup_(free_pointer) struct file_package *found = calloc(count, sizeof(*found));
	_cleanup_(free_pointer) size_t *indexes = calloc(count, sizeof(*indexes));
	struct judged_root root;
	const char *server;
	size_t wanted = 0;
	int err = 0;

	if (!paths || !found || !indexes)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(files[i].container, files->container) != 0 ||
		    !is_wanted(packages, &files[i]))
			continue;
		paths[wanted] = files[i].binary->path;
		indexes[wanted++] = i;
	}
	if (!wanted || open_root(packages, files, count, &root))
		return 0;
	/* Without a database there is still the server. */
	file_packages_find(&root, paths, wanted, found);
	server = distribution_debuginfod(&root);
	close_fd(&root.fd);
	for (size_t i = 0; i < wanted && !err; i++)
		err = add_advice(packages, files[indexes[i]].binary, &found[i], server);
	return err;
}

static bool is_first_of_container(const struct nameless_file *files, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!strcmp(files[i].container, files[index].container))
			return false;
	return true;
}

int debug_packages_look_up(struct debug_packages *packages, const struct nameless_file *files,
			   size_t count)
{
	int err = 0;

	if (!packages->proc_root)
		return 0;
	if (packages->advice.count > ADVICE_MAX_COUNT)
		forget(packages);
	for (size_t i = 0; i < count && !err; i++)
		if (is_first_of_container(files, i))
			err = look_up_container(packages, files + i, count - i);
	return err;
}
