/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files belong to the process or to whoever took the core. All reading and parsing is in agent/processes
 * and below, which bound it.
 */
#include "agent/unwind/address_space.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/processes/executable_file.h"
#include "agent/processes/runtimes/executable_runtime.h"
#include "interpreters/registry.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

int address_space_init(struct address_space *space, uint32_t languages)
{
	const struct executable_cache_config config = {
		.probe = languages_probe,
		.languages = languages,
	};
	struct address_space created = { 0 };
	int err = executable_cache_create(&config, &created.executables);

	if (!err)
		*space = created;
	return err;
}

struct space_mappings address_space_take_mappings(struct address_space *space)
{
	const struct space_mappings taken = { space->rows, space->referenced };

	space->rows = (struct space_rows){ 0 };
	space->referenced = (struct space_executables){ 0 };
	return taken;
}

void address_space_release_mappings(struct address_space *space, struct space_mappings *mappings)
{
	for (size_t i = 0; i < mappings->referenced.count; i++)
		executable_unref(space->executables, mappings->referenced.items[i]);
	space_executables_deinit(&mappings->referenced);
	space_rows_deinit(&mappings->rows);
}

void address_space_deinit(struct address_space *space)
{
	struct space_mappings mappings;
	uint64_t deltas;
	size_t cursor = 0;

	if (!space->executables)
		return;
	mappings = address_space_take_mappings(space);
	address_space_release_mappings(space, &mappings);
	while (hash_map_next(&space->deltas, &cursor, NULL, &deltas)) {
		stack_deltas_deinit((void *)(uintptr_t)deltas);
		free((void *)(uintptr_t)deltas);
	}
	hash_map_deinit(&space->deltas);
	executable_cache_destroy(space->executables);
	space->executables = NULL;
}

static int add_row(struct address_space *space, const struct space_mapping *mapping, uint64_t bias,
		   uint64_t executable_id)
{
	const struct space_rows *rows = &space->rows;
	struct mapping_row row = {
		.start = mapping->start,
		.end = mapping->end,
		.bias = bias,
		.executable_id = executable_id,
	};

	if (row.end <= row.start || (rows->count && row.start < rows->items[rows->count - 1].end))
		return fail(-EBADMSG, "a mapping at %#" PRIx64 " out of order", mapping->start);
	if (rows->count == PROCESS_MAX_MAPPINGS)
		return fail(-E2BIG, "more than %d mappings", PROCESS_MAX_MAPPINGS);
	if (space_rows_push(&space->rows, row))
		return fail(-ENOMEM, "no memory for mappings");
	return 0;
}

/* Adds a row for @executable, and takes over the reference. */
static int add_executable(struct address_space *space, const struct space_mapping *mapping,
			  struct executable *executable)
{
	uint64_t bias = 0;
	int err = 0;

	if (space_executables_push(&space->referenced, executable)) {
		executable_unref(space->executables, executable);
		return fail(-ENOMEM, "no memory for mappings");
	}
	if (executable->id >= EXECUTABLE_ID_FIRST)
		err = executable_mapping_bias(executable, mapping->start, mapping->end,
					      mapping->offset, &bias);
	if (err)
		return fail(err, "%s: no segment at offset %#" PRIx64, mapping->path,
			    mapping->offset);
	return add_row(space, mapping, bias, executable->id);
}

int address_space_add_file(struct address_space *space, const struct space_mapping *mapping, int fd)
{
	struct executable *executable;
	struct file_key key;
	int err;

	err = file_key_of_fd(fd, &key);
	if (!err)
		err = executable_cache_open(space->executables, fd, &key, 0, mapping->path, NULL,
					    &executable);
	if (err) {
		close(fd);
		return err;
	}
	return add_executable(space, mapping, executable);
}

int address_space_add_vdso(struct address_space *space, const struct space_mapping *mapping,
			   struct remote_memory *memory)
{
	struct executable *executable;
	int err = executable_cache_open_vdso(space->executables, memory, mapping->start,
					     mapping->end, mapping->path, &executable);

	return err ? err : add_executable(space, mapping, executable);
}

int address_space_add_special(struct address_space *space, const struct space_mapping *mapping,
			      uint64_t executable_id)
{
	return add_row(space, mapping, 0, executable_id);
}

struct binary *address_space_binary(const struct address_space *space, uint64_t executable_id)
{
	const struct executable *executable =
		executable_cache_by_id(space->executables, executable_id);

	return executable ? executable->binary : NULL;
}

/* Whether the bytes at the ELF address are in the file and not writable. */
static bool is_constant(const struct elf_image *segments, uint64_t address, size_t size)
{
	for (uint32_t i = 0; i < segments->segment_count; i++) {
		const struct elf_segment *segment = &segments->segments[i];

		if (segment->type == PT_LOAD && !(segment->flags & PF_W) &&
		    address >= segment->address &&
		    address - segment->address < segment->file_bytes &&
		    size <= segment->file_bytes - (address - segment->address))
			return true;
	}
	return false;
}

int address_space_read_file(const struct address_space *space, uint64_t address, void *bytes,
			    size_t size)
{
	for (size_t i = 0; i < space->rows.count; i++) {
		const struct mapping_row *row = &space->rows.items[i];
		const struct executable *executable =
			executable_cache_by_id(space->executables, row->executable_id);
		struct elf_image image;

		if (!executable || !executable->binary ||
		    !is_constant(&executable->segments, address - row->bias, size))
			continue;
		image = executable->segments;
		image.fd = executable->binary->fd;
		return elf_image_read_address(&image, address - row->bias, bytes, size);
	}
	return fail(-EFAULT, "no file at %#" PRIx64, address);
}

/* Loads the deltas of a file; a file without usable tables gets empty ones. */
static int load_deltas(struct address_space *space, const struct binary *binary,
		       struct stack_deltas *deltas)
{
	const struct load_limits all = { UINT64_MAX, UINT64_MAX };
	int err = executable_file_load(binary->fd, NULL, NULL, &all, deltas, NULL);

	if (err && err != -ENOENT)
		log_warn("%s: %s", binary->path, error_text());
	if (err == -EBADMSG || err == -E2BIG || err == -ENOENT || err == -EOPNOTSUPP)
		err = executable_file_empty_deltas(deltas);
	if (!err)
		executable_runtime_flag(space->executables, binary, deltas);
	return err;
}

static const struct stack_deltas *find_deltas(void *context, uint64_t executable_id)
{
	struct address_space *space = context;
	struct stack_deltas *deltas = hash_map_get_pointer(&space->deltas, executable_id);
	const struct binary *binary = address_space_binary(space, executable_id);

	if (deltas || !binary)
		return deltas;
	deltas = calloc(1, sizeof(*deltas));
	if (!deltas)
		return NULL;
	if (load_deltas(space, binary, deltas) ||
	    hash_map_set_pointer(&space->deltas, executable_id, deltas)) {
		stack_deltas_deinit(deltas);
		free(deltas);
		return NULL;
	}
	return deltas;
}

void address_space_prepare(struct address_space *space)
{
	for (size_t i = 0; i < space->rows.count; i++)
		(void)find_deltas(space, space->rows.items[i].executable_id);
}

struct user_tables address_space_tables(struct address_space *space)
{
	return (struct user_tables){
		.rows = space->rows.items,
		.row_count = space->rows.count,
		.find_deltas = find_deltas,
		.context = space,
	};
}
