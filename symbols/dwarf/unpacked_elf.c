/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the section table for the sizes, one for the contents. Each section is decompressed
 * in one step, from a mapping to a mapping, so no window of decompressed data has to be kept.
 */
#include "symbols/dwarf/unpacked_elf.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/text.h"

enum {
	/* libdw knows no longer names. */
	NAME_MAX_BYTES = 48,
	SECTION_ALIGNMENT = 16,
};

static const char names_name[] = ".shstrtab";

/* The file that is being made. */
struct output {
	uint8_t *bytes;
	uint64_t size;
	/* End of the last section. */
	uint64_t end;
	Elf64_Shdr *sections;
	uint32_t section_count;
	char *names;
	size_t names_bytes;
};

/*
 * Debug data for debuggers: locations of variables, frames, macros, indexes. We never ask libdw for
 * it. Unknown sections are kept, because later versions of libdw may use them.
 */
static const char *const unread_kinds[] = {
	"aranges", "frame", "gnu_pubnames", "gnu_pubtypes", "loc",	"loclists",
	"macinfo", "macro", "names",	    "pubnames",	    "pubtypes",
};

/* True if @name begins like one of those sections. */
static bool is_unread(const char *name)
{
	const char *kind = strchr(name, '_') + 1;
	const char *end = strchrnul(kind, '.');

	for (size_t i = 0; i < sizeof(unread_kinds) / sizeof(unread_kinds[0]); i++)
		if (strlen(unread_kinds[i]) == (size_t)(end - kind) &&
		    !strncmp(kind, unread_kinds[i], end - kind))
			return true;
	return false;
}

/*
 * libdw tells files of split units from others by the names of all sections, so an unread section
 * is present but empty. The build id identifies dwz's common file.
 */
static bool is_kept(const struct elf_section *section)
{
	if (section->type == SHT_NOBITS || strnlen(section->name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return false;
	return elf_section_is_debug_data(section) || !strcmp(section->name, ".gnu_debugaltlink") ||
	       !strcmp(section->name, ".note.gnu.build-id");
}

static uint64_t align(uint64_t offset)
{
	return (offset + SECTION_ALIGNMENT - 1) & ~(uint64_t)(SECTION_ALIGNMENT - 1);
}

/* The size of a section after decompression; 0 if its header is damaged. */
static int unpacked_bytes(const struct elf_image *image, const struct elf_section *section,
			  uint64_t *bytes)
{
	uint64_t claimed = section->size;

	if (elf_section_is_debug_data(section) && is_unread(section->name)) {
		*bytes = 0;
		return 0;
	}
	if (elf_section_encoding(section) != ELF_ENCODING_PLAIN &&
	    elf_image_unpacked_bytes(image, section, &claimed))
		claimed = 0;
	if (claimed > UNPACKED_SMALL_BYTES && claimed / UNPACKED_MAX_EXPANSION > section->size)
		return fail(-E2BIG, "section %.32s claims to be %" PRIu64 " bytes in %" PRIu64,
			    section->name, claimed, section->size);
	*bytes = claimed;
	return 0;
}

/* True if libelf would have to decompress anything, even the section names. */
static bool has_packed(const struct elf_image *image)
{
	for (uint32_t i = 0; i < image->section_count; i++)
		if (elf_section_encoding(&image->sections[i]) != ELF_ENCODING_PLAIN)
			return true;
	return false;
}

/* --- the size --- */

struct plan {
	uint32_t section_count;
	size_t names_bytes;
	uint64_t bytes;
};

/* Offset 0 is the empty name, and section 0 the null section. */
static int make_plan(const struct elf_image *image, struct plan *plan)
{
	uint64_t all_bytes = 0;

	*plan = (struct plan){
		.section_count = 2,
		.names_bytes = 1 + sizeof(names_name),
		.bytes = align(sizeof(Elf64_Ehdr)),
	};
	for (uint32_t i = 0; i < image->section_count; i++) {
		const struct elf_section *section = &image->sections[i];
		uint64_t bytes;
		int err;

		if (!is_kept(section))
			continue;
		err = unpacked_bytes(image, section, &bytes);
		if (err)
			return err;
		/* Checked before the sum can overflow. */
		if (bytes > UNPACKED_MAX_BYTES || (all_bytes += bytes) > UNPACKED_MAX_BYTES)
			return fail(-E2BIG, "debug data of %" PRIu64 " bytes and more", all_bytes);
		plan->section_count++;
		plan->names_bytes += strlen(section->name) + 1;
		plan->bytes += align(bytes);
	}
	plan->bytes += align(plan->names_bytes) + plan->section_count * sizeof(Elf64_Shdr);
	return 0;
}

/* --- the contents --- */

/* Decompresses a section, whose bytes in the file are mapped for this. */
static int unpack(const struct elf_image *image, const struct elf_section *section, void *output,
		  uint64_t bytes)
{
	enum elf_encoding encoding = elf_section_encoding(section);
	uint64_t before = section->offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	struct elf_bytes raw = { .size = section->size };
	void *mapped;
	int err;

	if (section->offset > image->size || section->size > image->size - section->offset)
		return fail(-EBADMSG, "section %.32s lies outside of the file", section->name);
	if (image->memory) {
		raw.data = (uint8_t *)image->memory + section->offset;
		return elf_decode_into(encoding, &raw, output, bytes);
	}
	mapped = mmap(NULL, before + section->size, PROT_READ, MAP_PRIVATE, image->fd,
		      (off_t)(section->offset - before));
	if (mapped == MAP_FAILED)
		return fail_errno(-errno, "mapping of section %.32s", section->name);
	raw.data = (uint8_t *)mapped + before;
	err = elf_decode_into(encoding, &raw, output, bytes);
	munmap(mapped, before + section->size);
	return err;
}

/* Returns the offset of the added name. */
static uint32_t add_name(struct output *output, const char *name, const char *rest)
{
	size_t offset = output->names_bytes;

	output->names_bytes += (size_t)sprintf(output->names + offset, "%s%s", name, rest) + 1;
	return offset;
}

/*
 * .zdebug_info is renamed to .debug_info, also if the section was packed in the new way: libelf would take what was unpacked for
 * packed data, and unpack it once more, in memory.
 */
static uint32_t add_section_name(struct output *output, const struct elf_section *section)
{
	bool is_zdebug = text_starts_with(section->name, ".zdebug_");

	return add_name(output, is_zdebug ? "." : "",
			section->name + (is_zdebug ? strlen(".z") : 0));
}

static int add_section(struct output *output, const struct elf_image *image,
		       const struct elf_section *section)
{
	Elf64_Shdr *header = &output->sections[output->section_count];
	uint64_t bytes = 0;
	uint8_t *target = output->bytes + output->end;
	int err = unpacked_bytes(image, section, &bytes);

	if (err)
		return err;
	/* The file may have changed since the sizes were read. */
	if (align(bytes) > output->size - output->end)
		return fail(-EAGAIN, "changed while it was read");
	if (!bytes)
		err = 0;
	else if (elf_section_encoding(section) == ELF_ENCODING_PLAIN)
		err = elf_image_read(image, section->offset, target, bytes);
	else
		err = unpack(image, section, target, bytes);
	if (err == -ENOMEM)
		return err;
	*header = (Elf64_Shdr){
		.sh_name = add_section_name(output, section),
		.sh_type = section->type,
		.sh_flags = section->flags & ~(uint64_t)SHF_COMPRESSED,
		.sh_addr = section->address,
		.sh_offset = output->end,
		.sh_size = err ? 0 : bytes,
		.sh_addralign = 1,
	};
	output->section_count++;
	output->end += align(bytes);
	return 0;
}

static void add_names(struct output *output)
{
	uint32_t name = add_name(output, names_name, "");

	output->sections[output->section_count++] = (Elf64_Shdr){
		.sh_name = name,
		.sh_type = SHT_STRTAB,
		.sh_offset = output->end,
		.sh_size = output->names_bytes,
		.sh_addralign = 1,
	};
}

static void put_header(const struct output *output, uint16_t machine, uint64_t sections_offset)
{
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_shoff = sections_offset,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
	};

	/* Values that do not fit are stored in the null section header. */
	if (output->section_count < SHN_LORESERVE) {
		header.e_shnum = output->section_count;
		header.e_shstrndx = output->section_count - 1;
	} else {
		header.e_shstrndx = SHN_XINDEX;
		output->sections[0].sh_size = output->section_count;
		output->sections[0].sh_link = output->section_count - 1;
	}
	memcpy(output->bytes, &header, sizeof(header));
}

static int fill(struct output *output, const struct elf_image *image, const struct plan *plan)
{
	uint64_t headers = plan->section_count * sizeof(Elf64_Shdr);
	uint64_t names = output->size - headers - align(plan->names_bytes);

	output->names = (char *)output->bytes + names;
	output->sections = (Elf64_Shdr *)(output->bytes + (output->size - headers));
	for (uint32_t i = 0; i < image->section_count; i++) {
		int err = is_kept(&image->sections[i]) ?
				  add_section(output, image, &image->sections[i]) :
				  0;

		if (err)
			return err;
	}
	output->end = names;
	add_names(output);
	put_header(output, image->machine, output->size - headers);
	return 0;
}

static int write_file(const struct elf_image *image, const struct plan *plan, int fd)
{
	struct output output = {
		.size = plan->bytes,
		.end = align(sizeof(Elf64_Ehdr)),
		.section_count = 1,
		.names_bytes = 1,
	};
	int err;

	output.bytes = mmap(NULL, plan->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (output.bytes == MAP_FAILED)
		return fail_errno(-errno, "mapping of unpacked debug data");
	err = fill(&output, image, plan);
	munmap(output.bytes, plan->bytes);
	return err;
}

int unpacked_elf_make(const struct elf_image *image, int (*open_file)(uint64_t bytes, int *fd),
		      int *fd)
{
	_cleanup_(close_fd) int opened = -1;
	struct plan plan;
	int err = 0;

	if (has_packed(image)) {
		err = make_plan(image, &plan);
		if (!err)
			err = open_file(plan.bytes, &opened);
		if (!err)
			err = write_file(image, &plan, opened);
	}
	if (!err)
		*fd = take_fd(opened);
	return err;
}
