/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files belong to the process or to whoever took the core. All reading and parsing is in agent/processes
 * and below, which bound it.
 */
#include "agent/unwind/address_space.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/processes/runtimes/executable_runtime.h"
#include "agent/runtimes/executable_file.h"
#include "interpreters/registry.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

enum {
	PREPARE_THREADS_MAX = 8,
};

int address_space_init(struct address_space *space, uint32_t languages)
{
	const struct executable_cache_config config = {
		.probe = languages_probe,
		.copies_stacks = languages_copy_stacks,
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
	struct load_result loaded;
	int err = executable_file_load(binary->fd, NULL, &all, &loaded);

	if (!err)
		*deltas = loaded.deltas;
	if (err && err != -ENOENT)
		log_warn("%s: %s", binary->path, error_text());
	if (err == -EBADMSG || err == -E2BIG || err == -ENOENT || err == -EOPNOTSUPP)
		err = executable_file_empty_deltas(deltas);
	if (!err)
		executable_runtime_flag(space->executables, binary, deltas);
	return err;
}

/* Makes the rows of a file; NULL on failure. */
static struct stack_deltas *make_deltas(struct address_space *space, const struct binary *binary)
{
	struct stack_deltas *deltas = calloc(1, sizeof(*deltas));

	if (deltas && load_deltas(space, binary, deltas)) {
		free(deltas);
		return NULL;
	}
	return deltas;
}

/* Takes over @deltas. NULL without memory, or if they are NULL. */
static const struct stack_deltas *keep_deltas(struct address_space *space, uint64_t executable_id,
					      struct stack_deltas *deltas)
{
	if (deltas && hash_map_set_pointer(&space->deltas, executable_id, deltas)) {
		stack_deltas_deinit(deltas);
		free(deltas);
		return NULL;
	}
	return deltas;
}

static const struct stack_deltas *find_deltas(void *context, uint64_t executable_id)
{
	struct address_space *space = context;
	struct stack_deltas *deltas = hash_map_get_pointer(&space->deltas, executable_id);
	const struct binary *binary = address_space_binary(space, executable_id);

	if (deltas || !binary)
		return deltas;
	return keep_deltas(space, executable_id, make_deltas(space, binary));
}

/* --- rows of many files --- */

/* A file whose rows are to be made, and the rows. */
struct file_rows {
	const struct binary *binary;
	struct stack_deltas *deltas;
};

VECTOR_DEFINE(file_rows_vector, struct file_rows)

/* Files whose rows several threads make, each thread the next file. */
struct preparation {
	struct address_space *space;
	struct file_rows_vector files;
	atomic_size_t next;
};

static int compare_sizes(const void *left, const void *right)
{
	const struct file_rows *a = left, *b = right;

	return a->binary->key.size > b->binary->key.size ?
		       -1 :
		       a->binary->key.size < b->binary->key.size;
}

/* Lists each file without rows once, large ones first, so that no thread begins one of them when the others are done. */
static int list_files(const struct address_space *space, struct file_rows_vector *files)
{
	int err = 0;

	for (size_t i = 0; i < space->rows.count && !err; i++) {
		uint64_t id = space->rows.items[i].executable_id;
		const struct binary *binary = address_space_binary(space, id);
		bool is_listed = !binary || hash_map_find(&space->deltas, id, NULL);

		for (size_t k = 0; k < files->count && !is_listed; k++)
			is_listed = files->items[k].binary == binary;
		if (!is_listed)
			err = file_rows_vector_push(files, (struct file_rows){ .binary = binary });
	}
	if (files->count)
		qsort(files->items, files->count, sizeof(*files->items), compare_sizes);
	return err;
}

static void *run_preparation(void *argument)
{
	struct preparation *preparation = argument;
	size_t i;

	while ((i = atomic_fetch_add(&preparation->next, 1)) < preparation->files.count) {
		struct file_rows *file = &preparation->files.items[i];

		executable_runtime_probe(preparation->space->executables, file->binary);
		file->deltas = make_deltas(preparation->space, file->binary);
	}
	return NULL;
}

void address_space_prepare(struct address_space *space, uint32_t thread_count)
{
	struct preparation preparation = { .space = space };
	pthread_t threads[PREPARE_THREADS_MAX];
	uint32_t count = 0;

	/* Without memory, those that are listed. */
	(void)list_files(space, &preparation.files);
	/* This thread is one of them. */
	while (count < PREPARE_THREADS_MAX && count + 1 < thread_count &&
	       count + 1 < preparation.files.count &&
	       !pthread_create(&threads[count], NULL, run_preparation, &preparation))
		count++;
	run_preparation(&preparation);
	while (count)
		pthread_join(threads[--count], NULL);
	for (size_t i = 0; i < preparation.files.count; i++)
		(void)keep_deltas(space, preparation.files.items[i].binary->executable_id,
				  preparation.files.items[i].deltas);
	file_rows_vector_deinit(&preparation.files);
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
