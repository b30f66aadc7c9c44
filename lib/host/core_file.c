/* SPDX-License-Identifier: Apache-2.0 */
/* Core files. Nothing in them is trusted: tables are bounded, sorted and checked before use. */
#include "lib/host/core_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/byte_reader.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/read_exactly.h"

enum {
	NOTE_ALIGNMENT = 4,
	/* Offsets in struct elf_prstatus in <linux/elfcore.h>, the same on both machines. */
	STATUS_TID_OFFSET = 32,
	STATUS_REGISTERS_OFFSET = 112,
	/* start, end, offset in pages */
	FILE_NOTE_ENTRY_BYTES = 3 * 8,
};

/* Reads the header. *@count gets the number of segments, which may be too large for its header field. */
static int read_header(int fd, Elf64_Ehdr *header, uint32_t *count)
{
	Elf64_Shdr first_section;
	int err;

	err = read_exactly(fd, 0, header, sizeof(*header));
	if (err)
		return err;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_CORE)
		return fail(-EOPNOTSUPP, "not a core file of a 64-bit process");
	if (!register_set_bytes(header->e_machine))
		return fail(-EOPNOTSUPP, "a core file of machine %u", header->e_machine);
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return fail(-EBADMSG, "program headers of %u bytes", header->e_phentsize);
	*count = header->e_phnum;
	if (header->e_phnum != PN_XNUM)
		return 0;
	err = read_exactly(fd, header->e_shoff, &first_section, sizeof(first_section));
	if (err)
		return err;
	*count = first_section.sh_info;
	return 0;
}

static int compare_segments(const void *a, const void *b)
{
	const struct core_segment *first = a, *second = b;

	return (first->address > second->address) - (first->address < second->address);
}

static int add_segment(struct core_file *core, const Elf64_Phdr *header, uint64_t core_bytes)
{
	struct core_segment segment = {
		.address = header->p_vaddr,
		.memory_bytes = header->p_memsz,
		.offset = header->p_offset,
		.file_bytes = header->p_filesz,
		.is_executable = header->p_flags & PF_X,
	};

	if (!segment.memory_bytes)
		return 0;
	if (segment.memory_bytes > UINT64_MAX - segment.address)
		return fail(-EBADMSG, "a segment at %#" PRIx64 " of %#" PRIx64 " bytes",
			    segment.address, segment.memory_bytes);
	/* A core file that did not fit on the disk lacks its end; the rest is good. */
	if (segment.file_bytes > segment.memory_bytes)
		segment.file_bytes = segment.memory_bytes;
	if (segment.offset > core_bytes)
		segment.file_bytes = 0;
	else if (segment.file_bytes > core_bytes - segment.offset)
		segment.file_bytes = core_bytes - segment.offset;
	if (core_segments_push(&core->segments, segment))
		return fail(-ENOMEM, "no memory for the segments of a core file");
	return 0;
}

static int check_segments(struct core_file *core)
{
	struct core_segment *items = core->segments.items;

	if (!core->segments.count)
		return 0;
	qsort(items, core->segments.count, sizeof(*items), compare_segments);
	for (size_t i = 1; i < core->segments.count; i++)
		if (items[i].address < items[i - 1].address + items[i - 1].memory_bytes)
			return fail(-EBADMSG, "segments overlap at %#" PRIx64, items[i].address);
	return 0;
}

static int add_thread(struct core_file *core, const uint8_t *status, size_t size)
{
	struct core_thread thread = { 0 };
	struct byte_reader reader;
	int err;

	byte_reader_init(&reader, status, size);
	byte_reader_skip(&reader, STATUS_TID_OFFSET);
	thread.tid = byte_reader_u32(&reader);
	if (size < STATUS_REGISTERS_OFFSET)
		return fail(-EBADMSG, "a thread's status of %zu bytes", size);
	err = register_set_read(&thread.set, core->machine, status + STATUS_REGISTERS_OFFSET,
				size - STATUS_REGISTERS_OFFSET);
	if (err)
		return err;
	if (core->threads.count == CORE_FILE_MAX_THREADS)
		return fail(-E2BIG, "more than %d threads", CORE_FILE_MAX_THREADS);
	if (core_threads_push(&core->threads, thread))
		return fail(-ENOMEM, "no memory for the threads of a core file");
	return 0;
}

/* Sets tpidr_el0 of the thread whose NT_PRSTATUS came last. */
static void set_thread_pointer(struct core_file *core, const uint8_t *note, size_t size)
{
	struct byte_reader reader;

	byte_reader_init(&reader, note, size);
	if (core->machine == EM_AARCH64 && core->threads.count && size >= sizeof(uint64_t))
		core->threads.items[core->threads.count - 1].set.thread_pointer =
			byte_reader_u64(&reader);
}

static int add_mapping(struct core_file *core, struct byte_reader *numbers,
		       struct byte_reader *names, uint64_t page_bytes)
{
	const struct core_mappings *known = &core->mappings;
	struct core_mapping mapping;
	uint64_t page;

	mapping.start = byte_reader_u64(numbers);
	mapping.end = byte_reader_u64(numbers);
	page = byte_reader_u64(numbers);
	mapping.path = byte_reader_string(names);
	if (!mapping.path || mapping.end <= mapping.start ||
	    __builtin_mul_overflow(page, page_bytes, &mapping.offset) ||
	    mapping.end - mapping.start > UINT64_MAX - mapping.offset)
		return fail(-EBADMSG, "a mapping at %#" PRIx64 " is damaged", mapping.start);
	if (known->count && mapping.start < known->items[known->count - 1].end)
		return fail(-EBADMSG, "mappings at %#" PRIx64 " overlap", mapping.start);
	if (core_mappings_push(&core->mappings, mapping))
		return fail(-ENOMEM, "no memory for the mappings of a core file");
	return 0;
}

/* Count, page size, numbers of each mapping, names of each mapping. */
static int add_mappings(struct core_file *core, const uint8_t *note, size_t size)
{
	struct byte_reader numbers, names;
	uint64_t count, page_bytes;
	int err = 0;

	byte_reader_init(&numbers, note, size);
	count = byte_reader_u64(&numbers);
	page_bytes = byte_reader_u64(&numbers);
	if (count > byte_reader_left(&numbers) / FILE_NOTE_ENTRY_BYTES)
		return fail(-EBADMSG, "%" PRIu64 " mappings in a note of %zu bytes", count, size);
	if (count > CORE_FILE_MAX_MAPPINGS)
		return fail(-E2BIG, "more than %d mappings", CORE_FILE_MAX_MAPPINGS);
	if (core->mappings.count)
		return fail(-EBADMSG, "two lists of mappings");
	names = numbers;
	byte_reader_skip(&names, count * FILE_NOTE_ENTRY_BYTES);
	for (uint64_t i = 0; i < count && !err; i++)
		err = add_mapping(core, &numbers, &names, page_bytes);
	return err;
}

static void find_vdso(struct core_file *core, const uint8_t *note, size_t size)
{
	struct byte_reader reader;

	byte_reader_init(&reader, note, size);
	while (byte_reader_left(&reader) >= 2 * sizeof(uint64_t)) {
		uint64_t type = byte_reader_u64(&reader), value = byte_reader_u64(&reader);

		if (type == AT_SYSINFO_EHDR)
			core->vdso_address = value;
	}
}

static int read_note(struct core_file *core, struct byte_reader *reader)
{
	uint32_t name_bytes = byte_reader_u32(reader), size = byte_reader_u32(reader);
	uint32_t type = byte_reader_u32(reader);
	const char *name = byte_reader_bytes(reader, name_bytes);
	const uint8_t *content;

	byte_reader_skip(reader, -name_bytes % NOTE_ALIGNMENT);
	content = byte_reader_bytes(reader, size);
	if (byte_reader_failed(reader))
		return fail(-EBADMSG, "the notes are cut off");
	/* The last note of a segment need not be padded. */
	if (byte_reader_left(reader) >= -size % NOTE_ALIGNMENT)
		byte_reader_skip(reader, -size % NOTE_ALIGNMENT);
	if (type == NT_ARM_TLS && name_bytes >= 5 && !memcmp(name, "LINUX", 5))
		set_thread_pointer(core, content, size);
	/* Some writers do not count the NUL. */
	if (name_bytes < 4 || memcmp(name, "CORE", 4))
		return 0;
	switch (type) {
	case NT_PRSTATUS:
		return add_thread(core, content, size);
	case NT_FILE:
		return add_mappings(core, content, size);
	case NT_AUXV:
		find_vdso(core, content, size);
		return 0;
	default:
		return 0;
	}
}

/* Fewer bytes than a note's header are padding. */
static int read_notes(struct core_file *core, const uint8_t *notes, size_t size)
{
	struct byte_reader reader;
	int err = 0;

	byte_reader_init(&reader, notes, size);
	while (!err && byte_reader_left(&reader) >= sizeof(Elf64_Nhdr))
		err = read_note(core, &reader);
	return err;
}

/* Separates the program headers into memory and notes; *@note_bytes is the size of all notes. */
static int read_segments(struct core_file *core, const Elf64_Phdr *headers, uint32_t count,
			 uint64_t *note_bytes)
{
	struct stat status;
	uint64_t total = 0;
	int err = 0;

	if (fstat(core->fd, &status))
		return fail_errno(-errno, "fstat");
	for (uint32_t i = 0; i < count && !err; i++) {
		if (headers[i].p_type == PT_LOAD)
			err = add_segment(core, &headers[i], status.st_size);
		if (headers[i].p_type != PT_NOTE)
			continue;
		if (headers[i].p_filesz > CORE_FILE_MAX_NOTE_BYTES - total)
			return fail(-E2BIG, "more than %d bytes of notes",
				    CORE_FILE_MAX_NOTE_BYTES);
		/* Checked before memory is allocated. */
		if (headers[i].p_filesz > (uint64_t)status.st_size)
			return fail(-EBADMSG, "the notes are cut off");
		total += headers[i].p_filesz;
	}
	*note_bytes = total;
	return err ? err : check_segments(core);
}

static int load_notes(struct core_file *core, const Elf64_Phdr *headers, uint32_t count,
		      uint64_t note_bytes)
{
	size_t done = 0;
	int err = 0;

	core->notes = malloc(note_bytes + 1);
	if (!core->notes)
		return fail(-ENOMEM, "no memory for the notes of a core file");
	for (uint32_t i = 0; i < count && !err; i++) {
		size_t size = headers[i].p_filesz;

		if (headers[i].p_type != PT_NOTE)
			continue;
		err = read_exactly(core->fd, headers[i].p_offset, core->notes + done, size);
		if (!err)
			err = read_notes(core, core->notes + done, size);
		done += size;
	}
	return err;
}

static int read_tables(struct core_file *core)
{
	_cleanup_(free_pointer) Elf64_Phdr *headers = NULL;
	uint64_t note_bytes = 0;
	Elf64_Ehdr header;
	uint32_t count = 0;
	int err;

	err = read_header(core->fd, &header, &count);
	if (err)
		return err;
	if (count > CORE_FILE_MAX_SEGMENTS)
		return fail(-E2BIG, "%u segments", count);
	core->machine = header.e_machine;
	headers = calloc(count + 1, sizeof(*headers));
	if (!headers)
		return fail(-ENOMEM, "no memory for the segments of a core file");
	err = read_exactly(core->fd, header.e_phoff, headers, count * sizeof(*headers));
	if (!err)
		err = read_segments(core, headers, count, &note_bytes);
	if (!err)
		err = load_notes(core, headers, count, note_bytes);
	return err;
}

const struct core_segment *core_file_segment(const struct core_file *core, uint64_t address)
{
	size_t low = 0, high = core->segments.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (core->segments.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - core->segments.items[low - 1].address >=
			    core->segments.items[low - 1].memory_bytes)
		return NULL;
	return &core->segments.items[low - 1];
}

static int read_dumped(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	const struct core_file *core = (const struct core_file *)memory;
	size_t done = 0;

	while (done < bytes) {
		const struct core_segment *segment = core_file_segment(core, address + done);
		uint64_t offset = segment ? address + done - segment->address : 0;
		uint64_t count = bytes - done;
		int err;

		if (address + done < address || !segment || offset >= segment->file_bytes)
			return fail(-EFAULT, "address %#" PRIx64 " was not dumped", address + done);
		if (count > segment->file_bytes - offset)
			count = segment->file_bytes - offset;
		err = read_exactly(core->fd, segment->offset + offset, (char *)buffer + done,
				   count);
		if (err)
			return err;
		done += count;
	}
	return 0;
}

int core_file_init(struct core_file *core, int fd)
{
	static const struct remote_memory_ops ops = { .read = read_dumped };
	struct core_file result = { .memory = { .ops = &ops }, .fd = fd };
	int err;

	err = read_tables(&result);
	if (err) {
		core_file_deinit(&result);
		return err;
	}
	*core = result;
	return 0;
}

void core_file_deinit(struct core_file *core)
{
	if (!core)
		return;
	core_segments_deinit(&core->segments);
	core_threads_deinit(&core->threads);
	core_mappings_deinit(&core->mappings);
	free(core->notes);
	memset(core, 0, sizeof(*core));
}
