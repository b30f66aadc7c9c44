/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every number in an ELF file is hostile: a range is compared with the file's size before anything
 * is allocated for it, and sums are checked for overflow. Loops are bounded by the two table
 * limits of the header.
 */
#include "lib/elf/elf_image.h"

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
#include "lib/base/text.h"
#include "lib/host/decompress.h"

enum {
	SECTION_NAMES_MAX_BYTES = 4 << 20,
	/* ch_type of <elf.h>; older ones lack zstd. */
	COMPRESSION_TYPE_ZLIB = 1,
	COMPRESSION_TYPE_ZSTD = 2,
};

static const char zdebug_prefix[] = ".zdebug_";
static const char zdebug_magic[4] = { 'Z', 'L', 'I', 'B' };

void elf_bytes_deinit(struct elf_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct elf_bytes){ 0 };
}

int elf_image_read(const struct elf_image *image, uint64_t offset, void *buffer, size_t bytes)
{
	if (offset > image->size || bytes > image->size - offset)
		return fail(-EBADMSG, "%zu bytes at %#" PRIx64 " lie outside of the file", bytes,
			    offset);
	if (image->memory && bytes) {
		memcpy(buffer, image->memory + offset, bytes);
		return 0;
	}
	return read_exactly(image->fd, offset, buffer, bytes);
}

int elf_image_load_range(const struct elf_image *image, uint64_t offset, uint64_t size,
			 uint64_t limit, struct elf_bytes *bytes)
{
	_cleanup_(free_pointer) uint8_t *data = NULL;
	int err;

	if (offset > image->size || size > image->size - offset)
		return fail(-EBADMSG, "%#" PRIx64 " bytes at %#" PRIx64 " lie outside of the file",
			    size, offset);
	if (size > limit)
		return fail(-E2BIG, "%" PRIu64 " bytes, over the limit of %" PRIu64, size, limit);
	data = malloc(size ? size : 1);
	if (!data)
		return fail(-ENOMEM, "no memory for %" PRIu64 " bytes of an ELF file", size);
	err = elf_image_read(image, offset, data, size);
	if (err)
		return err;
	bytes->size = size;
	bytes->data = take_pointer(data);
	return 0;
}

static int read_segments(struct elf_image *image, const Elf64_Ehdr *header, uint32_t count)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	int err;

	if (!count)
		return 0;
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return fail(-EBADMSG, "program headers of %u bytes", header->e_phentsize);
	if (count > ELF_MAX_SEGMENTS)
		return fail(-E2BIG, "%u program headers", count);
	err = elf_image_load_range(image, header->e_phoff, count * sizeof(Elf64_Phdr), UINT64_MAX,
				   &bytes);
	if (err)
		return err;
	image->segments = calloc(count, sizeof(*image->segments));
	if (!image->segments)
		return fail(-ENOMEM, "no memory for program headers");
	for (uint32_t i = 0; i < count; i++) {
		struct elf_segment *segment = &image->segments[i];
		uint64_t end;
		Elf64_Phdr raw;

		memcpy(&raw, bytes.data + i * sizeof(raw), sizeof(raw));
		*segment = (struct elf_segment){
			.type = raw.p_type,
			.flags = raw.p_flags,
			.offset = raw.p_offset,
			.address = raw.p_vaddr,
			.file_bytes = raw.p_filesz,
			.memory_bytes = raw.p_memsz,
		};
		if (raw.p_type == PT_LOAD &&
		    (__builtin_add_overflow(raw.p_offset, raw.p_filesz, &end) ||
		     __builtin_add_overflow(raw.p_vaddr, raw.p_memsz, &end) ||
		     raw.p_filesz > raw.p_memsz))
			return fail(-EBADMSG, "program header %u has impossible sizes", i);
	}
	image->segment_count = count;
	return 0;
}

static void set_section_names(struct elf_image *image, const Elf64_Shdr *raw, uint32_t count,
			      uint32_t names_index)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes names = { 0 };

	if (names_index < count && raw[names_index].sh_type == SHT_STRTAB)
		elf_image_load_range(image, raw[names_index].sh_offset, raw[names_index].sh_size,
				     SECTION_NAMES_MAX_BYTES, &names);
	/* Makes the last name end within the table. */
	if (names.size)
		names.data[names.size - 1] = '\0';
	for (uint32_t i = 0; i < count; i++)
		image->sections[i].name =
			raw[i].sh_name < names.size ? (char *)names.data + raw[i].sh_name : "";
	image->section_names = (char *)take_pointer(names.data);
}

/* Sets *@first to the section header 0, which holds the counts that don't fit the ELF header. */
static int read_first_section(const struct elf_image *image, const Elf64_Ehdr *header,
			      Elf64_Shdr *first)
{
	if (!header->e_shoff)
		return fail(-ENOENT, "no section headers");
	if (header->e_shentsize != sizeof(Elf64_Shdr))
		return fail(-EBADMSG, "section headers of %u bytes", header->e_shentsize);
	return elf_image_read(image, header->e_shoff, first, sizeof(*first));
}

static int read_sections(struct elf_image *image, const Elf64_Ehdr *header)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes bytes = { 0 };
	uint64_t count = header->e_shnum;
	uint32_t names_index = header->e_shstrndx;
	const Elf64_Shdr *raw;
	Elf64_Shdr first;
	int err;

	if (!header->e_shoff)
		return 0;
	err = read_first_section(image, header, &first);
	if (err)
		return err;
	if (!count)
		count = first.sh_size;
	if (names_index == SHN_XINDEX)
		names_index = first.sh_link;
	if (count > ELF_MAX_SECTIONS)
		return fail(-E2BIG, "%" PRIu64 " section headers", count);
	err = elf_image_load_range(image, header->e_shoff, count * sizeof(Elf64_Shdr), UINT64_MAX,
				   &bytes);
	if (err)
		return err;
	image->sections = calloc(count ? count : 1, sizeof(*image->sections));
	if (!image->sections)
		return fail(-ENOMEM, "no memory for section headers");
	raw = (const Elf64_Shdr *)bytes.data;
	for (uint32_t i = 0; i < count; i++)
		image->sections[i] = (struct elf_section){
			.type = raw[i].sh_type,
			.flags = raw[i].sh_flags,
			.address = raw[i].sh_addr,
			.offset = raw[i].sh_offset,
			.size = raw[i].sh_size,
			.link = raw[i].sh_link,
			.entry_bytes = raw[i].sh_entsize,
		};
	set_section_names(image, raw, count, names_index);
	image->section_count = count;
	return 0;
}

static int read_header(const struct elf_image *image, Elf64_Ehdr *header)
{
	int err;

	if (image->size < EI_NIDENT)
		return fail(-EOPNOTSUPP, "not an ELF file: %" PRIu64 " bytes", image->size);
	err = elf_image_read(image, 0, header->e_ident, EI_NIDENT);
	if (err)
		return err;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG))
		return fail(-EOPNOTSUPP, "not an ELF file");
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return fail(-EOPNOTSUPP, "not a 64-bit little-endian ELF file");
	err = elf_image_read(image, 0, header, sizeof(*header));
	if (err)
		return err;
	if (header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64)
		return fail(-EOPNOTSUPP, "ELF file for machine %u", header->e_machine);
	return 0;
}

static int read_tables(struct elf_image *image)
{
	uint32_t segment_count;
	Elf64_Ehdr header;
	Elf64_Shdr first;
	int err;

	err = read_header(image, &header);
	if (err)
		return err;
	image->machine = header.e_machine;
	image->entry = header.e_entry;
	segment_count = header.e_phnum;
	if (segment_count == PN_XNUM) {
		err = read_first_section(image, &header, &first);
		if (err)
			return fail(-EBADMSG, "the number of program headers is not there");
		segment_count = first.sh_info;
	}
	err = read_segments(image, &header, segment_count);
	if (err)
		return err;
	/* The kernel and the dynamic linker never look at sections, so they may be damaged. */
	return read_sections(image, &header) == -ENOMEM ? -ENOMEM : 0;
}

int elf_image_init_fd(struct elf_image *image, int fd)
{
	struct elf_image new_image = { .fd = fd };
	struct stat status;
	int err;

	if (fstat(fd, &status))
		return fail_errno(-errno, "cannot stat an ELF file");
	if (!S_ISREG(status.st_mode))
		return fail(-EOPNOTSUPP, "not a regular file");
	new_image.size = status.st_size;
	err = read_tables(&new_image);
	if (err)
		elf_image_deinit(&new_image);
	else
		*image = new_image;
	return err;
}

int elf_image_init_memory(struct elf_image *image, const void *bytes, size_t size)
{
	struct elf_image new_image = { .fd = -1, .memory = bytes, .size = bytes ? size : 0 };
	int err;

	err = read_tables(&new_image);
	if (err)
		elf_image_deinit(&new_image);
	else
		*image = new_image;
	return err;
}

void elf_image_deinit(struct elf_image *image)
{
	free(image->segments);
	free(image->sections);
	free(image->section_names);
	*image = (struct elf_image){ .fd = -1 };
}

/* The PT_LOAD whose bytes in the file hold @address. */
static const struct elf_segment *segment_at(const struct elf_image *image, uint64_t address)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (segment->type == PT_LOAD && address >= segment->address &&
		    address - segment->address < segment->file_bytes)
			return segment;
	}
	return NULL;
}

uint64_t elf_image_bytes_at_address(const struct elf_image *image, uint64_t address)
{
	const struct elf_segment *segment = segment_at(image, address);

	return segment ? segment->file_bytes - (address - segment->address) : 0;
}

int elf_image_address_offset(const struct elf_image *image, uint64_t address, uint64_t *offset,
			     uint64_t *bytes)
{
	const struct elf_segment *segment = segment_at(image, address);

	if (!segment)
		return fail(-EBADMSG, "address %#" PRIx64 " lies in no segment", address);
	*offset = segment->offset + (address - segment->address);
	*bytes = segment->file_bytes - (address - segment->address);
	return 0;
}

int elf_image_read_address(const struct elf_image *image, uint64_t address, void *buffer,
			   size_t bytes)
{
	const struct elf_segment *segment = segment_at(image, address);

	if (!segment || bytes > segment->file_bytes - (address - segment->address))
		return fail(-EBADMSG, "%zu bytes at address %#" PRIx64 " lie in no segment", bytes,
			    address);
	return elf_image_read(image, segment->offset + (address - segment->address), buffer, bytes);
}

const struct elf_section *elf_image_find_section(const struct elf_image *image, const char *name)
{
	for (uint32_t i = 0; i < image->section_count; i++)
		if (!strcmp(image->sections[i].name, name))
			return &image->sections[i];
	return NULL;
}

const struct elf_section *elf_image_find_section_of_type(const struct elf_image *image,
							 uint32_t type)
{
	for (uint32_t i = 0; i < image->section_count; i++)
		if (image->sections[i].type == type)
			return &image->sections[i];
	return NULL;
}

enum elf_encoding elf_section_encoding(const struct elf_section *section)
{
	if (section->flags & SHF_COMPRESSED)
		return ELF_ENCODING_COMPRESSED;
	return text_starts_with(section->name, zdebug_prefix) ? ELF_ENCODING_ZDEBUG :
								ELF_ENCODING_PLAIN;
}

bool elf_section_is_debug_data(const struct elf_section *section)
{
	return text_starts_with(section->name, ".debug_") ||
	       text_starts_with(section->name, zdebug_prefix);
}

int elf_image_load_raw_section(const struct elf_image *image, const struct elf_section *section,
			       uint64_t limit, struct elf_bytes *raw)
{
	if (section->type == SHT_NOBITS)
		return fail(-ENOENT, "section %s has no bytes in the file", section->name);
	return elf_image_load_range(image, section->offset, section->size, limit, raw);
}

/* Reads the header before compressed contents and moves behind it. */
static int read_compression_header(enum elf_encoding encoding, struct byte_reader *reader,
				   enum compression *compression, uint64_t *size)
{
	uint32_t type = COMPRESSION_TYPE_ZLIB;

	if (encoding == ELF_ENCODING_ZDEBUG) {
		const void *magic = byte_reader_bytes(reader, sizeof(zdebug_magic));

		if (magic && memcmp(magic, zdebug_magic, sizeof(zdebug_magic)) != 0)
			return fail(-EBADMSG, "a compressed section without header");
		*size = __builtin_bswap64(byte_reader_u64(reader));
	} else {
		type = byte_reader_u32(reader);
		byte_reader_skip(reader, sizeof(uint32_t));
		*size = byte_reader_u64(reader);
		/* The alignment of the contents. */
		byte_reader_skip(reader, sizeof(uint64_t));
	}
	if (byte_reader_failed(reader))
		return fail(-EBADMSG, "a compressed section has no room for its header");
	if (type != COMPRESSION_TYPE_ZLIB && type != COMPRESSION_TYPE_ZSTD)
		return fail(-EOPNOTSUPP, "compression %u of a section", type);
	*compression = type == COMPRESSION_TYPE_ZLIB ? COMPRESSION_ZLIB : COMPRESSION_ZSTD;
	return 0;
}

int elf_image_unpacked_bytes(const struct elf_image *image, const struct elf_section *section,
			     uint64_t *bytes)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes raw = { 0 };
	enum compression compression;
	struct byte_reader reader;
	uint64_t size = section->size;
	int err;

	if (section->type == SHT_NOBITS)
		return fail(-ENOENT, "section %s has no bytes in the file", section->name);
	if (size > sizeof(Elf64_Chdr))
		size = sizeof(Elf64_Chdr);
	err = elf_image_load_range(image, section->offset, size, size, &raw);
	if (err)
		return err;
	byte_reader_init(&reader, raw.data, raw.size);
	return read_compression_header(elf_section_encoding(section), &reader, &compression, bytes);
}

/* Splits @raw into its header and the compressed contents. */
static int split_packed(enum elf_encoding encoding, const struct elf_bytes *raw,
			enum compression *compression, uint64_t *size, struct elf_bytes *packed)
{
	struct byte_reader reader;
	int err;

	byte_reader_init(&reader, raw->data, raw->size);
	err = read_compression_header(encoding, &reader, compression, size);
	if (err)
		return err;
	*packed = (struct elf_bytes){ .data = raw->data + byte_reader_offset(&reader),
				      .size = byte_reader_left(&reader) };
	return 0;
}

int elf_decode_into(enum elf_encoding encoding, const struct elf_bytes *raw, void *output,
		    uint64_t bytes)
{
	enum compression compression = COMPRESSION_ZLIB;
	struct elf_bytes packed;
	uint64_t size = 0;
	int err = split_packed(encoding, raw, &compression, &size, &packed);

	if (err)
		return err;
	if (size != bytes)
		return fail(-EBADMSG, "a section of %" PRIu64 " bytes, not %" PRIu64, size, bytes);
	return decompress(compression, packed.data, packed.size, output, bytes);
}

int elf_decode(enum elf_encoding encoding, const struct elf_bytes *raw, uint64_t limit,
	       struct elf_bytes *bytes)
{
	_cleanup_(free_pointer) uint8_t *data = NULL;
	enum compression compression = COMPRESSION_ZLIB;
	struct elf_bytes packed;
	uint64_t size = 0;
	int err = split_packed(encoding, raw, &compression, &size, &packed);

	if (err)
		return err;
	if (size > limit)
		return fail(-E2BIG, "a section of %" PRIu64 " bytes, over the limit of %" PRIu64,
			    size, limit);
	data = malloc(size ? size : 1);
	if (!data)
		return fail(-ENOMEM, "no memory for a section of %" PRIu64 " bytes", size);
	err = decompress(compression, packed.data, packed.size, data, size);
	if (err)
		return err;
	bytes->size = size;
	bytes->data = take_pointer(data);
	return 0;
}

int elf_image_load_section(const struct elf_image *image, const struct elf_section *section,
			   uint64_t limit, struct elf_bytes *bytes)
{
	_cleanup_(elf_bytes_deinit) struct elf_bytes raw = { 0 };
	enum elf_encoding encoding = elf_section_encoding(section);
	int err = elf_image_load_raw_section(image, section, limit, &raw);

	if (err)
		return err;
	if (encoding != ELF_ENCODING_PLAIN)
		return elf_decode(encoding, &raw, limit, bytes);
	*bytes = raw;
	raw = (struct elf_bytes){ 0 };
	return 0;
}

const struct elf_segment *elf_image_find_segment(const struct elf_image *image, uint32_t type)
{
	for (uint32_t i = 0; i < image->segment_count; i++)
		if (image->segments[i].type == type)
			return &image->segments[i];
	return NULL;
}

static int mapping_address(const struct elf_image *image, uint64_t offset, uint64_t length,
			   bool is_code, uint64_t *address)
{
	uint64_t end, best_shared = 0, best_address = 0;
	bool best_is_preferred = false;

	if (__builtin_add_overflow(offset, length, &end))
		end = UINT64_MAX;
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		bool is_preferred = !!(segment->flags & PF_X) == is_code;
		uint64_t first, last;

		if (segment->type != PT_LOAD)
			continue;
		first = segment->offset > offset ? segment->offset : offset;
		last = segment->offset + segment->file_bytes;
		last = last < end ? last : end;
		if (first >= last || is_preferred < best_is_preferred)
			continue;
		if (is_preferred > best_is_preferred || last - first > best_shared) {
			best_is_preferred = is_preferred;
			best_shared = last - first;
			/* Wraps where the mapping starts a partial page before the segment. */
			best_address = segment->address + (offset - segment->offset);
		}
	}
	if (!best_shared)
		return fail(-ENOENT, "no segment at file offset %#" PRIx64, offset);
	*address = best_address;
	return 0;
}

int elf_image_mapping_address(const struct elf_image *image, uint64_t offset, uint64_t length,
			      uint64_t *address)
{
	return mapping_address(image, offset, length, true, address);
}

int elf_image_data_address(const struct elf_image *image, uint64_t offset, uint64_t length,
			   uint64_t *address)
{
	return mapping_address(image, offset, length, false, address);
}
