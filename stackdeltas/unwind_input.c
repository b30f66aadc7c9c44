/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an ELF file that unwinding needs, found by section or by segment. */
#include "stackdeltas/unwind_input.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/abi/frame.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/elf/debug_file.h"
#include "lib/elf/elf_image.h"
#include "lib/elf/go_program.h"
#include "stackdeltas/code_pointers.h"
#include "stackdeltas/eh_frame.h"
#include "stackdeltas/eh_frame_hdr.h"
#include "stackdeltas/fde_table.h"
#include "stackdeltas/go_code.h"

enum {
	/* A landing pad, and the longest beginning behind it. */
	ENTRY_CODE_BYTES = 9,
	ARM64_RESOLVER_BYTES = 32,
	/* Costs of a byte of code, of a compressed byte and of a Go function, relative to a byte of a table. */
	CODE_WORK = 16,
	PACKED_WORK = 64,
	GO_FUNCTION_WORK = 256,
};

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t address_limit = 1ULL << FRAME_ADDRESS_BITS;

static int compare_segments(const void *a, const void *b)
{
	const struct unwind_segment *first = a, *second = b;

	return (first->start > second->start) - (first->start < second->start);
}

static int read_segments(const struct elf_image *image, struct unwind_input *input)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t end = segment->address + segment->file_bytes;

		if (segment->type != PT_LOAD || !(segment->flags & PF_X) || !segment->file_bytes)
			continue;
		if (end > address_limit)
			return fail(-EBADMSG, "a segment at %#llx",
				    (unsigned long long)segment->address);
		if (count == UNWIND_INPUT_MAX_SEGMENTS)
			return fail(-E2BIG, "more than %d executable segments", count);
		input->segments[count++] = (struct unwind_segment){ segment->address, end };
	}
	qsort(input->segments, count, sizeof(input->segments[0]), compare_segments);
	for (uint32_t i = 1; i < count; i++)
		if (input->segments[i].start < input->segments[i - 1].end)
			return fail(-EBADMSG, "executable segments overlap");
	input->segment_count = count;
	return 0;
}

static bool is_in_segment(const struct unwind_input *input, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < input->segment_count; i++)
		if (start >= input->segments[i].start && end <= input->segments[i].end)
			return start < end;
	return false;
}

/*
 * True for a real entry point, which begins with passing on the stack pointer, clearing the frame
 * pointer or popping the number of arguments, since nothing has called it. Linkers give shared libraries an entry point too, the address
 * of their first code.
 */
static bool is_entry_code(uint16_t machine, const uint8_t code[ENTRY_CODE_BYTES])
{
	static const struct {
		uint16_t machine;
		uint8_t size;
		uint8_t bytes[5];
	} landing_pads[] = {
		{ EM_X86_64, 4, { 0xf3, 0x0f, 0x1e, 0xfa } }, /* endbr64 */
		{ EM_AARCH64, 4, { 0x5f, 0x24, 0x03, 0xd5 } }, /* bti c */
	}, beginnings[] = {
		{ EM_X86_64, 3, { 0x48, 0x89, 0xe7 } }, /* mov %rsp,%rdi */
		{ EM_X86_64, 2, { 0x31, 0xed } }, /* xor %ebp,%ebp */
		{ EM_X86_64, 3, { 0x48, 0x31, 0xed } }, /* xor %rbp,%rbp */
		/* Free Pascal: pop %rsi; and $-16,%rsp */
		{ EM_X86_64, 5, { 0x5e, 0x48, 0x83, 0xe4, 0xf0 } },
		{ EM_AARCH64, 4, { 0xe0, 0x03, 0x00, 0x91 } }, /* mov x0,sp */
		{ EM_AARCH64, 4, { 0x1d, 0x00, 0x80, 0xd2 } }, /* mov x29,#0 */
	};

	for (size_t i = 0; i < ARRAY_LENGTH(landing_pads); i++) {
		if (machine == landing_pads[i].machine &&
		    !memcmp(code, landing_pads[i].bytes, landing_pads[i].size)) {
			code += landing_pads[i].size;
			break;
		}
	}
	for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++)
		if (machine == beginnings[i].machine &&
		    !memcmp(code, beginnings[i].bytes, beginnings[i].size))
			return true;
	return false;
}

static void find_entry(const struct elf_image *image, struct unwind_input *input)
{
	uint8_t code[ENTRY_CODE_BYTES];

	if (image->entry && !elf_image_read_address(image, image->entry, code, sizeof(code)) &&
	    is_entry_code(image->machine, code))
		input->entry = image->entry;
}

/*
 * Returns the size of the code at the start of arm64's .plt that resolves a symbol, if it is there. It
 * pushes two registers (stp x16,x30,[sp,#-16]!), while stubs do not change the stack.
 */
static uint64_t arm64_resolver_bytes(const struct elf_image *image,
				     const struct elf_section *section)
{
	static const uint8_t push[] = { 0xf0, 0x7b, 0xbf, 0xa9 };
	uint8_t code[2 * sizeof(push)];

	if (section->size < ARM64_RESOLVER_BYTES ||
	    elf_image_read_address(image, section->address, code, sizeof(code)))
		return 0;
	/* It may follow a landing pad. */
	return !memcmp(code, push, sizeof(push)) ||
			       !memcmp(code + sizeof(push), push, sizeof(push)) ?
		       ARM64_RESOLVER_BYTES :
		       0;
}

static void find_stubs(const struct elf_image *image, struct unwind_input *input)
{
	static const char *const names[UNWIND_INPUT_MAX_STUBS] = { ".plt", ".plt.got", ".plt.sec",
								   ".iplt" };

	for (uint32_t i = 0; i < UNWIND_INPUT_MAX_STUBS; i++) {
		const struct elf_section *section = elf_image_find_section(image, names[i]);
		uint64_t start, end;

		if (!section)
			continue;
		start = section->address;
		end = start + section->size;
		if (image->machine == EM_AARCH64)
			start += arm64_resolver_bytes(image, section);
		if (is_in_segment(input, start, end))
			input->stubs[input->stub_count++] = (struct unwind_segment){ start, end };
	}
	qsort(input->stubs, input->stub_count, sizeof(input->stubs[0]), compare_segments);
}

/*
 * Cuts the bytes from the start of .eh_frame to the end of its segment down to .eh_frame: up to the
 * last FDE of the search table, or without a table to the terminator.
 */
static size_t find_end(const struct elf_bytes *bytes, const struct eh_frame_hdr *header)
{
	const struct eh_frame frame = {
		.bytes = bytes->data,
		.size = bytes->size,
		.address = header->eh_frame_address,
	};
	uint64_t last = header->last_fde_address - header->eh_frame_address;
	struct eh_frame_entry entry;
	size_t end = 0;

	if (header->last_fde_address && eh_frame_entry_at(&frame, last, &entry) > 0)
		return entry.end;
	while (eh_frame_entry_at(&frame, end, &entry) > 0)
		end = entry.end;
	return end;
}

static int read_by_segment(const struct elf_image *image, struct unwind_input *input,
			   struct elf_bytes *bytes)
{
	const struct elf_segment *segment = elf_image_find_segment(image, PT_GNU_EH_FRAME);
	_cleanup_(elf_bytes_deinit) struct elf_bytes header_bytes = { 0 };
	struct eh_frame_hdr header;
	uint64_t size;
	int error;

	if (!segment || !segment->file_bytes)
		return fail(-ENOENT, "neither .eh_frame nor PT_GNU_EH_FRAME");
	error = elf_image_load_range(image, segment->offset, segment->file_bytes,
				     UNWIND_INPUT_MAX_BYTES, &header_bytes);
	if (!error)
		error = eh_frame_hdr_read(header_bytes.data, header_bytes.size, segment->address,
					  &header);
	if (error)
		return error;
	size = elf_image_bytes_at_address(image, header.eh_frame_address);
	if (size > UNWIND_INPUT_MAX_BYTES)
		size = UNWIND_INPUT_MAX_BYTES;
	if (!size)
		return fail(-ENOENT, ".eh_frame_hdr points outside of the file");
	bytes->data = malloc(size);
	if (!bytes->data)
		return fail(-ENOMEM, "no memory for %llu bytes", (unsigned long long)size);
	bytes->size = size;
	error = elf_image_read_address(image, header.eh_frame_address, bytes->data, size);
	if (error)
		return error;
	input->eh_frame_address = header.eh_frame_address;
	bytes->size = find_end(bytes, &header);
	return 0;
}

static int read_eh_frame(const struct elf_image *image, struct unwind_input *input,
			 struct elf_bytes *bytes)
{
	const struct elf_section *section = elf_image_find_section(image, ".eh_frame");

	if (!section)
		return read_by_segment(image, input, bytes);
	/* The section is loaded with the program, so it is never compressed; unpacking could take long. */
	if (elf_section_encoding(section) != ELF_ENCODING_PLAIN)
		return fail(-EBADMSG, ".eh_frame is compressed");
	input->eh_frame_address = section->address;
	return elf_image_load_section(image, section, UNWIND_INPUT_MAX_BYTES, bytes);
}

/* Adds a source, unless it is missing or damaged. */
static void add_source(struct unwind_input *input, const struct elf_image *image,
		       int (*read)(const struct elf_image *, struct unwind_source *))
{
	struct unwind_source *source = &input->sources[input->source_count];

	if (!read(image, source))
		input->source_count++;
}

static int read_fdes(struct unwind_input *input)
{
	struct delta_report report = { 0 };
	int error;

	input->fdes = malloc(sizeof(*input->fdes));
	if (!input->fdes)
		return fail(-ENOMEM, "no memory for the table of FDEs");
	error = fde_table_init(input->fdes, input, &report);
	input->fde_statistics = report.statistics;
	return error;
}

/* Finds Go's table, if there may be one. *@has_go: there should be one. */
static int read_go(const struct elf_image *image, struct unwind_input *input, bool *has_go)
{
	uint64_t bare_bytes = 0;
	int error = 0;

	*has_go = go_program_is_one(image);
	if (!*has_go) {
		error = bare_code_read(image, input, input->fdes, NULL, &bare_bytes);
		if (error || bare_bytes <= UNWIND_INPUT_GO_BARE_BYTES ||
		    (image->section_count && bare_bytes > BARE_CODE_MAX_BYTES))
			return error;
	}
	error = go_code_create(image, &input->go);
	return error == -ENOMEM ? error : 0;
}

/* Finds the code that .eh_frame does not cover, and, if that is much, the file's other sources. */
static int read_bare_code(const struct elf_image *image, struct unwind_input *input)
{
	uint64_t bare_bytes = 0;
	bool has_go = false, is_bare;
	int error = read_fdes(input);

	if (!error)
		error = read_go(image, input, &has_go);
	if (!error)
		error = bare_code_read(image, input, input->fdes,
				       has_go && !input->go ? NULL : &input->code, &bare_bytes);
	if (error)
		return error;
	input->known_range_count = known_ranges_find(image, input->fdes, input->known_ranges);
	is_bare = bare_bytes > UNWIND_INPUT_BARE_BYTES;
	/* Go's linker writes .debug_frame, too, but without switches of stacks. */
	input->is_bare = is_bare && !input->go;
	/* In a file with .eh_frame, .debug_frame is for the code that .eh_frame does not cover. */
	if (bare_bytes && !input->go)
		add_source(input, image, unwind_source_read_debug_frame);
	if (input->is_bare)
		add_source(input, image, unwind_source_read_mini_debug);
	error = is_bare ? bare_code_add_symbols(&input->code, image) : 0;
	if (!error && is_bare)
		error = code_pointers_add_starts(image, input->fdes, &input->code);
	return error || !is_bare ? error : code_pointers_read(image, &input->code);
}

static int read_input(const struct elf_image *image, struct unwind_input *input)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	int error = read_segments(image, input);

	if (error)
		return error;
	if (!input->segment_count)
		return fail(-ENOENT, "no executable segment");
	error = read_eh_frame(image, input, &bytes);
	/* If it is damaged, other sources may still describe the code. */
	if (error == -ENOMEM || error == -E2BIG)
		return error;
	input->eh_frame_error = error;
	if (!error) {
		input->eh_frame_bytes = bytes.size;
		input->eh_frame = take_pointer(bytes.data);
	}
	find_entry(image, input);
	find_stubs(image, input);
	error = read_bare_code(image, input);
	if (error)
		return error;
	if (!input->eh_frame_bytes && !input->source_count && !input->code.range_count &&
	    !input->go)
		return fail(-ENOENT, "neither unwind tables nor code");
	return 0;
}

int unwind_input_read(const struct elf_image *image, struct unwind_input *input)
{
	struct unwind_input result = { .machine = image->machine };
	int error = read_input(image, &result);

	if (error)
		unwind_input_deinit(&result);
	else
		*input = result;
	return error;
}

void unwind_input_add_debug_file(struct unwind_input *input, const struct elf_image *image,
				 const struct debug_file_search *search)
{
	_cleanup_(elf_image_deinit) struct elf_image debug = { .fd = -1 };
	_cleanup_(close_fd) int fd = -1;

	if (!input->is_bare || input->source_count == UNWIND_INPUT_MAX_SOURCES ||
	    debug_file_open(search, image, &fd) || elf_image_init_fd(&debug, fd))
		return;
	add_source(input, &debug, unwind_source_read_debug_frame);
}

void unwind_input_deinit(struct unwind_input *input)
{
	if (!input)
		return;
	go_code_destroy(input->go);
	fde_table_deinit(input->fdes);
	free(input->fdes);
	free(input->eh_frame);
	for (uint32_t i = 0; i < input->source_count; i++)
		unwind_source_deinit(&input->sources[i]);
	bare_code_deinit(&input->code);
	memset(input, 0, sizeof(*input));
}

void unwind_input_leave_code(struct unwind_input *input)
{
	bare_code_deinit(&input->code);
}

uint64_t unwind_input_work(const struct unwind_input *input)
{
	uint64_t work = input->eh_frame_bytes;

	if (input->go)
		work += (uint64_t)input->go->table.header.function_count * GO_FUNCTION_WORK;
	for (uint32_t i = 0; i < input->source_count; i++) {
		const struct unwind_source *source = &input->sources[i];
		bool is_packed = source->kind == UNWIND_SOURCE_MINI_DEBUG ||
				 source->encoding != ELF_ENCODING_PLAIN;

		work += source->raw.size * (is_packed ? PACKED_WORK : 1);
	}
	for (uint32_t i = 0; i < input->code.range_count; i++)
		work += input->code.ranges[i].size * CODE_WORK;
	return work;
}

/* The key that covers what @key does and a number and bytes more. */
static struct hash128 extend_key(struct hash128 key, uint64_t number, const void *bytes,
				 size_t count)
{
	const struct {
		struct hash128 key;
		struct hash128 bytes;
		uint64_t count;
		uint64_t number;
	} extended = { key, hash128_content(bytes, count), count, number };

	return hash128_content(&extended, sizeof(extended));
}

struct hash128 unwind_input_key(const struct unwind_input *input)
{
	/* Zeroed as a whole, so that no padding is hashed. */
	struct {
		struct hash128 bytes;
		uint64_t eh_frame_address;
		uint64_t eh_frame_bytes;
		uint64_t entry;
		uint32_t extractor_version;
		uint32_t machine;
		uint32_t segment_count;
		uint32_t stub_count;
		struct unwind_segment segments[UNWIND_INPUT_MAX_SEGMENTS];
		struct unwind_segment stubs[UNWIND_INPUT_MAX_STUBS];
	} key;
	struct hash128 result;

	memset(&key, 0, sizeof(key));
	key.bytes = hash128_content(input->eh_frame, input->eh_frame_bytes);
	key.eh_frame_address = input->eh_frame_address;
	key.eh_frame_bytes = input->eh_frame_bytes;
	key.entry = input->entry;
	key.extractor_version = EXTRACTOR_VERSION;
	key.machine = input->machine;
	key.segment_count = input->segment_count;
	key.stub_count = input->stub_count;
	memcpy(key.segments, input->segments, input->segment_count * sizeof(key.segments[0]));
	memcpy(key.stubs, input->stubs, input->stub_count * sizeof(key.stubs[0]));
	result = hash128_content(&key, sizeof(key));
	for (uint32_t i = 0; i < input->source_count; i++)
		result = extend_key(
			result, (uint64_t)input->sources[i].kind << 8 | input->sources[i].encoding,
			input->sources[i].raw.data, input->sources[i].raw.size);
	result = extend_key(result, input->known_range_count, input->known_ranges,
			    input->known_range_count * sizeof(input->known_ranges[0]));
	for (uint32_t i = 0; i < input->code.range_count; i++)
		result = extend_key(result, input->code.ranges[i].address,
				    input->code.ranges[i].bytes, input->code.ranges[i].size);
	result = extend_key(result, input->code.range_count, input->code.starts.items,
			    input->code.starts.count * sizeof(uint64_t));
	return extend_key(result, input->code.pointers.count, input->code.pointers.items,
			  input->code.pointers.count * sizeof(uint64_t));
}
