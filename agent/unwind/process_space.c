// SPDX-License-Identifier: Apache-2.0
#include "agent/unwind/process_space.h"

#include <errno.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/host/mapped_file.h"
#include "lib/host/proc_maps.h"

static int add_mapping(pid_t pid, struct process_memory *memory, struct address_space *space,
		       const struct proc_mapping *row)
{
	const struct space_mapping mapping = { row->start, row->end, row->offset, row->path };
	struct file_key key;
	int fd, err;

	if (!strcmp(row->path, "[vsyscall]"))
		return 0;
	if (!strcmp(row->path, "[vdso]"))
		return address_space_add_vdso(space, &mapping, &memory->memory);
	if (!strcmp(row->path, "[uprobes]"))
		return address_space_add_special(space, &mapping, EXECUTABLE_ID_UPROBES);
	if (!row->inode)
		return address_space_add_special(space, &mapping, EXECUTABLE_ID_ANONYMOUS);
	err = mapped_file_open("/proc", pid, row, &fd, &key);
	if (err == -EOPNOTSUPP)
		return address_space_add_special(space, &mapping, EXECUTABLE_ID_ANONYMOUS);
	if (err)
		return err;
	return address_space_add_file(space, &mapping, fd);
}

/* Adds all mappings to @space, which has none. */
static int read_mappings(pid_t pid, struct process_memory *memory, struct address_space *space)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	int err = proc_maps_read(&maps, "/proc", pid, PROC_MAPS_EXECUTABLE);

	for (uint32_t i = 0; i < maps.count && !err; i++) {
		err = add_mapping(pid, memory, space, &maps.rows[i]);
		if (!err || err == -ENOMEM)
			continue;
		/* Unwinding then reports that there is no mapping. */
		log_warn("process %d: %s: %s", pid, maps.rows[i].path, error_text());
		err = 0;
	}
	return err;
}

int process_space_read(pid_t pid, uint32_t languages, struct process_memory *memory,
		       struct address_space *space)
{
	int err = process_memory_init(memory, "/proc", pid);

	if (!err)
		err = address_space_init(space, languages);
	return err ? err : read_mappings(pid, memory, space);
}

int process_space_update(pid_t pid, struct process_memory *memory, struct address_space *space)
{
	struct space_mappings before = address_space_take_mappings(space);
	int err = read_mappings(pid, memory, space);

	if (err) {
		struct space_mappings partial = address_space_take_mappings(space);

		space->rows = before.rows;
		space->referenced = before.referenced;
		before = partial;
	}
	address_space_release_mappings(space, &before);
	return err;
}
