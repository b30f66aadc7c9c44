/* SPDX-License-Identifier: Apache-2.0 */
/* The file is hostile, and may change while it is copied. Parsers reject a malformed copy. */
#include "agent/runtimes/file_copy.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/sealed_file.h"
#include "lib/elf/elf_image.h"

enum {
	CHUNK_BYTES = 256 << 10,
	/* Bytes at each end that are always copied, since the file id is made from them. */
	ENDS_BYTES = 4096,
	HOLES_MAX = 64,
	/* Limit of the names of all sections. */
	NAMES_MAX_BYTES = 4 << 20,
};

/* The file that is copied. */
struct source {
	struct splice_reader *reader;
	int fd;
};

struct hole {
	uint64_t start;
	uint64_t end;
};

/* Ranges that are left out, sorted and not overlapping. */
struct holes {
	struct hole items[HOLES_MAX];
	uint32_t count;
	uint64_t bytes;
};

static int compare_holes(const void *one, const void *other)
{
	const struct hole *a = one, *b = other;

	return (a->start > b->start) - (a->start < b->start);
}

static bool is_left_out(const struct elf_section *section)
{
	return elf_section_is_debug_data(section) && strcmp(section->name, ".debug_frame") != 0 &&
	       strcmp(section->name, ".zdebug_frame") != 0;
}

static void join_holes(struct holes *holes)
{
	uint32_t count = 0;
	uint64_t end = 0;

	qsort(holes->items, holes->count, sizeof(holes->items[0]), compare_holes);
	for (uint32_t i = 0; i < holes->count; i++) {
		struct hole hole = holes->items[i];

		if (hole.start < end)
			hole.start = end;
		if (hole.end <= hole.start)
			continue;
		end = hole.end;
		holes->bytes += hole.end - hole.start;
		holes->items[count++] = hole;
	}
	holes->count = count;
}

static void add_holes(const struct elf_image *image, uint64_t size, struct holes *holes)
{
	for (uint32_t i = 0; i < image->section_count && holes->count < HOLES_MAX; i++) {
		const struct elf_section *section = &image->sections[i];
		struct hole hole = { .start = section->offset, .end = size - ENDS_BYTES };

		if (!is_left_out(section) || section->offset >= size)
			continue;
		if (hole.start < ENDS_BYTES)
			hole.start = ENDS_BYTES;
		if (section->size < hole.end - section->offset && section->offset < hole.end)
			hole.end = section->offset + section->size;
		if (hole.start < hole.end)
			holes->items[holes->count++] = hole;
	}
	join_holes(holes);
}

/* Copies a range. *@end is where the copy ended: before @limit if the file was truncated. */
static int copy_range(const struct source *from, int to, uint64_t offset, uint64_t limit,
		      uint64_t *end)
{
	_cleanup_(free_pointer) char *bytes = malloc(CHUNK_BYTES);

	if (!bytes)
		return fail(-ENOMEM, "no memory to copy a file");
	while (offset < limit) {
		uint64_t left = limit - offset;
		ssize_t count = splice_reader_read(from->reader, from->fd, bytes,
						   left < CHUNK_BYTES ? left : CHUNK_BYTES, offset);
		int err;

		if (count < 0)
			return fail_errno((int)count, "cannot read a file to copy it");
		if (!count)
			break;
		err = sealed_file_write(to, bytes, (size_t)count, offset);
		if (err)
			return err;
		offset += (uint64_t)count;
	}
	*end = offset;
	return 0;
}

/* Copies what the headers of an ELF file need: the table of sections, and their names. */
static int copy_tables(const struct source *from, int to, uint64_t size)
{
	Elf64_Shdr names;
	Elf64_Ehdr header;
	uint64_t table_bytes, end;
	int err = copy_range(from, to, 0, ENDS_BYTES, &end);

	if (err || splice_reader_read(from->reader, from->fd, &header, sizeof(header), 0) !=
			   sizeof(header))
		return -EBADMSG;
	table_bytes = (uint64_t)header.e_shnum * sizeof(names);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(names) ||
	    header.e_shstrndx >= header.e_shnum || header.e_shoff > size ||
	    table_bytes > size - header.e_shoff ||
	    splice_reader_read(from->reader, from->fd, &names, sizeof(names),
			       header.e_shoff + header.e_shstrndx * sizeof(names)) !=
		    sizeof(names) ||
	    names.sh_offset > size || names.sh_size > size - names.sh_offset ||
	    names.sh_size > NAMES_MAX_BYTES)
		return -EBADMSG;
	err = copy_range(from, to, header.e_shoff, header.e_shoff + table_bytes, &end);
	return err ? err :
		     copy_range(from, to, names.sh_offset, names.sh_offset + names.sh_size, &end);
}

/* Reads the headers in the copy, which so far has nothing else; nobody else can change it. */
static void find_holes(const struct source *from, int to, uint64_t size, struct holes *holes)
{
	_cleanup_(elf_image_deinit) struct elf_image image = { .fd = -1 };
	void *mapped;

	if (size < 2 * ENDS_BYTES || copy_tables(from, to, size) || ftruncate(to, (off_t)size))
		return;
	mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, to, 0);
	if (mapped == MAP_FAILED)
		return;
	if (!elf_image_init_memory(&image, mapped, size))
		add_holes(&image, size, holes);
	munmap(mapped, size);
}

/* Copies the file without its holes. *@end is the size of the copy. */
static int copy_all(const struct source *from, int to, uint64_t size, const struct holes *holes,
		    uint64_t *end)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i <= holes->count; i++) {
		uint64_t limit = i < holes->count ? holes->items[i].start : size;
		int err = copy_range(from, to, offset, limit, end);

		if (err || *end < limit)
			return err;
		offset = i < holes->count ? holes->items[i].end : size;
	}
	return 0;
}

int file_copy_create(struct splice_reader *reader, int fd, int *copy)
{
	const struct source from = { reader, fd };
	_cleanup_(close_fd) int made = -1;
	struct holes holes = { .count = 0 };
	uint64_t size, end = 0;
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return fail_errno(-errno, "cannot stat a file to copy it");
	size = (uint64_t)status.st_size;
	err = sealed_file_create("copy", &made);
	if (err)
		return err;
	find_holes(&from, made, size, &holes);
	if (size - holes.bytes > FILE_COPY_MAX_BYTES)
		return fail(-EFBIG, "more than %d MiB on a file system that may not answer",
			    FILE_COPY_MAX_BYTES >> 20);
	err = copy_all(&from, made, size, &holes, &end);
	if (!err)
		err = sealed_file_seal(made, end);
	if (!err)
		*copy = take_fd(made);
	return err;
}
