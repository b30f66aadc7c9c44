/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading executable files. All parsing is in lib/ and stackdeltas/, which bound what they read; this file
 * combines them.
 */
#include "agent/processes/executable_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/processes/local_devices.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/sealed_file.h"
#include "lib/elf/debug_file.h"
#include "lib/elf/elf_notes.h"
#include "lib/host/file_id.h"
#include "stackdeltas/delta_cache.h"
#include "stackdeltas/unwind_input.h"

static int copy_segments(const struct elf_image *image, struct elf_image *segments)
{
	struct elf_image copy = { .fd = -1, .machine = image->machine };

	copy.size = image->size;
	copy.segments = calloc(image->segment_count + 1, sizeof(*copy.segments));
	if (!copy.segments)
		return fail(-ENOMEM, "no memory for the segments of a file");
	copy.segment_count = image->segment_count;
	for (uint32_t i = 0; i < image->segment_count; i++)
		copy.segments[i] = image->segments[i];
	*segments = copy;
	return 0;
}

/* Sets one text range for profilers that covers all executable segments; post-link optimizers leave several. */
static void set_text_range(const struct elf_image *image, struct binary *binary)
{
	bool is_set = false;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t end = segment->address + segment->memory_bytes;

		if (segment->type != PT_LOAD || !(segment->flags & PF_X))
			continue;
		if (!is_set || segment->address < binary->memory_start) {
			binary->memory_start = segment->address;
			binary->file_offset = segment->offset;
		}
		if (end > binary->memory_limit)
			binary->memory_limit = end;
		is_set = true;
	}
}

int executable_file_identify(int fd, struct binary *binary, struct program_facts *facts,
			     struct elf_image *segments)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	struct binary found = { .fd = -1 };
	int err;

	err = elf_image_init_fd(&image, fd);
	if (err)
		return err;
	/* Its runtime maps its code, such as wasmtime does with modules that were compiled before (.cwasm). */
	if (!image.segment_count)
		return fail(-EOPNOTSUPP, "the ELF file has no segments");
	err = file_id_of_file(fd, &found.file_id);
	if (err)
		return err;
	/* A file with a missing or damaged build id is still used. */
	if (elf_image_build_id(&image, found.build_id, &found.build_id_bytes))
		found.build_id_bytes = 0;
	set_text_range(&image, &found);
	err = copy_segments(&image, segments);
	if (err)
		return err;
	if (languages_describe(&image, facts))
		found.facts = facts;
	*binary = found;
	return 0;
}

struct device_judge {
	struct local_devices devices;
	const char *proc_root;
};

static bool is_local(void *context, pid_t pid, uint32_t major, uint32_t minor)
{
	struct device_judge *judge = context;

	return local_devices_contain(&judge->devices, judge->proc_root, pid, major, minor,
				     clock_monotonic_ns());
}

static void add_debug_file(const struct elf_image *image, const struct executable_origin *origin,
			   struct unwind_input *input)
{
	struct device_judge judge = { .proc_root = origin->proc_root };
	const struct debug_file_search search = {
		.proc_root = origin->proc_root,
		.pid = origin->pid,
		.path = origin->path,
		.judge = { .may_read = is_local, .context = &judge },
	};

	local_devices_init(&judge.devices);
	unwind_input_add_debug_file(input, image, &search);
	local_devices_deinit(&judge.devices);
}

static uint64_t code_bytes(const struct unwind_input *input)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < input->code.range_count; i++)
		bytes += input->code.ranges[i].size;
	return bytes;
}

/* Loads the deltas from the disk cache, whatever their size; -ENOENT. */
static int load_cached(struct delta_cache *cache, const struct unwind_input *input,
		       struct stack_deltas *deltas)
{
	return cache && !input->go ? delta_cache_load(cache, unwind_input_key(input), deltas) :
				     -ENOENT;
}

int executable_file_load(int fd, const struct executable_origin *origin, struct delta_cache *cache,
			 const struct load_limits *limits, struct stack_deltas *deltas,
			 bool *lacks_code)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	_cleanup_(unwind_input_deinit) struct unwind_input input = { 0 };
	bool is_left;
	int err;

	err = elf_image_init_fd(&image, fd);
	if (err)
		return err;
	err = unwind_input_read(&image, &input);
	if (err)
		return err;
	if (input.is_bare && origin && origin->proc_root)
		add_debug_file(&image, origin, &input);
	is_left = code_bytes(&input) > limits->max_code_bytes && load_cached(cache, &input, deltas);
	if (code_bytes(&input) > limits->max_code_bytes && !is_left)
		return 0;
	if (is_left)
		unwind_input_leave_code(&input);
	if (unwind_input_work(&input) > limits->max_work_bytes)
		return fail(-EAGAIN, "the file needs more work than a sample is worth now");
	err = delta_cache_get(cache, &input, deltas);
	if (!err && lacks_code)
		*lacks_code = is_left;
	return err;
}

int executable_file_empty_deltas(struct stack_deltas *deltas)
{
	struct stack_deltas empty = { .page_count = 1, .row_count = 1, .rule_count = 1 };

	/* One page with one row, whose rule is all zero: CFA_NONE. */
	empty.page_index = calloc(empty.page_count + 1, sizeof(*empty.page_index));
	empty.rows = calloc(1, stack_deltas_row_bytes(empty.row_count));
	empty.rules = calloc(empty.rule_count, sizeof(*empty.rules));
	if (!empty.page_index || !empty.rows || !empty.rules) {
		stack_deltas_deinit(&empty);
		return fail(-ENOMEM, "no memory for an empty table");
	}
	empty.page_index[1] = 1;
	*deltas = empty;
	return 0;
}

int executable_file_from_memory(const char *name, const void *bytes, size_t size, int *fd)
{
	_cleanup_(close_fd) int copy = -1;
	int err = sealed_file_create(name, &copy);

	if (!err)
		err = sealed_file_write(copy, bytes, size, 0);
	if (!err)
		err = sealed_file_seal(copy, size);
	if (!err)
		*fd = take_fd(copy);
	return err;
}
