/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Core files. The input is a core file or, depending on its first byte, a list of parts from which a
 * well-formed one is made (threads, mappings, memory, notes of any content), so that the code behind the
 * headers is reached. All results must be sorted and within their limits, and a read of any byte of memory must
 * succeed or fail cleanly.
 *
 * covers: core_file.c register_set.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/host/core_file.h"
#include "lib/host/tests/core_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum part {
	PART_THREAD,
	PART_NOTE,
	PART_MEMORY,
	PART_MAPPINGS,
	PART_COUNT,
	/* Limit of damaged bytes, which are changed after the file was built. */
	DAMAGE_MAX = 3,
};

struct input {
	const uint8_t *data;
	size_t size;
};

static uint64_t take(struct input *input, size_t bytes)
{
	uint64_t value = 0;

	if (bytes > input->size)
		bytes = input->size;
	if (bytes)
		memcpy(&value, input->data, bytes);
	input->data += bytes;
	input->size -= bytes;
	return value;
}

static const uint8_t *take_bytes(struct input *input, size_t *bytes)
{
	const uint8_t *data = input->data;

	if (*bytes > input->size)
		*bytes = input->size;
	input->data += *bytes;
	input->size -= *bytes;
	return data;
}

static void put_mappings(struct core_builder *core, struct input *input)
{
	uint8_t note[1024] = { 0 };
	uint64_t count = take(input, 1) % 20, claimed = count, address = 0;
	size_t size = 2 * sizeof(uint64_t);

	if (take(input, 1) % 8 == 0)
		claimed = take(input, 8);
	memcpy(note, &claimed, 8);
	note[9] = 0x10;
	for (uint64_t i = 0; i < count; i++, size += 24) {
		uint64_t numbers[3];

		numbers[0] = address += take(input, 2) << 12;
		numbers[1] = address += take(input, 1) << 12;
		numbers[2] = take(input, 1) ? take(input, 1) : take(input, 8);
		memcpy(note + size, numbers, sizeof(numbers));
	}
	while (size < sizeof(note) && count--) {
		size_t name_bytes = take(input, 1) % 16;
		const uint8_t *name = take_bytes(input, &name_bytes);

		if (name_bytes >= sizeof(note) - size)
			break;
		memcpy(note + size, name, name_bytes);
		size += name_bytes + 1;
	}
	core_builder_note(core, NT_FILE, note, size);
}

static void put_part(struct core_builder *core, struct input *input)
{
	const uint8_t *bytes;
	uint64_t number;
	size_t size;

	switch ((enum part)(take(input, 1) % PART_COUNT)) {
	case PART_THREAD:
		number = take(input, 2);
		core_builder_thread(core, number, take(input, 8));
		return;
	case PART_NOTE:
		number = take(input, 1) % 8;
		size = take(input, 1);
		bytes = take_bytes(input, &size);
		core_builder_note(core, number ? number : NT_FILE, bytes, size);
		return;
	case PART_MEMORY:
		number = take(input, 3) << 12;
		size = take(input, 2);
		bytes = take_bytes(input, &size);
		core_builder_memory(core, number, take(input, 1), take(input, 2), bytes, size);
		return;
	default:
		put_mappings(core, input);
		return;
	}
}

static void build(struct core_builder *core, struct input *input)
{
	uint64_t damages = take(input, 1) % (DAMAGE_MAX + 1);

	core_builder_init(core, take(input, 1) % 2 ? EM_AARCH64 : EM_X86_64);
	while (input->size > DAMAGE_MAX * 3)
		put_part(core, input);
	for (uint64_t i = 0; i < damages; i++) {
		size_t offset = take(input, 2) % core->size;

		core->bytes[offset] = take(input, 1);
	}
}

static void check(struct core_file *core)
{
	uint8_t bytes[100];
	uint64_t end = 0;

	for (size_t i = 0; i < core->segments.count; i++) {
		const struct core_segment *segment = &core->segments.items[i];

		if (segment->address < end || segment->file_bytes > segment->memory_bytes)
			abort();
		end = segment->address + segment->memory_bytes;
		if (core_file_segment(core, segment->address) != segment ||
		    core_file_segment(core, end - 1) != segment)
			abort();
		if (segment->file_bytes &&
		    remote_memory_read(&core->memory, segment->address, bytes, 1))
			abort();
		remote_memory_read(&core->memory, end - 50, bytes, sizeof(bytes));
	}
	end = 0;
	for (size_t i = 0; i < core->mappings.count; i++) {
		const struct core_mapping *mapping = &core->mappings.items[i];

		if (mapping->start < end || mapping->end <= mapping->start ||
		    strlen(mapping->path) > CORE_BUILDER_MAX_BYTES)
			abort();
		end = mapping->end;
	}
	if (core->threads.count > CORE_FILE_MAX_THREADS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct core_builder builder;
	static int fd = -1;
	struct input input = { data, size };
	struct core_file core;

	if (fd < 0)
		fd = memfd_create("core", MFD_CLOEXEC);
	if (fd < 0 || !size)
		return 0;
	if (take(&input, 1) % 4) {
		build(&builder, &input);
		input = (struct input){ builder.bytes, builder.size };
	}
	if (ftruncate(fd, 0) || pwrite(fd, input.data, input.size, 0) != (ssize_t)input.size)
		abort();
	if (core_file_init(&core, fd))
		return 0;
	check(&core);
	core_file_deinit(&core);
	return 0;
}
