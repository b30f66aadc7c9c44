/* SPDX-License-Identifier: Apache-2.0 */
/**
 * lib/elf reads ELF files and the tables in them. All bytes are hostile: the owner of a process under profile
 * chooses them.
 *
 * An ELF image: headers of one 64-bit little-endian file for x86-64 or aarch64, read from a file
 * descriptor by pread (a mapping would kill the agent when somebody truncates the file) or, for
 * tests and fuzzers, from bytes in memory. Only the header tables are kept; contents are read when asked for, so
 * a file of many gigabytes costs no more than a small one. The format: System V gABI, chapters
 * "ELF Header", "Sections", "Program Header"; <elf.h>.
 *
 * libelf is not used: it reads or maps the whole file where a few ranges are needed, and its zstd support
 * depends on the distribution's build.
 */
#ifndef LIB_ELF_ELF_IMAGE_H
#define LIB_ELF_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/binary.h"

enum {
	ELF_MAX_SEGMENTS = 256,
	/** More than e_shnum has room for. */
	ELF_MAX_SECTIONS = 1 << 18,
};

/** A program header. offset + file_bytes and address + memory_bytes do not overflow. */
struct elf_segment {
	/** PT_..., PF_... of <elf.h> */
	uint32_t type;
	uint32_t flags;
	uint64_t offset;
	uint64_t address;
	uint64_t file_bytes;
	uint64_t memory_bytes;
};

/** A section header. Offset and size are as the file says, checked when contents are read. */
struct elf_section {
	/** Borrowed from the image, "" if the file's name is damaged. */
	const char *name;
	/** SHT_..., SHF_... of <elf.h> */
	uint32_t type;
	uint64_t flags;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	uint32_t link;
	uint64_t entry_bytes;
};

/** Encoding of a section's contents in the file. */
enum elf_encoding {
	ELF_ENCODING_PLAIN,
	/** SHF_COMPRESSED: a header, then zlib or zstd (gABI, "Section Compression"). */
	ELF_ENCODING_COMPRESSED,
	/** Sections named .zdebug_...: "ZLIB", the size in 8 big-endian bytes, then zlib. */
	ELF_ENCODING_ZDEBUG,
};

/** Contents that were read. Owned; freed by elf_bytes_deinit(). */
struct elf_bytes {
	uint8_t *data;
	size_t size;
};

void elf_bytes_deinit(struct elf_bytes *bytes);

/** Read-only after init, so threads may share it. */
struct elf_image {
	/** Borrowed: the caller keeps it open. -1 if memory is set instead. */
	int fd;
	const uint8_t *memory;
	/** Size of the file when it was opened. */
	uint64_t size;
	/** EM_... of <elf.h> */
	uint16_t machine;
	uint64_t entry;
	uint32_t segment_count;
	/** Also 0 if the section table is damaged, which is no error of the image. */
	uint32_t section_count;
	struct elf_segment *segments;
	struct elf_section *sections;
	char *section_names;
};

/**
 * Reads the header tables. -EOPNOTSUPP for a file that is no 64-bit little-endian ELF of x86-64 or aarch64,
 * -EBADMSG for damaged headers, -E2BIG over ELF_MAX_SEGMENTS, or an error of pread.
 */
int elf_image_init_fd(struct elf_image *image, int fd);

/** As above, from @size bytes that are borrowed for the life of the image. */
int elf_image_init_memory(struct elf_image *image, const void *bytes, size_t size);

/** Frees the tables; leaves the descriptor alone. Takes an image of zeroes. */
void elf_image_deinit(struct elf_image *image);

/** Reads exactly @bytes bytes at file offset @offset; -EBADMSG if the file ends before. */
int elf_image_read(const struct elf_image *image, uint64_t offset, void *buffer, size_t bytes);

/** Reads exactly @bytes bytes at ELF virtual address @address; -EBADMSG if no PT_LOAD has them. */
int elf_image_read_address(const struct elf_image *image, uint64_t address, void *buffer,
			   size_t bytes);

/**
 * Sets *@offset to the file offset of ELF virtual address @address, and *@bytes to the bytes of its PT_LOAD
 * from there on. -EBADMSG if no PT_LOAD has the address in the file. The file may be shorter than that.
 */
int elf_image_address_offset(const struct elf_image *image, uint64_t address, uint64_t *offset,
			     uint64_t *bytes);

/** Bytes in the file from ELF virtual address @address to the end of its PT_LOAD; 0 if there are none. */
uint64_t elf_image_bytes_at_address(const struct elf_image *image, uint64_t address);

/** Reads a range of the file into fresh memory; -E2BIG over @limit. */
int elf_image_load_range(const struct elf_image *image, uint64_t offset, uint64_t size,
			 uint64_t limit, struct elf_bytes *bytes);

/** The first section called @name; NULL if there is none. Borrowed. */
const struct elf_section *elf_image_find_section(const struct elf_image *image, const char *name);

/** The first section of @type (SHT_SYMTAB, ...); NULL if there is none. Borrowed. */
const struct elf_section *elf_image_find_section_of_type(const struct elf_image *image,
							 uint32_t type);

enum elf_encoding elf_section_encoding(const struct elf_section *section);

/** Whether the section has DWARF data, judged by its name. */
bool elf_section_is_debug_data(const struct elf_section *section);

/** Reads a section without decompressing it; -ENOENT for SHT_NOBITS, -E2BIG over @limit, -EBADMSG. */
int elf_image_load_raw_section(const struct elf_image *image, const struct elf_section *section,
			       uint64_t limit, struct elf_bytes *raw);

/**
 * Reads the decompressed size that the header of a compressed section states. -EOPNOTSUPP, -EBADMSG, -ENOENT as
 * when the section is loaded.
 */
int elf_image_unpacked_bytes(const struct elf_image *image, const struct elf_section *section,
			     uint64_t *bytes);

/**
 * Decompresses @raw into fresh memory. Not for ELF_ENCODING_PLAIN. -E2BIG over @limit, -EOPNOTSUPP
 * for another compression than zlib and zstd, -EBADMSG.
 */
int elf_decode(enum elf_encoding encoding, const struct elf_bytes *raw, uint64_t limit,
	       struct elf_bytes *bytes);

/**
 * Decompresses @raw into @output. The result must have exactly @bytes bytes; otherwise -EBADMSG, and @output
 * holds rubbish.
 */
int elf_decode_into(enum elf_encoding encoding, const struct elf_bytes *raw, void *output,
		    uint64_t bytes);

/**
 * Reads a section's contents into fresh memory and decompresses them if necessary. @limit holds for both steps.
 * Errors as of elf_image_load_raw_section() and elf_decode().
 */
int elf_image_load_section(const struct elf_image *image, const struct elf_section *section,
			   uint64_t limit, struct elf_bytes *bytes);

/** The first segment of @type (PT_GNU_EH_FRAME, ...); NULL if there is none. Borrowed. */
const struct elf_segment *elf_image_find_segment(const struct elf_image *image, uint32_t type);

/**
 * The ELF virtual address of the first byte of a mapping of @length bytes from file offset @offset, so that
 * mapping start - *@address is the bias. Executable segments are preferred, then the segment that shares most
 * bytes with the mapping. -ENOENT if no segment shares any.
 */
int elf_image_mapping_address(const struct elf_image *image, uint64_t offset, uint64_t length,
			      uint64_t *address);

/** As elf_image_mapping_address(), of a mapping that is not executable: such segments are preferred. */
int elf_image_data_address(const struct elf_image *image, uint64_t offset, uint64_t length,
			   uint64_t *address);

#endif
