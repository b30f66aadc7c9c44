/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading executable files. All parsing is in lib/ and stackdeltas/, which bound what they read; this file
 * combines them.
 */
#include "agent/runtimes/executable_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/read_exactly.h"
#include "lib/base/sealed_file.h"
#include "lib/elf/elf_notes.h"
#include "lib/host/file_id.h"
#include "stackdeltas/copied_code.h"
#include "stackdeltas/extract_deltas.h"
#include "stackdeltas/unwind_input.h"

enum {
#ifdef __aarch64__
	OWN_MACHINE = EM_AARCH64,
#else
	OWN_MACHINE = EM_X86_64,
#endif
};

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

static uint64_t code_bytes(const struct unwind_input *input)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < input->code.range_count; i++)
		bytes += input->code.ranges[i].size;
	return bytes;
}

/* Looks for stored deltas, which Go's files never have. -ENOENT: there are none, and new ones may be stored. */
static int load_cached(const struct load_helper *helper, const struct unwind_input *input,
		       struct load_result *result)
{
	if (!helper || !helper->load_cached || input->go)
		return -ENOENT;
	result->key = unwind_input_key(input);
	result->is_new = helper->load_cached(helper->context, result->key, &result->deltas);
	return result->is_new ? -ENOENT : 0;
}

int executable_file_load(int fd, const struct load_helper *helper, const struct load_limits *limits,
			 struct load_result *result)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	_cleanup_(unwind_input_deinit) struct unwind_input input = { 0 };
	struct load_result found = { 0 };
	int err;

	err = elf_image_init_fd(&image, fd);
	if (err)
		return err;
	err = unwind_input_read(&image, &input);
	if (err)
		return err;
	if (helper && helper->search)
		unwind_input_add_debug_file(&input, &image, helper->search);
	err = load_cached(helper, &input, &found);
	if (err && code_bytes(&input) > limits->max_code_bytes) {
		found.lacks_code = true;
		unwind_input_leave_code(&input);
		err = load_cached(helper, &input, &found);
	}
	if (err && unwind_input_work(&input) > limits->max_work_bytes)
		return fail(-EAGAIN, "the file needs more work than a sample is worth now");
	if (err)
		err = extract_deltas(&input, NULL, &found.deltas, NULL);
	if (!err)
		*result = found;
	return err;
}

int executable_file_analyse_copy(int fd, uint64_t address, uint64_t size,
				 struct stack_deltas *deltas)
{
	_cleanup_(free_pointer) uint8_t *bytes = NULL;
	int err;

	if (!copied_code_is_range(address, size))
		return fail(-EINVAL, "%llu bytes of code at %#llx", (unsigned long long)size,
			    (unsigned long long)address);
	bytes = malloc(size);
	if (!bytes)
		return fail(-ENOMEM, "no memory for %llu bytes of code", (unsigned long long)size);
	err = read_exactly(fd, 0, bytes, size);
	return err ? err : copied_code_analyse(OWN_MACHINE, address, bytes, size, deltas);
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
