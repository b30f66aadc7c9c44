/* SPDX-License-Identifier: Apache-2.0 */
/* Everything in the core file is hostile, paths included: only regular files are read. */
#include "agent/unwind/core_space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/read_exactly.h"

enum {
	/* Bytes at the beginning of a file, headers and notes, that are compared with the dump. */
	COMPARED_BYTES = 4096,
};

/* The list of mappings: those of NT_FILE, or the lines of maps. */
struct mapping_list {
	const struct core_file *core;
	const struct proc_maps *maps;
};

static size_t mapping_count(const struct mapping_list *list)
{
	return list->maps ? list->maps->count : list->core->mappings.count;
}

static struct space_mapping mapping_at(const struct mapping_list *list, size_t index)
{
	if (list->maps) {
		const struct proc_mapping *row = &list->maps->rows[index];

		return (struct space_mapping){ row->start, row->end, row->offset, row->path };
	}
	return (struct space_mapping){
		.start = list->core->mappings.items[index].start,
		.end = list->core->mappings.items[index].end,
		.offset = list->core->mappings.items[index].offset,
		.path = list->core->mappings.items[index].path,
	};
}

/* Whether the dumped beginning of the file equals the beginning of @fd. */
static bool is_same_file(struct core_file *core, const struct mapping_list *list, const char *path,
			 int fd)
{
	uint8_t dumped[COMPARED_BYTES], present[COMPARED_BYTES];

	for (size_t i = 0; i < mapping_count(list); i++) {
		const struct space_mapping mapping = mapping_at(list, i);

		if (mapping.offset || strcmp(mapping.path, path) != 0 ||
		    remote_memory_read(&core->memory, mapping.start, dumped, sizeof(dumped)))
			continue;
		return !read_exactly(fd, 0, present, sizeof(present)) &&
		       !memcmp(dumped, present, sizeof(present));
	}
	return true;
}

static int open_file(struct core_file *core, const struct mapping_list *list, const char *root,
		     const char *path, int *fd)
{
	_cleanup_(close_fd) int opened = -1;
	char full_path[PATH_MAX];

	if (snprintf(full_path, sizeof(full_path), "%s%s", root, path) >= (int)sizeof(full_path))
		return -ENAMETOOLONG;
	/* The flags avoid waits for FIFOs and leases. Other than regular files are refused later. */
	opened = open(full_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (opened < 0)
		return fail_errno(-errno, "%s", full_path);
	if (!is_same_file(core, list, path, opened))
		return fail(-ENOENT, "%s is not the file that was mapped", full_path);
	*fd = take_fd(opened);
	return 0;
}

static int add_mapping(struct core_space *space, struct core_file *core,
		       const struct mapping_list *list, const struct space_mapping *mapping,
		       const char *root)
{
	int fd = -1, err;

	if (core->vdso_address && mapping->start <= core->vdso_address &&
	    core->vdso_address < mapping->end)
		return address_space_add_vdso(&space->space, mapping, &core->memory);
	if (mapping->path[0] != '/')
		return address_space_add_special(&space->space, mapping, EXECUTABLE_ID_ANONYMOUS);
	err = open_file(core, list, root, mapping->path, &fd);
	if (err)
		return err;
	return address_space_add_file(&space->space, mapping, fd);
}

/* A mapping that cannot be added is logged; unwinding then reports that there is no mapping. */
static int add_or_warn(struct core_space *space, struct core_file *core,
		       const struct mapping_list *list, const struct space_mapping *mapping,
		       const char *root)
{
	int err = add_mapping(space, core, list, mapping, root);

	if (!err || err == -ENOMEM)
		return err;
	log_warn("%s at %#" PRIx64 ": %s", mapping->path, mapping->start, error_text());
	return 0;
}

/* Adds executable segments without a file, from index *@next on, that begin below @limit. */
static int add_anonymous(struct core_space *space, struct core_file *core,
			 const struct mapping_list *list, uint64_t limit, size_t *next)
{
	int err = 0;

	for (; *next < core->segments.count && !err; (*next)++) {
		const struct core_segment *segment = &core->segments.items[*next];
		const struct space_mapping mapping = {
			.start = segment->address,
			.end = segment->address + segment->memory_bytes,
			.path = segment->address == core->vdso_address ? "[vdso]" : "",
		};

		if (segment->address >= limit)
			break;
		if (segment->is_executable)
			err = add_or_warn(space, core, list, &mapping, "");
	}
	return err;
}

/*
 * Adds executable memory by segments, and its files by NT_FILE. gcore leaves out segments of text, so a mapping
 * without a segment may be executable.
 */
static int add_segments(struct core_space *space, struct core_file *core,
			const struct mapping_list *list, const char *root)
{
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < mapping_count(list) && !err; i++) {
		const struct space_mapping mapping = mapping_at(list, i);
		const struct core_segment *segment = core_file_segment(core, mapping.start);

		err = add_anonymous(space, core, list, mapping.start, &next);
		if (!err && (!segment || segment->is_executable))
			err = add_or_warn(space, core, list, &mapping, root);
		while (next < core->segments.count &&
		       core->segments.items[next].address < mapping.end)
			next++;
	}
	return err ? err : add_anonymous(space, core, list, UINT64_MAX, &next);
}

static int add_lines(struct core_space *space, struct core_file *core,
		     const struct mapping_list *list, const char *root)
{
	int err = 0;

	for (uint32_t i = 0; i < list->maps->count && !err; i++) {
		const struct space_mapping mapping = mapping_at(list, i);

		if (list->maps->rows[i].protection & PROT_EXEC)
			err = add_or_warn(space, core, list, &mapping, root);
	}
	return err;
}

static int read_memory(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	return core_space_read((struct core_space *)memory, address, buffer, bytes);
}

int core_space_init(struct core_space *space, struct core_file *core, const struct proc_maps *maps,
		    const char *root, uint32_t languages)
{
	static const struct remote_memory_ops ops = { .read = read_memory };
	const struct mapping_list list = { core, maps };
	struct core_space created = { .memory = { .ops = &ops }, .core = core };
	int err = address_space_init(&created.space, languages);

	if (err)
		return err;
	err = maps ? add_lines(&created, core, &list, root) :
		     add_segments(&created, core, &list, root);
	if (err) {
		core_space_deinit(&created);
		return err;
	}
	*space = created;
	return 0;
}

void core_space_deinit(struct core_space *space)
{
	address_space_deinit(&space->space);
}

int core_space_read(void *context, uint64_t address, void *bytes, size_t size)
{
	struct core_space *space = context;
	struct core_file *core = (struct core_file *)space->core;

	if (!remote_memory_read(&core->memory, address, bytes, size))
		return 0;
	/* Unmodified memory, such as text, is not dumped; it is read from the file. */
	return address_space_read_file(&space->space, address, bytes, size);
}
