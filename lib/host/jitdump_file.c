/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/host/jitdump_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/host/process_status.h"

/* The executable mapping of a file called @name; NULL if there is none. */
static const struct proc_mapping *find_name(const struct proc_maps *maps, const char *name)
{
	for (uint32_t i = 0; i < maps->count; i++) {
		const char *slash = strrchr(maps->rows[i].path, '/');

		if (slash && !strcmp(slash + 1, name))
			return &maps->rows[i];
	}
	return NULL;
}

int jitdump_find_mapping(const char *proc_root, pid_t pid, const struct proc_maps *maps,
			 struct proc_mapping *mapping, char **path)
{
	const struct proc_mapping *found;
	struct process_status status;
	char name[64], *copy;
	int err = process_status_read(proc_root, pid, &status);

	if (err)
		return err;
	snprintf(name, sizeof(name), "jit-%ld.dump", status.inner_pid);
	found = find_name(maps, name);
	copy = found ? strdup(found->path) : NULL;
	if (copy) {
		*mapping = *found;
		mapping->path = *path = copy;
	} else {
		err = found ? -ENOMEM : fail(-ENOENT, "process %d maps no %s", pid, name);
	}
	return err;
}
